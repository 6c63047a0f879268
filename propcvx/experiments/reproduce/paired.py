"""Tests of one method against another on the same splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce.entries import Entry
from propcvx.experiments.reproduce.printed import REPETITIONS, Printed

LEVEL = 0.05
"""Of significance, as in the paper."""


@dataclass(frozen=True)
class Comparison:
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


def compare(first: Entry, second: Entry) -> Comparison:
    """Two methods on the splits that both have done.

    The p-values are NaN with fewer than two such splits, and where methods are judged on their
    training instances.
    """
    shared = [split for split in first.split_accuracies if split in second.split_accuracies]
    differences = np.array(
        [first.split_accuracies[split] - second.split_accuracies[split] for split in shared]
    )
    if len(shared) < 2 or first.folds < 2:
        mean = float(differences.mean()) if shared else np.nan
        return Comparison(mean, np.nan, np.nan, len(shared))
    return Comparison(
        difference=float(differences.mean()),
        p_value=paired_p_value(differences, 1.0 / (first.folds - 1)),
        plain_p_value=paired_p_value(differences),
        n_splits=len(shared),
    )


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


def best_methods(column: Sequence[Entry]) -> frozenset[str]:
    """The method with the largest mean, and those that the corrected test does not tell from it.

    Parameters
    ----------
    column : sequence of Entry
        Of one data set, kernel and bag size.  The SVM that is told the labels does not compete.
    """
    rivals = [entry for entry in column if entry.accuracies and entry.method != SUPERVISED]
    if not rivals:
        return frozenset()
    best = max(rivals, key=lambda entry: entry.mean)
    return frozenset(
        entry.method
        for entry in rivals
        if entry.mean == best.mean or compare(best, entry).p_value >= LEVEL
    )


def printed_p_value(first: Printed, second: Printed) -> float:
    """Unpaired t-test of two printed means, by their printed deviations."""
    pairs = [(one.accuracy, one.std, REPETITIONS) for one in (first, second)]
    return float(ttest_ind_from_stats(*pairs[0], *pairs[1]).pvalue)
