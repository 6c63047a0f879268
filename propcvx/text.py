"""Printing: records in a notebook, tables in plain text and in Markdown, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any


class Readable:
    """A record that a notebook shows as it prints, instead of the values of its arrays."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def unique_names(names: Iterable[str]) -> list[str]:
    """Append a number to repeated names.

    Examples
    --------
    >>> unique_names(["lifted", "Mine", "Mine"])
    ['lifted', 'Mine', 'Mine 2']
    """
    texts = list(names)
    repeats = [texts[:place].count(name) for place, name in enumerate(texts)]
    return [f"{name} {n + 1}" if n else name for name, n in zip(texts, repeats, strict=True)]


def text_table(rows: Sequence[Mapping[str, Any]], formats: Mapping[str, str] | None = None) -> str:
    """Format a table with columns under their names, and numbers aligned to the right.

    Parameters
    ----------
    rows : sequence of mapping
        The values of each row by the names of the columns; None is printed as a dash.
    formats : mapping of str to str, optional
        The columns to print, with their formats.  By default, all columns of the first row.

    Returns
    -------
    str

    Examples
    --------
    >>> rows = [{"method": "MeanMap", "seconds": 0.12}, {"method": "InvCal", "seconds": None}]
    >>> print(text_table(rows, {"method": "", "seconds": ".1f"}))
    method   seconds
    MeanMap      0.1
    InvCal         -
    """
    if not rows:
        return ""
    formats = dict.fromkeys(rows[0], "") if formats is None else formats
    head = {name: name for name in formats}
    cells = [{name: cell_text(row[name], formats[name]) for name in formats} for row in rows]
    widths = {name: max(len(line[name]) for line in [head, *cells]) for name in formats}
    sides = {name: ">" if any(_numeric(line[name]) for line in cells) else "<" for name in formats}
    return "\n".join(
        "  ".join(f"{line[name]:{sides[name]}{widths[name]}}" for name in formats).rstrip()
        for line in [head, *cells]
    )


def _numeric(cell: str) -> bool:
    try:
        float(cell.rstrip("%"))
    except ValueError:
        return False
    return True


def cell_text(value: Any, pattern: str) -> str:
    """Format a value by a pattern; a dash for None.

    Examples
    --------
    >>> cell_text(0.5, ".0%"), cell_text(None, ".0%")
    ('50%', '-')
    """
    return "-" if value is None else format(value, pattern)
