"""One method on one task: tuned on bags, judged on held-out instances and bags."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from propcvx.bags import Bags
from propcvx.datasets import proportions_of, random_bags
from propcvx.estimators import BagClassifier, fit_grid
from propcvx.metrics import bag_error
from propcvx.model_selection import BagKFold
from propcvx.targets import bag_target

Indices = NDArray[np.intp]

STEP = "classifier"
"""Name of a method's estimator within its pipeline."""


@dataclass(frozen=True)
class Method:
    """A method, and the parameters it is tuned over.

    Attributes
    ----------
    name : str
        As tables and figures show it.
    estimator : estimator
        Its parameters outside the grid.
    grid : mapping of str to sequence
        Values tried of each parameter; where empty, the estimator is fitted as it is.
    supervised : bool
        Whether it sees the labels of the training instances, as only a ceiling may.
    """

    name: str
    estimator: BaseEstimator
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    supervised: bool = False


@dataclass(frozen=True)
class Sample:
    """Instances with their bags, and their labels beside.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
        Instances.
    y : bag target of shape (n_instances,)
        What a method may see.
    labels : array of shape (n_instances,)
        True labels -1, +1.
    """

    X: NDArray[np.float64]
    y: NDArray[np.void]
    labels: NDArray[Any]

    @classmethod
    def in_bags(cls, X: Any, labels: Any, bags: ArrayLike) -> Sample:
        """The sample in which each bag's proportion is that of its labels."""
        return cls(X, bag_target(bags, proportions_of(labels, bags)), labels)

    def take(self, rows: Indices) -> Sample:
        """The sample of some rows."""
        return Sample(self.X[rows], self.y[rows], self.labels[rows])


@dataclass(frozen=True)
class Task:
    """A sample to fit and tune on, and one to be judged on."""

    train: Sample
    test: Sample


@dataclass(frozen=True)
class Outcome:
    """What a method reached on a task.

    Attributes
    ----------
    method : str
        Its name.
    parameters : dict
        Those chosen from the grid.
    accuracy : float
        Share of test instances classified right.
    bag_error : float
        On the bags of the test sample.
    seconds : float
        Wall time of tuning and of the last fit, on one core.
    predictions : array of shape (n_instances,)
        Labels -1, +1 of the test instances.
    model : estimator
        The pipeline as fitted last.
    warnings : tuple of str
        What was warned of meanwhile: each category once, with its number and first message.
    """

    method: str
    parameters: dict[str, Any]
    accuracy: float
    bag_error: float
    seconds: float
    predictions: NDArray[np.int8]
    model: Any
    warnings: tuple[str, ...] = ()


def split_into_bags(
    X: Any, labels: Any, bag_size: int, *, test_size: float, random_state: int
) -> Task:
    """Hold out a stratified part of the instances, and put either part into random bags.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    labels : array of shape (n_instances,)
        Labels -1, +1.
    bag_size : int
        Instances in a bag; the last bag of each part may be smaller.
    test_size : float
        Share of the instances that is held out.
    random_state : int
        Seeds the split and the bags.

    Returns
    -------
    Task
    """
    parts = train_test_split(
        X, labels, test_size=test_size, stratify=labels, random_state=random_state
    )
    return Task(
        *(
            Sample.in_bags(part, known, random_bags(known, bag_size, random_state))
            for part, known in (parts[::2], parts[1::2])
        )
    )


def tune_and_evaluate(
    method: Method, task: Task, *, n_splits: int = 5, random_state: int | None = None
) -> Outcome:
    """Scale, tune and fit one method on the training sample; judge it on the test sample.

    Features are scaled to [-1, 1] by what the training instances of each fit span.  Parameters
    are tuned by bag error on held-out whole bags, or, where the method is supervised, by accuracy.

    Parameters
    ----------
    method : Method
    task : Task
    n_splits : int
        Folds of the inner cross-validation.
    random_state : int or None
        Seeds the folds.

    Returns
    -------
    Outcome
    """
    start = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, parameters = _tuned(method, task.train, n_splits, random_state)
    seconds = perf_counter() - start
    predictions = model.predict(task.test.X)
    return Outcome(
        method=method.name,
        parameters=parameters,
        accuracy=float(np.mean(predictions == task.test.labels)),
        bag_error=bag_error(task.test.y, predictions),
        seconds=seconds,
        predictions=predictions,
        model=model,
        warnings=summary_of(caught),
    )


def evaluate_all(
    methods: Sequence[Method], task: Task, *, n_jobs: int = 1, **options: Any
) -> Iterator[Outcome]:
    """:func:`tune_and_evaluate` for several methods, each as soon as it is finished.

    Parameters
    ----------
    methods : sequence of Method
        Begun in this order.
    task : Task
    n_jobs : int
        Number of methods at work at once.
    **options
        For :func:`tune_and_evaluate`.

    Yields
    ------
    Outcome
    """
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    work = delayed(tune_and_evaluate)
    yield from parallel(work(method, task, **options) for method in methods)


def _tuned(
    method: Method, sample: Sample, n_splits: int, random_state: int | None
) -> tuple[Any, dict[str, Any]]:
    """The pipeline, fitted with the parameters that were best, and those parameters."""
    steps = [("scaler", MinMaxScaler((-1, 1))), (STEP, clone(method.estimator))]
    pipeline, target = Pipeline(steps), sample.labels if method.supervised else sample.y
    parameters: dict[str, Any] = {}
    if method.grid:
        folds = (
            StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
            if method.supervised
            else BagKFold(n_splits, random_state=random_state)
        )
        splits = folds.split(sample.X, target)
        scores = sum(_fold_scores(method, sample.X, target, *split) for split in splits)
        parameters = ParameterGrid(method.grid)[int(np.argmax(scores))]
        pipeline.set_params(**{f"{STEP}__{name}": value for name, value in parameters.items()})
    return pipeline.fit(sample.X, target), parameters


def _fold_scores(
    method: Method, X: Any, target: NDArray[Any], train: Indices, test: Indices
) -> NDArray[np.float64]:
    """Score on one fold of every combination of parameters."""
    scaler = MinMaxScaler((-1, 1)).fit(X[train])
    models = fit_each(method, scaler.transform(X[train]), target[train])
    outside = scaler.transform(X[test])
    return np.array([model.score(outside, target[test]) for model in models])


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
        return
    for parameters in ParameterGrid(method.grid):
        yield clone(method.estimator).set_params(**parameters).fit(X, target)


def bag_errors(y: NDArray[np.void], labels: NDArray[Any]) -> NDArray[np.float64]:
    """By how much the proportion of labels is off in each bag."""
    bags = Bags.from_target(y)
    return np.abs(bags.proportions_of(labels) - bags.proportions)


def unit_of_scores(scores: NDArray[np.float64]) -> float:
    """Their root mean square, by which those of several methods are compared; 1 if all are 0."""
    return float(np.sqrt(np.mean(scores**2))) or 1.0


def summary_of(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Each category of warning once, with its number and first message."""
    counts = Counter(warning.category.__name__ for warning in caught)
    first = {warning.category.__name__: str(warning.message) for warning in reversed(caught)}
    return tuple(
        f"{name} (x{count}): {first[name].splitlines()[0]}" for name, count in counts.items()
    )
