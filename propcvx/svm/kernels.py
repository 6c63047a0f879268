r"""Kernels as explicit features: a factor :math:`K = F F^\top` of the Gram matrix.

Every program of the package is written in the rows of a factor F.  For the linear kernel F is the
data itself; for any other kernel F is a Cholesky factor of the Gram matrix with complete pivoting,
of instances scaled to a diagonal of one, so that a large instance does not hide the others.  The
instances P that were pivots have a triangular :math:`F_P`, so the score of a new instance x,
:math:`w^\top F_P^{-1} k(P, x)`, is a sum over these alone.  Another order of the instances gives
another factor of the same K: a rotation of F.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel

from propcvx.arrays import Array, Indices, Weight, read_only
from propcvx.checks import check_choice, check_count, check_gram_memory, check_number
from propcvx.errors import IllPosedWarning, InputError, warn

KernelName = str | Callable[..., Any]

KERNELS = ("linear", "rbf", "exponential", "poly", "precomputed")
"""Names of kernels; alternatively, use a callable ``kernel(X, Z) -> Gram matrix``."""

WITH_GAMMA = ("rbf", "exponential", "poly")
"""Names of kernels with the coefficient ``gamma``."""

RANK_TOLERANCE = 1e-10
"""Pivot, relative to its diagonal entry, below which it is numerically zero and F ends."""

PSD_TOLERANCE = 1e-7
"""Size of negative eigenvalues of a Gram matrix, relative to the largest, that is accepted."""

NEGLIGIBLE = 1e-4
"""Fraction of a bound that the omitted part of K may cost without a warning."""

NEAR_UNIT = 1.0
"""Decimal logarithm up to which a factor of features is replaced by 1."""

BLOCK = 256
"""Number of rows of a Gram matrix that are compared at a time, so that no copy of it is made."""


@dataclass(frozen=True)
class Kernel:
    r"""Kernel function with its parameters: ``kernel(X, Z)`` returns their Gram matrix.

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
            raise InputError(f"kernel must be one of {KERNELS} or a callable; got {self.name!r}.")
        check_number("gamma", self.gamma, low=0.0)
        check_count("degree", self.degree)
        check_number("coef0", self.coef0)

    def __call__(self, X: Any, Z: Any) -> Array:
        """Compute the Gram matrix, shape (len(X), len(Z)), as a new array."""
        if callable(self.name):
            return np.array(self.name(X, Z), dtype=np.float64)
        if self.name == "precomputed":
            return np.array(X, dtype=np.float64)
        if self.name == "linear":
            return np.asarray(X @ Z.T)
        if self.name == "poly":
            return polynomial_kernel(X, Z, self.degree, self.gamma, self.coef0)
        if sp.issparse(X):
            X, Z = X.toarray(), Z.toarray()
        exponents = cdist(X, Z, "sqeuclidean" if self.name == "rbf" else "euclidean")
        exponents *= -self.gamma
        return np.exp(exponents, out=exponents)


