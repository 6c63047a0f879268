"""The table of solvers: the rows by name, and who can solve what."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from propcvx.errors import UnsupportedSolverError
from propcvx.programs import Program
from propcvx.solvers.rows import ABSENT, COMMERCIAL, CORE, FURTHER, SPECIALISED
from propcvx.solvers.rows.row import Solver

_ROWS = (*CORE, *FURTHER, *COMMERCIAL, *SPECIALISED)

BUILT_IN: Mapping[str, Solver] = {row.name: row for row in _ROWS}
"""The rows of the package itself."""

SOLVERS: dict[str, Solver] = dict(BUILT_IN)
"""The table, by name; :func:`register_solver` adds a row."""


def register_solver(row: Solver) -> None:
    """Add a row to the table, or replace the one of that name, in any case."""
    SOLVERS[row.name.lower()] = row


def solvers_for(program: Program) -> list[str]:
    """Names of the installed solvers that can solve a program, without those that are unsafe."""
    able = (row for row in SOLVERS.values() if row.installed and row.can_solve(program))
    return [row.name for row in able if not row.unsafe]


def find_solver(solver: str | Solver, program: Program) -> Solver:
    """The row of a solver, checked to be installed and able to solve the program.

    Raises
    ------
    UnsupportedSolverError
        Otherwise; the message says which solvers can.
    """
    row = SOLVERS.get(solver.lower()) if isinstance(solver, str) else solver
    if not isinstance(row, Solver):
        raise UnsupportedSolverError(
            f"solver must be 'auto', a Solver, or one of {sorted(SOLVERS)}, got {solver!r}"
            f"{suggestion(solver)}; {solvers_for(program)} can solve {program.name}."
        )
    if not row.can_solve(program):
        raise UnsupportedSolverError(
            f"solver {row.name!r} cannot solve {program.name} ({program.problem_class.value})"
            f"{_why(row, program)}; {solvers_for(program)} can."
        )
    if not row.installed:
        raise UnsupportedSolverError(
            f"solver {row.name!r} is not installed: pip install {row.package}; "
            f"{solvers_for(program)} are installed and can solve {program.name}."
        )
    return row


def portable(solver: Any) -> Any:
    """The solver, as a process that has only the package's own rows can find it."""
    if isinstance(solver, str):
        row = SOLVERS.get(solver.lower())
        return solver if row is None or BUILT_IN.get(row.name) is row else row
    if isinstance(solver, list | tuple):
        return type(solver)(portable(part) for part in solver)
    return solver


def suggestion(solver: Any) -> str:
    """For what is no name of a row: why it is absent, or which name is the nearest."""
    if not isinstance(solver, str):
        return ""
    if solver.lower() in ABSENT:
        return f", which is absent: {ABSENT[solver.lower()]}"
    nearest = get_close_matches(solver.lower(), SOLVERS, 1)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""


def _why(row: Solver, program: Program) -> str:
    """What a specialised solver misses."""
    if row.classes:
        return ""
    if program.attached is not None and program.structure is None:
        return ": it was changed since it was built, and the solver knows the original alone"
    return ": the solver knows another structure alone"
