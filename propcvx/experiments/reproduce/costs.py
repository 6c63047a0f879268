"""How long cells take: measured where the results file has such cells, guessed elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from statistics import median
from typing import Any

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.data import n_instances
from propcvx.experiments.reproduce.methods import METHODS

GROWTH = {"linear": 0.5, "rbf": 1.2}
"""Powers of the number of instances that times grow with, from 270 to 270,000 instances and from
270 to 930."""


class Costs:
    """Estimates from the rows of a results file.

    A fit takes as long as those of its column did; where there are none, as long as those of its
    method and kernel did, by the number of instances; and else it is guessed.

    Parameters
    ----------
    rows : sequence of mapping
        As :meth:`propcvx.experiments.reproduce.store.Store.rows` gives them; those of cells that
        failed say nothing.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        columns: dict[tuple[Any, ...], list[float]] = {}
        methods: dict[tuple[Any, ...], list[float]] = {}
        for row in rows:
            if row["error"]:
                continue
            column = (row["data"], row["bag_size"], row["kernel"], row["method"])
            one = row["seconds"] / n_fits(json.loads(row["settings"]))
            columns.setdefault(column, []).append(one)
            methods.setdefault(column[2:], []).append(one / growth(row["data"], row["kernel"]))
        self._of_column = {key: median(seconds) for key, seconds in columns.items()}
        self._of_method = {key: median(seconds) for key, seconds in methods.items()}

    def seconds(self, cell: Cell) -> float:
        """Of one cell, on one core."""
        column = (cell.data, cell.bag_size, cell.kernel, cell.method)
        one = self._of_column.get(column)
        if one is None:
            guess = METHODS[cell.method].seconds
            one = self._of_method.get(column[2:], guess) * growth(cell.data, cell.kernel)
        return one * n_fits(cell.settings)


def growth(data: str, kernel: str) -> float:
    """How much longer a fit to a data set takes than one to heart, roughly."""
    return (n_instances(data) / 270) ** GROWTH[kernel]


def n_fits(settings: Mapping[str, Any]) -> int:
    """Fits of a cell with such settings, each start of alter-pSVM being one."""
    starts = int(settings["parameters"].get("n_init", 1))
    combinations = prod(len(values) for values in settings["grid"].values())
    inner_folds = settings["design"]["inner_folds"] if combinations > 1 else 0
    return starts * combinations * (inner_folds + 1)
