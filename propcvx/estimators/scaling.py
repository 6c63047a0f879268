"""The scale of instances: the weights that go with it, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import min_max_axis

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import number_or_scale
from propcvx.errors import UnscaledWarning, warn

SCALE = 0.2
"""C in units of the total variance, by default: measured, see docs/results/methods.md."""

WELL_SCALED = 1e3
"""Ranges of columns that differ from each other, or from 1, by more than this want scaling."""

ALIKE = 50.0
"""Where ranges differ by more than this, the widest columns decide a fit: a year beside a yes."""

CENTERED = 1e-6
"""Columns whose means are at most this share of their ranges differ on purpose: they come from a
scaler, and perhaps a principal component analysis or :class:`propcvx.ProportionScaler` after it."""


def weight_of_hinge(C: Any, variance: Callable[[], float]) -> float:
    """The C of a proportion-SVM, a number or ``"scale"``, given the variance of its instances."""
    return number_or_scale("C", C, lambda: SCALE / (variance() or 1.0))


def known_variance(features: Array, bags: Bags) -> float:
    """Total variance of the instances whose label or whose bag's share is known."""
    instances = np.unique(bags.with_known_apart().of_shares()[1])
    return total_variance(features[instances], bags.relative_weights[instances])


def total_variance(rows: Array, weights: Array) -> float:
    r"""Mean squared distance of rows from their mean, both weighted; 0 where it is rounding errors.

    It is the unit of what weighs against :math:`\|w\|^2`: in this unit, a weight makes a classifier
    that does not depend on the scale of the features.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    weights : array of shape (n_rows,)

    Examples
    --------
    >>> total_variance(np.array([[0.0, 1.0], [4.0, 1.0]]), np.array([3.0, 1.0]))
    3.0
    """
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    variance = float(shares @ np.einsum("ij,ij->i", centered, centered))
    largest = max(rows.max(initial=0.0), -rows.min(initial=0.0))
    error = len(rows) * np.finfo(float).eps * largest  # of a mean
    return variance if variance > rows.shape[1] * error**2 else 0.0


def scaling_advice(X: Any) -> str:
    """What to say of the scale of instances where a solver had trouble with them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_instances, n_features)

    Returns
    -------
    str
        A sentence with the ranges of the columns that tells to scale them; empty where their
        ranges are near 1 and near each other.  Columns of one value do not count.

    Examples
    --------
    >>> scaling_advice([[0.0, 1e-3], [2e5, 3e-3]])
    'The columns of X have ranges (largest less smallest value) from 0.002 to 2e+05; scale them
    first, for instance with sklearn.preprocessing.MinMaxScaler((-1, 1)).'
    >>> scaling_advice([[0.0, 1.0], [2.0, 3.0]])
    ''
    """
    narrowest, widest = _ranges(X)
    if max(widest, 1.0 / narrowest, widest / narrowest) <= WELL_SCALED:
        return ""
    return (
        f"The columns of X have ranges (largest less smallest value) from {narrowest:.3g} to "
        f"{widest:.3g}; scale them first, for instance with "
        "sklearn.preprocessing.MinMaxScaler((-1, 1))."
    )


def warn_if_unscaled(X: Any) -> None:
    """Warn where columns that are not centered have so different ranges that some hardly count.

    Sparse ones, of which few entries differ from 0, are left alone.

    Warns
    -----
    UnscaledWarning
        With the narrowest and the widest range.
    """
    narrowest, widest = _ranges(X)
    if sp.issparse(X) or widest <= ALIKE * narrowest:
        return
    if (np.abs(np.mean(X, axis=0)) > CENTERED * np.ptp(X, axis=0)).any():
        warn(
            f"the columns of X have ranges from {narrowest:.3g} to {widest:.3g}, so that the "
            "widest decide the fit; scale them first: sklearn.preprocessing.StandardScaler in a "
            "pipeline, or X / X.std(axis=0).",
            UnscaledWarning,
        )


def _ranges(X: Any) -> tuple[float, float]:
    """The narrowest and the widest range of the columns that have one."""
    sparse = sp.issparse(X)
    smallest, largest = min_max_axis(X, 0) if sparse else (np.min(X, axis=0), np.max(X, axis=0))
    ranges = (largest - smallest)[largest > smallest]
    return float(ranges.min(initial=np.inf)), float(ranges.max(initial=0.0))
