"""The share of positives in groups of instances, from shares of bags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array
from propcvx.bags import Bags
from propcvx.bounds import Bound
from propcvx.bounds.near_best import NearBest
from propcvx.checks import check_count, check_number
from propcvx.errors import FailedBoundWarning, InputError, needing, warn
from propcvx.estimators import certify
from propcvx.groups.cells import Cells
from propcvx.groups.estimates import FEW, expected, resampled
from propcvx.labelings import FeasibleLabelings
from propcvx.targets import is_bag_target, known_labels
from propcvx.text import Readable

if TYPE_CHECKING:
    from pandas import DataFrame

Pair = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class GroupShares(Readable):
    """Shares of positives in groups; it prints as the table of the groups.

    Attributes
    ----------
    groups : pandas DataFrame
        A row for each group, with the columns

        - ``n``: its number of instances;
        - ``least``, ``most``: bounds on its share, from the published shares alone;
        - ``estimate``: that of the classifier or labeling;
        - ``low``, ``high``: the interval by resampling bags;
        - ``certified_least``, ``certified_most``: a range that has the share of every labeling
          whose value is within ``delta`` of the best;
        - ``truth``.

        Only what was asked for has a column.
    cells : pandas DataFrame
        The same for each group in each bag that has instances of it.
    """

    groups: DataFrame
    cells: DataFrame

    def __str__(self) -> str:
        """The table of the groups, shares as percentages."""
        shares = self.groups.columns.drop("n")
        return str(self.groups.to_string(formatters=dict.fromkeys(shares, "{:.1%}".format)))


@needing("groups", "group_shares")
def group_shares(
    y: NDArray[Any],
    groups: Any,
    labels: Any = None,
    X: Any = None,
    *,
    truth: Any = None,
    epsilon: Any = 0.0,
    n_resamples: int = 0,
    level: float = 0.9,
    delta: float | None = None,
    certify_options: Mapping[str, Any] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> GroupShares:
    r"""Share of positives in groups of instances: bounds, estimates, intervals, certified ranges.

    The bounds assume nothing but the published shares: with :math:`n_{gk}` of the :math:`n_k`
    instances of bag k in group g, and m positives in the bag, there are between
    :math:`\max(0, m - (n_k - n_{gk}))` and :math:`\min(n_{gk}, m)` positives in the group
    (:func:`propcvx.programs.group_count`).  They are sharp where instances are in at most two
    bags; with three or more groupings they hold, too, and may be wider than need be.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Of two classes, made by :func:`propcvx.bag_target`.
    groups : array of shape (n_instances,), DataFrame, dict of arrays, or callable
        The group of each instance: any value that can be sorted, also True and False.  Several
        columns make a group of each combination that occurs.  A function gets X and returns either.
    labels : labeling of shape (n_instances,) or fitted classifier, optional
        What estimates are of.  A labeling, of -1 and +1, must have the shares of the bags.  The
        probabilities of a classifier are shifted in each bag so that they meet its share, and
        averaged.
    X : array of shape (n_instances, n_features), optional
        For a classifier, for groups that are a function, and for ``delta``.
    truth : labeling of shape (n_instances,), optional
        The true labels, to compare with.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or pandas Series
        Tolerance of the proportions, as in :class:`propcvx.ConvPropSVM`.
    n_resamples : int
        Fits of the classifier to bags drawn with replacement, for the interval; 0 for none, else
        at least 20.  The interval holds the quantiles of the estimates with one label drawn for
        each instance.  It is about which bags were seen and about chance, and does not know of an
        error that all fits have in common.
    level : float
        Level of the interval, in (0, 1).
    delta : float, optional
        For the certified range: labelings count whose value is at most :math:`1 + \delta` times
        the best one's, by the problem of :func:`propcvx.certify`.  It is a bound: no such labeling
        has a share outside, and there may be none with the shares at its ends.
    certify_options : dict, optional
        Arguments of :func:`propcvx.certify` for it, such as ``{"C": 0.1, "time_limit": 60.0}``.
    random_state : int, RandomState or None
        Of the resamples.
    n_jobs : int or None
        Resamples that run at the same time; the result does not depend on it.
    verbose : bool
        Show progress.

    Returns
    -------
    GroupShares

    Raises
    ------
    InputError
        If an argument cannot be used: a group without instances, groups of another length, a model
        of other data; or if pandas is not installed.

    Warns
    -----
    FailedBoundWarning
        If no certified range is better than the bounds, as when time is over before.
    PropCVXWarning
        If Ctrl-C has ended the resamples; those done count.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> y = bag_target(["a"] * 4 + ["b"] * 4, {"a": 0.75, "b": 0.25})
    >>> print(group_shares(y, ["old", "old", "young", "old", "old", "young", "young", "young"]))
           n least  most
    group
    old    4 50.0% 100.0%
    young  4  0.0%  50.0%
    """
    if not is_bag_target(y):
        raise InputError(f"y must be a bag target, got {type(y).__name__}; see propcvx.bag_target.")
    bags = Bags.from_target(y)
    cells = Cells.of(groups, X, bags)
    feasible = FeasibleLabelings.of(bags, epsilon)
    sharp = cells.sharp(feasible.lower, feasible.upper)
    columns: dict[str, tuple[Array, Array]] = _ends("least", "most", sharp)
    if labels is not None:
        positive = expected(labels, X, y, feasible)
        columns["estimate"] = cells.of_groups @ positive, cells.of_cells @ positive
    if n_resamples:
        check_count("n_resamples", n_resamples, least=FEW)
        check_number("level", level, above=0.0, most=np.nextafter(1.0, 0.0))
        counts = resampled(
            labels, X, y, cells, feasible, n_resamples, random_state, n_jobs, verbose
        )
        columns |= _ends("low", "high", _intervals(cells, np.clip(counts, *sharp[1]), level))
    if delta is not None:
        check_number("delta", delta, least=0.0)
        if X is None:
            raise InputError("X must be given for delta, got None.")
        options = {"epsilon": epsilon, "verbose": verbose, **(certify_options or {})}
        columns |= _ends(
            "certified_least", "certified_most", _near(cells, X, y, sharp, delta, options)
        )
    if truth is not None:
        true = known_labels(truth, len(y))
        if not true.all():
            raise InputError(
                f"truth must be -1 or +1 of every instance, got {(true == 0).sum()} zeros."
            )
        positive = (true > 0).astype(float)
        columns["truth"] = cells.of_groups @ positive, cells.of_cells @ positive
    sizes = cells.of_groups.sum(axis=1), cells.of_cells.sum(axis=1)
    return GroupShares(*_tables(cells, sizes, columns))


def _ends(low: str, high: str, pairs: tuple[Pair, ...]) -> dict[str, Pair]:
    """Two columns of both tables, from the ends for the groups and those for the cells."""
    of_groups, of_cells = pairs
    return {low: (of_groups[0], of_cells[0]), high: (of_groups[1], of_cells[1])}


def _intervals(cells: Cells, counts: Array, level: float) -> tuple[Pair, ...]:
    """Quantiles of the counts of groups and of cells; NaN where there are too few."""
    ends = [(1.0 - level) / 2, (1.0 + level) / 2]
    each = cells.of_group(counts), counts
    if len(counts) < FEW:
        return tuple((np.full(one.shape[1], np.nan),) * 2 for one in each)
    return tuple(tuple(np.quantile(one, ends, axis=0)) for one in each)


def _near(
    cells: Cells,
    X: Any,
    y: NDArray[np.void],
    sharp: tuple[Pair, ...],
    delta: float,
    options: Mapping[str, Any],
) -> tuple[Pair, ...]:
    """The certified ranges of groups and cells, no wider than the bounds."""
    near = NearBest(sp.csr_array(sp.vstack([cells.of_groups, cells.of_cells])), delta)
    result = certify(X, y, **{**options, "kinds": [Bound(near.run)]})
    least, most = near.counts()
    split = [len(cells.names)]
    ends = [
        (np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))
        for low, high, bounds in zip(
            np.split(least, split), np.split(most, split), sharp, strict=True
        )
    ]
    if all(np.array_equal(own, bounds) for own, bounds in zip(ends, sharp, strict=True)):
        warn(
            "no labeling was ruled out, so certified ranges are the bounds that the shares give; "
            f"certify stopped as {result.stop_reason.value}. A longer time_limit, a smaller delta "
            "or a smaller C may do.",
            FailedBoundWarning,
        )
    return tuple(ends)


def _tables(
    cells: Cells, sizes: tuple[Array, Array], columns: Mapping[str, Pair]
) -> tuple[DataFrame, DataFrame]:
    """Numbers and shares of the groups, and of the cells."""
    from pandas import DataFrame

    both = []
    for place, index in enumerate((cells.names, cells.index())):
        n = sizes[place].astype(int)
        shares = {name: pair[place] / n for name, pair in columns.items()}
        both.append(DataFrame({"n": n, **shares}, index=index))
    return both[0], both[1]
