"""The function that solves a program: call a solver, and check and measure its solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, cast

import cvxpy as cp
import numpy as np

from propcvx.checks import check_number, check_seconds
from propcvx.errors import (
    InaccurateSolutionWarning,
    InputError,
    ResidualsError,
    SolverError,
    UncheckedResidualsWarning,
    UnsupportedSolverError,
    warn,
)
from propcvx.programs import Program
from propcvx.solvers.residuals import compute_residuals
from propcvx.solvers.solver import ADVICE, Solution, Solver
from propcvx.solvers.table import SOLVERS, choose_solvers, find_solver
from propcvx.solvers.through_cvxpy import convert_error

USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)
"""Statuses with values that can be used; all but the first come with a warning."""

TIGHTER_FACTORS = (1e-2, 1e-4)
"""Fractions of ``tol`` that a solver is called with in turn, until its checked gap is ``tol``."""

MIN_PROGRESS = 0.5
"""Ratio of successive gaps below which a solver is called again with a smaller tolerance."""

LARGE_GAP = (100.0, 0.01)
"""Number of tolerances, and number, above both of which the gap of a solution is an error."""

MIN_SECONDS = 1e-3
"""Seconds for a solver if the time limit is reached before the first call."""

_ADVICE = {
    cp.INFEASIBLE: "the constraints contradict each other, or the solver errs: try another solver",
    cp.UNBOUNDED: "the objective is unbounded, or the solver errs: try another solver",
    cp.SOLVER_ERROR: "try another solver",
}

SolverName = str | Solver
SolverNames = SolverName | Sequence[SolverName | tuple[SolverName, Mapping[str, Any]]]
"""A solver, by name or as an object; or several to try in turn, each alone or with options."""


@dataclass(frozen=True)
class Solve:
    """Settings of a solver, called as ``solve(program)``; every iterative method receives one.

    Attributes
    ----------
    solver, tol, residuals, warn
        As in :func:`solve`, but by default without residuals and without a warning.
    options : mapping
        Options of the solver, passed on unchanged.
    time_limit : float
        Limit in seconds of each call, by the solver's own option.  Unlike the argument of
        :func:`solve`, it is ignored by solvers without such an option.  Of this limit and the limit
        of a call, the smaller one counts.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.solvers import Solve
    >>> from propcvx.programs import svm_dual, svm_dual_parameters
    >>> program = svm_dual(np.array([[-1.0], [2.0]]))
    >>> program = program.set(**svm_dual_parameters(np.array([-1.0, 1.0]), C=1.0))
    >>> Solve("clarabel", tol=1e-6)(program).status
    'optimal'
    """

    solver: SolverNames = "auto"
    tol: float = 1e-8
    options: Mapping[str, Any] = field(default_factory=dict)
    residuals: bool = False
    warn: bool = False
    time_limit: float = np.inf

    def __post_init__(self) -> None:
        check_number("tol", self.tol, low=0.0)
        check_seconds("time_limit", self.time_limit)

    def __call__(
        self, program: Program, *, warm_start: Any = None, time_limit: float = np.inf
    ) -> Solution:
        """Solve a program, see :func:`solve`."""
        start, allowed = perf_counter(), check_seconds("time_limit", time_limit)
        check_parameters(program)
        failures: list[SolverError] = []
        usable: list[Solution] = []
        solvers = _solvers_of(self.solver, program, limited=allowed < np.inf)
        for solver, _ in solvers if allowed < np.inf else ():
            solver.options(self.tol, {}, allowed)  # which refuses a limit that it does not know
        for solver, options in solvers:
            options = {**self.options, **options}
            limit = min(allowed, self.time_limit if solver.time_limit else np.inf)
            left = limit - (perf_counter() - start)
            if left <= 0.0 and (failures or usable):
                continue
            try:
                left = max(left, MIN_SECONDS)
                solution = _call_solver(solver, program, self.tol, options, left, warm_start)
            except SolverError as failure:
                failures.append(failure)
                continue
            usable.append(_with_residuals(program, solution) if self.residuals else solution)
            if usable[-1].status == cp.OPTIMAL:
                break
        if not usable:
            raise _join_failures(failures)
        best = min(usable, key=_rank)
        if best.status != cp.OPTIMAL and self.warn:
            _warn_inexact(program, best)
        store_values(program, best)
        variables = {key: np.array(part, dtype=float) for key, part in best.variables.items()}
        duals = {key: _copy(dual) for key, dual in best.duals.items()}
        return replace(best, variables=variables, duals=duals)


def solve(
    program: Program | cp.Problem,
    solver: SolverNames = "auto",
    *,
    tol: float = 1e-8,
    residuals: bool = True,
    warm_start: Any = None,
    warn: bool = True,
    time_limit: float = np.inf,
    **options: Any,
) -> Solution:
    """Solve a program, and measure the error of the solution.

    Parameters
    ----------
    program : Program or cvxpy.Problem
        The program, its parameters set.
    solver : str, Solver or sequence, default="auto"
        A name in ``SOLVERS`` or of another solver that CVXPY has installed, or a solver of your
        own; or several of them or pairs ``(solver, options)``, of which the next is called if one
        fails or stops before its tolerance.  ``"auto"`` is the list of
        :func:`propcvx.solvers.choose_solvers`.  There is no other fallback; ``Solution.solver``
        names the solver that answered.
    tol : float, default=1e-8
        Tolerance.  For programs whose structure can bound the error of a solution
        (:meth:`propcvx.programs.Structure.gap`), the relative duality gap: it is computed from the
        solution, and if it is too large, the solver is called again with a smaller tolerance.  For
        all other programs, the solver's own tolerances.
    residuals : bool, default=True
        Whether to recompute residuals and the duality gap.  Loops do not.
    warm_start : object
        ``Solution.warm_start`` of an earlier solution of the same program.  A solver that cannot
        use it makes a cold start.
    warn : bool, default=True
        Whether to warn of a solution that is not within the tolerance; its status shows it, too.
    time_limit : float, default=inf
        Limit in seconds.  Each solver gets what is left of it, by its own option; if it is called
        again with a smaller tolerance, it gets the same again, so the total can exceed the limit.
        ``"auto"`` then calls only solvers that have such an option, if there is one.
    **options
        Options of the solver, passed on unchanged, which override the options for ``tol``.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        If a parameter of the program has no value, or a solver has no option of that name or for
        a time limit.
    UnsupportedSolverError
        If a solver is unknown, not installed, or cannot solve this program; the message names
        solvers that can.
    SolverError
        If no solver finds a solution, with name and status: infeasible, unbounded, failed, or a gap
        above both 100 times ``tol`` and 1%, unless it stopped at a limit that the caller set.

    Warns
    -----
    InaccurateSolutionWarning
        If the best solution is of a solver that stopped before its tolerance, or has relative
        residuals above 1% where no gap is known.
    UncheckedResidualsWarning
        If residuals do not cover a part of the problem: cones that CVXPY approximates.

    Notes
    -----
    Do not change a problem in place: CVXPY continues to solve the form that it has compiled.
    Residuals use the current problem, and show the difference.

    Examples
    --------
    >>> from propcvx.solvers import solve
    >>> import numpy as np
    >>> from propcvx.programs import svm_primal
    >>> svm = svm_primal(np.array([[1.0], [-2.0]])).set(y=np.array([1.0, -1.0]), C=1.0)
    >>> solution = solve(svm, "clarabel", tol=1e-8)
    >>> print(f"{solution.value:.3f} {solution.variables['w'][0]:.3f} {solution.status}")
    0.222 0.667 optimal
    """
    once = Solve(solver, tol, options, residuals, warn)
    return once(Program.from_problem(program), warm_start=warm_start, time_limit=time_limit)


def check_parameters(program: Program) -> None:
    """Raise if a parameter of a program has no value."""
    unset = [name for name, parameter in program.parameters.items() if parameter.value is None]
    if unset:
        raise InputError(
            f"{program.name} has parameters without a value, {unset}: give them one with "
            "program.set(name=value)."
        )


def _join_failures(failures: Sequence[SolverError]) -> SolverError:
    if len(failures) == 1:
        return failures[0]
    message = f"none of the solvers found a solution: {'; '.join(map(str, failures))}"
    return SolverError(message, failures[-1].solver, failures[-1].status)


def _warn_inexact(program: Program, solution: Solution) -> None:
    """Warn of a solution that is not within the tolerance."""
    accuracy = "" if solution.residuals is None else f", {solution.residuals}"
    if solution.gap is not None:
        accuracy = f", relative duality gap {solution.gap:.2g}"
    warn(
        f"{solution.solver} stopped before its tolerance on {program.name}: status "
        f"{solution.status!r}{accuracy}; {ADVICE}.",
        InaccurateSolutionWarning,
    )


def store_values(program: Program, solution: Solution) -> None:
    """Store a solution in the variables and constraints of the problem, as CVXPY does."""
    for name, primal in program.variables.items():
        primal.save_value(solution.variables[name])
    for name, constraint in program.constraints.items():
        dual = solution.duals.get(name)
        parts = dual if isinstance(dual, list) else [dual] * len(constraint.dual_variables)
        for variable, part in zip(constraint.dual_variables, parts, strict=True):
            variable.save_value(part)


def _solvers_of(
    solver: SolverNames, program: Program, *, limited: bool
) -> list[tuple[Solver, Mapping[str, Any]]]:
    """Return the solvers to try in turn, each with its own options.

    If the time is limited, ``"auto"`` means solvers that have an option for it, if there is one.
    """
    names = list(solver) if isinstance(solver, list | tuple) else [solver]
    if not names:
        raise UnsupportedSolverError("solver must name at least one solver; got an empty sequence.")
    if names == ["auto"]:
        chosen = choose_solvers(program)
        names = [name for name in chosen if SOLVERS[name].time_limit or not limited] or [*chosen]
    pairs = [name if isinstance(name, tuple) else (name, {}) for name in names]
    if any(len(pair) != 2 or isinstance(pair[0], Mapping) for pair in pairs):
        raise UnsupportedSolverError(
            f"solver must be a name, or a list of names and pairs (name, options); got {solver!r}."
        )
    return [(find_solver(name, program), options) for name, options in pairs]


def _call_solver(
    solver: Solver,
    program: Program,
    tol: float,
    options: Mapping[str, Any],
    seconds: float,
    warm: Any,
) -> Solution:
    """Call a solver again while its gap is above ``tol`` and falls; return the best solution."""
    structure = program.structure if solver.classes else None
    units = 1.0 if structure is None else min(1.0, structure.magnitude(program.values))
    best: Any = None
    before = None
    for fraction in (1.0, *TIGHTER_FACTORS):
        settings = solver.options(fraction * tol * units, options, seconds)
        if settings == before:
            break
        try:
            start = perf_counter()
            solution = solver.run(program, settings, warm)
            solution = _measure(solver.name, program, solution, tol, perf_counter() - start)
        except Exception as error:  # whatever a solver raises
            failure = convert_error(solver.name, program, error, settings)
            if best is not None and isinstance(failure, SolverError):
                break
            if failure is error:
                raise
            raise failure from error
        is_stalled = best is not None and _rank(solution) > (True, MIN_PROGRESS * best.gap)
        best = solution if best is None else min(best, solution, key=_rank)
        if is_stalled or best.status != cp.OPTIMAL_INACCURATE or best.gap is None:
            break
        before, warm = settings, best.warm_start
    limited = bool(options) or seconds < np.inf
    check_gap(solver.name, program.name, best, tol, limited)
    return cast(Solution, best)


def check_gap(solver: str, program: str, solution: Solution, tol: float, limited: bool) -> None:
    """Check that the gap of a solution, if it is known, is not far above the tolerance.

    A solution at a limit passes if the caller may have set the limit.

    Raises
    ------
    SolverError
        Otherwise; the message names the gap.
    """
    times, least = LARGE_GAP
    stopped = limited and solution.status == cp.USER_LIMIT
    if solution.gap is not None and solution.gap > max(times * tol, least) and not stopped:
        claimed = solution.status == cp.OPTIMAL
        advice = "use a tighter tol or another solver" if claimed else ADVICE
        raise SolverError(
            f"{solver} answered {program} with a relative duality gap of {solution.gap:.3g}, far "
            f"above the tolerance of {tol:g} (status {solution.status!r}); {advice}.",
            solver,
            solution.status,
        )


def _measure(
    solver: str, program: Program, solution: Solution, tol: float, seconds: float
) -> Solution:
    """Add the value to a solution, and set its status to optimal if its gap is at most ``tol``."""
    _check_solution(solver, program, solution)
    solution = solution.with_time(seconds)
    gap, structure = solution.gap, program.structure
    if gap is None and structure is not None:
        gap = structure.gap(program.values, solution.variables, solution.duals)
    store_values(program, solution)
    value, status = float(program.problem.objective.value), solution.status
    if gap is not None:  # else the value may be infinite, as an entropy is outside of its domain
        if not np.isfinite([gap, value]).all():
            raise _not_finite(solver, program, solution)
        missed = cp.OPTIMAL_INACCURATE if status == cp.OPTIMAL else status
        status = cp.OPTIMAL if gap <= tol else missed
    return replace(solution, solver=solver, tol=tol, value=value, gap=gap, status=status)


def _check_solution(solver: str, program: Program, solution: Any) -> None:
    if not isinstance(solution, Solution):
        returned = f"a {type(solution).__name__}, not a propcvx.solvers.Solution"
        raise SolverError(f"{solver} returned {returned}.", solver, cp.SOLVER_ERROR)
    values: list[Any] = [solution.variables.get(name) for name in program.variables]
    if solution.status not in USABLE or any(value is None for value in values):
        advice = _ADVICE.get(solution.status, "try a looser tol or another solver")
        message = (
            f"{solver} found no solution of {program.name}: status {solution.status!r}; {advice}."
        )
        raise SolverError(message, solver, solution.status)
    for value, (name, variable) in zip(values, program.variables.items(), strict=True):
        if np.shape(value) != variable.shape:
            shapes = f"shape {np.shape(value)}, not {variable.shape}"
            message = f"{solver} answered {program.name} with {name} of {shapes}."
            raise SolverError(message, solver, solution.status)
    if not all(np.isfinite(np.sum(np.asarray(value))) for value in values):
        raise _not_finite(solver, program, solution)


def _not_finite(solver: str, program: Program, solution: Solution) -> SolverError:
    values = f"values that are not finite (status {solution.status!r})"
    message = f"{solver} answered {program.name} with {values}; try another solver."
    return SolverError(message, solver, solution.status)


def _rank(solution: Solution) -> tuple[bool, float]:
    """Return the sort key: optimal solutions first, then by the smallest gap."""
    return solution.status != cp.OPTIMAL, np.inf if solution.gap is None else solution.gap


def _with_residuals(program: Program, solution: Solution) -> Solution:
    """Add the residuals to a solution, whose status is not optimal if they are large."""
    store_values(program, solution)
    try:
        residuals = compute_residuals(program.problem)
    except ResidualsError as refusal:
        warn(
            f"{program.name} was solved, but its residuals were not checked: {refusal}",
            UncheckedResidualsWarning,
        )
        return solution
    far = solution.gap is None and residuals.relative > LARGE_GAP[1]
    status = cp.OPTIMAL_INACCURATE if far and solution.status == cp.OPTIMAL else solution.status
    return replace(solution, residuals=residuals, status=status)


def _copy(dual: Any) -> Any:
    """Copy a dual, which is a list for a cone of several arguments."""
    return [np.array(part) for part in dual] if isinstance(dual, list) else np.array(dual)
