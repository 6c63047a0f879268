"""Solving a program with any solver that CVXPY reaches."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import SolverError
from propcvx.programs import Program
from propcvx.solvers.compiled import problem_data

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """How a solver's run went; the values it found are left in the program.

    ``gap`` is the duality gap and ``value`` the objective, where the solver certifies its answers
    itself; ``weights`` and ``scores`` are as in :class:`propcvx.solvers.Solution`.
    """

    status: str
    build_seconds: float
    solve_seconds: float
    iterations: int | None = None
    gap: float | None = None
    value: float | None = None
    weights: Array | None = None
    scores: Array | None = None


def leave_values(
    program: Program, variables: Mapping[str, Array | None], duals: Mapping[str, Array | None]
) -> None:
    """Leave values and duals in a program as CVXPY does; None takes out those of earlier calls."""
    for name, value in variables.items():
        program.variables[name].save_value(value)
    for name, dual in duals.items():
        program.constraints[name].dual_variables[0].save_value(dual)


def run_cvxpy(
    program: Program, options: dict[str, Any], *, cvxpy_name: str, warm_start: bool
) -> Run:
    """Compile the problem (once; later calls only fill in parameters) and run the solver."""
    problem, start = program.problem, perf_counter()
    try:
        data, chain, inverse_data = problem_data(problem, cvxpy_name, options)
        built = perf_counter()
        raw = chain.solve_via_data(
            problem, data, warm_start=warm_start, verbose=False, solver_opts=dict(options)
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
    iterations = None if statistics is None else statistics.num_iters
    return Run(problem.status, built - start, solved - built, iterations)
