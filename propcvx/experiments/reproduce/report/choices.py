"""What choosing parameters in other ways would have given: a comparison of the ways, no result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from propcvx.experiments.reproduce.entries import Entry, grouped
from propcvx.experiments.tables import markdown_table

CHOICES: Mapping[str, Callable[[Entry], tuple[float, ...]]] = MappingProxyType(
    {
        "each fold, bag error": lambda entry: entry.accuracies,
        "all folds, bag error": lambda entry: entry.for_all_folds,
        "each fold, test accuracy": lambda entry: entry.by_test,
        "all folds, test accuracy": lambda entry: entry.for_all_folds_by_test,
    }
)
"""The accuracies of an entry by what one combination of parameters is chosen for, and by what.

The first is what all other tables show.
"""

LARGE = 32
"""Size from which bags count as large."""

REPEATED = 3
"""Repetitions from which an entry's standard deviation counts."""

Groups = Mapping[str, Sequence[Entry]]
Column = Callable[[Sequence[Entry]], str]


def by_method(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by method, those with large bags apart."""
    return {
        f"{method}, {_sizes_text(group)}": group
        for part in small_and_large(entries)
        for method, group in grouped(part, lambda entry: entry.method).items()
    }


def differences_table(groups: Groups) -> str:
    """Mean difference to print, in brackets how many entries lie within two printed deviations."""
    beside = {name: [e for e in group if e.beside_print] for name, group in groups.items()}
    return _table(beside, _columns(difference_text))


def deviations_table(groups: Groups) -> str:
    """Median of the standard deviations over repetitions, and of those in print."""
    repeated = {
        name: [e for e in group if e.paper and len(e.accuracies) >= REPEATED]
        for name, group in groups.items()
    }
    return _table(repeated, _columns(_deviation) | {"print": _printed_deviation})


def fixed_table(entries: Sequence[Entry]) -> str:
    """Mean accuracy as chosen, and with one combination for all entries of a kernel and method.

    It is the one that is best on average over them.
    """
    groups = grouped(entries, lambda entry: (entry.kernel, entry.method))
    sizes = [_sizes_text(part) for part in small_and_large(entries)]
    columns = [f"{text}: {way}" for text in sizes for way in ("chosen", "fixed")]
    rows = map(_fixed_row, groups.values())
    return markdown_table(["kernel", "method", *columns, "fixed to"], rows)


def _fixed_row(entries: Sequence[Entry]) -> list[str]:
    first, parts = entries[0], small_and_large(entries)
    best = max(first.combinations, key=lambda name: _mean_fixed(entries, name))
    means = [mean for part in parts for mean in (_mean(part), _mean_fixed(part, best))]
    return [first.kernel, first.method, *(f"{mean:.1f}" for mean in means), best]


def _mean_fixed(entries: Sequence[Entry], combination: str) -> float:
    return _mean([replace(e, accuracies=e.combinations[combination]) for e in entries])


def _mean(entries: Sequence[Entry]) -> float:
    return float(np.mean([entry.mean for entry in entries]))


def _columns(text: Column) -> dict[str, Column]:
    """For each way to choose, the text of a group as it would then be."""

    def column(accuracies: Callable[[Entry], tuple[float, ...]]) -> Column:
        return lambda group: text([replace(e, accuracies=accuracies(e)) for e in group])

    return {name: column(accuracies) for name, accuracies in CHOICES.items()}


def _table(groups: Groups, columns: Mapping[str, Column]) -> str:
    rows = [
        [name, str(len(group)), *(column(group) for column in columns.values())]
        for name, group in groups.items()
        if group
    ]
    return markdown_table(["", "entries", *columns], rows) if rows else ""


def small_and_large(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries with small bags, and those with bags of ``LARGE`` and more."""
    return [[e for e in entries if (e.bag_size >= LARGE) == large] for large in (False, True)]


def _sizes_text(entries: Sequence[Entry]) -> str:
    return f"bags of {', '.join(map(str, sorted({entry.bag_size for entry in entries})))}"


def difference_text(entries: Sequence[Entry]) -> str:
    """Mean difference to print, in brackets how many lie within two printed deviations of it."""
    within = sum(entry.beside_print == "within" for entry in entries)
    return f"{np.mean([entry.difference for entry in entries]):+.1f} ({within})"


def _deviation(entries: Sequence[Entry]) -> str:
    return f"{np.median([entry.std for entry in entries]):.1f}"


def _printed_deviation(entries: Sequence[Entry]) -> str:
    return f"{np.median([entry.paper.std for entry in entries if entry.paper]):.1f}"
