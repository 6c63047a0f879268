"""The section of a report that tests methods against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from propcvx.experiments.reproduce.entries import Entry
from propcvx.experiments.reproduce.paired import LEVEL, Comparison, compare, printed_p_value
from propcvx.experiments.reproduce.printed import Printed
from propcvx.experiments.reproduce.report.tables import size_text
from propcvx.experiments.tables import markdown_table

RIVALS = tuple(
    (ours, other) for ours in ("alter-pSVM", "conv-pSVM") for other in ("MeanMap", "InvCal")
)
"""The comparisons that the paper counts: its methods with those before."""
PAIRS = (*RIVALS, ("alter-pSVM", "conv-pSVM"))

Pair = tuple[str, str]
Place = tuple[str, str, int]
Column = Mapping[str, Entry]


def paired_tests(entries: Sequence[Entry]) -> Iterator[str]:
    """Differences and p-values, column by column; nothing where there is nothing to test."""
    columns: dict[Place, dict[str, Entry]] = {}
    for entry in entries:
        place = (entry.data, entry.kernel, entry.bag_size)
        columns.setdefault(place, {})[entry.method] = entry
    pairs = {place: _comparisons(column) for place, column in columns.items()}
    tested = {place: found for place, found in pairs.items() if found}
    if tested:
        yield "### Methods against each other"
        yield _counted(tested.values(), [columns[place] for place in tested])
        yield _table(tested)


def _comparisons(column: Column) -> dict[Pair, Comparison]:
    pairs = {
        (first, second): compare(column[first], column[second])
        for first, second in PAIRS
        if first in column and second in column
    }
    return {pair: found for pair, found in pairs.items() if not np.isnan(found.p_value)}


def _table(tested: Mapping[Place, Mapping[Pair, Comparison]]) -> str:
    head = ["data", "kernel", "bag", *(f"{first} - {second}" for first, second in PAIRS)]
    rows = [
        [data, kernel, size_text(size), *(_cell(pairs.get(pair)) for pair in PAIRS)]
        for (data, kernel, size), pairs in tested.items()
    ]
    return (
        "Mean difference in points over the n splits that both have done, with the corrected "
        f"p-value; bold below {LEVEL}.\n\n" + markdown_table(head, rows)
    )


def _cell(found: Comparison | None) -> str:
    if found is None:
        return ""
    text = f"{found.difference:+.1f} (p {found.p_value:.3f}, n {found.n_splits})"
    return f"**{text}**" if found.p_value < LEVEL else text


def _counted(tested: Iterable[Mapping[Pair, Comparison]], columns: Sequence[Column]) -> str:
    """How many comparisons with earlier methods are significant, ours and as printed."""
    found = [pairs[rivals] for pairs in tested for rivals in RIVALS if rivals in pairs]
    corrected = _verdicts((one.difference, one.p_value) for one in found)
    plain = _verdicts((one.difference, one.plain_p_value) for one in found)
    printed = [
        (first.accuracy - second.accuracy, printed_p_value(first, second))
        for column in columns
        for first, second in _printed_pairs(column)
    ]
    text = (
        f"Of {len(found)} comparisons of alter-pSVM and conv-pSVM with MeanMap and InvCal, "
        f"{corrected} at p < {LEVEL} by the corrected test; {plain} by the plain paired t-test, "
        "which takes folds for independent."
    )
    if not printed:
        return text
    return (
        f"{text} The paper has p-values below {LEVEL} for more than 70% of its comparisons. Of the "
        f"{len(printed)} among these that it prints, {_verdicts(printed)} by an unpaired t-test on "
        "the printed means and deviations."
    )


def _verdicts(found: Iterable[tuple[float, float]]) -> str:
    signs = [np.sign(difference) for difference, p_value in found if p_value < LEVEL]
    return f"{signs.count(1.0)} are better and {signs.count(-1.0)} worse"


def _printed_pairs(column: Column) -> Iterator[tuple[Printed, Printed]]:
    papers = {method: entry.paper for method, entry in column.items()}
    for rivals in RIVALS:
        first, second = (papers.get(method) for method in rivals)
        if first and second:
            yield first, second