@dataclass(frozen=True)
class FeatureMap:
    r"""Features F of the training instances, and the data to compute features of new instances.

    Attributes
    ----------
    kernel : Kernel
    features : array of shape (n_instances, rank)
        F, with :math:`F F^\top = K`; empty in a fitted estimator, which does not need it.
    omitted_norm : float
        A bound on the largest eigenvalue of :math:`K - F F^\top`; see :meth:`bound_factor`.
    pivots : int array of shape (rank,), or None for the linear kernel
        The training instances P; :math:`F_P` is lower triangular.
    cache : dict
        Solutions of problems on these features, for the next fit; empty in a fitted estimator.
    training : array or None
        The training instances in a fitted estimator, if the kernel of new instances needs them.
    """

    kernel: Kernel
    features: Array
    omitted_norm: float = 0.0
    pivots: Indices | None = None
    cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    training: Any = None

    @classmethod
    def fit(cls, X: Any, kernel: Kernel, matrices: float = 2.0) -> FeatureMap:
        """Factor the Gram matrix of X.

        Parameters
        ----------
        X : array
            The training instances.
        kernel : Kernel
        matrices : float, default=2.0
            Number of matrices as large as the Gram matrix that must fit into memory: 2 for the
            factor, and more for later computations.

        Raises
        ------
        GramMatrixMemoryError
            If they do not fit; nothing has been allocated.
        InputError
            If the Gram matrix is not square, symmetric, finite and positive semidefinite.
        """
        if kernel.name == "linear":
            features = X.toarray() if sp.issparse(X) else X
            return cls(kernel, read_only(np.ascontiguousarray(features, dtype=np.float64)))
        check_gram_memory(
            X.shape[0],
            "use kernel='linear', or put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)",
            matrices,
        )
        features, omitted_norm, pivots = factor(check_gram(kernel(X, X), X.shape[0]))
        return cls(kernel, read_only(features), omitted_norm, pivots)

    def with_intercept(self, intercept: str, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the features of a program without bias, and the mean that was subtracted.

        Parameters
        ----------
        intercept : "center", "constant" or "none"
            Replacement of the bias: centered features, one more feature that is 1, or nothing.
        weights : array of shape (n_instances,), optional
            Weights of the instances in the mean.
        """
        check_choice("intercept", intercept, ("center", "constant", "none"))
        features, mean = self.features, np.zeros(self.features.shape[1])
        if intercept == "center":
            mean = np.average(features, axis=0, weights=weights)
        if intercept == "constant":
            features = np.column_stack([features, np.ones(len(features))])
            mean = np.append(mean, 0.0)
        return read_only(features - mean), mean

    def without_features(self, training: Any) -> FeatureMap:
        """Drop the features, and keep the training instances that new instances need."""
        has_instances = self.kernel.name not in ("linear", "precomputed")
        none = np.empty((0, self.features.shape[1]))
        return FeatureMap(self.kernel, none, training=training.copy() if has_instances else None)

    def dual_coefficients(self, weights: Array) -> Array:
        r"""Compute coefficients c with :math:`F w = K c`, which are 0 except for the pivots.

        Parameters
        ----------
        weights : array of shape (rank,)
            w, over the features of a kernel that is not linear.

        Returns
        -------
        array of shape (n_instances,)
        """
        coefficients = np.zeros(len(self.features))
        triangle = self.features[self.pivots]
        coefficients[self.pivots] = solve_triangular(triangle, weights, trans="T", lower=True)
        return coefficients

    def bound_factor(self, C: float, multiple: float = 1.0) -> float:
        r"""Compute the fraction of a lower bound for F that holds for K, and warn if it is small.

        Let :math:`g_K(y) = \max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac12 v^\top K v` with
        :math:`v = y \circ \alpha`, let :math:`\lambda` be at least the largest eigenvalue of
        :math:`K - F F^\top`, and take the :math:`\alpha` that is best for F.  With
        :math:`A = \alpha^\top 1` and :math:`Q = \|F^\top v\|^2`, :math:`g_F = A - Q / 2`, and
        :math:`Q \le A`, because no smaller multiple is better.  As :math:`v^\top K v \le Q +
        \lambda \|\alpha\|^2 \le Q + \lambda C A`, every :math:`s \le 1` shows

        .. math:: g_K \ge s A - \tfrac12 s^2 (Q + \lambda C A).

        At the best s that is at least :math:`g_F / (1 + 2 C \lambda)`: for :math:`q = Q / A` and
        :math:`x = \lambda C` because :math:`(1 - q)^2 + q x \ge 0` where :math:`q + x \ge 1`, and
        elsewhere, with s = 1, because :math:`x (\tfrac32 - q - x) \ge 0`.  It holds for every
        labeling, so for the relaxations of all; and for the square loss, where
        :math:`g_K = C y^\top (I + 2 C K)^{-1} y`.  Centered features lose no more; less a
        weighted mean :math:`\sum_i m_i F_i`, at most :math:`N \sum_i m_i^2` times as much.

        Parameters
        ----------
        C : float
            Weight of the loss of an instance, the largest one.
        multiple : float, default=1.0
            Factor of :math:`\lambda`.
        """
        fraction = 1.0 / (1.0 + 2.0 * C * multiple * self.omitted_norm)
        if fraction < 1.0 - NEGLIGIBLE:
            warn(
                f"the kernel's features omit a part of the Gram matrix, of norm "
                f"{self.omitted_norm:.3g}, so lower bounds are multiplied by {fraction:.6g} with "
                f"C = {C:g}. For tighter bounds use a smaller C, or drop nearly equal instances.",
                IllPosedWarning,
            )
        return fraction


def unit_of(features: Array, C: Weight = np.inf) -> float:
    r"""Compute the factor u by which features are multiplied in an SVM.

    In :math:`u F`, :math:`C / u^2`, :math:`\alpha / u^2` and :math:`w / u` the problem is the same.
    Instances of mean square one keep the numbers of the problem near 1, and a solver's rounding
    errors independent of the scale of the features.  Features that are already near it, as those of
    a Gaussian kernel, have the factor 1 and are not copied.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    C : float or array of shape (N,)
        A weight of the hinge loss, of which the largest :math:`C / u^2` is to be 1 at least.

    Examples
    --------
    >>> unit_of(np.array([[30.0, 40.0], [0.0, 50.0]]))
    0.02
    """
    size = float(np.sqrt(np.einsum("ij,ij->i", features, features).mean()))
    unit = min(1.0 / size if size > 0.0 else 1.0, float(np.sqrt(np.max(C))))
    return unit if abs(np.log10(unit)) > NEAR_UNIT else 1.0


def scale_by(unit: float, features: Array) -> Array:
    """Multiply features, without a copy by 1."""
    return features if unit == 1.0 else unit * features


def check_gram(gram: Array, n_instances: int) -> Array:
    """Return the Gram matrix, exactly symmetric, or raise if it is invalid."""
    if gram.shape != (n_instances, n_instances):
        raise InputError(
            f"the Gram matrix must be square, one row and column per instance "
            f"({n_instances}, {n_instances}); got shape {gram.shape}."
        )
    if not np.isfinite(gram).all():
        raise InputError("the Gram matrix must be finite; got NaN or infinity.")
    largest = max(gram.max(), -gram.min())
    if largest == 0.0:
        raise InputError("the Gram matrix must not be zero; got only zeros.")
    asymmetry = max(
        (gram[start : start + BLOCK] - gram[:, start : start + BLOCK].T).max()
        for start in range(0, n_instances, BLOCK)
    )
    if asymmetry > 1e-8 * largest:
        raise InputError(
            f"the Gram matrix must be symmetric; got entries that differ by {asymmetry:.3g} from "
            "their transpose."
        )
    return (gram + gram.T) / 2.0 if asymmetry > 0.0 else gram


def factor(gram: Array) -> tuple[Array, float, Indices]:
    r"""Factor a Gram matrix, :math:`K = F F^\top`; return also the omitted part and the pivots.

    The matrix :math:`D^{-1} K D^{-1}` with a diagonal of one is factored, and the factor's rows are
    multiplied by D.  A matrix that is semidefinite only relative to its largest entries, as after
    centering if instances differ much in size, is factored in the unit of these entries.

    Parameters
    ----------
    gram : array of shape (n_instances, n_instances)
        K, symmetric and not zero; it is overwritten.

    Returns
    -------
    features : array of shape (n_instances, rank)
        F.  Where K has eigenvalues below zero, down to ``PSD_TOLERANCE``, they are 0 in F F'.
    omitted_norm : float
        The Frobenius norm of K - F F', without rounding errors relative to the diagonal entries.
    pivots : int array of shape (rank,)
        The instances whose rows of F, in this order, are a lower triangular matrix.

    Raises
    ------
    InputError
        If K is not positive semidefinite.
    """
    diagonal, largest = gram.diagonal().copy(), max(gram.max(), -gram.min())
    common = np.full(len(gram), np.sqrt(largest))
    for units in (np.where(diagonal > 0.0, np.sqrt(np.abs(diagonal)), common), common):
        gram /= units
        gram /= units[:, None]
        features, pivots, largest_error, omitted_norm = _pivoted_cholesky(gram, units)
        if largest_error > PSD_TOLERANCE:
            values, vectors = eigh(gram, lower=False)
            if values[0] < -PSD_TOLERANCE * max(values[-1], 0.0):
                gram = (np.triu(gram) + np.triu(gram, 1).T) * units * units[:, None]
                continue
            nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
            features, pivots, _, omitted_norm = _pivoted_cholesky(nearest, units)
        features *= units[:, None]
        _warn_if_inexact(diagonal, features, largest)
        return features, omitted_norm, pivots
    raise InputError(
        f"the Gram matrix must be positive semidefinite; got eigenvalues from "
        f"{largest * values[0]:.3g} to {largest * values[-1]:.3g}. Use a valid kernel or add to "
        "its diagonal."
    )


def _pivoted_cholesky(gram: Array, units: Array) -> tuple[Array, Indices, float, float]:
    """Compute features, pivots, the largest entry of K - F F', and its norm in the units.

    Only the lower triangle is changed.
    """
    diagonal = gram.diagonal().copy()
    lapack, order, rank, _ = dpstrf(gram.T, tol=RANK_TOLERANCE, overwrite_a=True)
    order, features = order - 1, np.zeros((len(gram), rank))
    for k, (instance, row) in enumerate(zip(order, lapack.T, strict=True), start=1):
        features[instance, : min(k, rank)] = row[: min(k, rank)]
    np.fill_diagonal(gram, diagonal)
    return features, order[:rank], *_remainder(gram, features, np.sort(order[rank:]), units)


def _remainder(gram: Array, features: Array, others: Indices, units: Array) -> tuple[float, float]:
    """Compute the largest entry and norm of K - F F', reading K above its diagonal."""
    largest, squares = 0.0, 0.0
    rounding = len(gram) * np.finfo(np.float64).eps
    for start in range(0, len(others), BLOCK):
        rows, columns = others[start : start + BLOCK], others[start:]
        entries = np.triu(gram[np.ix_(rows, columns)] - features[rows] @ features[columns].T)
        largest = max(largest, float(np.abs(entries).max()))
        entries = np.where(np.abs(entries) > rounding, entries, 0.0)
        entries *= units[rows, None] * units[columns]
        squares += float(np.square(entries).sum() + np.square(np.triu(entries, 1)).sum())
    return largest, float(np.sqrt(squares))


def _warn_if_inexact(diagonal: Array, features: Array, largest: float) -> None:
    """Warn of nonzero instances whose features do not match K."""
    zero = len(diagonal) * np.finfo(np.float64).eps * largest
    differences = np.abs(diagonal - np.einsum("ij,ij->i", features, features))
    inexact = (diagonal > zero) & (differences > np.sqrt(PSD_TOLERANCE) * diagonal)
    if inexact.any():
        warn(
            f"the Gram matrix is positive semidefinite only relative to its largest entries, and "
            f"in {int(inexact.sum())} of {len(inexact)} instances the features differ from it by "
            "more than a few digits. Scale the instances before the kernel, or drop the largest.",
            IllPosedWarning,
        )
