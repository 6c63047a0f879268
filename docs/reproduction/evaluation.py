"""One method on one task: tuned on bags, judged on held-out instances and bags."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import bag_error, bag_r2_score
from propcvx.bags.model_selection import BagKFold
from propcvx.bags.targets import bag_target
from propcvx.datasets import bag_proportions
from propcvx.estimators import BagClassifier, fit_grid

Splits = Sequence[tuple[Indices, Indices]]


@dataclass(frozen=True)
class Method:
    """A method, and the parameters it is tuned over.

    Attributes
    ----------
    name : str
        As in tables and figures.
    estimator : estimator
        With the parameters that are not in the grid.
    grid : mapping of str to sequence
        The values of each parameter; if it is empty, the estimator is fitted as it is.
    supervised : bool
        Whether it is fitted to the labels of the training instances, as an upper reference.
    """

    name: str
    estimator: BaseEstimator
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    supervised: bool = False


@dataclass(frozen=True)
class Sample:
    """Instances with their bags and their labels.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
        Instances.
    y : bag target of shape (n_instances,)
        Bags and proportions, which methods are fitted to.
    labels : array of shape (n_instances,)
        True labels -1, +1.
    """

    X: Array
    y: NDArray[np.void]
    labels: NDArray[Any]

    @classmethod
    def in_bags(cls, X: Any, labels: Any, bags: ArrayLike) -> Sample:
        """The sample in which each bag's proportion is that of its labels."""
        return cls(X, bag_target(bags, bag_proportions(labels, bags)), labels)

    def take(self, rows: Indices) -> Sample:
        """The sample of some rows."""
        return Sample(self.X[rows], self.y[rows], self.labels[rows])

    def target(self, method: Method) -> NDArray[Any]:
        """The bag target, or the labels for a supervised method."""
        return self.labels if method.supervised else self.y


@dataclass(frozen=True)
class Task:
    """A sample to fit and tune on, and one to be judged on."""

    train: Sample
    test: Sample


OF_CHOSEN = ("auc", "log_loss", "explained")
"""What is measured of the parameters that are chosen."""
NUMBERS = ("validation_error", "accuracy", "bag_error", *OF_CHOSEN, "objective", "fit_seconds")
POINT = ("parameters", *NUMBERS, "chosen")
"""What is kept of each combination of parameters, see :func:`evaluate`."""


def evaluate(
    method: Method,
    task: Task,
    *,
    n_splits: int = 5,
    random_state: Any = None,
    by_size: bool = False,
    ties: str = "first",
) -> Iterator[dict[str, Any]]:
    """Tune a method on the training sample, fit it there, and judge it on the test sample.

    Parameters are tuned by bag error on held-out whole bags, or, where the method is supervised, by
    accuracy.

    Parameters
    ----------
    method : Method
    task : Task
    n_splits : int
        Folds of the inner cross-validation; with fewer bags, leave-one-bag-out.
    random_state : int, RandomState or None
        Divides the bags into folds.
    by_size : bool
        Whether the error of a held-out bag is weighted by its size.
    ties : "first" or "last"
        Which of several combinations with equal validation error is chosen.

    Yields
    ------
    dict
        For each combination, in the order of ``sklearn.model_selection.ParameterGrid``:
        ``parameters``; ``validation_error``, the sum of the errors of held-out bags over the inner
        cross-validation, of a supervised method the number of incorrect labels; ``chosen``, whether
        that is the smallest; ``accuracy``, the fraction of test instances with the correct label;
        ``bag_error`` on the bags of the test sample; of the parameters that are chosen ``auc``,
        the area under the ROC curve of the scores of test instances, ``log_loss`` of their
        probabilities, and ``explained``, R^2 of the probabilities for the proportions of test bags
        (:func:`propcvx.bags.metrics.bag_r2_score`), each None where it is not defined;
        ``objective``, the value that the fit minimized, None where the estimator does
        not have it; ``fit_seconds``, processor time of the fit to the training sample.
    """
    train, test = task.train, task.test
    grid = list(ParameterGrid(method.grid))
    errors = np.zeros(len(grid))
    if len(grid) > 1:
        splits = inner_splits(method, train, n_splits, random_state)
        for of_bags in held_out_errors(method, train, splits, by_size=by_size):
            errors += of_bags.sum(axis=1)
    best = choose(errors, ties)
    start = processor_seconds()
    models = fit_each(method, train.X, train.target(method))
    for k, model in enumerate(models):
        fit_seconds, predictions = processor_seconds() - start, model.predict(test.X)
        yield {
            "parameters": grid[k],
            "validation_error": float(errors[k]),
            "chosen": k == best,
            "accuracy": float(np.mean(predictions == test.labels)),
            "bag_error": bag_error(test.y, predictions),
            **(_of_scores(model, test) if k == best else dict.fromkeys(OF_CHOSEN)),
            "objective": getattr(model, "objective_", None),
            "fit_seconds": fit_seconds,
        }
        start = processor_seconds()


