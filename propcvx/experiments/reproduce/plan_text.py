"""A plan as text: how many cells of each kind, how many are done, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.costs import Costs
from propcvx.experiments.reproduce.store import Store
from propcvx.text import text_table


def plan_text(cells: Sequence[Cell], store: Store | None, n_jobs: int) -> str:
    """A row for each data set, kernel and method, and the whole.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store, optional
        The results file, where there is one already.
    n_jobs : int
        Cells at work at once.
    """
    left = set(cells if store is None else store.left(cells))
    costs = Costs([] if store is None else store.rows())
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.kernel, cell.method), []).append(cell)
    rows = [
        {
            "data": data,
            "kernel": kernel,
            "method": method,
            "bag sizes": _shown(cell.bag_size for cell in group),
            "repetitions": _shown(cell.repetition for cell in group),
            "cells": str(len(group)),
            "to do": str(sum(cell in left for cell in group)),
            "hours": f"{sum(costs.seconds(cell) for cell in group if cell in left) / 3600:.2f}",
        }
        for (data, kernel, method), group in groups.items()
    ]
    seconds = sum(costs.seconds(cell) for cell in left) / n_jobs
    time = f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"
    return (
        f"{text_table(rows)}\n\n{len(cells)} cells, {len(left)} to do: about {time} on "
        f"{n_jobs} core{'s' if n_jobs > 1 else ''}"
    )


def _shown(values: Iterable[int]) -> str:
    return " ".join(str(value) for value in sorted(set(values)))
