"""What becomes of the relaxation after more and more cuts, rounded in every way there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.experiments.evaluation import Sample, split_into_bags
from propcvx.experiments.methods import printed_conv_psvm
from propcvx.experiments.studies.cells import complete
from propcvx.experiments.studies.rounding_tables import draw, show
from propcvx.experiments.studies.samples import REAL, labelled
from propcvx.relaxation import CuttingPlanes, RelaxationResult
from propcvx.relaxation.rounding import (
    ROUNDINGS,
    LabelingSVM,
    Rounding,
    SoftRounding,
    by_objective,
    mean_labeling,
)

Array = NDArray[np.float64]

C = 1.0
STOPS = (1, 2, 5, 10)
BAG_SIZES = (8, 32, 64)
ALL_ROUNDINGS: Mapping[str, Rounding] = MappingProxyType(
    {**ROUNDINGS, "mean_by_objective": SoftRounding(mean_labeling, by_objective)}
)
"""Those of the package, and the sign rule that its table does not have with the mean."""


class Cell(NamedTuple):
    """One relaxation: all stops and roundings share it."""

    split: int
    data: str
    bag_size: int


@dataclass
class Recorded:
    """A relaxation that keeps what it had reached after each round.

    Attributes
    ----------
    relaxation : CuttingPlanes
    rounds : list of RelaxationResult
    """

    relaxation: CuttingPlanes
    rounds: list[RelaxationResult] = field(default_factory=list)

    def relax(self, *args: Any, **options: Any) -> RelaxationResult:
        """Solve the relaxation."""
        return self.relaxation.relax(*args, **{**options, "on_round": self.rounds.append})


@dataclass(frozen=True)
class Reached:
    """A relaxation that was solved before."""

    result: RelaxationResult

    def relax(self, *args: Any, **options: Any) -> RelaxationResult:
        """What it has reached."""
        return self.result


def grid(splits: int, names: Sequence[str], sizes: Sequence[int] = BAG_SIZES) -> list[Cell]:
    """Cells of the study, split by split."""
    return [Cell(*cell) for cell in product(range(splits), names, sizes)]


def study_roundings(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``roundings.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Random splits of each set into training bags and held-out instances, seeded by their number.
    quick : bool
        One small generated set: does it run?

    Returns
    -------
    Path
        The figure, ``roundings.png``; tables are printed.
    """
    cells = grid(1, ["gaussians 10%"], [32]) if quick else grid(splits, REAL)
    rows = complete(folder / "roundings.csv", cells, measure)
    show(rows)
    picture = folder / "roundings.png"
    draw(rows).savefig(picture, dpi=110)
    return picture


def measure(cell: Cell) -> list[dict[str, Any]]:
    """One row for each stop and rounding."""
    X, labels = labelled(cell.data)
    shuffled = np.random.RandomState(cell.split).permutation(len(X))
    task = split_into_bags(
        X[shuffled], labels[shuffled], cell.bag_size, test_size=0.2, random_state=cell.split
    )
    train, test = task.train, task.test
    recorded = Recorded(CuttingPlanes(oracle="coordinate", max_cuts=max(STOPS)))
    printed_conv_psvm(C, relaxation=recorded).fit(train.X, train.y)
    value = values_of(train)
    rows = []
    for stop, (name, rounding) in product(STOPS, ALL_ROUNDINGS.items()):
        reached = Reached(recorded.rounds[min(stop, len(recorded.rounds)) - 1])
        model = printed_conv_psvm(C, relaxation=reached, rounding=rounding).fit(train.X, train.y)
        row = {
            "cuts": stop,
            "rounding": name,
            "accuracy": float(np.mean(model.predict(test.X) == test.labels)),
            "bag_error": -model.score(test.X, test.y),
            "right": float(np.mean(model.labeling_ == train.labels)),
            "objective": value(tuple(model.labeling_)),
            "true_objective": value(tuple(train.labels)),
        }
        rows.append({**row, **spectrum(model.relaxation_, train.labels)})
    return rows


def values_of(train: Sample) -> Callable[[tuple[float, ...]], float]:
    """The SVM value of a labeling, remembered."""
    svm = LabelingSVM(train.X - train.X.mean(axis=0), C)

    @cache
    def value(labeling: tuple[float, ...]) -> float:
        y = np.array(labeling)
        return svm.value(y, svm.weights(y))

    return value


def spectrum(result: RelaxationResult, labels: Array) -> dict[str, float]:
    """What M is made of, and how its parts stand to the true labels.

    Parameters
    ----------
    result : RelaxationResult
    labels : array of shape (n_instances,)
        The true ones.

    Returns
    -------
    dict of str to float
        The value; the first two eigenvalues' shares of the trace; the absolute cosines of the
        leading eigenvector, of the newest labeling and of the first one with the truth; the weight
        of the first labeling; the share of instances without weight.
    """
    root = np.sqrt(result.weights)[:, None] * result.vectors
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    shares = np.append(singular**2, 0.0) / np.square(singular).sum()
    cosines = np.abs(result.vectors @ labels) / len(labels)
    return {
        "relaxation": result.value,
        "n_cuts": len(result.vectors),
        "leading": float(shares[0]),
        "second": float(shares[1]),
        "axis_cosine": float(abs(right[0] @ labels)) / np.sqrt(len(labels)),
        "newest_cosine": float(cosines[-1]),
        "first_cosine": float(cosines[0]),
        "first_weight": float(result.weights[0]),
        "unused": float(np.mean(result.alpha < 1e-6 * C)),
    }
