"""One call, many solvers: :func:`solve` takes a program record and returns a :class:`Solution`.

The table ``SOLVERS`` says what each solver can do.  General solvers (through CVXPY) and
specialised ones are rows of the same table and leave the same answer.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.errors import InaccurateSolutionWarning, SolverError
from propcvx.programs import Program
from propcvx.solvers.certificate import certify as certify_program
from propcvx.solvers.solution import Certificate, Solution
from propcvx.solvers.table import (
    SOLVERS,
    Solver,
    find_solver,
    register_solver,
    solvers_for,
    tolerance_options,
)
from propcvx.solvers.through_cvxpy import Run

__all__ = [
    "SOLVERS",
    "Certificate",
    "Run",
    "Solution",
    "Solver",
    "find_solver",
    "register_solver",
    "solve",
    "solvers_for",
]

USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)
"""Statuses with values that can be used; all but the first come with a warning."""

_ADVICE = {
    cp.INFEASIBLE: "the constraints contradict each other",
    cp.UNBOUNDED: "the objective is unbounded",
    cp.SOLVER_ERROR: "another solver may do",
}


def solve(
    program: Program, solver: str, *, tol: float = 1e-8, certify: bool = True, **options: Any
) -> Solution:
    """Solve a program and say how good the answer is.

    Parameters
    ----------
    program : Program
        The program, its parameters set.
    solver : str
        A name in ``SOLVERS``.
    tol : float
        Tolerance, mapped to the solver's own options (feasibility and gap).
    certify : bool
        Whether to recompute residuals and the duality gap.  Loops that certify their end result
        go without.
    **options
        Handed to the solver as they are, over those for ``tol``.

    Returns
    -------
    Solution

    Raises
    ------
    UnsupportedSolverError
        If the solver is unknown, not installed, or cannot solve this class of problem; the
        message says which can.
    SolverError
        If the solver has no answer (infeasible, unbounded, failed), with its name and status.

    Warns
    -----
    InaccurateSolutionWarning
        If the solver stopped before its tolerance.
    """
    row = find_solver(solver, program)
    run = row.run(program, tolerance_options(row, tol, options))
    _check_status(row.name, program, run)
    return Solution(
        solver=row.name,
        status=run.status,
        value=float(program.problem.objective.value),
        variables={k: np.array(v.value, dtype=float) for k, v in program.variables.items()},
        duals=_duals(program),
        certificate=certify_program(program) if certify else None,
        build_seconds=run.build_seconds,
        solve_seconds=run.solve_seconds,
        iterations=run.iterations,
    )


def _check_status(solver: str, program: Program, run: Run) -> None:
    has_values = all(variable.value is not None for variable in program.variables.values())
    if run.status not in USABLE or not has_values:
        advice = _ADVICE.get(run.status, "a looser tol or another solver may do")
        raise SolverError(
            f"{solver} has no answer to {program.name}: status {run.status!r}; {advice}.",
            solver,
            run.status,
        )
    if run.status != cp.OPTIMAL:
        warnings.warn(
            f"{solver} stopped before its tolerance on {program.name}: status {run.status!r}; "
            "more iterations, a looser tol or another solver may do.",
            InaccurateSolutionWarning,
            stacklevel=3,
        )


def _duals(program: Program) -> dict[str, Any]:
    if program.problem_class.has_integers:
        return {}
    duals = {name: constraint.dual_value for name, constraint in program.constraints.items()}
    return {
        name: [np.array(part) for part in dual] if isinstance(dual, list) else np.array(dual)
        for name, dual in duals.items()
    }
