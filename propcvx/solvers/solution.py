"""What a solver answered, and what we recomputed of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cvxpy import OPTIMAL
from numpy.typing import NDArray

from propcvx.text import Readable

Array = NDArray[np.float64]

ADVICE = "more iterations, a looser tol or another solver may do"
"""What to try where a solver stopped before its tolerance."""


@dataclass(frozen=True)
class Certificate(Readable):
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

    def __str__(self) -> str:
        """The three of them, in the units of the problem."""
        shown = {
            "primal residual": self.primal_residual,
            "dual residual": self.dual_residual,
            "duality gap": self.duality_gap,
        }
        return ", ".join(
            f"{name} {value:.1e}" for name, value in shown.items() if value is not None
        )


@dataclass(frozen=True)
class Solution(Readable):
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

    Examples
    --------
    >>> from propcvx.programs import svm_dual, svm_dual_parameters
    >>> from propcvx.solvers import solve
    >>> program = svm_dual(np.array([[-1.0], [2.0]]))
    >>> print(solve(program.set(**svm_dual_parameters(np.array([-1.0, 1.0]), C=1.0))))
    optimal, by piqp: value 0.2222...; relative duality gap ...
    absolute, recomputed: primal residual ..., dual residual ..., duality gap ...
    variables: v (2)
    duals: lower (2), upper (2), balance
    ... iterations; ... s to build, ... s to solve
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

    def __str__(self) -> str:
        """How it ended, how good it is, and what it has; the names of arrays with their shapes."""
        gap = "" if self.gap is None else f"; relative duality gap {self.gap:.1e}"
        iterations = "" if self.iterations is None else f"{self.iterations} iterations; "
        return "\n".join(
            [
                f"{self.status}, by {self.solver}: value {self.value:.7g}{gap}",
                "not recomputed"
                if self.certificate is None
                else f"absolute, recomputed: {self.certificate}",
                f"variables: {_shapes(self.variables)}",
                f"duals: {_shapes(self.duals) or 'none'}",
                f"{iterations}{self.build_seconds:.3f} s to build, "
                f"{self.solve_seconds:.3f} s to solve",
                *([] if self.status == OPTIMAL else [f"Advice: {ADVICE}."]),
            ]
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "warm": None}


def _shapes(arrays: Mapping[str, Any]) -> str:
    """Names, each with its shape unless it is one number; a cone's dual has several parts."""
    parts = {
        f"{name}[{place}]" if isinstance(value, list) else name: np.shape(part)
        for name, value in arrays.items()
        for place, part in enumerate(value if isinstance(value, list) else [value])
    }
    return ", ".join(
        f"{name} ({' x '.join(map(str, shape))})" if shape else name
        for name, shape in parts.items()
    )
