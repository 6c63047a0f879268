"""Closed forms: ecological regression by singular values, second moments by eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.programs import Program
from propcvx.solvers.solver import Solution


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


def run_eigenvalues(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    r"""Solve ``second_moments``; if all :math:`d_g` are equal, with M = 0.

    At the best :math:`\Sigma` for M the objective is
    :math:`\sum_g \omega_g (d_g - \bar d)^2 \|M - B\|_F^2` and a constant, with B the slope of the
    regression without the constraint, so that M is the semidefinite part of B.
    """
    structure: Any = program.structure
    fractions = structure.weights / structure.weights.sum()
    centered = structure.between - fractions @ structure.between
    squares = float(structure.weights @ np.square(centered))
    slope = np.tensordot(structure.weights * centered, structure.covariances, 1) / (squares or 1.0)
    values, vectors = np.linalg.eigh(slope)
    M, dual = ((vectors * np.maximum(sign * values, 0.0)) @ vectors.T for sign in (1.0, -1.0))
    Sigma = np.tensordot(fractions, structure.covariances, 1) - (fractions @ structure.between) * M
    variables, duals = {"Sigma": Sigma, "M": M}, {"positive": 2.0 * squares * dual}
    return Solution(cp.OPTIMAL, variables, duals)
