r"""Kernels as explicit features: a factor :math:`K = F F^\top` and its map for new instances.

Every program of the package is written in the rows of a factor F.  For the linear kernel F is the
data itself; for any other kernel F holds the eigen-features :math:`U S^{1/2}` of the Gram matrix
:math:`K = U S U^\top`, and a new instance x has the features :math:`S^{-1/2} U^\top k(X, x)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from propcvx.errors import GramMatrixMemoryError, InputError

Array = NDArray[np.float64]
KernelName = str | Callable[..., Any]

KERNELS = ("linear", "rbf", "exponential", "poly", "precomputed")
"""Names of kernels; a callable ``kernel(X, Z) -> Gram matrix`` will do as well."""

RANK_TOLERANCE = 1e-10
"""Eigenvalues below this share of the largest one are numerically zero and left out of F."""

PSD_TOLERANCE = 1e-7
"""A Gram matrix may have eigenvalues down to minus this share of the largest one."""


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
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise InputError(f"gamma must be a positive number, got {self.gamma!r}.")
        if self.degree < 1:
            raise InputError(f"degree must be at least 1, got {self.degree!r}.")

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
            return rbf_kernel(X, Z, self.gamma)
        return np.exp(-self.gamma * cdist(X, Z))


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
    to_dual : array of shape (n_instances, rank), or None for the linear kernel
        :math:`U S^{-1/2}`: features of new instances are ``kernel(X, training) @ to_dual``, and
        a weight vector w over features has the dual coefficients ``to_dual @ w``.
    """

    kernel: Kernel
    training: Any
    features: Array
    to_dual: Array | None

    @classmethod
    def fit(cls, X: Any, kernel: Kernel) -> FeatureMap:
        """Factor the Gram matrix of X.

        Raises
        ------
        GramMatrixMemoryError
            If the Gram matrix would not fit into memory; nothing has been allocated.
        InputError
            If the Gram matrix is not square, symmetric, finite and positive semidefinite.
        """
        if kernel.name == "linear":
            features = X.toarray() if sp.issparse(X) else X
            return cls(kernel, None, np.ascontiguousarray(features, dtype=np.float64), None)
        check_gram_memory(
            X.shape[0],
            "use kernel='linear', or put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)",
        )
        gram = check_gram(kernel(X, X), X.shape[0])
        values, vectors = eigh(gram)
        if values[0] < -PSD_TOLERANCE * max(values[-1], np.finfo(float).tiny):
            raise InputError(
                f"the Gram matrix must be positive semidefinite, got eigenvalues from "
                f"{values[0]:.3g} to {values[-1]:.3g}; use a valid kernel or add to its diagonal."
            )
        if values[-1] <= 0.0:
            raise InputError("the Gram matrix must not be zero: no instance differs from another.")
        kept = values > RANK_TOLERANCE * values[-1]
        root, vectors = np.sqrt(values[kept][::-1]), vectors[:, kept][:, ::-1]
        return cls(kernel, X, np.ascontiguousarray(vectors * root), vectors / root)

    def without_features(self) -> FeatureMap:
        """The map alone, which is all that new instances need."""
        return replace(self, features=np.empty((0, self.features.shape[1])))

    def transform(self, X: Any) -> Array:
        """Features of new instances, shape (len(X), rank)."""
        if self.to_dual is None:
            return X.toarray() if sp.issparse(X) else X
        return self.kernel(X, self.training) @ self.to_dual


def check_gram_memory(n_instances: int, advice: str) -> None:
    """Raise if a Gram matrix and its eigenvectors of this size exceed the memory at hand."""
    needed = 3 * 8 * n_instances**2
    available = psutil.virtual_memory().available
    if needed > available:
        raise GramMatrixMemoryError(
            f"the Gram matrix of {n_instances:,} instances and its factor need "
            f"{needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are available; {advice}."
        )


def check_gram(gram: Array, n_instances: int) -> Array:
    """Return the Gram matrix made exactly symmetric, or raise what is wrong with it."""
    if gram.shape != (n_instances, n_instances):
        raise InputError(
            f"the Gram matrix must be square, one row and column per instance "
            f"({n_instances}, {n_instances}), got shape {gram.shape}."
        )
    if not np.isfinite(gram).all():
        raise InputError("the Gram matrix must be finite, got NaN or infinity.")
    asymmetry = np.abs(gram - gram.T).max()
    if asymmetry > 1e-8 * max(np.abs(gram).max(), np.finfo(float).tiny):
        raise InputError(
            f"the Gram matrix must be symmetric, got entries that differ by {asymmetry:.3g} from "
            "their transpose."
        )
    return (gram + gram.T) / 2


def leading_dimensions(features: Array, variance: float) -> Array:
    r"""Leading principal axes of the features that keep a share of their variance.

    The eigendecomposition before eq:inf, done on whichever of :math:`F^\top F`, :math:`F F^\top`
    is smaller.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F.
    variance : float
        Share of :math:`\operatorname{tr} F F^\top` to keep, in (0, 1].

    Returns
    -------
    dimensions : array of shape (n_instances, d)
        The features along the leading axes, largest first: :math:`U_d S_d^{1/2}`.
    """
    n, r = features.shape
    values, axes = np.linalg.eigh(features.T @ features if r < n else features @ features.T)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    energy = np.cumsum(values)
    kept = int(np.searchsorted(energy, variance * energy[-1] * (1 - 1e-12))) + 1
    return features @ axes[:, :kept] if r < n else axes[:, :kept] * np.sqrt(values[:kept])
