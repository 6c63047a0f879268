"""LAPACK's least squares: of several solutions, the one of least norm."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.programs import LeastSquares, Program
from propcvx.solvers.answer import Answer


def run_least_squares(program: Program, options: dict[str, Any], warm: Any) -> Answer:
    """Solve a program whose structure is :class:`propcvx.programs.LeastSquares`."""
    structure, start = program.structure, perf_counter()
    if not isinstance(structure, LeastSquares):
        raise TypeError(f"{program.name} is not a least-squares problem")
    found = np.linalg.lstsq(structure.design, structure.targets, **options)[0]
    return Answer(cp.OPTIMAL, {structure.variable: found}, {}, solve_seconds=perf_counter() - start)
