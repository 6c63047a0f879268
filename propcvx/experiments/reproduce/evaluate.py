"""Running a cell: choose parameters on the training bags, fit, and judge on the test instances."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import MinMaxScaler

from propcvx.bags import Bags
from propcvx.experiments.evaluation import (
    Method,
    Sample,
    Task,
    bag_errors,
    fit_each,
    summary_of,
    unit_of_scores,
)
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.protocol import Design
from propcvx.experiments.reproduce.tasks import fingerprint, inner_splits, task_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """One combination of parameters, fitted to the whole training fold.

    Attributes
    ----------
    parameters : dict
    validation_error : float
        Sum over the validation bags of all inner folds, by which parameters are chosen; of a
        supervised method the number of wrong labels.
    accuracy, bag_error : float
        On the test fold; nothing is chosen by these.
    objective : float or None
        What the method has minimised, where it says so.
    seconds : float
        Processor time of its fit to the training fold.
    """

    parameters: dict[str, Any]
    validation_error: float
    accuracy: float
    bag_error: float
    objective: float | None
    seconds: float


@dataclass(frozen=True)
class Result:
    """What became of a cell.

    Attributes
    ----------
    points : tuple of Point
        In the order of the grid.
    chosen : int
        The one that has the smallest validation error.
    scores : array of shape (n_test,)
        Decision values of the chosen one on the test instances, over their root mean square on the
        training instances, so that those of several methods can be averaged.
    split : str
        Hash of the training and test data with their bags.
    seconds : float
        Processor time of everything.
    warnings : tuple of str
        What was warned of, each category once.
    error : str
        What went wrong; empty, or there are no points.
    """

    points: tuple[Point, ...]
    chosen: int
    scores: Array
    split: str
    seconds: float
    warnings: tuple[str, ...] = ()
    error: str = ""


def run_cell(cell: Cell) -> Result:
    """Run a cell.  A failure is part of the result; an interruption is not."""
    start = processor_seconds()
    points: tuple[Point, ...] = ()
    chosen, scores, split, error = 0, np.empty(0), "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            task = task_of(cell)
            split = fingerprint(task)
            errors = _validation_errors(cell, task.train)
            chosen = choose(errors, cell.protocol.design)
            points, scores = _fitted(cell, task, errors, chosen)
        except Exception as failure:  # whatever it is, the other cells go on
            error = f"{type(failure).__name__}: {failure}"
    seconds = processor_seconds() - start
    return Result(points, chosen, scores, split, seconds, summary_of(caught), error)


def processor_seconds() -> float:
    """Processor time so far, with that of ended subprocesses; other work does not lengthen it."""
    return sum(os.times()[:4])


def choose(errors: Array, design: Design) -> int:
    """Index of the smallest validation error, of several equal ones as the protocol says.

    Sums of the same bags can differ in their last digit, so they are compared to nine digits.
    """
    rounded = np.round(errors, 9)
    smallest = np.flatnonzero(rounded == rounded.min())
    return int(smallest[0] if design.ties == "first" else smallest[-1])


def _fitted(cell: Cell, task: Task, errors: Array, chosen: int) -> tuple[tuple[Point, ...], Array]:
    """Each combination of parameters fitted to the training fold; the scores of the chosen one."""
    method, points, scores = cell.configured, [], np.empty(0)
    train, test = _scaled(task.train, task.test, cell.protocol.design)
    models, start = fit_each(method, train.X, _target(method, train)), processor_seconds()
    grid = ParameterGrid(method.grid)
    for k, (parameters, error, model) in enumerate(zip(grid, errors, models, strict=True)):
        seconds, labels = processor_seconds() - start, model.predict(test.X)
        points.append(
            Point(
                parameters=parameters,
                validation_error=float(error),
                accuracy=float(np.mean(labels == test.labels)),
                bag_error=float(bag_errors(test.y, labels).mean()),
                objective=getattr(model, "objective_", None),
                seconds=seconds,
            )
        )
        if k == chosen:
            unit = unit_of_scores(model.decision_function(train.X))
            scores = model.decision_function(test.X) / unit
        start = processor_seconds()
    return tuple(points), scores


def _validation_errors(cell: Cell, sample: Sample) -> Array:
    """Error of each combination of parameters, summed over the inner folds; 0 if it is one only."""
    method, design = cell.configured, cell.protocol.design
    total = np.zeros(len(ParameterGrid(method.grid)))
    if len(total) == 1:
        return total
    for inside, outside in inner_splits(cell, sample, method.supervised):
        train, test = _scaled(sample.take(inside), sample.take(outside), design)
        models = fit_each(method, train.X, _target(method, train))
        total += [_error(method, design, test, model.predict(test.X)) for model in models]
    return total


def _error(method: Method, design: Design, test: Sample, labels: NDArray[Any]) -> float:
    if method.supervised:
        return float(np.sum(labels != test.labels))
    errors = bag_errors(test.y, labels)
    weights = Bags.from_target(test.y).sizes if design.error_weights == "size" else 1.0
    return float(np.sum(weights * errors))


def _target(method: Method, sample: Sample) -> NDArray[Any]:
    return sample.labels if method.supervised else sample.y


def _scaled(train: Sample, test: Sample, design: Design) -> tuple[Sample, Sample]:
    """Both as the method sees them: by what the training instances span, or as they are."""
    if design.scaling == "set":
        return train, test
    scaler = MinMaxScaler((-1, 1)).fit(train.X)
    inside, outside = scaler.transform(train.X), scaler.transform(test.X)
    return Sample(inside, train.y, train.labels), Sample(outside, test.y, test.labels)
