r"""Kernels as explicit features: a factor :math:`K = F F^\top` and its map for new instances.

Every program of the package is written in the rows of a factor F.  For the linear kernel F is the
data itself; for any other kernel F is a Cholesky factor of the Gram matrix with complete pivoting.
The instances P that were pivots have a triangular :math:`F_P`, so a new instance x has the features
:math:`F_P^{-1} k(P, x)`.  Another order of the instances gives another factor of the same K: a
rotation of F.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from propcvx.checks import check_count, check_number
from propcvx.errors import GramMatrixMemoryError, InputError

try:
    import psutil
except ImportError:  # there is none in a browser
    psutil = None

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
KernelName = str | Callable[..., Any]

KERNELS = ("linear", "rbf", "exponential", "poly", "precomputed")
"""Names of kernels; a callable ``kernel(X, Z) -> Gram matrix`` will do as well."""

RANK_TOLERANCE = 1e-10
"""Pivots below this share of the largest one are numerically zero: where F ends."""

PSD_TOLERANCE = 1e-7
"""A Gram matrix may have eigenvalues down to minus this share of the largest one."""

BLOCK = 256
"""Rows at a time, where a temporary copy of a whole Gram matrix would double the memory."""


@dataclass(frozen=True)
class Kernel:
    r"""A kernel function.

    ``"linear"`` :math:`x^\top z`; ``"rbf"`` :math:`\exp(-\gamma \|x - z\|^2)`; ``"exponential"``
    :math:`\exp(-\gamma \|x - z\|)`, the unsquared distance of the authors' program; ``"poly"``
    :math:`(\gamma x^\top z + r)^q`; ``"precomputed"``, X is the Gram matrix itself; or a callable.

    Attributes
    ----------
    name : str or callable
    gamma : float
        The coefficient :math:`\gamma > 0`.
    degree : int
        The degree q of ``"poly"``.
    coef0 : float
        The constant r of ``"poly"``.
    """

    name: KernelName = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.name) and self.name not in KERNELS:
            raise InputError(f"kernel must be one of {KERNELS} or a callable, got {self.name!r}.")
        check_number("gamma", self.gamma, above=0.0)
        check_count("degree", self.degree)
        check_number("coef0", self.coef0)

    def __call__(self, X: Any, Z: Any) -> Array:
        """Gram matrix of shape (len(X), len(Z))."""
        if callable(self.name):
            return np.asarray(self.name(X, Z), dtype=np.float64)
        if self.name == "precomputed":
            return np.asarray(X, dtype=np.float64)
        if self.name == "linear":
            return np.asarray(X @ Z.T)
        if self.name == "poly":
            return polynomial_kernel(X, Z, self.degree, self.gamma, self.coef0)
        if self.name == "rbf":
            origin = Z.mean(axis=0)  # squares of distances lose the digits that an offset takes
            return rbf_kernel(X - origin, Z - origin, self.gamma)
        exponents = cdist(X, Z)
        exponents *= -self.gamma
        return np.exp(exponents, out=exponents)


@dataclass(frozen=True)
class FeatureMap:
    r"""Features F of the training instances and the map that gives them for new ones.

    Attributes
    ----------
    kernel : Kernel
    training : array
        The training instances (unused for the linear kernel).
    features : array of shape (n_instances, rank)
        F, with :math:`F F^\top = K`; empty in a fitted estimator, which needs it no more.
    pivots : int array of shape (rank,), or None for the linear kernel
        The training instances P that the features of all others are made from.
    triangle : array of shape (rank, rank), or None
        :math:`F_P`, lower triangular, where F itself is no longer held.
    solved : dict
        What methods keep of problems that they have solved on these features, for the next fit on
        them; empty in a fitted estimator.
    """

    kernel: Kernel
    training: Any
    features: Array
    pivots: Indices | None = None
    triangle: Array | None = None
    solved: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def fit(cls, X: Any, kernel: Kernel, matrices: float = 2.0) -> FeatureMap:
        """Factor the Gram matrix of X.

        Parameters
        ----------
        X : array
            The training instances.
        kernel : Kernel
        matrices : float
            How many matrices as large as the Gram matrix must fit into memory: 2 for the factor,
            and more for what is done with it.

        Raises
        ------
        GramMatrixMemoryError
            If they would not fit; nothing has been allocated.
        InputError
            If the Gram matrix is not square, symmetric, finite and positive semidefinite.
        """
        if kernel.name == "linear":
            features = X.toarray() if sp.issparse(X) else X
            return cls(kernel, None, np.ascontiguousarray(features, dtype=np.float64))
        check_gram_memory(
            X.shape[0],
            "use kernel='linear', or put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)",
            matrices,
        )
        return cls(kernel, X, *factor(check_gram(kernel(X, X), X.shape[0])))

    def without_features(self, training: Any, rows: Indices) -> FeatureMap:
        """The map alone, which is all that new instances need.

        Parameters
        ----------
        training : array
            The training instances in the order in which the map is to know them.
        rows : int array of shape (n_instances,)
            Where each instance that it was fitted to is in ``training``.
        """
        empty = np.empty((0, self.features.shape[1]))
        if self.pivots is None:
            return replace(self, features=empty, solved={})
        triangle, pivots = self._triangle(), rows[self.pivots]
        return FeatureMap(self.kernel, training, empty, pivots, triangle)

    def transform(self, X: Any) -> Array:
        """Features of new instances, shape (len(X), rank)."""
        if self.pivots is None:
            return X.toarray() if sp.issparse(X) else X
        gram = self.kernel(X, self.training)[:, self.pivots]
        return solve_triangular(self._triangle(), gram.T, lower=True).T

    def dual_coefficients(self, weights: Array) -> Array:
        r"""Coefficients c of the training instances with :math:`F w = K c`, 0 but for the pivots.

        Parameters
        ----------
        weights : array of shape (rank,)
            w, over the features of a kernel that is not linear.

        Returns
        -------
        array of shape (n_instances,)
        """
        coefficients = np.zeros(self.training.shape[0])
        coefficients[self.pivots] = solve_triangular(
            self._triangle(), weights, trans="T", lower=True
        )
        return coefficients

    def _triangle(self) -> Array:
        return self.features[self.pivots] if self.triangle is None else self.triangle


def check_gram_memory(n_instances: int, advice: str, matrices: float = 2.0) -> None:
    """Raise if so many matrices as large as a Gram matrix exceed the memory at hand.

    Without psutil, as in a browser, that is not known: nothing is checked, and NumPy raises its
    own ``MemoryError`` where it comes to that.
    """
    if psutil is None:
        return
    needed = matrices * 8 * n_instances**2
    available = psutil.virtual_memory().available
    if needed > available:
        raise GramMatrixMemoryError(
            f"the Gram matrix of {n_instances:,} instances and what is made of it need "
            f"{needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are available; {advice}."
        )


def check_gram(gram: Array, n_instances: int) -> Array:
    """Return a copy of the Gram matrix, exactly symmetric, or raise what is wrong with it."""
    if gram.shape != (n_instances, n_instances):
        raise InputError(
            f"the Gram matrix must be square, one row and column per instance "
            f"({n_instances}, {n_instances}), got shape {gram.shape}."
        )
    if not np.isfinite(gram).all():
        raise InputError("the Gram matrix must be finite, got NaN or infinity.")
    largest = max(gram.max(), -gram.min())
    if largest == 0.0:
        raise InputError("the Gram matrix must not be zero: no instance differs from another.")
    gram = np.array(gram, order="C")
    asymmetry = _symmetrize(gram)
    if asymmetry > 1e-8 * largest:
        raise InputError(
            f"the Gram matrix must be symmetric, got entries that differ by {asymmetry:.3g} from "
            "their transpose."
        )
    return gram


def _symmetrize(gram: Array) -> float:
    """Put the mean of a matrix and its transpose in its place; how far they were apart."""
    apart = 0.0
    for start in range(0, len(gram), BLOCK):
        right = gram[start : start + BLOCK, start:]
        below = gram[start:, start : start + BLOCK].T
        apart = max(apart, float(np.abs(right - below).max()))
        right[:] = (right + below) / 2
        below[:] = right
    return apart


def factor(gram: Array) -> tuple[Array, Indices]:
    r"""Factor of a Gram matrix, :math:`K = F F^\top`, and its pivots.

    Parameters
    ----------
    gram : array of shape (n_instances, n_instances)
        K, symmetric and not zero; it is overwritten.

    Returns
    -------
    features : array of shape (n_instances, rank)
        F.  Where K has eigenvalues below zero, down to ``PSD_TOLERANCE``, they are 0 in F F'.
    pivots : int array of shape (rank,)
        The instances whose rows of F, in this order, are a lower triangular matrix.

    Raises
    ------
    InputError
        If K is not positive semidefinite.
    """
    largest = np.abs(gram.diagonal()).max()
    features, pivots, left = _pivoted_cholesky(gram)
    if left > PSD_TOLERANCE * largest:
        features, pivots, _ = _pivoted_cholesky(_nearest_semidefinite(gram))
    return features, pivots


def _pivoted_cholesky(gram: Array) -> tuple[Array, Indices, float]:
    """Features, pivots, and the largest entry of K - F F'; only the lower triangle is changed."""
    diagonal = gram.diagonal().copy()
    tol = RANK_TOLERANCE * max(diagonal.max(), 0.0)
    lapack, order, rank, _ = dpstrf(gram.T, tol=tol, overwrite_a=True)
    order, features = order - 1, np.zeros((len(gram), rank))
    for k, (instance, row) in enumerate(zip(order, lapack.T, strict=True), start=1):
        features[instance, : min(k, rank)] = row[: min(k, rank)]
    np.fill_diagonal(gram, diagonal)
    return features, order[:rank], _largest_left(gram, features, np.sort(order[rank:]))


def _largest_left(gram: Array, features: Array, others: Indices) -> float:
    """Largest entry of K - F F', which is 0 in the rows of pivots; K is read above its diagonal."""
    left = 0.0
    for start in range(0, len(others), BLOCK):
        rows, columns = others[start : start + BLOCK], others[start:]
        entries = gram[np.ix_(rows, columns)] - features[rows] @ features[columns].T
        left = max(left, float(np.abs(np.triu(entries)).max()))
    return left


def _nearest_semidefinite(gram: Array) -> Array:
    """K with 0 for eigenvalues that rounding has put below; K is read above its diagonal."""
    values, vectors = eigh(gram, lower=False)
    if values[0] < -PSD_TOLERANCE * max(values[-1], 0.0):
        raise InputError(
            f"the Gram matrix must be positive semidefinite, got eigenvalues from "
            f"{values[0]:.3g} to {values[-1]:.3g}; use a valid kernel or add to its diagonal."
        )
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
