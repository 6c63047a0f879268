"""What a report says, as Markdown and pictures in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from propcvx.experiments.reproduce.entries import Entry, entries_of, grouped
from propcvx.experiments.reproduce.experiments import EXPERIMENTS, plan
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.experiments.reproduce.report.beyond import beyond_means, beyond_table, room_table
from propcvx.experiments.reproduce.report.choices import (
    by_method,
    deviations_table,
    differences_table,
)
from propcvx.experiments.reproduce.report.origin import content_hash, origin
from propcvx.experiments.reproduce.report.paired_tests import paired_tests
from propcvx.experiments.reproduce.report.pictures import Picture, picture_of, picture_of_choices
from propcvx.experiments.reproduce.report.tables import (
    accuracy_table,
    agreement,
    by_bag_size,
    by_repetitions,
    entry_table,
    selection,
    summary_table,
    times_table,
)
from propcvx.experiments.reproduce.splits import compared
from propcvx.experiments.reproduce.store import Store

TITLE = "The paper's experiments"

LEGEND = """\
## How to read it

Accuracy in percent: mean and standard deviation over repetitions, in brackets what the paper
prints. An entry is shown when all folds of a repetition are done; (1) is one repetition, without a
deviation of its own. Bars in the pictures are one standard deviation, where there is one.

The word bold stands where the paper has bold, which it gives to the largest mean of a column. Ours
is bold where its mean is the largest, and where a paired test at level 0.05 does not tell it from
the largest; the SVM that is told the labels does not compete. The test is a two-sided t-test of the
differences between two methods on the same splits, which are the folds of the repetitions that both
have done. Folds are not independent, since their training instances are mostly the same, so the
variance is corrected as Nadeau and Bengio (2003) propose. With one repetition there are five
differences, which tell little apart; that is not equality. The paper has p-values below 0.05, and
does not say of which test. No p-value here is corrected for the number of comparisons.

Within counts the entries whose mean is within two printed deviations of print. Our own deviation
has no part in it: where it is large, the mean would agree with anything. Chosen by test is what
each fold would have given, had its parameters been chosen by the accuracy on its test instances:
not a result, but an upper bound on what choosing them honestly costs, since the best of many
combinations is luck, too.

Had parameters been chosen otherwise: here one combination is chosen for each fold, by the error of
bags in its training part. Beside that stands one for all folds of a repetition, by the sum of those
errors, and either choice by the accuracy on test instances. The first table has the mean difference
to print, and in brackets how many entries lie within two printed deviations of it; the second, of
entries with three repetitions and more, the median of their standard deviations, and of the printed
ones."""


OWN_PARTS: Mapping[str, Callable[[Sequence[Entry]], Iterable[str]]] = MappingProxyType(
    {
        "timing": lambda done: [times_table(done)],
        "better": lambda done: [
            part
            for head, *tables in (
                ("### Beside the best in print", beyond_means(done), beyond_table(done)),
                ("### What is left to win", room_table(done)),
            )
            for part in (head, *tables)
            if all(tables)
        ],
    }
)
"""What the report has of one experiment and of no other."""


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title : str
    parts : tuple of str or Picture
        Markdown, and pictures between.
    """

    title: str
    parts: tuple[str | Picture, ...]


def document_of(file: Path, protocol: Protocol | None = None) -> Document:
    """A results file beside the paper.

    Parameters
    ----------
    file : Path
        A results file.
    protocol : Protocol, optional
        Results of this protocol are shown; of others, how many there are.

    Raises
    ------
    InputError
        If there is no such file.
    """
    store = Store(file, read_only=True)
    rows, content = store.rows(), content_hash(file)
    done = {row["key"] for row in rows if not row["error"]}
    shown: set[str] = set()
    tables: dict[str, list[Entry]] = {}
    for name in EXPERIMENTS:
        cells = plan(name, protocol)
        keys = {cell.key for cell in cells}
        if (keys & done) - shown:
            tables[name] = entries_of(name, cells, rows)
        shown |= keys
    parts = [part for name, entries in tables.items() for part in _experiment(name, entries)]
    fixed, same = compared(rows)
    if fixed:
        parts.append(
            f"Of these splits, {fixed} are among those of the experiment `quick`, whose hashes the "
            f"package has: {same} are the same."
        )
    return Document(
        TITLE,
        (
            _options_text(protocol or Protocol()),
            *_in_short(tables),
            LEGEND,
            *parts,
            origin(store, content, rows, shown),
        ),
    )


def _options_text(protocol: Protocol) -> str:
    """Which options the results are of."""
    values, usual = ({**vars(p.design), **vars(p.methods)} for p in (protocol, Protocol()))
    other = [f"`{name}={value!r}`" for name, value in values.items() if value != usual[name]]
    if not other:
        return "Results with the default options of the protocol."
    return (
        f"Results with these options of the protocol, the others being default: {', '.join(other)}."
    )


def _in_short(tables: dict[str, list[Entry]]) -> Iterator[str]:
    named = {EXPERIMENTS[name].about: entries for name, entries in tables.items()}
    if any(entry.beside_print for entries in named.values() for entry in entries):
        yield "## In short"
        yield summary_table(named)


def _experiment(name: str, entries: Sequence[Entry]) -> Iterator[str | Picture]:
    yield f"## {EXPERIMENTS[name].about}"
    yield f"Cells done: {sum(e.n_done for e in entries)} of {sum(e.n_cells for e in entries)}."
    done = [entry for entry in entries if entry.accuracies]
    groups = grouped(entries, lambda entry: (entry.data, entry.kernel))
    for place, shown in grouped(done, lambda entry: (entry.data, entry.kernel)).items():
        group = groups[place]
        yield accuracy_table(shown)
        if len({entry.bag_size for entry in group}) > 1:
            yield picture_of(name, group)
    if done:
        yield from OWN_PARTS.get(name, lambda done: ())(done)
    if any(entry.beside_print for entry in done):
        yield agreement(done)
        yield summary_table(by_bag_size(entries) | by_repetitions(entries))
        yield from _otherwise(name, done)
    if done:
        yield "### Entry by entry"
        yield selection(done)
        yield entry_table(done)
    yield from paired_tests(done)


def _otherwise(name: str, done: Sequence[Entry]) -> Iterator[str | Picture]:
    tuned = [entry for entry in done if entry.paper and len(entry.combinations) > 1]
    if tuned:
        yield "### Had parameters been chosen otherwise"
        yield picture_of_choices(f"{name}-choices", tuned)
        groups = by_method(tuned)
        yield from filter(None, (differences_table(groups), deviations_table(groups)))
