"""Methods that the paper does not have, beside the best one that it prints for each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce.entries import Entry
from propcvx.experiments.reproduce.printed import Printed, best_printed
from propcvx.experiments.reproduce.report.tables import size_text
from propcvx.experiments.tables import markdown_table

FIXED_ON = ("heart", "vote")
"""The sets on which these methods were put together; all others only confirm."""


def beyond_table(entries: Sequence[Entry]) -> str:
    """Every column of which the paper has accuracies, with the ceiling where it was run."""
    ceilings = {
        (e.data, e.kernel, e.bag_size): f"{e.mean:.1f}" for e in entries if e.method == SUPERVISED
    }
    rows = [
        [
            entry.data,
            size_text(entry.bag_size),
            entry.method,
            str(len(entry.accuracies)),
            f"{entry.mean:.1f}",
            f"{paper.accuracy:.1f} {best}",
            f"{entry.mean - paper.accuracy:+.1f}",
            ceilings.get((entry.data, entry.kernel, entry.bag_size), ""),
        ]
        for entry, best, paper in _beside(entries)
    ]
    head = ["data", "bag", "method", "repetitions", "ours", "best in print", "difference"]
    return markdown_table([*head, SUPERVISED], rows) if rows else ""


def room_table(entries: Sequence[Entry]) -> str:
    """How far the SVM that is told the labels lies above the best in print, by size of bags."""
    room: dict[int, list[float]] = {}
    for entry, _, paper in _beside(entries, ceiling=True):
        room.setdefault(entry.bag_size, []).append(entry.mean - paper.accuracy)
    groups = [(size_text(size), room[size]) for size in sorted(room)]
    groups.append(("all", [points for found in room.values() for points in found]))
    rows = [[name, str(len(found)), f"{np.mean(found):+.2f}"] for name, found in groups if found]
    head = ["bag", "columns", f"{SUPERVISED} above the best in print"]
    return markdown_table(head, rows) if rows else ""


def beyond_means(entries: Sequence[Entry]) -> str:
    """Mean differences to the best in print, where the recipe was made and where it was not."""
    groups: dict[tuple[str, str], list[float]] = {}
    for entry, _, paper in _beside(entries):
        kind = "sets it was made on" if entry.data in FIXED_ON else "other sets"
        groups.setdefault((entry.method, kind), []).append(entry.mean - paper.accuracy)
    rows = [[*key, str(len(found)), f"{np.mean(found):+.2f}"] for key, found in groups.items()]
    head = ["method", "", "columns", "mean difference to the best in print"]
    return markdown_table(head, rows) if rows else ""


def _beside(
    entries: Sequence[Entry], *, ceiling: bool = False
) -> Iterator[tuple[Entry, str, Printed]]:
    """Entries of columns that are printed, with the best method of each: the ceiling or others."""
    for entry in entries:
        best = best_printed(entry.data, entry.kernel, entry.bag_size)
        if best is not None and (entry.method == SUPERVISED) == ceiling:
            yield entry, *best
