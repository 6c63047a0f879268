"""The tables of a report, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from propcvx.experiments.reproduce.entries import Entry, grouped
from propcvx.experiments.reproduce.paired import best_methods
from propcvx.experiments.tables import markdown_table, spread_text


def accuracy_table(entries: Sequence[Entry]) -> str:
    """Methods by bag sizes, of one data set and kernel."""
    columns = grouped(entries, lambda entry: entry.bag_size)
    best = {size: best_methods(column) for size, column in columns.items()}
    cells = {
        (entry.method, entry.bag_size): _cell(entry, entry.method in best[entry.bag_size])
        for entry in entries
    }
    head = [f"{entries[0].data}, {entries[0].kernel}", *map(size_text, columns)]
    methods = dict.fromkeys(entry.method for entry in entries)
    return markdown_table(
        head, [[method, *(cells.get((method, size), "") for size in columns)] for method in methods]
    )


def summary_table(tables: Mapping[str, Sequence[Entry]]) -> str:
    """For each group of entries that has printed numbers, how they lie to them.

    The last column is the mean difference, had parameters been chosen by test accuracy.
    """
    rows = [
        {
            "": name,
            "cells done": f"{sum(e.n_done for e in entries)} of {sum(e.n_cells for e in entries)}",
            "entries beside print": str(len(beside)),
            "mean difference": _mean_difference(beside),
            **{place: str(count) for place, count in _places(beside).items()},
            "chosen by test": f"{np.mean([e.difference + e.lost for e in beside]):+.2f}",
        }
        for name, entries in tables.items()
        if (beside := _beside(entries))
    ]
    return markdown_table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ""


def by_bag_size(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by the size of their bags, smallest first."""
    sizes = grouped(entries, lambda entry: entry.bag_size)
    names = {size: f"bags of {size}" if size else "own bags" for size in sizes}
    return {names[size]: sizes[size] for size in sorted(sizes)}


def by_repetitions(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by how many repetitions are done, most first."""
    counts = grouped(entries, lambda entry: len(entry.accuracies))
    return {f"repetitions: {count}": counts[count] for count in sorted(counts, reverse=True)}


def agreement(entries: Sequence[Entry]) -> str:
    """How many entries agree with print."""
    beside = _beside(entries)
    within, above, below = _places(beside).values()
    return (
        f"Mean difference to print {_mean_difference(beside)} points. Of {len(beside)} entries "
        f"beside print, {within} lie within two printed deviations, {above} above and {below} "
        f"below."
    )


def selection(entries: Sequence[Entry]) -> str:
    """What choosing by validation loses, method by method."""
    methods = grouped(entries, lambda entry: entry.method)
    listed = ", ".join(
        f"{method} {np.mean([entry.lost for entry in group]):+.1f}"
        for method, group in methods.items()
    )
    return f"Chosen by test accuracy, the mean over all entries would have changed by: {listed}."


def entry_table(entries: Sequence[Entry]) -> str:
    """Every entry on a line of its own."""
    head = ["data", "kernel", "bag", "method", "repetitions", "ours", "paper", "difference"]
    head += ["two printed deviations", "chosen by test"]
    return markdown_table(
        head,
        [
            [
                entry.data,
                entry.kernel,
                size_text(entry.bag_size),
                entry.method,
                str(len(entry.accuracies)),
                spread_text(entry.mean, entry.std),
                *_printed(entry),
                f"{np.mean(entry.by_test):.1f} ({entry.lost:+.1f})",
            ]
            for entry in entries
        ],
    )


def times_table(entries: Sequence[Entry]) -> str:
    """Times of the fits, beside the two that the paper has."""
    rows = [[e.method, str(e.bag_size), f"{e.fit_seconds:.2f}"] for e in entries]
    return (
        "Seconds of five fits, one for each fold; the paper has 15.0 for alter-pSVM and 4.3 for "
        "conv-pSVM on four cores of 2.5 GHz.\n\n"
        + markdown_table(["method", "bag", "seconds"], rows)
    )


def size_text(bag_size: int) -> str:
    """A bag size, as a heading."""
    return str(bag_size) if bag_size else "own bags"


def _cell(entry: Entry, best: bool) -> str:
    own = spread_text(entry.mean, entry.std)
    own = (f"**{own}**" if best else own) + (" (1)" if len(entry.accuracies) == 1 else "")
    if entry.paper is None:
        return own
    theirs = spread_text(entry.paper.accuracy, entry.paper.std)
    return f"{own} [{theirs}{', bold' if entry.paper.bold else ''}]"


def _printed(entry: Entry) -> list[str]:
    """Print, the difference, and whether it is within two printed deviations."""
    if entry.paper is None:
        return [""] * 3
    return [
        spread_text(entry.paper.accuracy, entry.paper.std),
        f"{entry.difference:+.1f}",
        entry.beside_print,
    ]


def _beside(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.beside_print]


def _mean_difference(beside: Sequence[Entry]) -> str:
    return f"{np.mean([entry.difference for entry in beside]):+.2f}"


def _places(beside: Sequence[Entry]) -> dict[str, int]:
    """How many lie where."""
    places = [entry.beside_print for entry in beside]
    return {
        "within two printed deviations": places.count("within"),
        "above": places.count("above"),
        "below": places.count("below"),
    }
