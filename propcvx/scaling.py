"""The scale of data: units in which programs are posed, and advice where columns differ much."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

WELL_SCALED = 1e3
"""Ranges of columns that differ from each other, or from 1, by more than this want scaling."""


def unit_of(features: NDArray[np.float64], C: float = np.inf) -> float:
    r"""Factor u of the features with which an SVM is posed.

    In :math:`u F`, :math:`C / u^2`, :math:`\alpha / u^2` and :math:`w / u` the problem is the same.
    Instances of mean square one keep its numbers near 1, and with them a solver's rounding errors,
    whatever the scale of the features.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    C : float
        A weight of the hinge loss for which :math:`C / u^2` is to be 1 at least.

    Examples
    --------
    >>> unit_of(np.array([[3.0, 4.0], [0.0, 5.0]]))
    0.2
    """
    size = float(np.sqrt(np.square(features).sum(axis=1).mean()))
    return min(1.0 / size if size > 0.0 else 1.0, float(np.sqrt(C)))


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
    matrix = X if sp.issparse(X) else np.asarray(X)
    ends = matrix.max(axis=0), matrix.min(axis=0)
    largest, smallest = (end.toarray().ravel() if sp.issparse(end) else end for end in ends)
    ranges = (largest - smallest)[largest > smallest]
    if not len(ranges):
        return ""
    narrowest, widest = float(ranges.min()), float(ranges.max())
    if max(widest, 1.0 / narrowest, widest / narrowest) <= WELL_SCALED:
        return ""
    return (
        f"The columns of X have ranges (largest less smallest value) from {narrowest:.3g} to "
        f"{widest:.3g}; scale them first, for instance with "
        "sklearn.preprocessing.MinMaxScaler((-1, 1))."
    )
