"""One call, many solvers: :func:`solve` takes a program record and returns a :class:`Solution`.

The table ``SOLVERS`` says what each solver can do.  General solvers (through CVXPY) and
specialised ones are rows of the same table and leave the same answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.errors import InaccurateSolutionWarning, SolverError, UnsupportedSolverError
from propcvx.programs import Program
from propcvx.solvers.certificate import certify as certify_program
from propcvx.solvers.choice import svm_solver
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
    "SolverNames",
    "find_solver",
    "register_solver",
    "solve",
    "solvers_for",
    "svm_solver",
]

USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)
"""Statuses with values that can be used; all but the first come with a warning."""

_ADVICE = {
    cp.INFEASIBLE: "the constraints contradict each other",
    cp.UNBOUNDED: "the objective is unbounded",
    cp.SOLVER_ERROR: "another solver may do",
}


SolverNames = str | Sequence[str]
"""A solver's name, or several to try in turn."""


def solve(
    program: Program,
    solver: SolverNames,
    *,
    tol: float = 1e-8,
    scale: float = 1.0,
    certify: bool = True,
    **options: Any,
) -> Solution:
    """Solve a program and say how good the answer is.

    Parameters
    ----------
    program : Program
        The program, its parameters set.
    solver : str or sequence of str
        A name in ``SOLVERS``, or several: the next is asked where one fails or stops before its
        tolerance.  Nothing else is ever fallen back to; ``Solution.solver`` is who answered.
    tol : float
        Tolerance, mapped to the solver's own options (feasibility and gap).
    scale : float
        Magnitude of the variables, where it is below 1: solvers whose tolerance is in units of the
        variables get ``tol * scale``.
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
        If a solver is unknown, not installed, or cannot solve this class of problem; the
        message says which can.
    SolverError
        If no solver has an answer (infeasible, unbounded, failed), with name and status.

    Warns
    -----
    InaccurateSolutionWarning
        If the answer is of a solver that stopped before its tolerance.
    """
    names = list(solver) if isinstance(solver, list | tuple) else [solver]
    if not names:
        raise UnsupportedSolverError("solver must name at least one solver, got an empty sequence.")
    rows = [find_solver(name, program) for name in names]
    failures: list[SolverError] = []
    for row in rows:
        units = tol if row.scale_free else tol * min(1.0, scale)
        try:
            run = row.run(program, tolerance_options(row, units, options))
            _check_answer(row.name, program, run)
        except SolverError as failure:
            failures.append(failure)
            continue
        if run.status == cp.OPTIMAL or row is rows[-1]:
            return _answer(row.name, program, run, certify)
        failures.append(SolverError(f"{row.name}: {run.status}", row.name, run.status))
    raise failures[0] if len(failures) == 1 else _combined(failures)


def _answer(solver: str, program: Program, run: Run, certify: bool) -> Solution:
    if run.status != cp.OPTIMAL:
        warnings.warn(
            f"{solver} stopped before its tolerance on {program.name}: status {run.status!r}; "
            "more iterations, a looser tol or another solver may do.",
            InaccurateSolutionWarning,
            stacklevel=3,
        )
    return Solution(
        solver=solver,
        status=run.status,
        value=float(program.problem.objective.value),
        variables={k: np.array(v.value, dtype=float) for k, v in program.variables.items()},
        duals=_duals(program),
        certificate=certify_program(program) if certify else None,
        build_seconds=run.build_seconds,
        solve_seconds=run.solve_seconds,
        iterations=run.iterations,
        gap=run.gap,
    )


def _check_answer(solver: str, program: Program, run: Run) -> None:
    values = [variable.value for variable in program.variables.values()]
    if run.status not in USABLE or any(value is None for value in values):
        advice = _ADVICE.get(run.status, "a looser tol or another solver may do")
        raise SolverError(
            f"{solver} has no answer to {program.name}: status {run.status!r}; {advice}.",
            solver,
            run.status,
        )
    if not all(np.isfinite(np.asarray(value, dtype=float)).all() for value in values):
        raise SolverError(
            f"{solver} answered {program.name} with values that are not finite (status "
            f"{run.status!r}); another solver may do.",
            solver,
            run.status,
        )


def _combined(failures: list[SolverError]) -> SolverError:
    told = "; ".join(str(failure) for failure in failures)
    return SolverError(
        f"no solver of several has an answer: {told}", failures[-1].solver, failures[-1].status
    )


def _duals(program: Program) -> dict[str, Any]:
    if program.problem_class.has_integers:
        return {}
    duals = {name: constraint.dual_value for name, constraint in program.constraints.items()}
    return {
        name: [np.array(part) for part in dual] if isinstance(dual, list) else np.array(dual)
        for name, dual in duals.items()
    }
