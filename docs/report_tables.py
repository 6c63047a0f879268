"""The tables of accuracies on the pages and in the README: of docs/results/tables.parquet.

``python docs/report_tables.py`` prints the one in the README.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from reproduction import entries as frames
from reproduction import report
from reproduction.entries import COLUMN, LEVEL, PLACE, PRINTED_REPETITIONS, REPETITION, printed
from reproduction.experiments import EXPERIMENTS, PAPER, SMALL, TABLE_DATA
from reproduction.methods import BY_DEFAULT, UNTUNED
from reproduction.report import rows_table
from reproduction.results import read_results
from scipy.stats import ttest_ind_from_stats
from shown import SERIES, svg_text

from propcvx.plotting import Figure
from propcvx.plotting.style import figure_of_panels

PRINTED = ("figure1", "table-linear", "table-large", "table-rbf", "robustness")
"""Experiments of which the paper prints accuracies."""
BOTH = ("table-linear", "table-rbf")
"""Tables 2 and 4."""
EARLIER, ALTER = PAPER[:2], PAPER[2]
FIXED: dict[str, dict[str, Any]] = {
    "MeanMap": {"lam": 1.0, "likelihood": "mean"},
    "InvCal": {"C_p": 1.0, "epsilon": 0.01},
    "alter-pSVM": {"C": 1.0, "C_p": 10.0},
    "conv-pSVM": {"C": 1.0, "epsilon": 0.01, "intercept": "center", "relaxation__max_cuts": 1},
}
"""The middle of each method's grid."""

FILE = Path(__file__).with_name("results") / "tables.parquet"


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    claims = [differences(name, ALTER, EARLIER) for name in BOTH]
    in_paper = [printed_differences(name) for name in BOTH]
    both = [pd.concat(parts) for parts in zip(claims, in_paper, strict=True)]
    in_short = {EXPERIMENTS[name].about: entries_of(name) for name in PRINTED}
    return {
        "results_hash": report.file_hash(FILE),
        "results_in_short": report.summary_table(in_short),
        "results_by_size": report.summary_table(report.by_bag_size(entries_of(*BOTH))),
        "results_by_data": _accuracies("table-linear"),
        "results_gaussian": _accuracies("table-rbf"),
        "results_equal": _accuracies("robustness"),
        "results_large": _accuracies("table-large"),
        "results_other_packages": _accuracies("other-packages"),
        "results_natural": _accuracies("natural"),
        "results_seconds": seconds_table(),
        "results_tests": rows_table(map(tests_row, BOTH)),
        "results_large_bags": large_bags_table(),
        "results_choices": choices_table(),
        "results_claim": rows_table(beside(*both)),
        "results_untuned": untuned_table(),
    }


@cache
def results() -> pd.DataFrame:
    """The file."""
    return read_results(FILE)


@cache
def points_of(experiment: str) -> pd.DataFrame:
    """The results of an experiment."""
    return frames.points_of(results(), frames.planned([experiment]))


@cache
def _entries_of(experiment: str) -> pd.DataFrame:
    return frames.entries_of(points_of(experiment))


def entries_of(*experiments: str, done: bool = False) -> pd.DataFrame:
    """The entries of some experiments; those of which a repetition is done, or all."""
    entries = pd.concat(map(_entries_of, experiments), ignore_index=True)
    return entries[entries["repetitions"] > 0] if done else entries


def large_bags_table() -> str:
    """Accuracies in bags of 32 and 64, linear kernel, in the paper and in four ways here."""
    points = points_of("assignments").query("kernel == 'linear' and method in @PAPER and complete")
    texts = points["method"].map(lambda name: json.dumps(FIXED[name], sort_keys=True))
    by_parameters = {
        "twenty assignments": frames.accuracies_of(points)["accuracy"],
        "twenty assignments, fixed parameters": frames.pooled(
            points[points["parameters"] == texts], REPETITION
        ),
    }
    entries = entries_of("table-linear")
    entries = entries[entries["data"].isin(SMALL) & (entries["bag_size"] >= 32)]
    columns = {"print": "paper", "accuracy": "five assignments", "by test": "five, chosen by test"}
    groups = entries.groupby(["data", "method"], sort=False)
    table = groups[[*columns]].mean().rename(columns=columns)
    table = table.join(pd.DataFrame(by_parameters).groupby(["data", "method"]).mean())
    table.loc[("mean", ""), :] = table.mean()
    return rows_table(table.map("{:.1f}".format).reset_index())