def _of_scores(model: Any, test: Sample) -> dict[str, float | None]:
    """The numbers ``OF_CHOSEN``, None where one is not defined."""
    values: dict[str, float | None] = dict.fromkeys(OF_CHOSEN)
    if np.ptp(test.labels):
        values["auc"] = float(roc_auc_score(test.labels, model.decision_function(test.X)))
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(test.X)[:, 1]
        values["log_loss"] = float(log_loss(test.labels, probabilities, labels=[-1, 1]))
        if np.ptp(test.y["proportion"]):
            values["explained"] = bag_r2_score(test.y, probabilities)
    return values


def fit_each(method: Method, X: Any, target: NDArray[Any]) -> Iterator[Any]:
    """The method's estimator, fitted with each combination of its grid.

    Parameters
    ----------
    method : Method
    X : array of shape (n_instances, n_features)
    target : array of shape (n_instances,)
        A bag target, or labels where the method is supervised.

    Yields
    ------
    estimator
        In the order of ``sklearn.model_selection.ParameterGrid(method.grid)``.
    """
    if isinstance(method.estimator, BagClassifier):
        yield from fit_grid(method.estimator, X, target, method.grid)
    else:
        for parameters in ParameterGrid(method.grid):
            yield clone(method.estimator).set_params(**parameters).fit(X, target)


def inner_splits(method: Method, sample: Sample, n_splits: int, random_state: Any) -> Splits:
    """The inner cross-validation: over whole bags, or over instances with labels.

    Parameters
    ----------
    method : Method
    sample : Sample
    n_splits : int
        With fewer bags, leave-one-bag-out.
    random_state : int, RandomState or None
        Divides the bags into folds.

    Returns
    -------
    list of pairs of int arrays
        Indices inside and outside of each fold's fit.
    """
    target = sample.target(method)
    if method.supervised:
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    else:
        n_bags = Bags.from_target(target).n_bags
        folds = BagKFold(min(n_splits, n_bags), random_state=random_state)
    return list(folds.split(sample.X, target))


def held_out_errors(
    method: Method, sample: Sample, splits: Splits, *, by_size: bool = False
) -> Iterator[Array]:
    """Errors of each combination of parameters on the held-out part of each split.

    Parameters
    ----------
    method : Method
    sample : Sample
    splits : list of pairs of int arrays
    by_size : bool
        Whether the error of a bag is weighted by its size.

    Yields
    ------
    array of shape (n_combinations, n_bags)
        Absolute errors of the bags' proportions; where the method is supervised, 1 for each
        instance with a wrong label.
    """
    target = sample.target(method)
    for inside, outside in splits:
        test = sample.take(outside)
        models = fit_each(method, sample.X[inside], target[inside])
        predicted = [model.predict(test.X) for model in models]
        if method.supervised:
            yield np.array(predicted) != test.labels
        else:
            weights = Bags.from_target(test.y).sizes if by_size else 1.0
            yield weights * np.array([bag_errors(test.y, labels) for labels in predicted])


def choose(errors: Array, ties: str = "first") -> int:
    """Index of the smallest validation error, the first or the last of several equal ones.

    Sums of the same bags can differ in their last digit, so they are compared to nine digits.
    """
    rounded = np.round(errors, 9)
    smallest = np.flatnonzero(rounded == rounded.min())
    return int(smallest[0] if ties == "first" else smallest[-1])


def bag_errors(y: NDArray[np.void], labels: NDArray[Any]) -> Array:
    """Absolute error of the proportion of positive labels in each bag."""
    bags = Bags.from_target(y)
    return np.abs(bags.proportions_of(labels) - bags.proportions)


def processor_seconds() -> float:
    """Processor time so far, with that of ended subprocesses; other work does not lengthen it."""
    return sum(os.times()[:4])


def summary_of(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Each category of warning once, with its number and first message."""
    texts = defaultdict(list)
    for warning in caught:
        texts[warning.category.__name__].append(str(warning.message))
    return tuple(
        f"{name} (x{len(messages)}): {messages[0].splitlines()[0]}"
        for name, messages in texts.items()
    )
