"""The scale of instances: weights in units of it, and advice about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import min_max_axis

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import number_or_computed
from propcvx.errors import UnscaledWarning, warn

SCALE = 0.2
"""C in units of the total variance, by default: measured, see docs/results/defaults.md."""

WELL_SCALED = 1e3
"""Ranges of columns that differ from each other, or from 1, by more than this want scaling."""

ALIKE = 50.0
"""Ratio of ranges above which the widest columns decide a fit, for example a year and a yes."""

BATCH = 256
"""Number of rows that are centered at a time, so that no copy of all is made."""

CENTERED = 1e-6
"""Mean of a column, as a fraction of its range, up to which the column counts as scaled: by a
scaler, and perhaps a principal component analysis or :class:`propcvx.ProportionScaler` after it."""


def weight_of_hinge(C: Any, features: Array, bags: Bags) -> float:
    """Return the C of a proportion-SVM, a number or ``"scale"``."""
    return number_or_computed("C", C, lambda: SCALE / (known_variance(features, bags) or 1.0))


def known_variance(features: Array, bags: Bags) -> float:
    """Compute the total variance of the instances with a known label or a bag with a proportion."""
    instances = np.unique(bags.isolate_known_labels().select_with_proportion()[1])
    weights = np.zeros(len(features))
    weights[instances] = bags.relative_weights[instances]
    return total_variance(features, weights)


def total_variance(rows: Array, weights: Array) -> float:
    r"""Compute the weighted mean squared distance of rows from their mean; 0 if only rounding.

    It is the unit of weights relative to :math:`\|w\|^2`: with a weight in this unit, the
    classifier does not depend on the scale of the features.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    weights : array of shape (n_rows,)

    Examples
    --------
    >>> total_variance(np.array([[0.0, 1.0], [4.0, 1.0]]), np.array([3.0, 1.0]))
    3.0
    """
    fractions = weights / weights.sum()
    mean, variance = fractions @ rows, 0.0
    for part in gen_batches(len(rows), BATCH):
        centered = rows[part] - mean
        variance += float(fractions[part] @ np.einsum("ij,ij->i", centered, centered))
    largest = max(rows.max(initial=0.0), -rows.min(initial=0.0))
    error = len(rows) * np.finfo(float).eps * largest  # of a mean
    return variance if variance > rows.shape[1] * error**2 else 0.0


def scaling_advice(X: Any) -> str:
    """Return advice to scale the instances, for messages of a solver that failed.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_instances, n_features)

    Returns
    -------
    str
        A sentence with the ranges of the columns that advises to scale them; empty if the ranges
        are near 1 and near each other.  Constant columns do not count.

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
    """Warn if the widest of the columns that are not centered decide a fit.

    Sparse columns, of which few entries differ from 0, are not checked.

    Warns
    -----
    UnscaledWarning
        The message has the narrowest and the widest range.
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
    """Return the narrowest and the widest range of the columns that are not constant."""
    sparse = sp.issparse(X)
    smallest, largest = min_max_axis(X, 0) if sparse else (np.min(X, axis=0), np.max(X, axis=0))
    ranges = (largest - smallest)[largest > smallest]
    return float(ranges.min(initial=np.inf)), float(ranges.max(initial=0.0))
