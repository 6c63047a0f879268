"""From results to the entries of tables: means over repetitions, beside what the paper prints.

Results come as :func:`propcvx.experiments.reproduce.results.read_results` gives them.  Whatever is
made of them here are data frames, too:

- *points*: what is in the results of the cells of some experiments, see :func:`points_of`;
- *entries*: a row for each method on one data set, kernel and bag size, see :func:`entries_of`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce.experiments import Selection, plan
from propcvx.experiments.reproduce.protocol import Protocol

if TYPE_CHECKING:
    from pandas import DataFrame, Series

COLUMN = ["experiment", "data", "kernel", "bag_size"]
"""What identifies a column of a table."""
PLACE = [*COLUMN, "method"]
"""What identifies an entry."""
REPETITION = [*PLACE, "repetition"]

CHOICES = CHOSEN, FOR_ALL, BY_TEST, FOR_ALL_BY_TEST = (
    "each fold, bag error",
    "all folds, bag error",
    "each fold, test accuracy",
    "all folds, test accuracy",
)
"""What one combination of parameters is chosen for, and by what; tables show the first."""

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
    from pandas import read_csv

    with files(__package__).joinpath("printed.csv").open(encoding="utf-8") as file:
        return read_csv(file, index_col=PLACE)


def planned(
    experiments: Iterable[str], protocol: Protocol | None = None, selection: Selection | None = None
) -> DataFrame:
    """The cells of some experiments, a row each, as :func:`plan` has them."""
    from pandas import DataFrame

    parts = ("key", *PLACE[1:], "repetition", "fold")
    return DataFrame(
        {"experiment": name, **{part: getattr(cell, part) for part in parts}}
        | {"folds": cell.protocol.design.folds, "ties": cell.protocol.design.ties}
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
    measured += ["chosen", "fit_seconds"]
    points = cells.merge(results.loc[results["error"] == "", measured], on="key", how="left")
    points["done"] = points["accuracy"].notna()
    points["complete"] = points.groupby(REPETITION)["done"].transform("all")
    points["right"] = points["accuracy"] * points["n_test"]
    return points


def combinations_of(points: DataFrame) -> DataFrame:
    """Each combination of parameters in all folds of a repetition.

    Repetitions are those that are complete.  Columns are the error on validation bags, summed, and
    the accuracy over all test instances in percent.
    """
    groups = points[points["complete"]].groupby([*REPETITION, "parameters"], sort=False)
    sums = groups[["right", "n_test", "validation_error"]].sum()
    return sums.assign(accuracy=_percent(sums)).reset_index()


def accuracies_of(points: DataFrame) -> DataFrame:
    """Accuracies of each complete repetition in percent, a column for each of ``CHOICES``."""
    from pandas import DataFrame

    whole, grid = points[points["complete"]], combinations_of(points)
    # Sums of the same bags can differ in their last digit, so they are compared to nine digits.
    errors = grid["validation_error"].round(9)
    errors = errors[::-1] if (points["ties"] == "last").all() else errors
    taken = {
        CHOSEN: whole[whole["chosen"].astype(bool)],
        FOR_ALL: grid.loc[errors.groupby([grid[part] for part in REPETITION]).idxmin()],
        BY_TEST: whole.loc[whole.groupby([*REPETITION, "fold"])["accuracy"].idxmax()],
        FOR_ALL_BY_TEST: grid.loc[grid.groupby(REPETITION)["accuracy"].idxmax()],
    }
    return DataFrame(
        {
            name: _percent(rows.groupby(REPETITION)[["right", "n_test"]].sum())
            for name, rows in taken.items()
        }
    )


def entries_of(points: DataFrame) -> DataFrame:
    """The entries of tables, in the order of their cells.

    Returns
    -------
    DataFrame
        ``experiment``, ``data``, ``kernel``, ``bag_size``, ``method``; ``cells`` and how many are
        ``done``; ``repetitions`` that are complete; mean accuracies over them for each of
        ``CHOICES``, and their standard deviations, ``std`` of the first and ``std, NAME`` of all;
        ``combinations`` of parameters; ``fit_seconds``, summed over the folds of a repetition; what
        :func:`printed` has; ``difference`` to print, and whether that is ``within`` two printed
        deviations, ``above`` or ``below``, as ``side``; ``best``, see :func:`compare`: the largest
        mean of a column, and those that the test does not tell from it.  Our own deviation has no
        part in ``side``, as a noisy mean would then agree the sooner.
    """
    repeated = accuracies_of(points).groupby(PLACE)
    cells = points.drop_duplicates([*REPETITION, "fold"]).groupby(PLACE, sort=False)
    entries = cells.agg(cells=("done", "size"), done=("done", "sum"))
    entries["repetitions"] = repeated.size().reindex(entries.index, fill_value=0)
    entries = entries.join(repeated.mean()).join(repeated.std().add_prefix("std, "))
    whole = points[points["complete"]]
    entries["combinations"] = whole.groupby(PLACE)["parameters"].nunique()
    entries["fit_seconds"] = (
        whole[whole["chosen"].astype(bool)].groupby(PLACE)["fit_seconds"].sum()
        / entries["repetitions"]
    )
    entries = entries.join(printed())
    entries["difference"] = entries[CHOSEN] - entries["print"]
    sides = [entries["difference"].abs() <= 2.0 * entries["print_std"], entries["difference"] > 0.0]
    entries["side"] = np.select(sides, ["within", "above"], "below")
    entries.loc[entries["difference"].isna(), "side"] = ""
    entries = entries.reset_index()
    entries["best"] = _best(entries, splits_of(points))
    return entries


def splits_of(points: DataFrame) -> DataFrame:
    """Accuracies in percent on every split of a complete repetition, a column for each method."""
    taken = points[points["complete"] & (points["chosen"] == True)]  # noqa: E712  it may be NaN
    groups = (100.0 * taken["accuracy"]).groupby(
        [taken[part] for part in (*COLUMN, "folds", "split", "method")], sort=False
    )
    return groups.last().unstack("method")


class Comparison(NamedTuple):
    """One method less another.

    Attributes
    ----------
    difference : float
        Mean over the splits that both have done, in points.
    p_value : float
        Two-sided, see :func:`paired_p_value`, corrected for the overlap of training folds.
    plain_p_value : float
        The same uncorrected, as if all splits were independent.
    n_splits : int
    """

    difference: float
    p_value: float
    plain_p_value: float
    n_splits: int


def compare(splits: DataFrame, first: str, second: str) -> Comparison:
    """Two methods on the splits of a column, see :func:`splits_of`, that both have done.

    The p-values are NaN with fewer than two such splits, and where methods are judged on their
    training instances.
    """
    differences = (splits[first] - splits[second]).dropna()
    folds = splits.index.get_level_values("folds")[0]
    mean, count = float(differences.mean()), len(differences)
    if count < 2 or folds < 2:
        return Comparison(mean, np.nan, np.nan, count)
    corrected = paired_p_value(differences, 1.0 / (folds - 1))
    return Comparison(mean, corrected, paired_p_value(differences), count)


def paired_p_value(differences: ArrayLike, test_to_train: float = 0.0) -> float:
    r"""Two-sided paired t-test, with Nadeau and Bengio's correction (Machine Learning, 2003).

    The statistic of n differences with mean m and variance s^2 is

    .. math:: t = m / \sqrt{(1 / n + n_{test} / n_{train}) s^2}, \quad n - 1 \text{ degrees}.

    Training folds of one repetition share most of their instances, and all repetitions are of one
    data set; the second term stands for the correlation that this brings.

    Parameters
    ----------
    differences : array of shape (n,)
        Two at least.
    test_to_train : float
        Instances in a test fold over those in a training fold; with 0 it is the plain t-test.

    Examples
    --------
    >>> paired_p_value([1.0, 2.0, 4.0, 3.0, 1.0])
    0.0196
    >>> paired_p_value([1.0, 2.0, 4.0, 3.0, 1.0], test_to_train=1 / 4)
    0.0657
    """
    values = np.asarray(differences, dtype=float)
    error = np.sqrt((1.0 / len(values) + test_to_train) * values.var(ddof=1))
    if error == 0.0:
        return float(values[0] == 0.0)
    return float(2.0 * student.sf(abs(values.mean()) / error, len(values) - 1))


def printed_comparison(first: Series, second: Series) -> tuple[float, float]:
    """Difference of two printed means, and its p-value by an unpaired t-test on the deviations."""
    pairs = [(one["print"], one["print_std"], PRINTED_REPETITIONS) for one in (first, second)]
    test = ttest_ind_from_stats(*pairs[0], *pairs[1])
    return first["print"] - second["print"], float(test.pvalue)


def _best(entries: DataFrame, splits: DataFrame) -> Series:
    """Whether each entry is best in its column, where the SVM told the labels does not compete."""
    rivals = entries[entries[CHOSEN].notna() & (entries["method"] != SUPERVISED)]
    best = entries["method"] == ""
    for place, column in rivals.groupby(COLUMN):
        own, top = splits.loc[place], column[CHOSEN].idxmax()
        for row, method in column["method"].items():
            equal = column[CHOSEN][row] == column[CHOSEN][top]
            best[row] = equal or compare(own, column["method"][top], method).p_value >= LEVEL
    return best


def _percent(sums: DataFrame) -> Series:
    return 100.0 * sums["right"] / sums["n_test"]
