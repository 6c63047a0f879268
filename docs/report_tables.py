"""The tables of accuracies on the pages and in the README: of docs/results/tables.parquet.

``python docs/report_tables.py`` writes those in the README anew.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from propcvx.experiments.reproduce import entries as frames
from propcvx.experiments.reproduce import report
from propcvx.experiments.reproduce.entries import CHOSEN, PLACE, PRINTED_REPETITIONS
from propcvx.experiments.reproduce.experiments import EXPERIMENTS, PAPER, UNPRINTED
from propcvx.experiments.reproduce.results import read_results
from propcvx.plotting import svg_text
from propcvx.text import parameter_text, spread_text

PRINTED = ("figure1", "table-linear", "table-large", "table-rbf", "robustness")
"""Experiments of which the paper prints accuracies."""
BOTH = ("table-linear", "table-rbf")
"""Tables 2 and 4."""

FILE = Path(__file__).with_name("results") / "tables.parquet"
README = Path(__file__).parents[1] / "README.md"
MARKED = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    both, everything = entries_of(*BOTH, done=True), entries_of(*BOTH)
    repeated = both[both["repetitions"] == PRINTED_REPETITIONS]
    better, ballots = entries_of("better", done=True), entries_of("ballots", done=True)
    linear = report.comparisons(points_of("table-linear"))
    return {
        "results_hash": report.file_hash(FILE),
        "results_in_short": report.summary_table(
            {EXPERIMENTS[name].about: entries_of(name) for name in PRINTED}
        ),
        "results_by_size": report.summary_table(
            {**report.by_bag_size(everything), **report.by_repetitions(everything)}
        ),
        "results_repeated": report.summary_table(report.by_bag_size(repeated)),
        "results_differences": report.differences_table(report.by_method(both)),
        "results_deviations": report.deviations_table(report.by_method(both)),
        "results_fixed": fixed_table(),
        "results_prices": prices_table(),
        "results_by_data": _accuracies("table-linear"),
        "results_gaussian": _accuracies("table-rbf"),
        "results_equal": _accuracies("robustness"),
        "results_large": _accuracies("table-large"),
        "results_beyond_means": report.beyond_means(better),
        "results_beyond": report.beyond_table(better),
        "results_ballots": f"{_accuracies('ballots')}\n\n{report.selection_text(ballots)}",
        "results_unprinted": _accuracies("better", UNPRINTED),
        "results_room": report.room_table(better),
        "results_other_packages": _accuracies("other-packages"),
        "results_natural": _accuracies("natural"),
        "results_untuned": _accuracies("timing"),
        "results_means": means_tables(),
        "results_seconds": seconds_table(),
        "results_tests": report.paired_text(linear, entries_of("table-linear", done=True)),
    }


@cache
def results() -> pd.DataFrame:
    """The file."""
    return read_results(FILE)


@cache
def all_points() -> pd.DataFrame:
    """The results of all experiments."""
    return frames.points_of(results(), frames.planned(EXPERIMENTS))


@cache
def all_entries() -> pd.DataFrame:
    """The entries of all experiments."""
    return frames.entries_of(all_points())


def points_of(*experiments: str) -> pd.DataFrame:
    """The results of some experiments."""
    return all_points()[all_points()["experiment"].isin(experiments)]


def entries_of(*experiments: str, done: bool = False) -> pd.DataFrame:
    """The entries of some experiments; those of which a repetition is done, or all."""
    entries = all_entries()[all_entries()["experiment"].isin(experiments)]
    return entries[entries["repetitions"] > 0] if done else entries


def means_tables() -> str:
    """Tables 2 and 4 in short."""
    return "\n\n".join(map(_means_table, BOTH))


def _means_table(name: str) -> str:
    """A table in short: the mean over the data sets of which all bag sizes are done."""
    entries = entries_of(name, done=True)
    whole = entries.groupby("data")["method"].transform("size")
    entries = entries[whole == len(PAPER) * entries["bag_size"].nunique()]
    means = entries.groupby(["method", "bag_size"], sort=False)[[CHOSEN, "print"]].mean()
    counts = entries.groupby("data", sort=False)["repetitions"].agg(_from_to)
    sets = (
        f"{', '.join(group.index)} ({count})" for count, group in counts.groupby(counts, sort=False)
    )
    told = (
        f"Mean of {' and '.join(sets)}, in brackets how many of the paper's five repetitions they "
        "have."
    )
    table = report.by_size_table(
        means.reset_index(),
        f"{EXPERIMENTS[name].about}, bags of",
        lambda mean: f"{mean[CHOSEN]:.1f} ({mean['print']:.1f})",
    )
    return f"{table}\n\n{told}"


def _from_to(counts: pd.Series) -> str:
    """How many repetitions there are, such as "5" or "1 to 5"."""
    return " to ".join(map(str, sorted({counts.min(), counts.max()})))


def fixed_table() -> str:
    """Mean accuracy as chosen, and with one combination for all entries of a kernel and method.

    It is the one that is best on average over them.
    """
    grid = frames.combinations_of(points_of(*BOTH))
    fixed = grid.groupby([*PLACE, "parameters"], sort=False)["accuracy"].mean().reset_index()
    rows = []
    for (kernel, method), own in entries_of(*BOTH, done=True).groupby(
        ["kernel", "method"], sort=False
    ):
        mine = fixed[(fixed["kernel"] == kernel) & (fixed["method"] == method)]
        best = mine.groupby("parameters", sort=False)["accuracy"].mean().idxmax()
        row = {"kernel": kernel, "method": method}
        parts = zip(
            report.small_and_large(own).items(),
            report.small_and_large(mine[mine["parameters"] == best]).values(),
            strict=True,
        )
        for (sizes, as_chosen), as_fixed in parts:
            row[f"{sizes}: chosen"] = f"{as_chosen[CHOSEN].mean():.1f}"
            row[f"{sizes}: fixed"] = f"{as_fixed['accuracy'].mean():.1f}"
        rows.append({**row, "fixed to": parameter_text(json.loads(best))})
    return report.rows_table(rows)


def prices_table() -> str:
    """Accuracy of alter-pSVM with each C and C_p of the grid at large bags, by data set."""
    grid = frames.combinations_of(points_of("table-linear"))
    grid = grid[
        (grid["method"] == "alter-pSVM")
        & grid["data"].isin(["heart", "vote"])
        & (grid["bag_size"] >= report.LARGE)
    ]
    parameters = grid["parameters"].map(lambda text: parameter_text(json.loads(text)))
    places = grid["data"] + grid["bag_size"].map(", bags of {}".format)
    groups = grid.groupby([parameters.rename("alter-pSVM with"), places], sort=False)["accuracy"]
    texts = groups.agg(lambda own: spread_text(own.mean(), own.std())).unstack()
    return report.rows_table(texts.loc[parameters.unique(), places.unique()].reset_index())


def seconds_table() -> str:
    """Seconds of five fits, methods by bag size."""
    return report.by_size_table(
        entries_of("timing", done=True),
        "seconds of five fits, bags of",
        lambda entry: f"{entry['fit_seconds']:.1f}",
    )


def _accuracies(name: str, data: Sequence[str] | None = None) -> str:
    """A table for each data set and kernel of an experiment, or of some data sets of it."""
    entries = entries_of(name, done=True)
    groups = entries.groupby(["data", "kernel"], sort=False)
    return "\n\n".join(
        report.accuracy_table(group) for (one, _), group in groups if data is None or one in data
    )


def draw_choices(folder: Path) -> None:
    """What choosing parameters by test accuracy would have given, as a picture."""
    folder.mkdir(exist_ok=True)
    figure = report.choices_figure(entries_of(*BOTH, done=True))
    (folder / "choices.svg").write_text(svg_text(figure), encoding="utf-8")


def readme_text() -> str:
    """The README with the results of the file."""
    return MARKED.sub(
        lambda found: f"{found[1]}\n{means_tables()}\n\n{found[2]}",
        README.read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    README.write_text(readme_text(), encoding="utf-8")
