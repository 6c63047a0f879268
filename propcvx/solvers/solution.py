"""What a solver answered, and what we recomputed of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    r"""Optimality of a primal and a dual point, recomputed from the problem itself.

    For :math:`\min f(x)` subject to :math:`g(x) \le 0` and :math:`h(x) = 0` with Lagrangian
    :math:`\mathcal{L} = f + \lambda^\top g + \nu^\top h` (a maximisation is negated first).
    All are absolute, in the units of the problem.  Violations of cones are Euclidean distances from
    the cone and its dual cone; attributes of variables (``nonneg``, ``PSD``, bounds, ...) are
    constraints whose multipliers are taken from the gradient.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a constraint.
    dual_residual : float or None
        Largest of :math:`\|\nabla_x \mathcal{L}\|_\infty` and the violations of
        :math:`\lambda \ge 0`; None for programs with integers, which have no duals.
    duality_gap : float or None
        :math:`|f(x) - \mathcal{L}(x, \lambda, \nu)|`, the complementarity error, which is the
        duality gap up to the dual residual; None for programs with integers.
    """

    primal_residual: float
    dual_residual: float | None
    duality_gap: float | None


@dataclass(frozen=True)
class Solution:
    r"""Answer to one program.

    Attributes
    ----------
    solver : str
        The solver that answered.
    status : str
        In CVXPY's words: "optimal", or "optimal_inaccurate" and "user_limit" where it is usable
        but its tolerance was not reached.
    value : float
        Objective value of ``variables``, evaluated by us.
    variables, duals : mappings from name to array
        The primal and dual values; signs are in the program's docstring.
    certificate : Certificate or None
        Residuals and gap; None where ``certify=False`` was asked.
    gap : float or None
        Relative duality gap between feasible points, which ``tol`` was held against; None for
        programs whose structure does not tell how to make an answer feasible.
    build_seconds, solve_seconds : float
        Wall time to bring the program into the solver's form, and in the solver.
    iterations : int or None
        Iterations, where the solver tells.
    warm : object
        Where the solver ended, for ``solve(..., warm=...)`` on the same program.  It is not
        pickled.
    """

    solver: str
    status: str
    value: float
    variables: Mapping[str, Array]
    duals: Mapping[str, Any]
    certificate: Certificate | None
    gap: float | None
    build_seconds: float
    solve_seconds: float
    iterations: int | None = None
    warm: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "warm": None}
