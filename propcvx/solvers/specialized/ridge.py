"""Ecological regression in closed form, by a singular value decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.programs import Program
from propcvx.solvers.solution import Solution


def run_ridge(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    r"""Solve ``ecological_regression``; with :math:`\lambda = 0`, for the w of least norm.

    With the centered rows :math:`U S V^\top`, :math:`w = V (S^2 + \lambda)^{-1} S U^\top p`.
    """
    structure: Any = program.structure
    p, lam = program.values["p"], float(program.values["lam"])
    mean, rows, targets = structure.centered(p)
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    rounding = np.finfo(float).eps * max(rows.shape) * singular.max(initial=0.0)
    inverse = np.divide(
        singular, singular**2 + lam, out=np.zeros_like(singular), where=singular > rounding
    )
    w = right.T @ (inverse * (left.T @ targets))
    b = np.average(p, weights=structure.weights) - mean @ w
    return Solution(cp.OPTIMAL, {"w": w, "b": b}, {})
