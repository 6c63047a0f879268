"""What conv-pSVM would reach if true labels chose between its classifier and the mirror image."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import FewBagsWarning
from propcvx.experiments.evaluation import Sample, bag_errors, fit_each
from propcvx.experiments.reproduce.cells import Cell as Fold
from propcvx.experiments.reproduce.evaluate import choose
from propcvx.experiments.reproduce.experiments import TABLE_DATA
from propcvx.experiments.reproduce.printed import REPETITIONS, Printed, printed
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.experiments.reproduce.tasks import inner_splits, task_of
from propcvx.experiments.studies.cells import Line, Row, carry_out, grouped, line, numbers
from propcvx.experiments.tables import spread_text
from propcvx.plotting import Figure, line_grid

Array = NDArray[np.float64]

METHOD = "conv-pSVM"
DRAWN = TABLE_DATA[:4]
"""Sets in the picture."""
BAG_SIZES = (8, 16, 32, 64)
PROTOCOL = Protocol().with_options(intercepts="center", cuts=1)
"""Centred data and one cut, the defaults of the package; C and epsilon are tuned as printed."""
RULES = ("bags", "labels")
"""Who tells the sign: the proportions of the training bags, or the labels of their instances."""


class Cell(NamedTuple):
    """A repetition of the protocol of Section 6.2."""

    repetition: int
    data: str
    bag_size: int


def study_signs(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``signs.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Repetitions.
    quick : bool
        One generated set in bags of 8: does it run?

    Returns
    -------
    Path
        The figure, ``signs.png``; a table is printed.
    """
    names, sizes = (("blobs",), (8,)) if quick else (TABLE_DATA, BAG_SIZES)
    cells = [Cell(*cell) for cell in product(range(splits), names, sizes)]
    return carry_out(folder / "signs.csv", cells, measure, table, draw)


def measure(cell: Cell) -> list[dict[str, Any]]:
    """A row for each rule: accuracy in percent over the test instances of all folds."""
    folds = [
        Fold(cell.data, "linear", cell.bag_size, METHOD, cell.repetition, k, PROTOCOL)
        for k in range(PROTOCOL.design.folds)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewBagsWarning)  # of folds with a single bag
        right = np.concatenate([right_ones(fold) for fold in folds], axis=1)
    return [
        {"sign": rule, "accuracy": 100.0 * float(row.mean())}
        for rule, row in zip(RULES, right, strict=True)
    ]


def right_ones(fold: Fold) -> NDArray[np.bool_]:
    """For each rule, which test instances the classifier that is chosen labels right."""
    task = task_of(fold)
    splits = inner_splits(fold, task.train, supervised=False)
    errors = sum(_errors(fold, *map(task.train.take, split)) for split in splits)
    test = list(predictions(fold, task.train, task.test))
    chosen = [choose(row, PROTOCOL.design) for row in np.transpose(errors)]
    return np.array([test[k][rule] == task.test.labels for rule, k in enumerate(chosen)])


def _errors(fold: Fold, train: Sample, test: Sample) -> Array:
    """Bag error of each combination of the grid, a row, by each rule, a column."""
    return np.array(
        [
            [bag_errors(test.y, labels).sum() for labels in by_rule]
            for by_rule in predictions(fold, train, test)
        ]
    )


def predictions(fold: Fold, train: Sample, test: Sample) -> Iterator[list[NDArray[Any]]]:
    """For each combination of the grid, the labels of test instances by each rule.

    By the second they are turned round where most training instances would be labelled wrong.
    """
    for model in fit_each(fold.configured, train.X, train.y):
        labels = model.predict(test.X)
        is_mirrored = np.mean(model.predict(train.X) == train.labels) < 0.5
        yield [labels, -labels if is_mirrored else labels]


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Mean and deviation over the repetitions by each rule, and what is printed."""
    return [
        {"data": data, "bag": size, "repetitions": str(len(group) // len(RULES))}
        | {f"sign by {rule}": _text(of) for (rule,), of in grouped(group, "sign").items()}
        | {"print": _printed(data, int(size))}
        for (data, size), group in grouped(rows, "data", "bag_size").items()
    ]


def _text(rows: Sequence[Row]) -> str:
    accuracies = numbers(rows, "accuracy")
    return spread_text(accuracies.mean(), accuracies.std(ddof=1) if len(accuracies) > 1 else np.nan)


def _printed(data: str, bag_size: int) -> str:
    paper = in_print(data, bag_size)
    return spread_text(paper.accuracy, paper.std) if paper else ""


def in_print(data: str, bag_size: int) -> Printed | None:
    """What Table 2 has."""
    return printed().get(("table-linear", data, "linear", bag_size, METHOD))


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy against the bag size, by each rule and in print, with standard errors."""
    panels = {
        data: {
            f"sign by {rule}": line(of, "bag_size", "accuracy")
            for (rule,), of in grouped(group, "sign").items()
        }
        | {"print": _printed_line(data)}
        for (data,), group in grouped(rows, "data").items()
    }
    shown = {data: lines for data, lines in panels.items() if data in DRAWN} or panels
    return line_grid({"accuracy in percent": shown}, "bag size")


def _printed_line(data: str) -> Line:
    known = [
        (size, paper.accuracy, paper.std / REPETITIONS**0.5)
        for size in BAG_SIZES
        if (paper := in_print(data, size))
    ]
    x, y, error = np.reshape(known, (-1, 3)).T
    return x, y, error
