r"""Bags of which only the mean of the instances is there: published tables, sums over parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose
from operator import itemgetter
from typing import Any

import numpy as np

from propcvx.arrays import Array, Indices, Mask
from propcvx.bags.bags import Bags
from propcvx.bags.record import SHARE_UNIT
from propcvx.bags.targets import some_of
from propcvx.checks import as_vector, check_share
from propcvx.errors import InputError


@dataclass(frozen=True, kw_only=True)
class CountedBags(Bags):
    """Bags with one row each, which stands for all instances of the bag.

    Attributes
    ----------
    counts : array of shape (n_bags,)
        The number of instances of each.
    sums_of_weights : array of shape (n_bags,)
        The sum of their relative weights, of mean one over all instances.
    weighing : array of shape (n_bags,)
        How many of them have a weight above zero.
    """

    counts: Array
    sums_of_weights: Array
    weighing: Array

    @property
    def sizes(self) -> Any:
        """Number of instances in each bag."""
        return self.counts

    @property
    def masses(self) -> Any:
        """Sum of the relative weights in each bag."""
        return self.sums_of_weights

    @property
    def n_weighing(self) -> float:
        """How many instances have a weight above zero."""
        return float(self.weighing.sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the instances."""
        return self.mean_weight * float(self.sums_of_weights.sum())

    def means_of(self, features: Array) -> Array:
        """The rows themselves."""
        return features

    def only(self, chosen: Mask) -> tuple[CountedBags, Indices]:
        """Some of the bags, and their rows."""
        return self.picked(np.flatnonzero(chosen)), np.flatnonzero(chosen)

    def picked(self, order: Indices) -> CountedBags:
        """The bags of some rows, in the order wanted."""
        described = ("proportions", "labels", "whole", "codes", "rows")
        each = *described, "counts", "sums_of_weights", "weighing"
        parts = {name: getattr(self, name)[order] for name in each}
        return replace(self, index=np.arange(len(order)), **parts)

    def in_canonical_order(self, means: Array, sign: int = 0) -> CountedBags:
        """In an order that the table alone determines, as its ``rows`` tell, and with a sign.

        As in :func:`propcvx.bags.ordering.in_canonical_order`, bags go by proportion, size and
        content, and without a sign given positives are not the majority.
        """
        rounded = self.with_rounded_shares()
        both: list[Any] = [rounded, rounded.swapped()]
        first, second = (float(one.counts @ np.nan_to_num(one.proportions)) for one in both)
        if sign or not isclose(first, second, rel_tol=SHARE_UNIT):
            both = both[:1] if sign > 0 or (not sign and first < second) else both[1:]
        return min((_sorted(one, means) for one in both), key=itemgetter(0))[1]


def _sorted(bags: CountedBags, means: Array) -> tuple[list[Any], CountedBags]:
    """What the bags are sorted by, and the sorted bags."""
    shares = np.nan_to_num(bags.proportions, nan=-1.0)
    keys = np.column_stack([shares, bags.counts, means])
    order = np.lexsort(keys.T[::-1])
    return keys[order].tolist(), bags.picked(order)


@dataclass(frozen=True, eq=False)
class BagMeans:
    """A table with one row for each bag: what a census office publishes.

    Parameters
    ----------
    means : array of shape (n_bags, n_features)
        The mean of the instances of each bag.
    proportions : array of shape (n_bags,)
        The share of positives in each, in [0, 1]; None where it is not known.
    sizes : array of shape (n_bags,)
        Its number of instances.
    ids : sequence of hashable, length n_bags, optional
        Its name, for parameters that are keyed by bag and for messages; 0, 1, ... without them.

    Raises
    ------
    InputError
        If the columns do not fit together, or a value is not valid.

    Examples
    --------
    >>> table = BagMeans([[0.0], [2.0]], [0.2, 0.9], sizes=[100, 50], ids=["Ely", "Rye"])
    >>> table.bags.sizes
    array([100.,  50.])
    """

    means: Any
    proportions: Any
    sizes: Any
    ids: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        sizes = as_vector(self.sizes, len(self.means))
        if sizes is None or (sizes < 1.0).any() or (sizes != np.rint(sizes)).any():
            raise InputError(
                f"sizes must be the number of instances of each of the {len(self.means)} bags, "
                f"whole numbers of at least 1, got {self.sizes!r}."
            )
        for name in ("proportions", "ids"):
            column = getattr(self, name)
            if column is not None and len(column) != len(sizes):
                raise InputError(
                    f"{name} must have one entry for each of the {len(sizes)} rows of means, got "
                    f"{len(column)}."
                )
        repeated = [name for name, rows in Counter(self.names).items() if rows > 1]
        if repeated:
            raise InputError(
                f"ids must name each bag once, got several rows of {some_of(repeated)}."
            )

    @property
    def names(self) -> list[Hashable]:
        """The name of each bag."""
        return list(range(len(self.means)) if self.ids is None else self.ids)

    @cached_property
    def bags(self) -> CountedBags:
        """The bags, in the order of the rows."""
        pairs = zip(self.proportions, map(repr, self.names), strict=True)
        shares = [np.nan if share is None else check_share(share, bag) for share, bag in pairs]
        sizes = np.asarray(self.sizes, dtype=np.float64)
        return counted_bags(self.names, np.array(shares), sizes, sizes, sizes)


def counted_bags(
    names: Sequence[Any], proportions: Array, counts: Array, masses: Array, weighing: Array
) -> CountedBags:
    """Bags by their names, of which one may come several times, and sums over their instances."""
    ids = sorted(set(names))
    place = {name: code for code, name in enumerate(ids)}
    n_bags = len(names)
    return CountedBags(
        index=np.arange(n_bags),
        proportions=proportions,
        labels=np.zeros(n_bags, dtype=np.int8),
        whole=np.ones(n_bags, dtype=bool),
        codes=np.array([place[name] for name in names], dtype=np.int64),
        rows=np.arange(n_bags),
        ids=ids,
        counts=counts,
        sums_of_weights=masses,
        weighing=weighing,
    )
