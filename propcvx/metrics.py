r"""How well predictions agree with the proportions of bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.targets import is_bag_target


def bag_error(y_true: NDArray[np.void], y_pred: ArrayLike, *, by_size: bool = False) -> float:
    r"""Mean absolute difference between predicted and given proportions of bags.

    .. math::

        \frac1T \sum_{k=1}^T |\tilde p_k - p_k|

    The paper's Err, Equation (23), is the sum; the mean does not depend on how many bags there are.

    Parameters
    ----------
    y_true : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    y_pred : array of shape (n_instances,)
        Predicted labels: an instance is positive where its entry is above 0.
    by_size : bool
        Weight bags by their number of instances, as the authors' program does.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from propcvx import bag_target
    >>> y = bag_target([0, 0, 1, 1], [0.5, 1.0])
    >>> bag_error(y, [1, -1, 1, -1])
    0.25
    """
    if not is_bag_target(y_true):
        raise InputError("y_true must be a bag target; make one with propcvx.bag_target.")
    bags, predicted = Bags.from_target(y_true), np.asarray(y_pred)
    if predicted.shape != y_true.shape:
        raise InputError(
            f"y_pred must have one label per instance, shape {y_true.shape}, got {predicted.shape}."
        )
    return proportion_error(bags, predicted, by_size=by_size)


neg_bag_error = make_scorer(bag_error, greater_is_better=False)
"""Scorer for ``scoring=``: minus :func:`bag_error`."""

neg_bag_error_by_size = make_scorer(bag_error, greater_is_better=False, by_size=True)
"""Scorer for ``scoring=``: minus :func:`bag_error`, bags weighted by their size."""


def proportion_error(bags: Bags, labeling: NDArray[Any], *, by_size: bool = False) -> float:
    """:func:`bag_error` for bags in their validated form."""
    gaps = np.abs(bags.proportions_of(labeling) - bags.proportions)
    return float(np.average(gaps, weights=bags.sizes if by_size else None))
