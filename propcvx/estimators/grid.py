"""Fitting one estimator with many parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from propcvx.estimators.base import BagClassifier
from propcvx.estimators.shared import Shared


def fit_grid(
    estimator: BagClassifier, X: Any, y: NDArray[Any], grid: Mapping[str, Sequence[Any]]
) -> Iterator[BagClassifier]:
    """Fit an estimator with every combination of parameters, building once what they share.

    The kernel's features and the programs are built once.  Of alter-pSVM, whose paths for
    different C_p are the same until their labels differ, what they have in common is solved once.

    Parameters
    ----------
    estimator : BagClassifier
        Its parameters outside the grid; it is not fitted itself.
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,), or labels
    grid : mapping of str to sequence
        Values of each parameter.

    Yields
    ------
    BagClassifier
        A fitted clone for each of ``sklearn.model_selection.ParameterGrid(grid)``, in that order,
        as soon as it is fitted.  Each is what a fit of its own would give: the same, where
        the solver is one that does not go through CVXPY, and to its tolerance otherwise.

    Examples
    --------
    >>> from propcvx import InvCal, bag_target, fit_grid
    >>> X, y = [[0.0], [1.0], [0.2], [2.0]], bag_target([0, 0, 1, 1], {0: 0.5, 1: 1.0})
    >>> [model.C_p for model in fit_grid(InvCal(), X, y, {"C_p": [0.1, 1.0]})]
    [0.1, 1.0]
    """
    shared = Shared(several=True)
    for parameters in ParameterGrid(grid):
        yield clone(estimator).set_params(**parameters).fit_sharing(X, y, shared)
