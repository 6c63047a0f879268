"""The table of solvers: the rows by name, and who can solve what."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import cvxpy as cp

from propcvx.errors import UnsupportedSolverError
from propcvx.programs import ProblemClass, Program
from propcvx.solvers.row import Solver, same, through_cvxpy
from propcvx.solvers.rows import SPECIALISED, THROUGH_CVXPY

BUILT_IN: Mapping[str, Solver] = {row.name: row for row in (*THROUGH_CVXPY, *SPECIALISED)}
"""The rows of the package itself."""

SOLVERS: dict[str, Solver] = dict(BUILT_IN)
"""The table, by name; :func:`register_solver` adds a row."""


def register_solver(row: Solver) -> None:
    """Add a row to the table, or replace the one of that name, in any case."""
    SOLVERS[row.name.lower()] = row


def solvers_for(program: Program) -> list[str]:
    """Names of the installed solvers of the table that can solve a program."""
    return [row.name for row in SOLVERS.values() if row.installed and row.can_solve(program)]


def named_solver(solver: Any) -> Solver | None:
    """The row that a name or a row stands for; None where there is none.

    Any other solver that CVXPY has installed is a row without options for a tolerance.
    """
    if not isinstance(solver, str):
        return solver if isinstance(solver, Solver) else None
    name = solver.lower()
    if name not in SOLVERS and name.upper() in cp.installed_solvers():
        return through_cvxpy(name, *ProblemClass, options_of=same(), module="cvxpy")
    return SOLVERS.get(name)


def find_solver(solver: str | Solver, program: Program) -> Solver:
    """The row of a solver, checked to be installed and able to solve the program.

    Raises
    ------
    UnsupportedSolverError
        Otherwise; the message says which solvers can.
    """
    row = named_solver(solver)
    if row is None:
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
    """For what is no name of a row: which name is the nearest."""
    nearest = get_close_matches(solver.lower(), SOLVERS, 1) if isinstance(solver, str) else []
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""


def _why(row: Solver, program: Program) -> str:
    """What a specialised solver misses."""
    if row.classes:
        return ""
    if program.attached is not None and program.structure is None:
        return ": it was changed since it was built, and the solver knows the original alone"
    return ": the solver knows another structure alone"
