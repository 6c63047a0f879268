"""From cells to the entries of a table: means over repetitions, beside what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.evaluate import choose
from propcvx.experiments.reproduce.printed import Printed, printed
from propcvx.experiments.tables import parameter_text

Array = NDArray[np.float64]
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Entry:
    """One entry of a table: a method on one data set, kernel and bag size.

    Attributes
    ----------
    data, kernel : str
    bag_size : int
    method : str
    accuracies : tuple of float
        Of each repetition all of whose folds are done: the share of all its test instances
        classified right, in percent.
    by_test : tuple of float
        The same, had parameters been chosen by accuracy on the test instances.
    for_all_folds : tuple of float
        The same, had one combination of parameters been chosen for all folds of a repetition, by
        the sum of their validation errors.
    combinations : dict
        The same for each combination of parameters, in all folds of every repetition.
    folds : int
        Of each repetition.
    split_accuracies : dict
        Accuracy in percent by the hash of the split, over the folds of the same repetitions.
    seconds : float
        Of all its cells that are done.
    fit_seconds : float
        Mean time of the fits with the chosen parameters over a repetition's folds, summed.
    n_cells, n_done : int
    paper : Printed or None
    """

    data: str
    kernel: str
    bag_size: int
    method: str
    accuracies: tuple[float, ...]
    by_test: tuple[float, ...]
    for_all_folds: tuple[float, ...]
    combinations: Mapping[str, tuple[float, ...]]
    folds: int
    split_accuracies: dict[str, float]
    seconds: float
    fit_seconds: float
    n_cells: int
    n_done: int
    paper: Printed | None

    @property
    def mean(self) -> float:
        """Mean accuracy; NaN where no repetition is complete."""
        return float(np.mean(self.accuracies)) if self.accuracies else np.nan

    @property
    def std(self) -> float:
        """Standard deviation over repetitions; NaN with fewer than two."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else np.nan

    @property
    def for_all_folds_by_test(self) -> tuple[float, ...]:
        """Of each repetition, the most accurate combination of parameters in all its folds."""
        return tuple(max(each) for each in zip(*self.combinations.values(), strict=True))

    @property
    def difference(self) -> float:
        """Mean accuracy less the printed one, in points; NaN where there is none."""
        return self.mean - self.paper.accuracy if self.paper else np.nan

    @property
    def beside_print(self) -> str:
        """``"within"`` two printed deviations of print, ``"above"`` or ``"below"``; or nothing.

        Our own deviation has no part in it, as a noisy mean would then agree the sooner.
        """
        if self.paper is None or not self.accuracies:
            return ""
        if abs(self.difference) <= 2.0 * self.paper.std:
            return "within"
        return "above" if self.difference > 0.0 else "below"

    @property
    def lost(self) -> float:
        """Points by which choosing parameters by test accuracy would have been better."""
        return float(np.mean(self.by_test)) - self.mean if self.accuracies else np.nan


def entries_of(
    experiment: str, cells: Sequence[Cell], rows: Sequence[Mapping[str, Any]]
) -> list[Entry]:
    """The entries of an experiment, in the order of its cells.

    Parameters
    ----------
    experiment : str
    cells : sequence of Cell
    rows : sequence of mapping
        As :meth:`propcvx.experiments.reproduce.store.Store.rows` gives them; those of other cells
        are left out.
    """
    known = {row["key"]: row for row in rows if not row["error"]}
    groups = grouped(cells, lambda cell: (cell.data, cell.kernel, cell.bag_size, cell.method))
    return [
        _entry(group, known, printed().get((experiment, *place))) for place, group in groups.items()
    ]


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by what the key says of them, in the order in which that first occurs."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _entry(
    cells: Sequence[Cell], known: Mapping[str, Mapping[str, Any]], paper: Printed | None
) -> Entry:
    repetitions = grouped(cells, lambda cell: cell.repetition)
    complete = [
        [known[cell.key] for cell in folds]
        for folds in repetitions.values()
        if all(cell.key in known for cell in folds)
    ]
    done = [known[cell.key] for cell in cells if cell.key in known]
    first = cells[0]
    design = first.protocol.design
    grids = [_Grid.of(folds) for folds in complete]
    return Entry(
        data=first.data,
        kernel=first.kernel,
        bag_size=first.bag_size,
        method=first.method,
        accuracies=tuple(_pooled(folds, "accuracy") for folds in complete),
        by_test=tuple(_pooled(folds, "accuracy_chosen_by_test") for folds in complete),
        for_all_folds=tuple(float(g.accuracies[choose(g.errors, design)]) for g in grids),
        combinations={
            name: tuple(float(grid.accuracies[k]) for grid in grids)
            for k, name in enumerate(grids[0].names if grids else ())
        },
        folds=design.folds,
        split_accuracies={
            row["split"]: 100.0 * row["accuracy"] for folds in complete for row in folds
        },
        seconds=sum(row["seconds"] for row in done),
        fit_seconds=sum(row["fit_seconds"] for row in done) / max(len(complete), 1),
        n_cells=len(cells),
        n_done=len(done),
        paper=paper,
    )


@dataclass(frozen=True)
class _Grid:
    """Each combination of parameters in all folds of a repetition: error, percentage right."""

    names: tuple[str, ...]
    errors: Array
    accuracies: Array

    @classmethod
    def of(cls, folds: Sequence[Mapping[str, Any]]) -> _Grid:
        points = [json.loads(row["points"]) for row in folds]
        right = [[point["accuracy"] for point in fold] for fold in points]
        counts = [row["n_test"] for row in folds]
        return cls(
            tuple(parameter_text(point["parameters"]) for point in points[0]),
            np.sum([[point["validation_error"] for point in fold] for fold in points], axis=0),
            100.0 * np.average(right, axis=0, weights=counts),
        )


def _pooled(folds: Sequence[Mapping[str, Any]], column: str) -> float:
    """Percentage over the test instances of all folds."""
    counts = [row["n_test"] for row in folds]
    return float(100.0 * np.average([row[column] for row in folds], weights=counts))
