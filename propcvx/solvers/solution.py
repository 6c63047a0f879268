"""What the run of one solver leaves, and what it is once it has been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cvxpy import OPTIMAL

from propcvx.solvers.residuals import Residuals
from propcvx.text import Readable

ADVICE = "scale the features, or use a smaller C, a looser tol or another solver"
"""What to try where a solver stopped before its tolerance."""


@dataclass(frozen=True)
class Answer:
    """Answer of one solver to one program.

    Attributes
    ----------
    status : str
        In CVXPY's words ("optimal", "user_limit", ...).
    variables, duals : mappings from name to array
        Signs of duals are those of the program's docstring.  Those of a cone are a list of arrays;
        with integers there are none.
    build_seconds, solve_seconds : float
        Wall time to bring the program into the solver's form, and in the solver: where it does not
        tell, all of the call but ``build_seconds``.
    iterations : int or None
    gap : float or None
        Relative duality gap between feasible points, where the solver itself has computed it.
    warm : object
        What the solver can begin a later call from; it belongs to the caller.
    value : float
        Objective value of ``variables``, evaluated by us whatever the solver says.
    """

    status: str
    variables: Mapping[str, Any]
    duals: Mapping[str, Any]
    build_seconds: float = 0.0
    solve_seconds: float = np.nan
    iterations: int | None = None
    gap: float | None = None
    warm: Any = None
    value: float = np.nan


@dataclass(frozen=True, kw_only=True)
class Solution(Readable, Answer):
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
        The primal and dual values, as of :class:`Answer`.
    residuals : Residuals or None
        Recomputed from the problem; None where ``residuals=False`` was asked, or where a part of
        the problem is not covered, which an ``UncheckedWarning`` names.
    tol : float
        The tolerance that was given.
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
    residuals: Residuals | None
    tol: float = np.nan

    def __str__(self) -> str:
        """How it ended, how good it is, and what it has; the names of arrays with their shapes."""
        gap = "" if self.gap is None else f"; relative duality gap {self.gap:.1e}"
        iterations = "" if self.iterations is None else f"{self.iterations} iterations; "
        return "\n".join(
            [
                f"{self.status}, by {self.solver}: value {self.value:.7g}{gap}",
                "residuals not checked"
                if self.residuals is None
                else f"absolute, recomputed: {self.residuals}",
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
