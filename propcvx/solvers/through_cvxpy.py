"""Solving a program with any solver that CVXPY reaches."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import cvxpy as cp

from propcvx.errors import SolverError
from propcvx.programs import Program
from propcvx.solvers.answer import Answer
from propcvx.solvers.compiled import problem_data


def run_cvxpy(program: Program, options: dict[str, Any], warm: Any, *, cvxpy_name: str) -> Answer:
    """Compile the problem (once; later calls only fill in parameters) and run the solver.

    CVXPY keeps a solver's state in the problem, so what a later call begins from is the problem:
    any other ``warm`` is a cold start.
    """
    problem, start = program.problem, perf_counter()
    try:
        data, chain, inverse_data = problem_data(program, cvxpy_name, options)
        built = perf_counter()
        raw = chain.solve_via_data(
            problem,
            data,
            warm_start=warm is problem,
            verbose=False,
            solver_opts=dict(options),
        )
        solved = perf_counter()
        with warnings.catch_warnings():  # our own warning says more
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            problem.unpack_results(raw, chain, inverse_data)
    except Exception as error:  # whatever a solver's own binding raises
        raise SolverError(
            f"{cvxpy_name.lower()} failed on {program.name}: {type(error).__name__}: {error}",
            cvxpy_name.lower(),
            cp.settings.SOLVER_ERROR,
        ) from error
    statistics = problem.solver_stats
    return Answer(
        status=problem.status,
        variables={name: v.value for name, v in program.variables.items()},
        duals={} if problem.is_mixed_integer() else _duals(program),
        build_seconds=built - start,
        solve_seconds=solved - built,
        iterations=None if statistics is None else statistics.num_iters,
        warm=problem,
    )


def run_cold(program: Program, options: dict[str, Any], warm: Any, *, cvxpy_name: str) -> Answer:
    """As :func:`run_cvxpy`, for solvers whose warm start in CVXPY does not work."""
    return run_cvxpy(program, options, None, cvxpy_name=cvxpy_name)


def run_scip(program: Program, options: dict[str, Any], warm: Any) -> Answer:
    """Run SCIP; where it stops at the gap it was asked for, CVXPY calls that inaccurate."""
    answer = run_cvxpy(program, options, warm, cvxpy_name="SCIP")
    extra = program.problem.solver_stats.extra_stats or {}
    if extra.get("scip_status") != "gaplimit":
        return answer
    return Answer(**{**vars(answer), "status": cp.OPTIMAL})


def _duals(program: Program) -> dict[str, Any]:
    return {name: constraint.dual_value for name, constraint in program.constraints.items()}
