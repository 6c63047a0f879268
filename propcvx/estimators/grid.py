"""Fitting one estimator with many parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from propcvx.estimators.base import BagClassifier


def fit_grid(
    estimator: BagClassifier, X: Any, y: NDArray[Any], grid: Mapping[str, Sequence[Any]]
) -> Iterator[BagClassifier]:
    """Fit an estimator with every combination of parameters, checking X and y once.

    The features of each kernel in the grid are computed once, and parameters that come to the same
    on these bags, as tolerances that allow the same counts of positives, are fitted once.

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
        as soon as it is fitted: the same as a fit of its own gives.

    Examples
    --------
    >>> from propcvx import InvCal, bag_target, fit_grid
    >>> X, y = [[0.0], [1.0], [0.2], [2.0]], bag_target([0, 0, 1, 1], {0: 0.5, 1: 1.0})
    >>> [model.C_p for model in fit_grid(InvCal(), X, y, {"C_p": [0.1, 1.0]})]
    [0.1, 1.0]
    """
    prepared = clone(estimator)._prepare(X, y)
    fitted: dict[tuple[Any, ...], BagClassifier] = {}
    for parameters in ParameterGrid(grid):
        model = clone(estimator).set_params(**parameters)
        same = model._come_to(prepared.bags)
        key = tuple((name, same.get(name, id(value))) for name, value in parameters.items())
        if key in fitted:
            changed = {name: parameters[name] for name in same if name in parameters}
            yield copy(fitted[key]).set_params(**changed)
            continue
        model._fit_prepared(prepared)
        if same:
            fitted[key] = copy(model)
        yield model
