"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propcvx.experiments.reproduce.entries import Entry
from propcvx.plotting import Figure, accuracy_by_bag_size

Numbers = tuple[int, float, float]


@dataclass(frozen=True)
class Picture:
    """A figure with its caption.

    Attributes
    ----------
    name : str
        Of its file, without an ending.
    caption : str
    figure : matplotlib.figure.Figure
    """

    name: str
    caption: str
    figure: Figure


def picture_of(experiment: str, entries: Sequence[Entry]) -> Picture:
    """Accuracy against bag size, of all entries of one data set and kernel, done or not."""
    panels = {
        method: _lines([entry for entry in entries if entry.method == method])
        for method in dict.fromkeys(entry.method for entry in entries)
    }
    data, kernel = entries[0].data, entries[0].kernel
    return Picture(
        f"{experiment}-{data}-{kernel}",
        f"Accuracy against bag size, here and in the paper: {data}, {kernel} kernel.",
        accuracy_by_bag_size(panels, f"{data}, {kernel} kernel"),
    )


def _lines(entries: Sequence[Entry]) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    own = [(entry.bag_size, entry.mean, entry.std) for entry in entries if entry.accuracies]
    theirs = [(e.bag_size, e.paper.accuracy, e.paper.std) for e in entries if e.paper]
    return {name: _line(points) for name, points in (("here", own), ("paper", theirs)) if points}


def _line(points: Sequence[Numbers]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y, bar = np.array(sorted(points), dtype=float).T
    return x, y, bar
