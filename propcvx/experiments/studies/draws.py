"""How much accuracy depends on which random bags were drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.datasets import random_bags
from propcvx.errors import FewBagsWarning
from propcvx.experiments.evaluation import Method, Sample
from propcvx.experiments.methods import cheaper, paper_methods
from propcvx.experiments.reproduce.printed import Printed, printed
from propcvx.experiments.studies.cells import Row, carry_out, grouped, line, numbers
from propcvx.experiments.studies.samples import labelled
from propcvx.model_selection import BagKFold
from propcvx.plotting import Figure, line_grid

Array = NDArray[np.float64]

DATA = ("heart", "vote")
BAG_SIZES = (8, 16, 32, 64)
FOLDS = 5


class Cell(NamedTuple):
    """One way to draw the bags of a set."""

    draw: int
    data: str
    bag_size: int


def study_draws(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``draws.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Draws of bags, seeded by their number.
    quick : bool
        One generated set in bags of 64: does it run?

    Returns
    -------
    Path
        The figure, ``draws.png``; a table is printed.
    """
    names, sizes = (["gaussians 10%"], [64]) if quick else (DATA, BAG_SIZES)
    cells = [Cell(*cell) for cell in product(range(splits), names, sizes)]
    return carry_out(folder / "draws.csv", cells, measure, table, draw)


def measure(cell: Cell) -> list[dict[str, Any]]:
    """A row for each method, with the middle value of each printed grid.

    ``accuracy`` is that on the test instances of five folds over whole bags, in percent;
    ``spread`` is the standard deviation of the proportions, over all bags.
    """
    X, labels = labelled(cell.data)
    sample = Sample.in_bags(X, labels, random_bags(labels, cell.bag_size, cell.draw))
    spread = float(Bags.from_target(sample.y).proportions.std())
    return [
        {
            "method": method.name,
            "spread": spread,
            "accuracy": 100.0 * float(np.mean(held_out(method, sample, cell.draw) == labels)),
        }
        for method in map(cheaper, paper_methods(cell.draw))
    ]


def held_out(method: Method, sample: Sample, seed: int) -> Array:
    """The label of each instance, predicted from the bags of the other folds."""
    predicted = np.zeros(len(sample.labels))
    model = method.estimator.set_params(**{name: value for name, (value,) in method.grid.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewBagsWarning)  # no fold is judged by itself
        folds = list(BagKFold(FOLDS, random_state=seed).split(sample.X, sample.y))
    for inside, outside in folds:
        model.fit(sample.X[inside], sample.y[inside])
        predicted[outside] = model.predict(sample.X[outside])
    return predicted


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Over the draws: the mean, its deviation, the quartiles and the worst, and what is printed."""
    return [
        {
            "data": data,
            "bag": size,
            "method": method,
            **_summary(numbers(group, "accuracy")),
            "print": _printed(printed().get(("table-linear", data, "linear", int(size), method))),
        }
        for (data, size, method), group in grouped(rows, "data", "bag_size", "method").items()
    ]


def _summary(accuracies: Array) -> dict[str, str]:
    low, median, high = np.percentile(accuracies, [25, 50, 75])
    return {
        "draws": str(len(accuracies)),
        "mean": f"{accuracies.mean():.1f} +- {accuracies.std(ddof=1):.1f}",
        "worst": f"{accuracies.min():.1f}",
        "quartiles": f"{low:.1f}, {median:.1f}, {high:.1f}",
        "below 50": str(int(np.sum(accuracies < 50.0))),
    }


def _printed(paper: Printed | None) -> str:
    return f"{paper.accuracy:.1f} +- {paper.std:.1f}" if paper else ""


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy against the bag size: the mean over draws, and its standard error."""
    panels = {
        data: {
            method: line(lines, "bag_size", "accuracy")
            for (method,), lines in grouped(group, "method").items()
        }
        for (data,), group in grouped(rows, "data").items()
    }
    return line_grid({"accuracy in percent": panels}, "bag size")