CHOICES = (
    "smallest bag error in each fold (the paper's text)",
    "largest test accuracy in each repetition",
    "largest test accuracy in each fold",
)


def choices_table() -> str:
    """Mean difference to the paper with bags of 32 and 64, by who chooses the parameters."""
    points = frames.points_of(results(), frames.planned(["table-linear", "assignments"]))
    points = points.query("kernel == 'linear' and complete and bag_size >= 32 and method in @PAPER")
    points = points.drop_duplicates(["key", "parameters"])
    points = points.assign(correct=points["accuracy"] * points["n_test"])
    place, fold = ["data", "bag_size", "method", "repetition"], ["fold"]
    whole = points.groupby([*place, "parameters"])[["correct", "n_test"]].sum()
    best = points.loc[points.groupby([*place, *fold])["accuracy"].idxmax()]
    by_repetition = dict(
        zip(
            CHOICES,
            (
                _pooled(points[points["chosen"]], place),
                (100.0 * whole["correct"] / whole["n_test"]).groupby(level=place).max(),
                _pooled(best, place),
            ),
            strict=True,
        )
    )
    entries = entries_of("table-linear").set_index(["data", "bag_size", "method"])["print"]
    lines = []
    for choice, accuracies in by_repetition.items():
        means = accuracies.groupby(level=["data", "bag_size", "method"]).mean()
        gaps = (means - entries.reindex(means.index)).groupby(level=["method", "bag_size"]).mean()
        line = {name: " / ".join(f"{gaps[name, size]:+.1f}" for size in (32, 64)) for name in PAPER}
        lines.append({"parameters chosen by": choice, **line})
    return rows_table(lines)


def _pooled(points: pd.DataFrame, place: Sequence[str]) -> pd.Series:
    """Accuracy in percent on the test instances of all folds."""
    sums = points.groupby(list(place))[["correct", "n_test"]].sum()
    return 100.0 * sums["correct"] / sums["n_test"]


@cache
def with_untuned(table: str) -> pd.DataFrame:
    """The results of Table 2 or 4, and of the methods that are not tuned, with the same kernel."""
    tuned, others = points_of(table), points_of("untuned")
    kernel = tuned["kernel"].iloc[0]
    others = others[(others["kernel"] == kernel) & others["data"].isin(TABLE_DATA)]
    return pd.concat([tuned, others.assign(experiment=table)], ignore_index=True)


def differences(table: str, method: str, rivals: tuple[str, ...]) -> pd.DataFrame:
    """Points by which a method is ahead of the best rival, sets by bag sizes, as texts.

    They are means over the splits that both have; a star marks p < 0.05 by the corrected test.
    """
    tests = frames.paired_tests(with_untuned(table))
    tests = tests.query("first == @method and second in @rivals")
    tests = tests.loc[tests.groupby(COLUMN)["difference"].idxmin()]
    stars = np.where(tests["p_value"] < LEVEL, "*", "")
    texts = tests.assign(text=tests["difference"].map("{:+.1f}".format) + stars)
    of_sets = texts.pivot(index="data", columns="bag_size", values="text").loc[[*TABLE_DATA]]
    mean = tests.groupby("bag_size")["difference"].mean().map("{:+.1f}".format)
    return pd.concat([of_sets, mean.to_frame("mean").T])


def printed_differences(table: str) -> pd.DataFrame:
    """The mean over the sets of what the paper prints for alter-pSVM less the better of two."""
    wide = printed().sort_index().loc[table, "print"].unstack("method")
    ahead = wide[ALTER] - wide[[*EARLIER]].max(axis=1)
    mean = ahead.groupby("bag_size").mean().map("{:+.1f}".format)
    return mean.to_frame("mean in the paper").T


