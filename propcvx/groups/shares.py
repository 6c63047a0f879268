"""The share of positives in groups of instances, from shares of bags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Signs
from propcvx.bags.bags import Bags
from propcvx.bags.targets import is_bag_target, known_labels
from propcvx.bounds import Bound, certify
from propcvx.bounds.near_best import NearBest
from propcvx.checks import check_count, check_number, check_same_order
from propcvx.errors import FailedBoundWarning, InputError, needing, warn
from propcvx.groups.cells import Cells
from propcvx.groups.estimates import FEW, expected, resampled
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.text import Readable

if TYPE_CHECKING:
    from pandas import DataFrame


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

        Only what the arguments ask for has a column.
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
    sample_weight: Any = None,
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
    X : array, sparse matrix or DataFrame of shape (n_instances, n_features), optional
        For a classifier, for groups that are a function, and for ``delta``.  What a pipeline takes
        may have columns of any types; ``delta`` needs numbers: ``pipeline[:-1].transform(X)``, with
        ``pipeline[-1]`` as labels.
    truth : labeling of shape (n_instances,), optional
        The true labels, to compare with.
    sample_weight : array of shape (n_instances,), optional
        Weights above 0, as of a survey: the share of a group is the weight of its positives in the
        weight of all, and so are bounds and estimates.  The shares of bags count instances, and
        classifiers are fitted without weights.
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
        the best one's, by the problem of :func:`propcvx.bounds.certify`.  It is a bound: no
        such labeling has a share outside, and there may be none with the shares at its ends.
    certify_options : dict, optional
        Arguments of :func:`propcvx.bounds.certify` for it, such as
        ``{"C": 0.1, "time_limit": 60.0}``.
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
        If an argument cannot be used: a group without instances, groups of another length; or if
        pandas is not installed.

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
    several = groups if isinstance(groups, Mapping) else {"groups": groups}
    others = {"labels": labels, "truth": truth, "sample_weight": sample_weight}
    check_same_order({"X": X, **several, **others})
    cells = Cells.of(groups, X, Bags.from_target(y), sample_weight)
    feasible = FeasibleLabelings.of(cells.bags, epsilon)
    weighted = cells.sets @ sp.diags_array(cells.weights)
    bounds = cells.sharp(feasible.lower, feasible.upper)
    columns: dict[str, Any] = dict(zip(("least", "most"), bounds, strict=True))
    if labels is not None:
        columns["estimate"] = weighted @ expected(labels, X, y, feasible)
    if n_resamples:
        check_count("n_resamples", n_resamples, least=FEW)
        check_number("level", level, above=0.0, most=np.nextafter(1.0, 0.0))
        settings = {"random_state": random_state, "n_jobs": n_jobs, "verbose": verbose}
        counts = resampled(labels, X, y, cells, feasible, n_resamples, **settings)
        ends = (1.0 - level) / 2, (1.0 + level) / 2
        columns["low"], columns["high"] = (
            np.quantile(counts, ends, axis=0) if len(counts) >= FEW else [np.nan] * 2
        )
    if delta is not None:
        options = {"epsilon": epsilon, "verbose": verbose, **(certify_options or {})}
        columns |= _near(cells, X, y, bounds, check_number("delta", delta, least=0.0), options)
    if truth is not None:
        columns["truth"] = weighted @ (_complete(truth, len(y)) > 0)
    return GroupShares(*_tables(cells, weighted.sum(axis=1), columns))


def _near(
    cells: Cells,
    X: Any,
    y: NDArray[np.void],
    bounds: tuple[Array, Array],
    delta: float,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Ends of the certified ranges of sets, no wider than the bounds."""
    if X is None:
        raise InputError("X must be given for delta, got None.")
    near = NearBest(cells.sets, delta)
    result = certify(X, y, **{**options, "kinds": [Bound(near.run)]})
    ends = zip(near.counts(), (1, -1), strict=True)
    least, most = (cells.weighed(cells.sets, counts, sign) for counts, sign in ends)
    least, most = np.maximum(least, bounds[0]), np.minimum(most, bounds[1])
    if np.array_equal([least, most], bounds) and (least < most).any():
        warn(
            "no labeling was ruled out, so certified ranges are the bounds that the shares give; "
            f"certify stopped as {result.stop_reason.value}. A longer time_limit, a smaller delta "
            "or a smaller C may do.",
            FailedBoundWarning,
        )
    return {"certified_least": least, "certified_most": most}


def _complete(truth: Any, n_instances: int) -> Signs:
    """True labels, each -1 or +1."""
    try:
        labels = known_labels(truth, n_instances)
    except InputError as error:
        raise InputError(f"truth: {error}") from error
    if not labels.all():
        raise InputError(f"truth must be -1 or +1 everywhere, got {(labels == 0).sum()} zeros.")
    return labels


def _tables(
    cells: Cells, weights: Array, columns: Mapping[str, Array]
) -> tuple[DataFrame, DataFrame]:
    """Numbers and shares of the groups, and of the cells, of what positives weigh in them."""
    from pandas import DataFrame

    n, first = cells.sets.sum(axis=1).astype(int), len(cells.names)
    table = DataFrame({"n": n, **{name: part / weights for name, part in columns.items()}})
    return table[:first].set_index(cells.names), table[first:].set_index(cells.index())
