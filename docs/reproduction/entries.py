"""From results to the entries of tables: means over repetitions, beside what the paper prints.

Results come as :func:`reproduction.results.read_results` gives them.  Everything
that is made of them here is a data frame, too:

- *points*: the results of the cells of some experiments, see :func:`points_of`;
- *entries*: a row for each method on one data set, kernel and bag size, see :func:`entries_of`;
- *tests*: a row for each pair of methods that can be compared, see :func:`paired_tests`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series, read_csv
from scipy.stats import t as student

from reproduction.evaluation import OF_CHOSEN
from reproduction.experiments import Selection, plan
from reproduction.methods import SUPERVISED
from reproduction.protocol import Protocol

COLUMN = ["experiment", "data", "kernel", "bag_size"]
"""What identifies a column of a table."""
PLACE = [*COLUMN, "method"]
"""What identifies an entry."""
REPETITION = [*PLACE, "repetition"]

PRINTED_REPETITIONS = 5
"""Repetitions behind every printed mean and standard deviation."""
LEVEL = 0.05
"""Of significance, as in the paper."""


def printed() -> DataFrame:
    """Tables 2, 3 and 4, Section 7.1 and Figure 1, a row for each entry.

    Columns are ``print`` (mean accuracy over five repetitions in percent), ``print_std`` and
    ``bold``, whether it is printed in bold: the best of its column.

    Examples
    --------
    >>> printed().loc[("table-linear", "vote", "linear", 64, "alter-pSVM")].tolist()
    [92.12, 1.2, 1.0]
    """
    return read_csv(Path(__file__).with_name("printed.csv"), index_col=PLACE)


def planned(
    experiments: Iterable[str], protocol: Protocol | None = None, selection: Selection | None = None
) -> DataFrame:
    """The cells of some experiments, a row each, as :func:`plan` has them."""
    parts = ("key", *PLACE[1:], "repetition", "fold")
    return DataFrame(
        {"experiment": name, "folds": cell.protocol.folds}
        | {part: getattr(cell, part) for part in parts}
        for name in experiments
        for cell in plan(name, protocol, selection)
    )


def points_of(results: DataFrame, cells: DataFrame) -> DataFrame:
    """The results of some cells: a row for each combination of parameters.

    A cell that is not done, or failed, is one row without numbers; ``done`` says which are, and
    ``complete`` whether all folds of the repetition are.

    Parameters
    ----------
    results : DataFrame
    cells : DataFrame
        As :func:`planned` gives them.
    """
    measured = ["key", "split", "n_test", "parameters", "validation_error", "accuracy"]
    measured += ["chosen", *OF_CHOSEN, "fit_seconds"]
    points = cells.merge(results.loc[results["error"] == "", measured], on="key", how="left")
    points["chosen"] = points["chosen"].eq(True)
    points["done"] = points["accuracy"].notna()
    points["complete"] = points.groupby(REPETITION)["done"].transform("all")
    return points


def accuracies_of(points: DataFrame) -> DataFrame:
    """The accuracy of each complete repetition, in percent.

    ``accuracy`` is that of the parameters that were chosen, and ``by test`` what it would be if
    each fold had the parameters with the largest accuracy on its test instances.
    """
    whole = points[points["complete"]]
    largest = whole.groupby([*REPETITION, "fold"], sort=False)["accuracy"].idxmax()
    taken = {"accuracy": whole[whole["chosen"]], "by test": whole.loc[largest]}
    return DataFrame({name: pooled(rows, REPETITION) for name, rows in taken.items()})


def pooled(points: DataFrame, by: list[str]) -> Series:
    """Accuracy in percent over all test instances of each group."""
    correct = points["accuracy"] * points["n_test"]
    sums = points.assign(correct=correct).groupby(by, sort=False)[["correct", "n_test"]].sum()
    return 100.0 * sums["correct"] / sums["n_test"]


def entries_of(points: DataFrame) -> DataFrame:
    """The entries of tables, in the order of their cells.

    Returns
    -------
    DataFrame
        ``experiment``, ``data``, ``kernel``, ``bag_size``, ``method``; ``cells`` and how many are
        ``done``; ``repetitions`` that are complete; over them the means of what
        :func:`accuracies_of` has, and ``std``, the standard deviation of ``accuracy``;
        ``auc``, ``log_loss`` and ``explained`` as :func:`reproduction.evaluation.evaluate` has
        them;
        ``fit_seconds``, summed over the folds of a repetition; what :func:`printed` has;
        ``difference`` to print, and whether that is ``within`` two printed deviations, ``above``
        or ``below``, as ``side``; ``best``: the largest mean of a column, and those that a test
        does not distinguish from it.  Our own deviation has no part in ``side``, because a noisy
        mean would then agree more easily.
    """
    repeated = accuracies_of(points).groupby(PLACE)
    cells = points.drop_duplicates([*REPETITION, "fold"]).groupby(PLACE, sort=False)
    entries = cells.agg(cells=("done", "size"), done=("done", "sum"))
    entries["repetitions"] = repeated.size().reindex(entries.index, fill_value=0)
    entries = entries.join(repeated.mean()).join(printed())
    entries["std"] = repeated["accuracy"].std()
    chosen = points[points["complete"] & points["chosen"]].groupby(PLACE)
    entries[[*OF_CHOSEN]] = chosen[[*OF_CHOSEN]].mean()
    entries["fit_seconds"] = chosen["fit_seconds"].sum() / entries["repetitions"]
    difference = entries["difference"] = entries["accuracy"] - entries["print"]
    sides = [difference.isna(), difference.abs() <= 2.0 * entries["print_std"], difference > 0.0]
    entries["side"] = np.select(sides, ["", "within", "above"], "below")
    entries["best"] = _best(entries, paired_tests(points))
    return entries.reset_index()


def paired_tests(points: DataFrame) -> DataFrame:
    """Paired tests of each method against each other one, column by column.

    They are on the splits of complete repetitions that both have done, of which there must be two.
    Methods that are judged on their training instances are not tested.

    Returns
    -------
    DataFrame
        ``experiment``, ``data``, ``kernel``, ``bag_size``, ``first`` and ``second`` (methods);
        ``difference`` and ``deviation`` (mean and standard deviation of the first less the second,
        in points); ``n_splits``; and ``p_value``, see :func:`paired_p_value`.
    """
    split = [*COLUMN, "folds", "split"]
    chosen = points[points["complete"] & points["chosen"] & (points["folds"] > 1)]
    chosen = chosen.drop_duplicates([*split, "method"], keep="last")[[*split, "method", "accuracy"]]
    pairs = chosen.merge(chosen, on=split).rename(
        columns={"method_x": "first", "method_y": "second"}
    )
    pairs = pairs[pairs["first"] != pairs["second"]]
    pairs["difference"] = 100.0 * (pairs["accuracy_x"] - pairs["accuracy_y"])
    groups = pairs.groupby([*COLUMN, "folds", "first", "second"], sort=False)["difference"]
    tests = groups.agg(difference="mean", deviation="std", n_splits="count").reset_index()
    tests = tests[tests["n_splits"] > 1]
    sample = tests["difference"], tests["deviation"], tests["n_splits"]
    tests["p_value"] = paired_p_value(*sample, 1.0 / (tests["folds"] - 1))
    return tests.drop(columns="folds")


def paired_p_value(mean: Any, deviation: Any, count: Any, test_to_train: Any = 0.0) -> Any:
    r"""Two-sided paired t-test, with Nadeau and Bengio's correction (Machine Learning, 2003).

    The statistic of n differences with mean m and variance s^2 is

    .. math:: t = m / \sqrt{(1 / n + n_{test} / n_{train}) s^2}, \quad n - 1 \text{ degrees}.

    Training folds of one repetition have most instances in common, and all repetitions are of one
    data set; the second term stands for the correlation that this brings.

    Parameters
    ----------
    mean, deviation : float or array
        Of the differences; the deviation with n - 1 in its denominator.
    count : int or array
        The number of differences, two at least.
    test_to_train : float or array
        Instances in a test fold over those in a training fold; with 0 it is the plain t-test.

    Returns
    -------
    float or array

    Examples
    --------
    >>> differences = np.array([1.0, 2.0, 4.0, 3.0, 1.0])
    >>> sample = differences.mean(), differences.std(ddof=1), 5
    >>> float(paired_p_value(*sample))
    0.0196
    >>> float(paired_p_value(*sample, test_to_train=1 / 4))
    0.0657
    """
    error = np.sqrt(1.0 / count + test_to_train) * deviation
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0.0, 0.0, np.abs(mean) / error)
    return 2.0 * student.sf(statistic, count - 1)


def _best(entries: DataFrame, tests: DataFrame) -> Series:
    """Whether each entry is best in its column, in which the SVM with labels does not compete."""
    rivals = entries[entries.index.get_level_values("method") != SUPERVISED]["accuracy"].dropna()
    top = rivals[rivals == rivals.groupby(COLUMN).transform("max")].index
    against_top = tests.set_index([*COLUMN, "first"]).index.isin(top)
    equal = tests[against_top & (tests["p_value"] >= LEVEL)].set_index([*COLUMN, "second"]).index
    return entries.index.isin(rivals.index) & entries.index.isin([*top, *equal])
