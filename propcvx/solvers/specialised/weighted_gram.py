r"""The matrix of the interior-point method for the restricted master, and its factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import get_lapack_funcs

Array = NDArray[np.float64]
Near = NDArray[np.bool_]
Solve = Callable[[Array], Array]


@dataclass(frozen=True)
class Scaled:
    r"""The restricted master in units of C.

    Attributes
    ----------
    features : array of shape (N, r)
        F.
    labelings : array of shape (T, N)
        The labelings :math:`y_t`.
    C : float
        Weight of the hinge loss, by which K is multiplied.
    gram : array of shape (N, N), or None
        :math:`K = F F^\top`, at most 2 T times as large as F; None where T r is smaller than that.
    """

    features: Array
    labelings: Array
    C: float
    gram: Array | None

    @classmethod
    def of(cls, features: Array, labelings: Array, C: float, gram: Array | None = None) -> Scaled:
        """With the Gram matrix where it is needed; the one that is known, if any."""
        n, r = features.shape
        if 2 * len(labelings) * r < n:
            return cls(features, labelings, C, None)
        return cls(features, labelings, C, features @ features.T if gram is None else gram)

    def only(self, near: Near) -> Scaled:
        """The problem of some of the instances, all others at 0."""
        gram = None if self.gram is None else self.gram[near][:, near]
        return Scaled.of(self.features[near], self.labelings[:, near], self.C, gram)

    @cached_property
    def single(self) -> tuple[Any, Any]:
        """Labelings and Gram matrix in single precision."""
        return self.labelings.astype(np.float32), np.asarray(self.gram, dtype=np.float32)

    def slopes(self, x: Array) -> Array:
        r"""Gradients :math:`\nabla q_t = C \, y_t \circ K (y_t \circ x)`, one row per t.

        As :math:`q_t` is quadratic, its value is half the product of x with its row.
        """
        signed = self.labelings * (self.C * x)
        n, r = self.features.shape
        if self.gram is None or 2 * r < n:
            return self.labelings * (signed @ self.features @ self.features.T)
        return self.labelings * (signed @ self.gram)


def factor(problem: Scaled, mu: Array, diagonal: Array, *, rough: bool = False) -> Solve:
    r"""Solver of :math:`A = C \sum_t \mu_t K \circ y_t y_t^\top + \operatorname{diag}(d)`.

    Parameters
    ----------
    problem : Scaled
    mu : array of shape (T,)
        Weights of the labelings, > 0.
    diagonal : array of shape (N,)
        The diagonal d, > 0.
    rough : bool
        Whether the Cholesky factor of A may be one in single precision.

    Returns
    -------
    callable
        ``solve(b)`` for b of shape (N,) or (N, any), through the Cholesky factor of A, or one of
        size T r where there is no Gram matrix.

    Raises
    ------
    scipy.linalg.LinAlgError
        If a matrix is not numerically positive definite.
    """
    weights = problem.C * mu
    if problem.gram is None:
        return _low_rank_factor(problem, weights, diagonal)
    signs, gram = problem.single if rough else (problem.labelings, problem.gram)
    matrix = (signs.T * weights.astype(signs.dtype)) @ signs
    matrix *= gram
    matrix.flat[:: len(diagonal) + 1] += diagonal
    try:
        return _cholesky(matrix)
    except LinAlgError:
        if not rough:
            raise
    return factor(problem, mu, diagonal)


def _cholesky(matrix: Array) -> Solve:
    """Solver of a symmetric matrix, which is overwritten; without the checks of scipy.linalg."""
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (matrix,))
    chol, info = potrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if info:
        raise LinAlgError("not numerically positive definite")
    return lambda b: potrs(chol, b, lower=True)[0]


def _low_rank_factor(problem: Scaled, weights: Array, diagonal: Array) -> Solve:
    """Sherman-Morrison-Woodbury for A = B B' + diagonal, refined once."""
    roots = np.sqrt(weights)[:, None] * problem.labelings
    B = np.hstack([root[:, None] * problem.features for root in roots])
    scaled = B / diagonal[:, None]
    inner = B.T @ scaled
    inner.flat[:: len(inner) + 1] += 1.0
    solve_inner = _cholesky(inner)

    def once(b: Array) -> Array:
        by_diagonal = (b.T / diagonal).T
        return by_diagonal - scaled @ solve_inner(B.T @ by_diagonal)

    def solve(b: Array) -> Array:
        x = once(b)
        return x + once(b - B @ (B.T @ x) - (x.T * diagonal).T)

    return solve
