"""How long cells take: measured where the results file has such cells, guessed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from sklearn.model_selection import ParameterGrid

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.data import n_instances
from propcvx.experiments.reproduce.methods import METHODS

Key = tuple[str, str, int, str]


class Costs:
    """Estimates from the rows of a results file.

    Parameters
    ----------
    rows : sequence of mapping
        As :meth:`propcvx.experiments.reproduce.store.Store.rows` gives them.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        seen: dict[Key, list[float]] = {}
        for row in rows:
            key = (row["data"], row["kernel"], row["bag_size"], row["method"])
            seen.setdefault(key, []).append(row["seconds"])
        self._measured = {key: mean(seconds) for key, seconds in seen.items()}

    def seconds(self, cell: Cell) -> float:
        """Of one cell, on one core."""
        key = (cell.data, cell.kernel, cell.bag_size, cell.method)
        return self._measured.get(key) or guess(cell)


def guess(cell: Cell) -> float:
    """Seconds of a cell where none like it has been run."""
    design = cell.protocol.design
    combinations = len(ParameterGrid(cell.configured.grid))
    fits = combinations * (design.inner_folds + 1) if combinations > 1 else 1
    return 0.1 + fits * METHODS[cell.method].seconds * (n_instances(cell.data) / 270) ** 1.6
