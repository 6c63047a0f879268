"""Solving a program with any solver that CVXPY reaches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.errors import InputError, LicenseError, PropCVXError, SolverError
from propcvx.programs import Program
from propcvx.solvers.solver import Solution

LICENSE_ERROR = re.compile(r"licen[cs]e|size limits|too many rows and columns", re.IGNORECASE)
"""Pattern of the errors of commercial solvers if a license is missing or too small."""

BACKEND = "canon_backend"
"""The option of CVXPY, not of the solver: the backend that compiles a program."""

NO_BOUND = {"PIQP": 1e30}
"""Size from which solvers treat bounds as infinite; PIQP also prints a warning."""

NEVER_WARM = ("PROXQP",)
"""Solvers whose warm start fails in CVXPY, which calls an update that the solver does not have."""


def run_cvxpy(program: Program, options: dict[str, Any], warm: Any, *, cvxpy_name: str) -> Solution:
    """Compile the problem (once; later calls only fill in parameters) and run the solver.

    CVXPY keeps a solver's state in the problem, so ``warm`` must be the problem; any other ``warm``
    is a cold start.
    """
    solver_options = {name: value for name, value in options.items() if name != BACKEND}
    verbose = solver_options.pop("verbose", False)
    problem, start, raw = program.problem, perf_counter(), None
    try:
        data, chain, inverse_data = problem.get_problem_data(
            cvxpy_name, canon_backend=options.get(BACKEND), solver_opts=solver_options
        )
        if cvxpy_name in NO_BOUND:
            largest = np.abs(np.append(data["b"], data["G"])).max(initial=0.0)
            if largest >= NO_BOUND[cvxpy_name]:
                raise ValueError(
                    f"the solver treats a bound of {largest:.3g} as infinite. Rescale the problem"
                )
        built = perf_counter()
        raw = chain.solve_via_data(
            problem,
            data,
            warm_start=warm is problem and cvxpy_name not in NEVER_WARM,
            verbose=verbose,
            solver_opts=solver_options,
        )
        if is_interrupted(raw):
            raise KeyboardInterrupt
        solved = perf_counter()
        with warnings.catch_warnings():  # our own warning says more
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            problem.unpack_results(raw, chain, inverse_data)
    except Exception as error:  # whatever a solver's own binding raises
        failed = cvxpy_name.lower(), program, _hidden_error(raw) or error, solver_options
        raise convert_error(*failed) from error
    duals = {name: constraint.dual_value for name, constraint in program.constraints.items()}
    statistics = problem.solver_stats
    return Solution(
        status=_status(problem),
        variables={name: variable.value for name, variable in program.variables.items()},
        duals={} if problem.is_mixed_integer() else duals,
        build_seconds=built - start,
        solve_seconds=solved - built,
        iterations=None if statistics is None else statistics.num_iters,
        warm_start=problem,
    )


def is_interrupted(raw: Any) -> bool:
    """Check whether Ctrl-C has ended a solver with its own handler: SCS, OSQP, ECOS or SCIP."""
    match raw:
        case {"info": {"status": "interrupted"} | {"exitFlag": -4}}:
            return True
        case {"scip_status": "userinterrupt"}:
            return True
    return str(getattr(getattr(raw, "info", None), "status", "")) == "interrupted"


def convert_error(
    name: str, program: Program, error: Exception, options: Iterable[str]
) -> PropCVXError:
    """Convert the error of a solver, adding its name; an ``InputError`` if it quotes an option."""
    if isinstance(error, PropCVXError):
        return error
    refused = [n for n in options if re.search(rf"['\"(]{re.escape(n)}['\",]", str(error))]
    if refused:
        return InputError(f"solver {name!r} rejects the options {refused}: {error}")
    category = LicenseError if LICENSE_ERROR.search(str(error)) else SolverError
    message = f"{name} failed on {program.name}: {type(error).__name__}: {error}"
    return category(message, name, cp.SOLVER_ERROR)


def _hidden_error(raw: Any) -> Exception | None:
    """Return the error of a commercial solver that CVXPY's interface drops, from its model."""
    model = raw.get("model") if isinstance(raw, dict) else None
    ask = getattr(model, "optimize", None) or getattr(model, "solve", None)
    try:
        return ask and ask()
    except Exception as error:  # whatever a solver's own binding raises
        return error


def _status(problem: cp.Problem) -> str:
    """Return CVXPY's status, with corrections of inaccurate ones: SCIP's gap and SCS's limit."""
    match getattr(problem.solver_stats, "extra_stats", None):
        case {"scip_status": "gaplimit"}:
            return str(cp.OPTIMAL)
        case {"info": {"status": str(status)}} if "reached" in status:
            return str(cp.USER_LIMIT)
    return str(problem.status)
