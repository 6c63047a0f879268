"""What Algorithm 1 reaches from random and from better labelings, beside the true labeling."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from propcvx.datasets import random_bags
from propcvx.errors import FewBagsWarning
from propcvx.estimators import (
    AlterPropSVM,
    InvCal,
    LabelingStart,
    MethodStart,
    RandomStart,
)
from propcvx.experiments.evaluation import Sample, Task
from propcvx.experiments.methods import printed_alter_psvm, printed_conv_psvm
from propcvx.experiments.reproduce.methods import several_starts
from propcvx.experiments.studies.cells import Line, Row, carry_out, grouped, line, numbers
from propcvx.experiments.studies.samples import labelled
from propcvx.metrics import bag_error
from propcvx.model_selection import BagKFold
from propcvx.plotting import Figure, line_grid

BAG_SIZES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"heart": (8, 16, 32, 64), "vote": (8, 16, 32, 64), "cod-rna.t": (2048, 4096, 8192)}
)

WEIGHTS: Mapping[str, tuple[float, float]] = MappingProxyType({"cod-rna.t": (0.1, 100.0)})
"""C and C_p of Algorithm 1, where they are not the middle of the printed grid."""

MIDDLE = 1.0, 10.0

SEARCHED = 64
"""Largest bags in which labels are also searched one by one, in a time that grows with the squares
of the bag sizes."""

TRUE = "true labels"
"""The row that the others are compared with: the SVM of the true labeling, and its objective."""

DRAWN = (TRUE, "from true labels", "random, annealed", "InvCal", "conv-pSVM")
"""Starts in the picture."""


class Cell(NamedTuple):
    """One way to draw the bags of a set."""

    split: int
    data: str
    bag_size: int


def study_starts(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``starts.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Draws of bags, seeded by their number.
    quick : bool
        One generated set in bags of 8: does it run?

    Returns
    -------
    Path
        The figure, ``starts.png``; a table is printed.
    """
    sizes = {"gaussians 10%": (8,)} if quick else BAG_SIZES
    cells = [
        Cell(split, name, size) for split in range(splits) for name in sizes for size in sizes[name]
    ]
    return carry_out(folder / "starts.csv", cells, measure, table, draw)


def walks(labels: Any, seed: int) -> Mapping[str, AlterPropSVM]:
    """Algorithm 1 from each start; ``TRUE`` stays where it starts."""
    true, inv_cal, conv = (
        LabelingStart(labels, annealing=False),
        InvCal(C_p=1e3),
        printed_conv_psvm(),
    )
    random, annealed = (RandomStart(repeats=10, annealing=anneal) for anneal in (False, True))
    return {
        TRUE: printed_alter_psvm(init=true, max_iter=1),
        "from true labels": printed_alter_psvm(init=true),
        "random, annealed": printed_alter_psvm(init=annealed, random_state=seed),
        "random": printed_alter_psvm(init=random, random_state=seed),
        "InvCal, annealed": printed_alter_psvm(init=MethodStart(inv_cal)),
        "InvCal": printed_alter_psvm(init=MethodStart(inv_cal, annealing=False)),
        "conv-pSVM": printed_alter_psvm(init=MethodStart(conv, annealing=False)),
    }


def searches(labels: Any, seed: int) -> Mapping[str, AlterPropSVM]:
    """Algorithm 1, and then label by label as long as the objective falls."""
    true = LabelingStart(labels, annealing=False)
    return {
        "from true labels, hops": printed_alter_psvm(init=true, polish="hops", random_state=seed),
        "several, hops": printed_alter_psvm(
            init=several_starts(), polish="hops", random_state=seed
        ),
    }


def measure(cell: Cell) -> list[dict[str, Any]]:
    """A row for each start, on the first of five folds over whole bags.

    ``objective`` is that of eq:pSVM_2; ``right`` and ``accuracy`` are the labels that are right on
    the training and on the test instances, in percent; ``bag_error`` is that on the test bags.
    """
    task = task_of(cell)
    C, C_p = WEIGHTS.get(cell.data, MIDDLE)
    models = dict(walks(task.train.labels, cell.split))
    if cell.bag_size <= SEARCHED:
        models |= searches(task.train.labels, cell.split)
    rows = []
    for start, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rounds that end early, which TRUE asks for
            model.set_params(C=C, C_p=C_p).fit(task.train.X, task.train.y)
        predicted = model.predict(task.test.X)
        row = {"start": start, "objective": model.objective_}
        row["right"] = 100.0 * float(np.mean(model.labeling_ == task.train.labels))
        row["accuracy"] = 100.0 * float(np.mean(predicted == task.test.labels))
        rows.append({**row, "bag_error": bag_error(task.test.y, predicted)})
    return rows


def task_of(cell: Cell) -> Task:
    """Random bags, and the first of five folds over them."""
    X, labels = labelled(cell.data)
    sample = Sample.in_bags(X, labels, random_bags(labels, cell.bag_size, cell.split))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewBagsWarning)  # its bag error is compared, not judged
        inside, outside = next(BagKFold(random_state=cell.split).split(sample.X, sample.y))
    return Task(sample.take(inside), sample.take(outside))


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Means over the draws; objectives are relative to that of the true labels, draw by draw."""
    return [
        {
            "data": data,
            "bag": size,
            "start": start,
            "draws": str(len(group)),
            "objective": f"{numbers(group, 'relative').mean():.3f}",
            "below": f"{int(np.sum(numbers(group, 'relative') < 1.0))}",
            "right": f"{numbers(group, 'right').mean():.1f}",
            "accuracy": f"{numbers(group, 'accuracy').mean():.1f}",
            "bag error": f"{numbers(group, 'bag_error').mean():.4f}",
        }
        for (data, size, start), group in grouped(
            relative(rows), "data", "bag_size", "start"
        ).items()
    ]


def relative(rows: Sequence[Row]) -> list[Row]:
    """The rows with the objective over that of the true labels of the same draw."""
    true = {
        (row["split"], row["data"], row["bag_size"]): float(row["objective"])
        for row in rows
        if row["start"] == TRUE
    }
    return [
        {
            **row,
            "relative": str(
                float(row["objective"]) / true[row["split"], row["data"], row["bag_size"]]
            ),
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Test accuracy against the objective, a point for the mean of each bag size."""
    panels = {
        data: {start: _points(grouped(group, "start")[(start,)]) for start in DRAWN}
        for (data,), group in grouped(relative(rows), "data").items()
    }
    return line_grid({"test accuracy in percent": panels}, "objective over that of the true labels")


def _points(rows: Sequence[Row]) -> Line:
    """Means by bag size, with the standard error of the accuracy."""
    _, x, _ = line(rows, "bag_size", "relative")
    _, y, error = line(rows, "bag_size", "accuracy")
    return x, y, error
