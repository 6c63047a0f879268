"""Compiled QPs solved again for new parameters: only the vectors that depend on them are renewed.

CVXPY's ``get_problem_data`` compiles once, but builds all matrices again for every new value of a
parameter.  Where the parameters of a QP are in its vectors alone, those are affine in them, by
sparse matrices that CVXPY has; one product each renews them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program

Array = NDArray[np.float64]

VECTORS = ("q", "b", "G")
"""Names of the linear term and the right sides of equations and inequalities in CVXPY's QP data."""


@dataclass(frozen=True)
class CompiledQP:
    """A QP in a solver's form, and how its vectors depend on the parameters.

    Attributes
    ----------
    data : mapping
        What CVXPY hands to the solver, for the parameters at the time of compiling.
    chain, inverse_data
        What CVXPY needs to solve it and to read the answer.
    linear, right : sparse matrices
        Linear term, and right sides, for the vector of all parameters with a 1 at its end.
    n_equations : int
        How many of the right sides are those of equations.
    """

    data: Mapping[str, Any]
    chain: Any
    inverse_data: Any
    linear: Any
    right: Any
    n_equations: int

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
        return cls(data, chain, inverse_data, linear[:-1], right, len(data["b"]))

    def filled(self) -> dict[str, Any]:
        """The data for the values that the parameters have now."""
        parameters = self._parameters()
        right, n = self.right @ parameters, self.n_equations
        vectors = (self.linear @ parameters, -right[:n], right[n:])
        return {**self.data, **dict(zip(VECTORS, vectors, strict=True))}

    def _parameters(self) -> Array:
        form = self.data["param_prob"]
        values = np.ones(form.total_param_size + 1)
        for key, parameter in form.id_to_param.items():
            first = form.param_id_to_col[key]
            values[first : first + parameter.size] = np.ravel(parameter.value, order="F")
        return values


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
