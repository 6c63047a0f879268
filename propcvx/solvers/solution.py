"""The solution of a program by one solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cvxpy import OPTIMAL

from propcvx.solvers.residuals import Residuals
from propcvx.text import Readable

ADVICE = "scale the features, or use a smaller C, a looser tol or another solver"
"""Advice if a solver stopped before its tolerance."""


@dataclass(frozen=True)
class Solution(Readable):
    r"""Solution of one program.

    A solver's ``run`` returns one with a status, variables and duals; :func:`propcvx.solvers.solve`
    adds the rest.

    Attributes
    ----------
    status : str
        In CVXPY's words: "optimal", or "optimal_inaccurate" and "user_limit" if it is usable but
        its tolerance was not reached.
    variables, duals : mappings from name to array
        Signs of duals are those in the program's docstring.  Those of a cone are a list of arrays;
        a program with integers has none.
    value : float
        Objective value of ``variables``, evaluated by us.
    solver : str
        The solver that answered.
    tol : float
        The tolerance that was given.
    gap : float or None
        Relative duality gap between feasible points, which is compared with ``tol``; None for
        programs whose structure cannot make a solution feasible.
    residuals : Residuals or None
        Recomputed from the problem; None with ``residuals=False``, or if a part of the problem is
        not covered, which an ``UncheckedResidualsWarning`` names.
    build_seconds, solve_seconds : float
        Wall time to bring the program into the solver's form, and in the solver: if it does not
        report it, all of the call except ``build_seconds``.
    iterations : int or None
        Iterations, if the solver reports them.
    warm_start : object
        Where the solver ended, for ``solve(..., warm_start=...)`` on the same program.  It is not
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

    status: str
    variables: Mapping[str, Any]
    duals: Mapping[str, Any]
    value: float = np.nan
    solver: str = ""
    tol: float = np.nan
    gap: float | None = None
    residuals: Residuals | None = None
    build_seconds: float = 0.0
    solve_seconds: float = np.nan
    iterations: int | None = None
    warm_start: Any = None

    def __str__(self) -> str:
        """Format the status, the residuals, and the names of arrays with their shapes."""
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
        return {**self.__dict__, "warm_start": None}


def _shapes(arrays: Mapping[str, Any]) -> str:
    """Format names, each with its shape unless it is a number; a cone's dual has several parts."""
    parts = {
        f"{name}[{place}]" if isinstance(value, list) else name: np.shape(part)
        for name, value in arrays.items()
        for place, part in enumerate(value if isinstance(value, list) else [value])
    }
    return ", ".join(
        f"{name} ({' x '.join(map(str, shape))})" if shape else name
        for name, shape in parts.items()
    )
