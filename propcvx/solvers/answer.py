"""What the run of one solver leaves, before anything of it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Answer of one solver to one program.

    Attributes
    ----------
    status : str
        In CVXPY's words ("optimal", "user_limit", ...).
    variables, duals : mappings from name to array
        Signs of duals are those of the program's docstring.
    build_seconds, solve_seconds : float
        Wall time to bring the program into the solver's form, and in the solver.
    iterations : int or None
    gap : float or None
        Relative duality gap between feasible points, where the solver itself has computed it.
    warm : object
        What the solver can begin a later call from; it belongs to the caller.
    """

    status: str
    variables: Mapping[str, Any]
    duals: Mapping[str, Any]
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    gap: float | None = None
    warm: Any = None
