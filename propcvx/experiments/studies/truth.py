"""Where the best labeling is known for certain: how many of its labels are right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.bounds import BOUNDS, Interval, LabelingProblem, OutOfTimeError, SwapSearch
from propcvx.datasets import random_bags
from propcvx.experiments.evaluation import Sample
from propcvx.experiments.studies.cells import Row, complete, grouped, line, numbers
from propcvx.experiments.studies.samples import OVERLAPS, REAL, labelled
from propcvx.labelings import FeasibleLabelings
from propcvx.plotting import Figure, line_grid
from propcvx.relaxation.labeling_svm import LabelingSVM
from propcvx.text import text_table

Array = NDArray[np.float64]

CONSTANTS = (0.001, 0.1, 1.0)
BAGS = ((2, 0.0), (4, 0.0), (8, 0.0), (8, 0.125))
"""Bag sizes with an epsilon; in bags of 2 and 4, an epsilon of 0.125 allows nothing more."""

N_INSTANCES = (16, 24)
TIME_LIMIT = 30.0
"""Seconds for a proof."""

TOL = 1e-6
"""Relative gap at which a labeling counts as proved optimal; at small C values differ little."""

BY = ("n_instances", "data", "bag_size", "epsilon")
DRAWN = {
    "right": "share of right labels of\nthe best labeling",
    "true": "truth is a best labeling,\nshare of problems",
    "excess": "value of the truth /\nbest value",
}


class Cell(NamedTuple):
    """One labeling problem."""

    split: int
    data: str
    n_instances: int
    bag_size: int
    epsilon: float
    C: float


def grid(
    splits: int,
    names: Sequence[str],
    sizes: Sequence[int] = N_INSTANCES,
    constants: Sequence[float] = CONSTANTS,
) -> list[Cell]:
    """Cells of the study: the smaller problems first, split by split."""
    return [
        Cell(split, name, size, *bags, C)
        for size, split, name, bags, C in product(sizes, range(splits), names, BAGS, constants)
    ]


def study_truth(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``truth.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Random samples of each set, seeded by their number.
    quick : bool
        One generated set and small constants: does it run?

    Returns
    -------
    Path
        The figure, ``truth.png``; a table is printed.
    """
    names = (*REAL, *OVERLAPS)
    cells = grid(1, ["gaussians 1%"], [16], [0.01, 0.1]) if quick else grid(splits, names)
    rows = complete(folder / "truth.csv", cells, measure)
    print(f"{len(judged(rows))} of {len(rows)} optima are proved.\n")
    print(text_table(table(rows)))
    picture = folder / "truth.png"
    draw(rows).savefig(picture, dpi=110)
    return picture


def measure(cell: Cell) -> list[dict[str, Any]]:
    """The row of a cell.

    ``right`` is the share of right labels of the best labeling, ``chance`` what a random feasible
    labeling is expected to have; ``held_out`` and ``held_out_truth`` are the accuracies of the
    SVMs of the best labeling and of the true one on the other instances of the set.
    """
    X, labels = labelled(cell.data)
    order = np.random.RandomState(cell.split).permutation(len(X))
    inside, outside = order[: cell.n_instances], order[cell.n_instances :]
    truth, mean = labels[inside], X[inside].mean(axis=0)
    sample = Sample.in_bags(X[inside] - mean, truth, random_bags(truth, cell.bag_size, cell.split))
    feasible = FeasibleLabelings.of(Bags.from_target(sample.y), cell.epsilon)
    interval = proved_best(LabelingProblem.constrained(sample.X, feasible, cell.C))
    best = np.asarray(interval.labeling)
    svm = LabelingSVM(sample.X, cell.C)
    weights, true_weights = svm.weights(best), svm.weights(truth)
    share = sample.y["proportion"]
    return [
        {
            "proved": int(interval.closed),
            "lower": interval.lower,
            "value": interval.upper,
            "true_value": svm.value(truth, true_weights),
            "right": float(np.mean(best == truth)),
            "chance": float(np.mean(share**2 + (1.0 - share) ** 2)),
            "held_out": accuracy(X[outside] - mean, labels[outside], weights),
            "held_out_truth": accuracy(X[outside] - mean, labels[outside], true_weights),
        }
    ]


def proved_best(problem: LabelingProblem) -> Interval:
    """What :func:`propcvx.estimators.certify` does, without its search from random directions.

    At these sizes nearly all of the time would be that search's, and the bounds do without.
    """
    interval = Interval(TOL, TIME_LIMIT)
    search = SwapSearch(problem, interval)
    listed = BOUNDS["enumeration"].refuses(problem) is None
    try:
        search.plane(problem.best_for(np.zeros(len(problem.features))))
        BOUNDS["enumeration" if listed else "branch_and_bound"].run(problem, interval, search)
    except OutOfTimeError:
        pass
    return interval


def accuracy(X: Array, labels: Array, weights: Array) -> float:
    """Share of instances on their side of a separator."""
    return float(np.mean(np.where(X @ weights > 0.0, 1.0, -1.0) == labels))


def judged(rows: Sequence[Row]) -> list[Row]:
    """The problems whose optimum is proved, with what follows for the true labeling.

    ``true`` is 1 where it is a best one: the one found, or its mirror image, whose value is the
    same without a bias.  ``excess`` is the ratio of its value to the best.
    """
    excess = numbers(rows, "true_value") / numbers(rows, "value")
    return [
        {**row, "excess": f"{of:.6g}", "true": str(int(float(row["right"]) in (0.0, 1.0)))}
        for row, of in zip(rows, excess, strict=True)
        if row["proved"] == "1"
    ]


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Over the problems whose optimum is proved: means, by set, bag size and epsilon.

    Under each C the share of right labels, then in how many of the problems the truth is best.
    """
    constants = [C for (C,) in grouped(rows, "C")]
    return [
        {
            **dict(zip(BY, key, strict=True)),
            "chance": f"{numbers(group, 'chance').mean():.2f}",
            **{f"C = {C}": _verdict([row for row in group if row["C"] == C]) for C in constants},
        }
        for key, group in grouped(judged(rows), *BY).items()
    ]


def _verdict(rows: Sequence[Row]) -> str:
    if not rows:
        return "none proved"
    right, true = numbers(rows, "right"), numbers(rows, "true")
    return f"{right.mean():.2f}, {true.sum():.0f} of {len(true)}"


def draw(rows: Sequence[Row]) -> Figure:
    """What there is to say of the proved optima against C, for each bag size and epsilon."""
    panels = {
        f"{label}, N = {n}": {
            f"bags of {size}, epsilon {epsilon}": {
                data: line(cell, "C", name) for (data,), cell in grouped(group, "data").items()
            }
            for (size, epsilon), group in grouped(same, "bag_size", "epsilon").items()
        }
        for name, label in DRAWN.items()
        for (n,), same in grouped(judged(rows), "n_instances").items()
    }
    return line_grid(panels, "C", log=True)
