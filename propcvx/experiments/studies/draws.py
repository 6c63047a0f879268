"""How much accuracy depends on which random bags were drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f

from propcvx.bags import Bags
from propcvx.datasets import random_bags
from propcvx.errors import FewBagsWarning
from propcvx.experiments.evaluation import Method, Sample
from propcvx.experiments.methods import cheaper, paper_methods
from propcvx.experiments.reproduce.printed import REPETITIONS, Printed, printed
from propcvx.experiments.studies.cells import Row, carry_out, grouped, line, numbers
from propcvx.experiments.studies.samples import labelled
from propcvx.experiments.tables import spread_text
from propcvx.model_selection import BagKFold
from propcvx.plotting import Figure, line_grid

Array = NDArray[np.float64]

DATA = ("heart", "vote")
BAG_SIZES = (8, 16, 32, 64)
FOLDS = 5
DEALS = 2


class Cell(NamedTuple):
    """One way to draw the bags of a set, and to deal them into folds."""

    draw: int
    deal: int
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
    cells = [Cell(*cell) for cell in product(range(splits), range(DEALS), names, sizes)]
    return carry_out(folder / "draws.csv", cells, measure, table, draw)


def measure(cell: Cell) -> list[dict[str, Any]]:
    """A row for each method, with the middle value of each printed grid.

    ``accuracy`` is that on the test instances of five folds over whole bags, in percent;
    ``spread`` is the standard deviation of the proportions, over all bags.  Another deal of the
    same bags has other folds, and other starts.
    """
    X, labels = labelled(cell.data)
    sample = Sample.in_bags(X, labels, random_bags(labels, cell.bag_size, cell.draw))
    spread = float(Bags.from_target(sample.y).proportions.std())
    seed = cell.draw + 1000 * cell.deal
    return [
        {
            "method": method.name,
            "spread": spread,
            "accuracy": 100.0 * float(np.mean(held_out(method, sample, seed) == labels)),
        }
        for method in map(cheaper, paper_methods(seed))
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
    """Over the draws: the mean, its deviation, the quartiles and the worst, and what is printed.

    ``same bags`` is the deviation over deals of the same bags.  ``p`` is how probable a deviation
    over five drawings is that is no larger than the printed one, if accuracies are normal with the
    deviation over our drawings.
    """
    return [
        {
            "data": data,
            "bag": size,
            "method": method,
            **_summary(group, printed().get(("table-linear", data, "linear", int(size), method))),
        }
        for (data, size, method), group in grouped(rows, "data", "bag_size", "method").items()
    ]


def _summary(rows: Sequence[Row], paper: Printed | None) -> dict[str, str]:
    deals = [numbers(group, "accuracy") for group in grouped(rows, "draw").values()]
    firsts = np.array([accuracies[0] for accuracies in deals])
    low, median, high = np.percentile(firsts, [25, 50, 75])
    deviation = float(firsts.std(ddof=1))
    again = float(np.sqrt(np.mean([accuracies.var(ddof=1) for accuracies in deals])))
    return {
        "draws": str(len(firsts)),
        "mean": spread_text(firsts.mean(), deviation),
        "same bags": f"{again:.1f}",
        "worst": f"{firsts.min():.1f}",
        "quartiles": f"{low:.1f}, {median:.1f}, {high:.1f}",
        "below 50": str(int(np.sum(firsts < 50.0))),
        "print": spread_text(paper.accuracy, paper.std) if paper else "",
        "p": f"{p_value(paper.std, deviation, len(firsts)):.2g}" if paper else "",
    }


def p_value(printed: float, deviation: float, draws: int) -> float:
    """Probability that five drawings deviate no more than printed, by the F test.

    Examples
    --------
    >>> round(p_value(1.0, 1.0, 1000), 2)
    0.59
    """
    return float(f.cdf((printed / deviation) ** 2, REPETITIONS - 1, draws - 1))


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy against the bag size: the mean over draws, and its standard error."""
    rows = [row for row in rows if row["deal"] == "0"]
    panels = {
        data: {
            method: line(lines, "bag_size", "accuracy")
            for (method,), lines in grouped(group, "method").items()
        }
        for (data,), group in grouped(rows, "data").items()
    }
    return line_grid({"accuracy in percent": panels}, "bag size")
