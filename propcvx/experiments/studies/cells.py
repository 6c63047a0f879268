"""Cells of a study as rows of a CSV file: what is there is not computed again."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from propcvx.plotting import Figure
from propcvx.text import text_table

Cell = TypeVar("Cell", bound=NamedTuple)
Row = Mapping[str, str]
Line = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def complete(
    path: Path, cells: Sequence[Cell], measure: Callable[[Cell], Sequence[Mapping[str, Any]]]
) -> list[Row]:
    """Measure the cells that the file does not have yet.

    Parameters
    ----------
    path : Path
        The CSV file; its first columns are the fields of a cell.  A cell's rows are added at once
        when it is done, so that an interruption costs the cell at work only.
    cells : sequence of named tuples
    measure : callable
        ``measure(cell)``: its rows, each with the same further columns.

    Returns
    -------
    list of mapping of str to str
        All rows of the file that belong to these cells.
    """
    asked = {tuple(map(_text, cell)): cell for cell in cells}
    done = {_key(row, cells[0]) for row in read(path)}
    missing = [cell for key, cell in asked.items() if key not in done]
    for cell in tqdm(missing, desc=path.stem, unit="cell"):
        _append(path, [{**cell._asdict(), **row} for row in measure(cell)])
    return [row for row in read(path) if _key(row, cells[0]) in asked]


def carry_out(
    path: Path,
    cells: Sequence[Cell],
    measure: Callable[[Cell], Sequence[Mapping[str, Any]]],
    table: Callable[[Sequence[Row]], Sequence[Mapping[str, str]]],
    draw: Callable[[Sequence[Row]], Figure],
) -> Path:
    """Complete the cells, print their table, and draw them: the picture lies beside the file."""
    rows = complete(path, cells, measure)
    print(text_table(table(rows)))
    picture = path.with_suffix(".png")
    draw(rows).savefig(picture, dpi=110)
    return picture


def read(path: Path) -> list[Row]:
    """The rows of a CSV file; none where it is not there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows by their values of some columns, in the order of the file."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def numbers(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    """A column as numbers."""
    return np.array([float(row[name]) for row in rows])


def line(rows: Sequence[Row], x: str, y: str) -> Line:
    """Mean of a column and its standard error, against another."""
    groups = {float(key): numbers(group, y) for (key,), group in grouped(rows, x).items()}
    at = sorted(groups)
    means = [groups[x].mean() for x in at]
    errors = [groups[x].std() / np.sqrt(len(groups[x])) for x in at]
    return np.array(at), np.array(means), np.array(errors)


def _key(row: Row, cell: NamedTuple) -> tuple[str, ...]:
    return tuple(row[name] for name in cell._fields)


def _append(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    if not path.exists():
        writer.writeheader()
    writer.writerows({name: _text(of) for name, of in row.items()} for row in rows)
    with path.open("a", newline="") as file:
        file.write(text.getvalue())


def _text(value: Any) -> str:
    """As it stands in the file."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
