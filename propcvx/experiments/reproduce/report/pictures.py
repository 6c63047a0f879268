"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from propcvx.experiments.reproduce.entries import Entry, grouped
from propcvx.plotting import Figure, accuracy_by_bag_size
from propcvx.plotting.style import Line

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
        method: _lines(group)
        for method, group in grouped(entries, lambda entry: entry.method).items()
    }
    data, kernel = entries[0].data, entries[0].kernel
    where = ", here and in the paper" if any(entry.paper for entry in entries) else ""
    return Picture(
        f"{experiment}-{data}-{kernel}",
        f"Accuracy against bag size{where}: {data}, {kernel} kernel.",
        accuracy_by_bag_size(panels, f"{data}, {kernel} kernel"),
    )


def picture_of_choices(name: str, entries: Sequence[Entry]) -> Picture:
    """Mean accuracy over data sets and kernels against bag size, by how parameters are chosen.

    Parameters
    ----------
    name : str
        Of the picture.
    entries : sequence of Entry
        Those that are beside print.
    """
    panels = {
        method: {
            "chosen by bag error": _means(group, lambda entry: entry.mean),
            "paper": _means(group, lambda entry: entry.paper.accuracy if entry.paper else np.nan),
            "chosen by test accuracy": _means(
                group, lambda entry: float(np.mean(entry.for_all_folds_by_test))
            ),
        }
        for method, group in grouped(entries, lambda entry: entry.method).items()
    }
    return Picture(
        name,
        "Mean accuracy against bag size: with parameters chosen by bag error for each fold, in the "
        "paper, and with one combination for all folds, chosen by accuracy on test instances.",
        accuracy_by_bag_size(panels),
    )


def _means(entries: Sequence[Entry], accuracy: Callable[[Entry], float]) -> Line:
    sizes = grouped(entries, lambda entry: entry.bag_size)
    means = {size: float(np.mean([accuracy(e) for e in group])) for size, group in sizes.items()}
    return _line([(size, mean, np.nan) for size, mean in means.items()])


def _lines(entries: Sequence[Entry]) -> dict[str, Line]:
    own = [(entry.bag_size, entry.mean, entry.std) for entry in entries if entry.accuracies]
    theirs = [(e.bag_size, e.paper.accuracy, e.paper.std) for e in entries if e.paper]
    return {name: _line(points) for name, points in (("here", own), ("paper", theirs)) if points}


def _line(points: Sequence[Numbers]) -> Line:
    x, y, bar = np.array(sorted(points), dtype=float).T
    return x, y, bar
