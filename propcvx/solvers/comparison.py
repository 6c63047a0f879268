"""One program on several solvers, each run in a worker process of joblib."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from itertools import product
from multiprocessing import TimeoutError as LimitError
from time import perf_counter
from typing import Any

import cvxpy as cp
from joblib import Parallel, delayed, parallel_config

from propcvx.checks import check_number
from propcvx.errors import PropCVXError, ResidualsError, UnsupportedSolverError
from propcvx.programs import Program
from propcvx.solvers.interface import USABLE, check_parameters, store_values
from propcvx.solvers.residuals import compute_residuals
from propcvx.solvers.solver import Solution, Solver
from propcvx.solvers.table import find_solver, list_solvers, named_solver

Row = dict[str, Any]

RESIDUALS = ("primal_residual", "dual_residual", "duality_gap")
TIMES = ("compile_ms", "solve_ms", "again_ms")
MEASURED = ("status", "reason", "objective", "difference", *RESIDUALS, "relative_gap", *TIMES)
REPEATS = 3
"""Number of times that a program is solved again; the fastest time counts."""

OWN_TOL = 1e-8
"""Tolerance of a solver whose interface has no default of its own."""

START_SECONDS = 60.0
"""Seconds in which a worker begins, beyond the time limit of its task."""


def compare_solvers(
    program: Program | cp.Problem,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[float | None] = (None, 1e-3, 1e-9),
    *,
    time_limit: float = 60.0,
) -> list[Row]:
    """Solve a program with several solvers and tolerances, each run in a worker process.

    Parameters
    ----------
    program : Program or cvxpy.Problem
        The program, with its parameters set.
    solvers : sequence of str or Solver, optional
        By default, all that are installed and can solve the program.
    tols : sequence of float or None, default=(None, 1e-3, 1e-9)
        Tolerances, converted to the options of each solver; None is the solver's default.
    time_limit : float, default=60.0
        Seconds after which a run is ended.

    Returns
    -------
    list of dict
        A row for each run, ready for ``pandas.DataFrame``; None where there is no value.

        - ``program``, ``solver``, ``version``, ``tol``;
        - ``status``, ``reason``: CVXPY's status, "refused", "failed", "out of time" or
          "crashed", and why;
        - ``objective``, ``difference``: the objective value, and its relative difference from the
          one with the smallest residuals;
        - ``primal_residual``, ``dual_residual``, ``duality_gap``: see
          :class:`propcvx.solvers.Residuals`;
        - ``relative_gap``: as ``Solution.gap``, None if it is not known;
        - ``compile_ms``, ``solve_ms``, ``again_ms``: milliseconds to compile, to solve, and the
          least of three when it is solved again.

    Examples
    --------
    >>> from propcvx.solvers import compare_solvers
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, name="x")
    >>> nearest = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) == 1])
    >>> rows = compare_solvers(nearest, ["clarabel", "osqp"], [1e-9])
    >>> [(row["solver"], row["status"], round(row["objective"], 6)) for row in rows]
    [('clarabel', 'optimal', 0.5), ('osqp', 'optimal', 0.5)]
    """
    check_number("time_limit", time_limit, low=0.0)
    for tol in tols:
        check_number("tols", 1.0 if tol is None else tol, low=0.0)
    program, rows = Program.from_problem(program), list[Row]()
    check_parameters(program)
    names = list_solvers(program) if solvers is None else solvers
    for solver, tol in product([named_solver(n) or find_solver(n, program) for n in names], tols):
        row = {"program": program.name, "solver": solver.name, "version": solver.version}
        rows.append({**row, "tol": tol, **dict.fromkeys(MEASURED)})
        try:
            find_solver(solver, program)
            rows[-1] |= in_worker(_measure, program, solver, tol, seconds=time_limit)
        except UnsupportedSolverError as error:
            rows[-1] |= {"status": "refused", "reason": str(error)}
    measured = [row for row in rows if row["duality_gap"] is not None]
    best = min(measured, key=lambda row: max(row[name] for name in RESIDUALS), default=None)
    for row in rows:
        if best is not None and row["objective"] is not None:
            size = max(abs(best["objective"]), 1e-12)
            row["difference"] = (row["objective"] - best["objective"]) / size
    return rows


def in_worker(task: Callable[..., Row], *arguments: Any, seconds: float) -> Row:
    """Compute the columns of a row in a worker process; after a failure, return its reason."""
    try:
        with parallel_config("loky", inner_max_num_threads=1):
            (row,) = Parallel(n_jobs=2, timeout=seconds + START_SECONDS)(
                [delayed(task)(*arguments)]
            )
    except LimitError:
        return {"status": "out of time"}
    except BrokenExecutor as error:
        return {"status": "crashed", "reason": f"{type(error).__name__}: {error!s:.200}"}
    return dict(row)


def _measure(program: Program, solver: Solver, tol: float | None) -> Row:
    """Solve and measure in this process."""
    own = tol is None and solver.classes
    options, row = {} if own else solver.options_of(tol or OWN_TOL), Row()

    def solve_timed() -> Solution:
        start = perf_counter()
        return solver.run(program, dict(options), None).with_time(perf_counter() - start)

    try:
        with warnings.catch_warnings(action="ignore"):
            solution = solve_timed()
            compiling, solving = 1e3 * solution.build_seconds, 1e3 * solution.solve_seconds
            row |= {"status": solution.status, "compile_ms": compiling, "solve_ms": solving}
            if solution.status not in USABLE or any(v is None for v in solution.variables.values()):
                return row | {"reason": "the solver has no solution"}
            store_values(program, solution)
            row["objective"] = float(program.problem.objective.value)
            if program.structure is not None:
                parts = program.values, solution.variables, solution.duals
                row["relative_gap"] = program.structure.gap(*parts)
            row["again_ms"] = 1e3 * min(solve_timed().solve_seconds for _ in range(REPEATS))
            residuals = compute_residuals(program.problem)
            return row | {name: getattr(residuals, name) for name in RESIDUALS}
    except ResidualsError as error:
        return row | {"reason": f"not checked: {error}"}
    except PropCVXError as error:
        return row | {"status": "failed", "reason": str(error)}
