"""Methods that the paper does not have, beside the best one that it prints for each column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce.entries import Entry
from propcvx.experiments.reproduce.printed import best_printed
from propcvx.experiments.reproduce.report.tables import size_text
from propcvx.experiments.tables import markdown_table

FIXED_ON = ("heart", "vote")
"""The sets on which these methods were put together; all others only confirm."""


def beyond_table(entries: Sequence[Entry]) -> str:
    """Every column of which the paper has accuracies, with the ceiling where it was run."""
    ceilings = {(e.data, e.kernel, e.bag_size): e.mean for e in entries if e.method == SUPERVISED}
    rows = []
    for entry in entries:
        place = entry.data, entry.kernel, entry.bag_size
        best = best_printed(*place)
        if best is not None and entry.method != SUPERVISED:
            ceiling = f"{ceilings[place]:.1f}" if place in ceilings else ""
            rows.append([*_row(entry), f"{best[1].accuracy:.1f} {best[0]}", _over(entry), ceiling])
    head = ["data", "bag", "method", "repetitions", "ours", "best in print", "difference"]
    return markdown_table([*head, SUPERVISED], rows)


def beyond_means(entries: Sequence[Entry]) -> str:
    """Mean differences to the best in print, where the recipe was made and where it was not."""
    columns = [
        entry
        for entry in entries
        if entry.method != SUPERVISED and best_printed(entry.data, entry.kernel, entry.bag_size)
    ]
    groups: dict[tuple[str, str], list[float]] = {}
    for entry in columns:
        kind = "sets it was made on" if entry.data in FIXED_ON else "other sets"
        groups.setdefault((entry.method, kind), []).append(difference(entry))
    return markdown_table(
        ["method", "", "columns", "mean difference to the best in print"],
        [[*key, str(len(found)), f"{np.mean(found):+.2f}"] for key, found in groups.items()],
    )


def difference(entry: Entry) -> float:
    """Mean accuracy less that of the best method in print, in points; NaN where there is none."""
    best = best_printed(entry.data, entry.kernel, entry.bag_size)
    return entry.mean - best[1].accuracy if best else np.nan


def _over(entry: Entry) -> str:
    return f"{difference(entry):+.1f}"


def _row(entry: Entry) -> list[str]:
    own = [entry.data, size_text(entry.bag_size), entry.method, str(len(entry.accuracies))]
    return [*own, f"{entry.mean:.1f}"]
