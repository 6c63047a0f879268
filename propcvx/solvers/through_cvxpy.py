"""Solving a program with any solver that CVXPY reaches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import LicenceError, SolverError
from propcvx.programs import Program
from propcvx.solvers.solution import Answer

Array = NDArray[np.float64]

LICENCE = re.compile(r"licen[cs]e|size limits|too many rows and columns", re.IGNORECASE)
"""What commercial solvers say where a licence is missing, or does not reach for the size."""

BACKEND = "canon_backend"
"""The option that is CVXPY's and not the solver's: who brings a program into the solver's form."""

NEVER_WARM = ("PROXQP",)
"""Solvers whose warm start in CVXPY fails: it calls an update that the solver does not have."""

VECTORS = ("q", "b", "G")
"""Names of the linear term and the right sides of equations and inequalities in CVXPY's QP data."""


def run_cvxpy(program: Program, options: dict[str, Any], warm: Any, *, cvxpy_name: str) -> Answer:
    """Compile the problem (once; later calls only fill in parameters) and run the solver.

    CVXPY keeps a solver's state in the problem, so what a later call begins from is the problem:
    any other ``warm`` is a cold start.
    """
    own = {name: value for name, value in options.items() if name != BACKEND}
    problem, start, raw = program.problem, perf_counter(), None
    try:
        data, chain, inverse_data = problem_data(program, cvxpy_name, own, options.get(BACKEND))
        built = perf_counter()
        raw = chain.solve_via_data(
            problem,
            data,
            warm_start=warm is problem and cvxpy_name not in NEVER_WARM,
            verbose=False,
            solver_opts=own,
        )
        solved = perf_counter()
        with warnings.catch_warnings():  # our own warning says more
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            problem.unpack_results(raw, chain, inverse_data)
    except Exception as error:  # whatever a solver's own binding raises
        raise failure_of(cvxpy_name.lower(), program, _swallowed(raw) or error) from error
    duals = {name: constraint.dual_value for name, constraint in program.constraints.items()}
    statistics = problem.solver_stats
    return Answer(
        status=_status(problem),
        variables={name: variable.value for name, variable in program.variables.items()},
        duals={} if problem.is_mixed_integer() else duals,
        build_seconds=built - start,
        solve_seconds=solved - built,
        iterations=None if statistics is None else statistics.num_iters,
        warm=problem,
    )


def failure_of(name: str, program: Program, error: Exception) -> SolverError:
    """What a solver raised, under its name."""
    category = LicenceError if LICENCE.search(str(error)) else SolverError
    message = f"{name} failed on {program.name}: {type(error).__name__}: {error}"
    return category(message, name, cp.SOLVER_ERROR)


def _swallowed(raw: Any) -> Exception | None:
    """The error of a commercial solver that CVXPY's interface drops: its model is asked again."""
    model = raw.get("model") if isinstance(raw, dict) else None
    ask = getattr(model, "optimize", None) or getattr(model, "solve", None)
    try:
        return ask and ask()
    except Exception as error:  # whatever a solver's own binding raises
        return error


def _status(problem: cp.Problem) -> str:
    """CVXPY's status; where SCIP stops at the gap it was asked for, CVXPY calls that inaccurate."""
    extra = getattr(problem.solver_stats, "extra_stats", None)
    reached = isinstance(extra, dict) and extra.get("scip_status") == "gaplimit"
    return str(cp.OPTIMAL if reached else problem.status)


@dataclass(frozen=True)
class CompiledQP:
    """A QP in a solver's form whose vectors alone depend on the parameters, so only they change.

    CVXPY compiles once, too, but builds all matrices again for every new value of a parameter.

    Attributes
    ----------
    data, chain, inverse_data
        What ``get_problem_data`` gave for the parameters at the time of compiling.
    linear, right : sparse matrices
        Linear term, and right sides, for the vector of all parameters with a 1 at its end.
    """

    data: Mapping[str, Any]
    chain: Any
    inverse_data: Any
    linear: Any
    right: Any

    @classmethod
    def of(cls, data: Any, chain: Any, inverse_data: Any) -> CompiledQP | None:
        """The compiled form of what ``get_problem_data`` gave; None where matrices depend too."""
        if not isinstance(data, dict) or not {"param_prob", "P", *VECTORS} <= data.keys():
            return None
        form = data["param_prob"]
        affine, linear = form.A.tocsr(), form.q.tocsr()
        matrix, right = affine[: -form.constr_size], affine[-form.constr_size :]
        fixed = (matrix, form.P, linear[-1:])
        bounds = [getattr(form, name, None) for name in ("lb_tensor", "ub_tensor")]  # from 1.9 on
        if any(bound is not None for bound in bounds):
            return None
        if any(part[:, :-1].count_nonzero() for part in fixed):
            return None
        return cls(data, chain, inverse_data, linear[:-1], right)

    def filled(self) -> dict[str, Any]:
        """The data for the values that the parameters have now."""
        form, n_equations = self.data["param_prob"], len(self.data["b"])
        parameters = np.ones(form.total_param_size + 1)
        for key, parameter in form.id_to_param.items():
            first = form.param_id_to_col[key]
            parameters[first : first + parameter.size] = np.ravel(parameter.value, order="F")
        right = self.right @ parameters
        vectors = (self.linear @ parameters, -right[:n_equations], right[n_equations:])
        return {**self.data, **dict(zip(VECTORS, vectors, strict=True))}


def problem_data(
    program: Program, cvxpy_name: str, options: dict[str, Any], backend: str | None = None
) -> tuple[Any, Any, Any]:
    """As ``get_problem_data`` of its problem, faster from the second call on where that can be.

    Parameters
    ----------
    program : Program
        Its parameters set; it keeps what is compiled.
    cvxpy_name : str
        CVXPY's name of the solver.
    options : dict
        The solver's options.
    backend : str, optional
        CVXPY's ``canon_backend``.
    """
    key = cvxpy_name, backend
    compiled = program.compiled.get(key)
    if compiled is not None:
        return compiled.filled(), compiled.chain, compiled.inverse_data
    data, chain, inverse_data = program.problem.get_problem_data(
        cvxpy_name, canon_backend=backend, solver_opts=options
    )
    compiled = CompiledQP.of(data, chain, inverse_data)
    own = {parameter.id for parameter in program.problem.parameters()}
    if compiled is not None and own == compiled.data["param_prob"].id_to_param.keys():
        program.compiled.clear()
        program.compiled[key] = compiled
    return data, chain, inverse_data
