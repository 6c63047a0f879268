"""How things print: tables as plain text, and the same text in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape


class Readable:
    """A record that a notebook shows as it prints, in place of the values of its arrays."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def unique_names(names: Iterable[str]) -> list[str]:
    """Names with a number after those that came before.

    Examples
    --------
    >>> unique_names(["lifted", "Mine", "Mine"])
    ['lifted', 'Mine', 'Mine 2']
    """
    seen = Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return unique


def text_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Columns under their names, those with numbers to the right.

    Parameters
    ----------
    rows : sequence of mapping of str to str
        One per row, all with the same keys: the names of the columns.

    Returns
    -------
    str

    Examples
    --------
    >>> print(text_table([{"method": "MeanMap", "seconds": "0.1"}]))
    method   seconds
    MeanMap      0.1
    """
    if not rows:
        return ""
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    right = {name: any(_numeric(row[name]) for row in rows) for name in widths}
    lines = [dict(zip(widths, widths, strict=True)), *rows]
    return "\n".join(
        "  ".join(
            _aligned(line[name], width, right=right[name]) for name, width in widths.items()
        ).rstrip()
        for line in lines
    )


def _numeric(cell: str) -> bool:
    try:
        float(cell.rstrip("%"))
    except ValueError:
        return False
    return True


def _aligned(cell: str, width: int, *, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)
