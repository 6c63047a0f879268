"""Rates of positives in groups of instances, from the proportions of bags."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from propcvx.arrays import Array, Seed, Signs, Tolerance
from propcvx.bags.bags import Bags
from propcvx.bags.targets import (
    class_numbers,
    classes_of,
    is_bag_target,
    is_class_target,
    known_labels,
)
from propcvx.checks import check_count, check_number, check_same_order
from propcvx.errors import InputError, require_extra
from propcvx.groups.cells import Cells
from propcvx.groups.estimates import FEW, estimate, resample
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.text import Readable

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True, eq=False)
class GroupRates(Readable):
    """Result of :func:`propcvx.group_rates`, which prints as the table of the groups.

    Attributes
    ----------
    groups : pandas DataFrame
        A row for each group; rates are in [0, 1], and are printed as percentages.  The columns are

        - ``n``: its number of instances;
        - ``lower_bound``, ``upper_bound``: bounds on its rate, from the published proportions;
        - ``estimate``: its rate by the classifier or labeling;
        - ``ci_low``, ``ci_high``: the interval of the estimate;
        - ``true``: its rate by ``y_true``.

        Only what the arguments ask for has a column.
    cells : pandas DataFrame
        A row, with the same columns, for each group in each bag that has instances of it, indexed
        by group and bag.
    draws : pandas DataFrame
        A row for each draw and a column for each group: the rates of which ``ci_low`` and
        ``ci_high`` are quantiles.  Empty if ``n_draws`` is 0.
    level : float
        Nominal level of the intervals.
    positive : hashable
        The class whose rates these are: 1, or the second of the sorted names of a table.
    """

    groups: DataFrame
    cells: DataFrame
    draws: DataFrame
    level: float
    positive: Hashable = 1

    def __str__(self) -> str:
        """Format the table of the groups in percent, with the class and the kind of interval."""
        rates = self.groups.columns.drop("n")
        lines = [self.groups.to_string(formatters=dict.fromkeys(rates, "{:.1%}".format))]
        if self.positive != 1:
            lines.insert(0, f"Rates of {self.positive!r}")
        if "ci_low" in rates:
            lines.append(f"ci: nominal {self.level:.0%} interval, {len(self.draws)} draws.")
        return "\n".join(lines)

    def contrast(self, first: Hashable, second: Hashable) -> Series:
        """Compute the difference of the rates of two groups: first minus second.

        Parameters
        ----------
        first, second : hashable
            Names of groups, of the index of ``groups``: tuples if groups combine columns.

        Returns
        -------
        pandas Series
            ``lower_bound`` and ``upper_bound`` of the difference, which need not be sharp;
            ``estimate``; ``ci_low`` and ``ci_high``, quantiles of the differences of the draws;
            and ``true``.  Entries whose column ``groups`` lacks are omitted.

        Raises
        ------
        InputError
            If there is no group of that name.
        """
        for name in (first, second):
            if name not in self.groups.index:
                names = self.groups.index.tolist()
                raise InputError(f"groups to contrast must be among {names}; got {name!r}.")
        places = [self.groups.index.get_loc(name) for name in (first, second)]
        one, other = (self.groups.iloc[place] for place in places)
        difference = (one - other).drop("n")
        difference["lower_bound"] = one["lower_bound"] - other["upper_bound"]
        difference["upper_bound"] = one["upper_bound"] - other["lower_bound"]
        if "ci_low" in difference:
            draws = self.draws.iloc[:, places[0]] - self.draws.iloc[:, places[1]]
            difference["ci_low"], difference["ci_high"] = _interval(draws, self.level)
        return difference.rename(f"{first} - {second}")


@require_extra("groups", "group_rates")
def group_rates(
    y: NDArray[Any],
    groups: Any,
    estimator: Any = None,
    X: Any = None,
    *,
    y_true: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    epsilon: Tolerance = 0.0,
    n_draws: int = 0,
    level: float = 0.9,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> GroupRates:
    r"""Compute the rate of positives in groups of instances: bounds, estimates and intervals.

    The bounds assume only the published proportions: with :math:`n_{gk}` of the :math:`n_k`
    instances of bag k in group g, and m positives in the bag, this part of the group has between
    :math:`\max(0, m - (n_k - n_{gk}))` and :math:`\min(n_{gk}, m)` positives
    (:func:`propcvx.programs.group_count`).  The bounds are sharp.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Of two classes, made by :func:`propcvx.bag_target`; of a table the second of the sorted
        names of classes is positive.  With ``n_draws``, it must be the target of the
        fit, except for :class:`propcvx.EcologicalRegression` and
        :class:`propcvx.AggregateLogisticRegression`.
    groups : array of shape (n_instances,), DataFrame, dict of arrays, or callable
        The group of each instance: any value that can be sorted, also True and False.  With
        several columns, each combination that occurs is a group.  A function of X returns one of
        these.
    estimator : fitted classifier, or labeling of shape (n_instances,), optional
        The source of the estimates.  A labeling, of -1 and +1, must have the bags' proportions.
        The probabilities of a classifier are treated as probabilities of independent labels,
        conditioned on the numbers of positives of the bags
        (:class:`propcvx.labelings.given_counts.GivenCounts`), then averaged in each group.
    X : array, sparse matrix or DataFrame of shape (n_instances, n_features), optional
        Needed for a classifier and for groups that are a function.  For a pipeline, columns may
        have any type.
    y_true : labeling of shape (n_instances,), optional
        The true labels, to compare with: -1 and +1, or names of classes with a table.
    sample_weight : array of shape (n_instances,), optional
        Weights above 0, for instance of a survey: the rate of a group, with its bounds and
        estimate, is the weight of its positives divided by its total weight.  The proportions of
        bags count instances, and refits of classifiers have no weights.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or Series, default=0.0
        Tolerance of the proportions, as in :class:`propcvx.ConvPropSVM`.
    n_draws : int, default=0
        Number of estimates whose quantiles are the ends of the interval: 0 for no interval,
        otherwise at least 20.  Each estimate draws labels with the bags' proportions, by
        probabilities that come

        - from ``sample_probabilities`` of :class:`propcvx.EcologicalRegression` (half of the draws
          with ``logistic=True``) or :class:`propcvx.AggregateLogisticRegression`, with the linear
          kernel, or of a pipeline that ends in one of them;
        - for other classifiers, from fits to bags of ``y`` drawn with replacement.

        The interval does not include an error that all draws have in common, for example if bags
        differ by more than the columns of X explain.
    level : float, default=0.9
        Level of the interval, in (0, 1).
    random_state : int, RandomState or None, default=0
        Seed of the draws.
    n_jobs : int or None
        Number of resamples that run at the same time; the result does not depend on it.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    GroupRates

    Raises
    ------
    InputError
        If an argument cannot be used: a group without instances, groups of another length; or if
        pandas is not installed.

    Warns
    -----
    UnreliableIntervalWarning
        If Ctrl-C has ended the resamples; the interval is made of the finished resamples, or NaN
        if they are fewer than 20.  If ``n_draws`` > 0 and the columns of X do not determine
        the groups (a small decision tree does not separate them): the interval is then often too
        narrow.
    IllPosedWarning
        If all proportions are equal; then the interval is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import bag_target, group_rates
    >>> y = bag_target(["a"] * 4 + ["b"] * 4, {"a": 0.75, "b": 0.25})
    >>> print(group_rates(y, ["old", "old", "young", "old", "old", "young", "young", "young"]))
           n lower_bound upper_bound
    group
    old    4       50.0%      100.0%
    young  4        0.0%       50.0%

    With a classifier there are estimates and intervals:

    >>> from propcvx import EcologicalRegression, bag_proportions
    >>> random, ward = np.random.RandomState(0), np.repeat(np.arange(40), 20)
    >>> old = random.uniform(size=800) < random.uniform(size=40)[ward]
    >>> labels = np.where(random.uniform(size=800) < 0.3 + 0.4 * old, 1, -1)
    >>> X, y = old[:, None].astype(float), bag_target(ward, bag_proportions(labels, ward))
    >>> fitted = EcologicalRegression().fit(X, y)
    >>> print(group_rates(y, old, fitted, X, y_true=labels, n_draws=100))
             n lower_bound upper_bound estimate ci_low ci_high  true
    group
    False  385       13.2%       59.2%    25.7%  21.3%   29.1% 28.6%
    True   415       39.8%       82.4%    70.9%  67.7%   75.0% 68.2%
    ci: nominal 90% interval, 100 draws.
    """
    if not is_bag_target(y):
        raise InputError(f"y must be a bag target; got {type(y).__name__}; see propcvx.bag_target.")
    several = groups if isinstance(groups, Mapping) else {"groups": groups}
    others = {"estimator": estimator, "y_true": y_true, "sample_weight": sample_weight}
    check_same_order({"X": X, "y": y, **several, **others})
    cells = Cells.from_groups(groups, X, Bags.from_target(y), sample_weight)
    feasible = FeasibleLabelings.from_bags(cells.bags, epsilon)
    weighted = cells.sets @ sp.diags_array(cells.weights)
    weights, counts = weighted.sum(axis=1), np.empty((0, weighted.shape[0]))
    bounds = cells.sharp_bounds(feasible.lower, feasible.upper)
    columns: dict[str, Any] = dict(zip(("lower_bound", "upper_bound"), bounds, strict=True))
    if estimator is not None:
        columns["estimate"] = weighted @ estimate(estimator, X, y, feasible)
    if n_draws:
        check_count("n_draws", n_draws, low=FEW)
        check_number("level", level, 0.0, 1.0)
        settings: dict[str, Any] = {
            "random_state": random_state,
            "n_jobs": n_jobs,
            "verbose": verbose,
        }
        counts = resample(estimator, X, y, cells, feasible, n_draws, **settings)
        columns["ci_low"], columns["ci_high"] = _interval(counts, level)
    if y_true is not None:
        columns["true"] = weighted @ (_complete(y_true, y) > 0)
    return GroupRates(*_tables(cells, weights, columns, counts), level, classes_of(y).tolist()[1])


def _interval(draws: Any, level: float) -> Any:
    """Return the lower and upper quantiles of draws; NaN if there are too few."""
    levels = (1.0 - level) / 2, (1.0 + level) / 2
    return np.quantile(draws, levels, axis=0) if len(draws) >= FEW else [np.nan] * 2


def _complete(y_true: Any, y: NDArray[np.void]) -> Signs:
    """Return the true labels, each -1 or +1, or raise if one is unknown."""
    if is_class_target(y):
        numbers = class_numbers("y_true", y_true, classes_of(y).tolist(), len(y))
        labels = np.array([0, -1, 1], dtype=np.int8)[numbers]
    else:
        try:
            labels = known_labels(y_true, len(y))
        except InputError as error:
            raise InputError(f"y_true: {error}") from error
    if not labels.all():
        raise InputError(
            f"y_true must have no unknown labels; got {(labels == 0).sum()}. If 0 is the negative "
            "class, pass `2 * labels - 1`."
        )
    return labels


def _tables(
    cells: Cells, weights: Array, columns: Mapping[str, Array], counts: Array
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Build the tables of groups, cells and draws from the weights of their positives."""
    from pandas import DataFrame

    n, first = cells.sets.sum(axis=1).astype(int), len(cells.names)
    table = DataFrame({"n": n, **{name: part / weights for name, part in columns.items()}})
    draws = DataFrame(counts[:, :first] / weights[:first], columns=cells.names)
    return table[:first].set_index(cells.names), table[first:].set_index(cells.index()), draws
