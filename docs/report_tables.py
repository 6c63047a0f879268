"""The tables of accuracies on the pages and in the README: of docs/results/tables.sqlite.

``python docs/report_tables.py`` writes those in the README anew.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from propcvx.experiments.reproduce import EXPERIMENTS, Store, plan
from propcvx.experiments.reproduce.entries import Entry, entries_of, grouped
from propcvx.experiments.reproduce.experiments import METHODS, UNPRINTED
from propcvx.experiments.reproduce.printed import REPETITIONS
from propcvx.experiments.reproduce.report.beyond import beyond_means, beyond_table, room_table
from propcvx.experiments.reproduce.report.choices import (
    by_method,
    deviations_table,
    differences_table,
    fixed_table,
)
from propcvx.experiments.reproduce.report.origin import content_hash
from propcvx.experiments.reproduce.report.paired_tests import paired_tests
from propcvx.experiments.reproduce.report.pictures import picture_of_choices
from propcvx.experiments.reproduce.report.tables import (
    accuracy_table,
    by_bag_size,
    by_repetitions,
    selection,
    summary_table,
)
from propcvx.experiments.tables import markdown_table, spread_text
from propcvx.plotting import svg_text

PRINTED = ("figure1", "table-linear", "table-large", "table-rbf", "robustness")
"""Experiments of which the paper prints accuracies."""

FILE = Path(__file__).with_name("results") / "tables.sqlite"
README = Path(__file__).parents[1] / "README.md"
MARKED = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    both, everything = _both(done), _both(all_entries)
    return {
        "results_hash": content_hash(FILE),
        "results_in_short": summary_table(
            {EXPERIMENTS[name].about: all_entries(name) for name in PRINTED}
        ),
        "results_by_size": summary_table(by_bag_size(everything) | by_repetitions(everything)),
        "results_repeated": summary_table(
            by_bag_size([e for e in both if len(e.accuracies) == REPETITIONS])
        ),
        "results_differences": differences_table(by_method(both)),
        "results_deviations": deviations_table(by_method(both)),
        "results_fixed": fixed_table(both),
        "results_prices": prices_table(),
        "results_by_data": _accuracies("table-linear"),
        "results_gaussian": _accuracies("table-rbf"),
        "results_equal": _accuracies("robustness"),
        "results_large": _accuracies("table-large"),
        "results_beyond_means": beyond_means(done("better")),
        "results_beyond": beyond_table(done("better")),
        "results_ballots": f"{_accuracies('ballots')}\n\n{selection(done('ballots'))}",
        "results_unprinted": _accuracies("better", UNPRINTED),
        "results_room": room_table(done("better")),
        "results_other_packages": _accuracies("other-packages"),
        "results_natural": _accuracies("natural"),
        "results_untuned": _accuracies("timing"),
        "results_means": means_tables(),
        "results_seconds": seconds_table(),
        "results_tests": next(iter(list(paired_tests(done("table-linear")))[1:]), ""),
    }


@cache
def all_entries(name: str) -> list[Entry]:
    """The entries of an experiment."""
    return entries_of(name, plan(name), all_rows())


@cache
def all_rows() -> list[dict[str, Any]]:
    return Store(FILE, read_only=True).rows()


def done(name: str) -> list[Entry]:
    """Those of which a repetition is done."""
    return [entry for entry in all_entries(name) if entry.accuracies]


def _both(entries: Callable[[str], list[Entry]]) -> list[Entry]:
    """Those of Tables 2 and 4."""
    return entries("table-linear") + entries("table-rbf")


def means_tables() -> str:
    """Tables 2 and 4 in short."""
    return "\n\n".join(_means_table(name) for name in ("table-linear", "table-rbf"))


def _means_table(name: str) -> str:
    """A table in short: the mean over the data sets of which all bag sizes are done."""
    entries = {(e.data, e.bag_size, e.method): e for e in done(name)}
    sizes = sorted({size for _, size, _ in entries})
    sets = [
        data
        for data in dict.fromkeys(data for data, _, _ in entries)
        if all((data, size, method) in entries for size in sizes for method in METHODS)
    ]
    rows = [
        [method, *(_means([entries[data, size, method] for data in sets]) for size in sizes)]
        for method in METHODS
    ]
    known = grouped(entries.values(), lambda entry: entry.data)
    counts = grouped(sets, lambda data: _repetitions(known[data]))
    listed = " and ".join(f"{', '.join(group)} ({count})" for count, group in counts.items())
    told = f"Mean of {listed}, in brackets how many of the paper's five repetitions they have."
    head = [f"{EXPERIMENTS[name].about}, bags of", *map(str, sizes)]
    return f"{markdown_table(head, rows)}\n\n{told}"


def _repetitions(entries: Sequence[Entry]) -> str:
    """How many they have, such as "5" or "1 to 5"."""
    counts = [len(entry.accuracies) for entry in entries]
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def prices_table() -> str:
    """Accuracy of alter-pSVM with each C and C_p of the grid at large bags, by data set."""
    entries = [
        entry
        for entry in done("table-linear")
        if entry.method == "alter-pSVM" and entry.data in ("heart", "vote") and entry.bag_size >= 32
    ]
    rows = [
        [name, *(spread_text(mean(own), stdev(own)) for own in accuracies)]
        for name in entries[0].combinations
        for accuracies in [[entry.combinations[name] for entry in entries]]
    ]
    places = [f"{entry.data}, bags of {entry.bag_size}" for entry in entries]
    return markdown_table(["alter-pSVM with", *places], rows)


def seconds_table() -> str:
    """Seconds of five fits, methods by bag size."""
    entries = {(e.method, e.bag_size): e for e in done("timing")}
    sizes = sorted({size for _, size in entries})
    return markdown_table(
        ["seconds of five fits, bags of", *map(str, sizes)],
        [[m, *(f"{entries[m, size].fit_seconds:.1f}" for size in sizes)] for m in METHODS],
    )


def _means(entries: list[Entry]) -> str:
    values = [(entry.mean, entry.paper.accuracy) for entry in entries if entry.paper]
    ours, theirs = (sum(column) / len(values) for column in zip(*values, strict=True))
    return f"{ours:.1f} ({theirs:.1f})"


def _accuracies(name: str, data: Sequence[str] | None = None) -> str:
    """A table for each data set and kernel of an experiment, or of some data sets of it."""
    entries = [entry for entry in done(name) if data is None or entry.data in data]
    places = grouped(entries, lambda entry: (entry.data, entry.kernel))
    return "\n\n".join(map(accuracy_table, places.values()))


def draw_choices(folder: Path) -> None:
    """What choosing parameters by test accuracy would have given, as a picture."""
    folder.mkdir(exist_ok=True)
    figure = picture_of_choices("choices", _both(done)).figure
    (folder / "choices.svg").write_text(svg_text(figure), encoding="utf-8")


def readme_text() -> str:
    """The README with the results of the file."""
    return MARKED.sub(
        lambda found: f"{found[1]}\n{means_tables()}\n\n{found[2]}",
        README.read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    README.write_text(readme_text(), encoding="utf-8")