def beside(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Texts of two tables in the same cells."""
    return (first + " / " + second).rename_axis("bags of").reset_index()


def untuned_table() -> str:
    """Mean accuracy of each method over the sets: means over repetitions of all methods."""
    wide = frames.accuracies_of(with_untuned("table-linear"))["accuracy"].unstack("method")
    wide = wide[[*PAPER, *UNTUNED, *BY_DEFAULT]]
    wide = wide.rename(columns={BY_DEFAULT[1]: "AlterPropSVM, former default"})
    of_sets = wide.dropna().groupby(["data", "bag_size"]).mean().groupby("bag_size").mean()
    return rows_table(of_sets.T.map("{:.1f}".format).rename_axis("bags of").reset_index())


def tests_row(experiment: str) -> dict[str, Any]:
    """How many comparisons with earlier methods are significant, ours and as printed."""
    tests = frames.paired_tests(points_of(experiment))
    tests = tests[tests["first"].isin(PAPER[2:]) & tests["second"].isin(EARLIER)]
    ours, sample = tests["difference"], tests[["difference", "deviation", "n_splits"]]
    plain = frames.paired_p_value(*(sample[column] for column in sample))
    paper = printed()[["print", "print_std"]]
    first, second = (
        paper.reindex(pd.MultiIndex.from_frame(tests[[*COLUMN, side]])).to_numpy().T
        for side in ("first", "second")
    )
    theirs = ttest_ind_from_stats(*first, PRINTED_REPETITIONS, *second, PRINTED_REPETITIONS).pvalue
    return {
        "experiment": EXPERIMENTS[experiment].about,
        f"corrected test, of {len(tests)}": _verdicts(ours, tests["p_value"]),
        f"plain test, of {len(tests)}": _verdicts(ours, plain),
        f"paper, of {np.isfinite(theirs).sum()}": _verdicts(first[0] - second[0], theirs),
    }


def _verdicts(differences: Iterable[float], p_values: Iterable[float]) -> str:
    signs = [np.sign(d) for d, p in zip(differences, p_values, strict=True) if p < LEVEL]
    return f"{signs.count(1.0)} better, {signs.count(-1.0)} worse"


def readme_table() -> str:
    """Table 2 in short: the mean over the data sets.

    Where twenty assignments to bags were run, an entry is their mean.
    """
    entries, key = entries_of("table-linear"), PLACE[1:]
    repeated = entries_of("assignments", done=True).set_index(key)["accuracy"]
    more = repeated.reindex(pd.MultiIndex.from_frame(entries[key])).set_axis(entries.index)
    entries["accuracy"] = more.fillna(entries["accuracy"])
    means = entries.groupby(["method", "bag_size"], sort=False)[["accuracy", "print"]].mean()
    return report.by_size_table(
        means.reset_index(),
        f"{EXPERIMENTS['table-linear'].about}, bags of",
        lambda mean: f"{mean['accuracy']:.1f} ({mean['print']:.1f})",
    )


def seconds_table() -> str:
    """Seconds of five fits, methods by bag size."""
    return report.by_size_table(
        entries_of("timing", done=True),
        "seconds of five fits, bags of",
        lambda entry: f"{entry['fit_seconds']:.1f}",
    )


def _accuracies(name: str) -> str:
    """A table for each data set and kernel of an experiment."""
    entries = entries_of(name, done=True)
    groups = entries.groupby(["data", "kernel"], sort=False)
    return "\n\n".join(report.accuracy_table(group) for _, group in groups)


def draw(folder: Path) -> None:
    """The picture of the page."""
    folder.mkdir(exist_ok=True)
    (folder / "choices.svg").write_text(svg_text(choices_figure()), encoding="utf-8")


def choices_figure() -> Figure:
    """Mean accuracy over data sets and kernels against bag size, by how parameters are chosen."""
    lines = {
        "accuracy": "chosen by bag error",
        "print": "paper",
        "by test": "chosen by test labels",
    }
    means = entries_of(*BOTH).groupby(["method", "bag_size"])[[*lines]].mean()
    figure, grid = figure_of_panels(len(PAPER), 2, (3.6, 2.9))
    for ax, method in zip(grid, PAPER, strict=True):
        for (name, label), style in zip(lines.items(), SERIES, strict=False):
            ax.plot(means.loc[method, name], label=label, **style)
        ax.set_title(method, fontsize="medium")
    sizes = means.index.levels[1]
    grid[0].set_xscale("log", base=2)
    grid[0].set_xticks(sizes, sizes)
    for ax in grid[2:]:
        ax.set_xlabel("instances in a bag")
    figure.legend(handles=grid[0].lines, loc="outside lower center", ncols=3, frameon=False)
    figure.supylabel("accuracy on test instances (%)", fontsize="medium")
    return figure


if __name__ == "__main__":
    print(readme_table())
