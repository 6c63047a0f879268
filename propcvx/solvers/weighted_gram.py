r"""The matrix of the interior-point method for the restricted master, and its factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]
Solve = Callable[[Array], Array]


@dataclass(frozen=True)
class Scaled:
    """The scaled problem: the factor times root C, and the labelings."""

    features: Array
    labelings: Array

    @cached_property
    def gram(self) -> Array:
        """K, scaled by C."""
        return self.features @ self.features.T

    def slopes(self, x: Array) -> Array:
        r"""Gradients :math:`\nabla q_t = y_t \circ K (y_t \circ x)`, one row per t.

        As :math:`q_t` is quadratic, its value is half the product of x with its row.
        """
        signed = self.labelings * x
        n, r = self.features.shape
        images = signed @ self.features @ self.features.T if 2 * r < n else signed @ self.gram
        return self.labelings * images


def factor(problem: Scaled, mu: Array, diagonal: Array) -> Solve:
    r"""Solver of :math:`A = \sum_t \mu_t K \circ y_t y_t^\top + \operatorname{diag}(d)`.

    Parameters
    ----------
    problem : Scaled
    mu : array of shape (T,)
        Weights of the labelings, > 0.
    diagonal : array of shape (N,)
        The diagonal d, > 0.

    Returns
    -------
    callable
        ``solve(b)`` for b of shape (N,) or (N, any), through the Cholesky factor of A, or one of
        size T r where that is much smaller.

    Raises
    ------
    scipy.linalg.LinAlgError
        If a matrix is not numerically positive definite.
    """
    n, r = problem.features.shape
    if 2 * len(mu) * r < n:
        return _low_rank_factor(problem, mu, diagonal)
    matrix = (problem.labelings.T * mu) @ problem.labelings
    matrix *= problem.gram
    matrix.flat[:: n + 1] += diagonal
    chol = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return lambda b: cho_solve(chol, b, check_finite=False)


def _low_rank_factor(problem: Scaled, mu: Array, diagonal: Array) -> Solve:
    """Sherman-Morrison-Woodbury for A = B B' + diagonal, refined once."""
    roots = np.sqrt(mu)[:, None] * problem.labelings
    B = np.hstack([root[:, None] * problem.features for root in roots])
    scaled = B / diagonal[:, None]
    inner = B.T @ scaled
    inner.flat[:: len(inner) + 1] += 1.0
    chol = cho_factor(inner.T, lower=True, overwrite_a=True, check_finite=False)

    def once(b: Array) -> Array:
        by_diagonal = (b.T / diagonal).T
        return by_diagonal - scaled @ cho_solve(chol, B.T @ by_diagonal, check_finite=False)

    def solve(b: Array) -> Array:
        x = once(b)
        return x + once(b - B @ (B.T @ x) - (x.T * diagonal).T)

    return solve
