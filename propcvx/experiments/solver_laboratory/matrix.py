"""Many programs at many sizes on many solvers; a file of rows that a later run continues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from tqdm import tqdm

from propcvx.errors import InputError
from propcvx.experiments.solver_laboratory.compare import (
    Accuracy,
    Row,
    named_accuracy,
    one_row,
    referred,
    solvers_of,
)
from propcvx.experiments.solver_laboratory.isolated import Limits
from propcvx.experiments.solver_laboratory.programs import PROGRAMS, ProgramAt
from propcvx.experiments.solver_laboratory.rows_file import append_row, key_of, read_rows
from propcvx.solvers import Solver

HOPELESS = ("out of time", "out of memory", "no licence")
"""After these a solver is not asked for larger sizes of the same program, or smaller tolerances."""

KEY = (
    *("program", "instances", "data", "C", "bag_size", "seed"),
    *("solver", "accuracy", "canon_backend"),
)
"""The columns that say which run a row is of."""


def run_matrix(
    cells: Sequence[ProgramAt],
    file: Path,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[Accuracy] = ("default", "low", "high"),
    limits: Limits | None = None,
    backend: str | None = None,
) -> list[Row]:
    """Run what the file does not have yet, and return all its rows.

    Parameters
    ----------
    cells : sequence of ProgramAt
        Where a solver ran over its time or memory, or wanted a licence, the larger sizes of that
        program, and smaller tolerances, are rows with the status "skipped".
    file : Path
        JSON lines; a row is added as soon as it is there, so that an interruption costs the run
        at work only.
    solvers, tols, backend
        As in :func:`compare_solvers`.
    limits : Limits, optional

    Returns
    -------
    list of dict
        Rows of :func:`compare_solvers` with the fields of ``ProgramAt``.
    """
    limits = limits or Limits()
    accuracies = [named_accuracy(tol) for tol in tols]
    rows = {key_of(row, KEY): row for row in read_rows(file, KEY)}
    small = {cell.program: cell for cell in sorted(cells, key=lambda cell: -cell.instances)}
    programs = {name: cell() for name, cell in small.items()}
    pairs = [(row, name) for name, p in programs.items() for row in solvers_of(solvers, p)]
    asked = [
        (solver, cell, accuracy)
        for solver, name in sorted(pairs, key=lambda pair: pair[0].name)
        for cell in sorted(cells, key=lambda cell: cell.instances)
        if cell.program == name
        for accuracy in sorted(accuracies, key=lambda named: -(named[1] or 1.0))
    ]
    with tqdm(asked, desc="runs", unit="run") as bar:
        for solver, cell, accuracy in bar:
            bar.set_postfix_str(f"{solver.name}, {cell.program}, N={cell.instances}")
            named = {**asdict(cell), "solver": solver.name, "accuracy": accuracy[0]}
            named["canon_backend"] = backend
            if key_of(named, KEY) in rows:
                continue
            skipped = _hopeless(rows.values(), {**named, "tol": accuracy[1]})
            row = skipped or one_row(
                cell, programs[cell.program], solver, accuracy, limits, backend
            )
            rows[key_of(named, KEY)] = {**row, **named}
            append_row(file, rows[key_of(named, KEY)])
    return with_references(list(rows.values()))


def cells_of(
    programs: Iterable[str], sizes: Sequence[int] | None, data: str = "generated", C: float = 1.0
) -> list[ProgramAt]:
    """Programs by name at some sizes, by default at those of each."""
    cells = []
    for name in programs:
        if name not in PROGRAMS:
            raise InputError(f"programs must be among {list(PROGRAMS)}, got {name!r}.")
        cells += [ProgramAt(name, n, data, C) for n in sorted(sizes or PROGRAMS[name].sizes)]
    return cells


def with_references(rows: list[Row]) -> list[Row]:
    """Rows with the reference of their program, over all solvers and accuracies."""

    def problem(row: Row) -> str:
        return repr([row[name] for name in KEY[:6]])

    found = []
    for _, group in groupby(sorted(rows, key=problem), problem):
        found += referred(list(group), None)
    return found


def _hopeless(rows: Iterable[Row], named: Row) -> Row | None:
    """The row of a run that another one says is in vain."""
    same = [name for name in KEY if name not in ("instances", "accuracy")]
    for row in rows:
        if row["status"] in HOPELESS and all(row[name] == named[name] for name in same):
            if not _is_harder(named, row):
                continue
            reason = f"{row['status']} at N = {row['instances']}, accuracy {row['accuracy']}"
            kept = {name: row[name] for name in ("time_limit", "memory_limit_mb", "threads")}
            told = {"tol": named["tol"], "status": "skipped", "reason": reason}
            return {**dict.fromkeys(row), **kept, **told}
    return None


def _is_harder(one: Row, other: Row) -> bool:
    """Whether a run is larger at the same accuracy, or not smaller at a smaller tolerance."""
    if one["accuracy"] == other["accuracy"]:
        return bool(one["instances"] > other["instances"])
    known = None not in (one["tol"], other["tol"])
    return known and one["tol"] < other["tol"] and one["instances"] >= other["instances"]
