"""The one call that solves: ask a solver, check its answer, say how good it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import (
    InaccurateSolutionWarning,
    InputError,
    SolverError,
    UnsupportedSolverError,
    warn,
)
from propcvx.programs import Program
from propcvx.solvers.certificate import certify as certify_program
from propcvx.solvers.solution import Solution
from propcvx.solvers.table import Solver, find_solver
from propcvx.solvers.through_cvxpy import Run
from propcvx.solvers.warm import end_of, leave_end

Array = NDArray[np.float64]

USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)
"""Statuses with values that can be used; all but the first come with a warning."""

_ADVICE = {
    cp.INFEASIBLE: "the constraints contradict each other, or the solver errs: another one may "
    "tell",
    cp.UNBOUNDED: "the objective is unbounded, or the solver errs: another one may tell",
    cp.SOLVER_ERROR: "another solver may do",
}


LAST_END = object()
"""``warm`` where a call begins from wherever the last one on the same program ended."""

SolverNames = str | Sequence[str | tuple[str, Mapping[str, Any]]]
"""A solver's name, or several to try in turn, each alone or with options of its own."""


def solve(
    program: Program,
    solver: SolverNames,
    *,
    tol: float = 1e-8,
    scale: float = 1.0,
    certify: bool = True,
    warm: Any = LAST_END,
    **options: Any,
) -> Solution:
    """Solve a program and say how good the answer is.

    Parameters
    ----------
    program : Program
        The program, its parameters set.
    solver : str or sequence
        A name in ``SOLVERS``; or several names or pairs ``(name, options)``, of which the next is
        asked where one fails or stops before its tolerance.  Nothing else is ever fallen back to;
        ``Solution.solver`` is who answered.
    tol : float
        Tolerance, mapped to the solver's own options (feasibility and gap).
    scale : float
        Magnitude of the variables, where it is below 1: solvers whose tolerance is in units of the
        variables get ``tol * scale``.
    certify : bool
        Whether to recompute residuals and the duality gap.  Loops that certify their end result
        go without.
    warm : object
        Where a specialised solver begins: by default where the last call on this program ended;
        ``Solution.warm`` of an answer, or None for nowhere.  What CVXPY keeps for its solvers is
        not touched.
    **options
        Handed to the solver as they are, over those for ``tol``.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        If a parameter of the program has no value, or a solver has no option of that name.
    UnsupportedSolverError
        If a solver is unknown, not installed, or cannot solve this class of problem; the
        message says which can.
    SolverError
        If no solver has an answer (infeasible, unbounded, failed), with name and status.

    Warns
    -----
    InaccurateSolutionWarning
        If the best there is, the first usable answer, is of a solver that stopped before its
        tolerance.
    """
    _check_parameters(program)
    if warm is not LAST_END:
        leave_end(program, warm)
    failures: list[SolverError] = []
    usable: Solution | None = None
    for row, own in _rows(solver, program):
        units = tol if row.scale_free else tol * min(1.0, scale)
        try:
            run = row.run(program, row.options(units, {**options, **own}))
            _check_answer(row.name, program, run)
        except SolverError as failure:
            failures.append(failure)
            continue
        answer = _answer(row, program, run, certify)
        if answer.status == cp.OPTIMAL:
            return answer
        usable = usable or answer
    if usable is None:
        raise failures[0] if len(failures) == 1 else _combined(failures)
    warn(
        f"{usable.solver} stopped before its tolerance on {program.name}: status "
        f"{usable.status!r}; more iterations, a looser tol or another solver may do.",
        InaccurateSolutionWarning,
    )
    return usable


def _rows(solver: SolverNames, program: Program) -> list[tuple[Solver, Mapping[str, Any]]]:
    """Rows of the solvers asked for, with the options of each."""
    asked = list(solver) if isinstance(solver, list | tuple) else [solver]
    if not asked:
        raise UnsupportedSolverError("solver must name at least one solver, got an empty sequence.")
    pairs = [part if isinstance(part, tuple) else (part, {}) for part in asked]
    return [(find_solver(name, program), own) for name, own in pairs]


def _check_parameters(program: Program) -> None:
    unset = [name for name, parameter in program.parameters.items() if parameter.value is None]
    if unset:
        raise InputError(
            f"{program.name} has parameters without a value, {unset}: give them one with "
            "program.set(name=value)."
        )


def _answer(row: Solver, program: Program, run: Run, certify: bool) -> Solution:
    """The answer; what CVXPY's solvers leave is copied, own solvers leave new arrays each time."""
    array = np.array if row.classes else np.asarray
    return Solution(
        solver=row.name,
        status=run.status,
        value=float(program.problem.objective.value if run.value is None else run.value),
        variables={k: array(v.value, dtype=float) for k, v in program.variables.items()},
        duals=_duals(program, array),
        certificate=certify_program(program) if certify else None,
        build_seconds=run.build_seconds,
        solve_seconds=run.solve_seconds,
        iterations=run.iterations,
        gap=run.gap,
        weights=run.weights,
        scores=run.scores,
        warm=end_of(program),
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
    if not all(np.isfinite(np.sum(np.asarray(value))) for value in values):
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


def _duals(program: Program, array: Callable[[Any], Array]) -> dict[str, Any]:
    if program.problem_class.has_integers:
        return {}
    duals = {name: constraint.dual_value for name, constraint in program.constraints.items()}
    return {
        name: [array(part) for part in dual] if isinstance(dual, list) else array(dual)
        for name, dual in duals.items()
    }
