"""The tables of accuracies on the pages and in the README: of docs/results/tables.parquet.

``python docs/report_tables.py`` writes those in the README anew.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from reproduction import entries as frames
from reproduction import report
from reproduction.entries import (
    COLUMN,
    LEVEL,
    PLACE,
    PRINTED_REPETITIONS,
    REPETITION,
)
from reproduction.experiments import EXPERIMENTS, PAPER
from reproduction.results import read_results
from scipy.stats import ttest_ind_from_stats
from shown import accuracy_by_bag_size, svg_text

from propcvx.plotting import Figure

PRINTED = ("figure1", "table-linear", "table-large", "table-rbf", "robustness")
"""Experiments of which the paper prints accuracies."""
BOTH = ("table-linear", "table-rbf")
"""Tables 2 and 4."""
CHOICES = CHOSEN, FOR_ALL, BY_TEST, FOR_ALL_BY_TEST = (
    "each fold, bag error",
    "all folds, bag error",
    "each fold, test accuracy",
    "all folds, test accuracy",
)
"""What one combination of parameters is chosen for, and by what; most tables have the first."""
LARGE = 32
"""Size from which bags count as large."""

FILE = Path(__file__).with_name("results") / "tables.parquet"
README = Path(__file__).parents[1] / "README.md"
MARKED = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)

Groups = Mapping[str, pd.DataFrame]


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    both, everything = entries_of(*BOTH, done=True), entries_of(*BOTH)
    return {
        "results_hash": report.file_hash(FILE),
        "results_in_short": report.summary_table(
            {EXPERIMENTS[name].about: entries_of(name) for name in PRINTED}
        ),
        "results_by_size": report.summary_table(
            {**report.by_bag_size(everything), **by_repetitions(everything)}
        ),
        "results_differences": differences_table(by_method(both)),
        "results_by_data": _accuracies("table-linear"),
        "results_gaussian": _accuracies("table-rbf"),
        "results_equal": _accuracies("robustness"),
        "results_large": _accuracies("table-large"),
        "results_other_packages": _accuracies("other-packages"),
        "results_natural": _accuracies("natural"),
        "results_seconds": seconds_table(),
        "results_tests": tests_text("table-linear"),
    }


@cache
def results() -> pd.DataFrame:
    """The file."""
    return read_results(FILE)


@cache
def _points_of(experiment: str) -> pd.DataFrame:
    return frames.points_of(results(), frames.planned([experiment]))


def points_of(*experiments: str) -> pd.DataFrame:
    """The results of some experiments."""
    parts = [_points_of(name) for name in EXPERIMENTS if name in experiments]
    return pd.concat(parts, ignore_index=True)


@cache
def _entries_of(experiment: str) -> pd.DataFrame:
    """The entries of an experiment, with means and deviations for each of ``CHOICES``."""
    points = _points_of(experiment)
    choices = choices_of(points).groupby(PLACE)
    more = choices.mean().join(choices.std().add_prefix("std, "))
    return frames.entries_of(points).join(more, on=PLACE)


def combinations_of(points: pd.DataFrame) -> pd.DataFrame:
    """Each combination of parameters in all folds of each complete repetition.

    Columns are the error on validation bags, summed, and the accuracy in percent.
    """
    whole, by = points[points["complete"]], [*REPETITION, "parameters"]
    errors = whole.groupby(by, sort=False)["validation_error"].sum()
    return errors.to_frame().assign(accuracy=frames.pooled(whole, by)).reset_index()


def choices_of(points: pd.DataFrame) -> pd.DataFrame:
    """Accuracies of each complete repetition in percent, a column for each of ``CHOICES``."""
    each, grid = frames.accuracies_of(points), combinations_of(points)
    # Sums of the same bags can differ in their last digit, so they are compared to nine digits.
    grid["validation_error"] = grid["validation_error"].round(9)
    groups = grid.groupby(REPETITION)
    chosen = {
        FOR_ALL: groups["validation_error"].idxmin(),
        FOR_ALL_BY_TEST: groups["accuracy"].idxmax(),
    }
    for_all = {
        choice: grid.loc[rows].set_index(REPETITION)["accuracy"] for choice, rows in chosen.items()
    }
    return pd.DataFrame({CHOSEN: each["accuracy"], BY_TEST: each["by test"], **for_all})


def entries_of(*experiments: str, done: bool = False) -> pd.DataFrame:
    """The entries of some experiments; those of which a repetition is done, or all."""
    parts = [_entries_of(name) for name in EXPERIMENTS if name in experiments]
    entries = pd.concat(parts, ignore_index=True)
    return entries[entries["repetitions"] > 0] if done else entries


def by_repetitions(entries: pd.DataFrame) -> Groups:
    """Entries by how many repetitions are done, most first."""
    groups = reversed(list(entries.groupby("repetitions")))
    return {f"repetitions: {count}": group for count, group in groups}


def small_and_large(entries: pd.DataFrame) -> Groups:
    """Entries with small bags, and those with bags of ``LARGE`` and more."""
    large = entries["bag_size"] >= LARGE
    return {
        f"bags of {', '.join(map(str, sorted(part['bag_size'].unique())))}": part
        for part in (entries[~large], entries[large])
    }


def by_method(entries: pd.DataFrame) -> Groups:
    """Entries by method, those with large bags apart."""
    return {
        f"{method}, {sizes}": group
        for sizes, part in small_and_large(entries).items()
        for method, group in part.groupby("method", sort=False)
    }


def differences_table(groups: Groups) -> str:
    """Mean differences to print, if parameters were chosen in other ways."""
    return report.rows_table(
        {"": name, "entries": len(beside)}
        | {choice: difference_text(beside, choice) for choice in CHOICES}
        for name, entries in groups.items()
        if len(beside := entries[entries["side"] != ""])
    )


def difference_text(entries: pd.DataFrame, choice: str = "accuracy") -> str:
    """Mean difference to print, in brackets how many lie within two printed deviations of it."""
    differences = entries[choice] - entries["print"]
    within = (differences.abs() <= 2.0 * entries["print_std"]).sum()
    return f"{differences.mean():+.1f} ({within})"


def tests_text(experiment: str) -> str:
    """How many comparisons with earlier methods are significant, ours and as printed."""
    tests = frames.paired_tests(points_of(experiment))
    tests = tests[tests["first"].isin(PAPER[2:]) & tests["second"].isin(PAPER[:2])]
    ours, sample = tests["difference"], tests[["difference", "deviation", "n_splits"]]
    plain = frames.paired_p_value(*(sample[column] for column in sample))
    paper = frames.printed()[["print", "print_std"]]
    first, second = (
        paper.reindex(pd.MultiIndex.from_frame(tests[[*COLUMN, side]])).to_numpy().T
        for side in ("first", "second")
    )
    theirs = ttest_ind_from_stats(*first, PRINTED_REPETITIONS, *second, PRINTED_REPETITIONS).pvalue
    return (
        f"Of {len(tests)} comparisons of alter-pSVM and conv-pSVM with MeanMap and InvCal, "
        f"{_verdicts(ours, tests['p_value'])} at p < {LEVEL} by the corrected test; "
        f"{_verdicts(ours, plain)} by the plain paired t-test, which takes folds for independent. "
        f"The paper has p-values below {LEVEL} for more than 70% of its comparisons. Of the "
        f"{np.isfinite(theirs).sum()} among these that it prints, "
        f"{_verdicts(first[0] - second[0], theirs)} by an unpaired t-test on the printed means and "
        "deviations."
    )


def _verdicts(differences: Iterable[float], p_values: Iterable[float]) -> str:
    signs = [np.sign(d) for d, p in zip(differences, p_values, strict=True) if p < LEVEL]
    return f"{signs.count(1.0)} are better and {signs.count(-1.0)} worse"


def means_table(name: str) -> str:
    """A table in short: the mean over the data sets of which all bag sizes are done.

    Where twenty drawings were run, an entry is their mean.
    """
    entries = with_all_drawings(entries_of(name, done=True))
    whole = entries.groupby("data")["method"].transform("size")
    entries = entries[whole == len(PAPER) * entries["bag_size"].nunique()]
    means = entries.groupby(["method", "bag_size"], sort=False)[["accuracy", "print"]].mean()
    counts = entries.groupby("data", sort=False)["repetitions"].agg(from_to)
    done = (
        f"{', '.join(group.index)} have {count}"
        for count, group in counts.groupby(counts, sort=False)
    )
    note = (
        "Accuracies in percent, means over the data sets; the paper's are in brackets. The paper "
        f"draws the bags of each data set five times; here {' and '.join(done)} drawings."
    )
    table = report.by_size_table(
        means.reset_index(),
        f"{EXPERIMENTS[name].about}, bags of",
        lambda mean: f"{mean['accuracy']:.1f} ({mean['print']:.1f})",
    )
    return f"{table}\n\n{note}"


def with_all_drawings(entries: pd.DataFrame) -> pd.DataFrame:
    """Entries of a table with the accuracy of all drawings where more were run than for it."""
    key = PLACE[1:]
    drawn = entries_of("drawings", done=True).set_index(key)[["accuracy", "repetitions"]]
    more = drawn.reindex(pd.MultiIndex.from_frame(entries[key])).set_axis(entries.index)
    return entries.assign(**more.combine_first(entries[list(more)]).astype(drawn.dtypes))


def from_to(counts: pd.Series) -> str:
    """How many repetitions there are, such as "5" or "1 to 5"."""
    return " to ".join(map(str, sorted({counts.min(), counts.max()})))


def seconds_table() -> str:
    """Seconds of five fits, methods by bag size."""
    return report.by_size_table(
        entries_of("timing", done=True),
        "seconds of five fits, bags of",
        lambda entry: f"{entry['fit_seconds']:.1f}",
    )


def _accuracies(name: str) -> str:
    """A table for each data set and kernel of an experiment."""
    groups = entries_of(name, done=True).groupby(["data", "kernel"], sort=False)
    return "\n\n".join(report.accuracy_table(group) for _, group in groups)


def draw_choices(folder: Path) -> None:
    """What choosing parameters by test accuracy would have given, as a picture."""
    folder.mkdir(exist_ok=True)
    (folder / "choices.svg").write_text(svg_text(choices_figure()), encoding="utf-8")


def choices_figure() -> Figure:
    """Mean accuracy over data sets and kernels against bag size, by how parameters are chosen."""
    lines = {
        "chosen by bag error": CHOSEN,
        "paper": "print",
        "chosen by test accuracy": FOR_ALL_BY_TEST,
    }
    means = entries_of(*BOTH, done=True).groupby(["method", "bag_size"])[[*lines.values()]].mean()
    panels = {}
    for method in PAPER:
        row = means.loc[method]
        bars = np.full(len(row), np.nan)
        panels[method] = {
            name: (row.index.to_numpy(float), row[column].to_numpy(), bars)
            for name, column in lines.items()
        }
    return accuracy_by_bag_size(panels)


def readme_text() -> str:
    """The README with the results of the file."""
    return MARKED.sub(
        lambda match: f"{match[1]}\n{means_table('table-linear')}\n\n{match[2]}",
        README.read_text(encoding="utf-8"),
    )


if __name__ == "__main__":
    README.write_text(readme_text(), encoding="utf-8")
