"""Splitters that never split a bag across folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from propcvx.arrays import Indices, Mask, Seed
from propcvx.bags.bags import Bags
from propcvx.bags.targets import is_bag_target
from propcvx.checks import check_count, check_number
from propcvx.errors import FewBagsWarning, InputError, warn

FEW_BAGS = 2
"""Number of held-out bags below which a splitter warns."""


@dataclass(eq=False, repr=False)
class BagKFold(BaseCrossValidator):
    """K folds of whole bags.

    Bags are assigned to folds in random order, larger bags first, each to the fold with the fewest
    instances so far, so that folds are about equal in size.  Bags whose sizes are within the same
    power of two, such as 32 to 63, are in random order among themselves.  Bags without a proportion
    are assigned after the others, so that each fold has a bag with a proportion.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of bags, or of those with a proportion
        where there are any.
    random_state : int, RandomState or None
        Seeds the order in which bags are assigned.

    Examples
    --------
    >>> from propcvx import BagKFold, bag_target
    >>> y = bag_target([0, 0, 1, 1, 2, 3], [0.5, 0.0, 1.0, 1.0])
    >>> [test.tolist() for _, test in BagKFold(2, random_state=0).split(y, y)]
    [[2, 3, 4], [0, 1, 5]]
    """

    n_splits: int = 5
    _: KW_ONLY
    random_state: Seed = None

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield training and test indices of instances.

        Training indices come bag by bag, in the random order of the split, so that the prefixes of
        a learning curve are random whole bags, except for the last bag.

        Parameters
        ----------
        X : array of shape (n_instances, ...)
            Only its length is used.
        y : bag target of shape (n_instances,), or labels
            Required; labels are singleton bags.
        groups : ignored
        """
        index, has_proportion = _bags_of(y)
        sizes = np.bincount(index)
        folds, order = deal_bags(sizes, self.n_splits, self.random_state, has_proportion)
        _warn_if_few(len(folds), int(np.bincount(folds).min()))
        for fold in range(self.n_splits):
            yield _halves(index, order, folds == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits


@dataclass(eq=False, repr=False)
class RepeatedBagKFold(BagKFold):
    """Repetitions of :class:`BagKFold`, each with another random assignment of bags to folds.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of bags, or of those with a proportion
        where there are any.
    n_repeats : int, default=10
        Number of times, at least 1.
    random_state : int, RandomState or None
        Seeds the order in which bags are assigned.

    Examples
    --------
    >>> from propcvx import RepeatedBagKFold, bag_target
    >>> y = bag_target([0, 0, 1, 1, 2, 3], [0.5, 0.0, 1.0, 1.0])
    >>> len(list(RepeatedBagKFold(2, n_repeats=2, random_state=0).split(y, y)))
    4
    """

    n_repeats: int = field(default=10, kw_only=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield training and test indices of instances; see :meth:`BagKFold.split`."""
        random = check_random_state(self.random_state)
        for _ in range(check_count("n_repeats", self.n_repeats)):
            yield from BagKFold(self.n_splits, random_state=random).split(X, y)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits over all repeats."""
        return self.n_splits * self.n_repeats


@dataclass(eq=False, repr=False)
class BagShuffleSplit(BagKFold):
    """Random splits that hold out a fraction of the bags.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits, at least 1.
    test_size : float, default=0.2
        Fraction of the bags held out, in (0, 1].  At least one bag is held out, and at least one is
        not; the same holds among the bags with a proportion, if there are any.
    random_state : int, RandomState or None
        Seeds the choice of bags.

    Examples
    --------
    >>> from propcvx import BagShuffleSplit, bag_target
    >>> y = bag_target([0, 0, 1, 1, 2, 3], [0.5, 0.0, 1.0, 1.0])
    >>> [len(test) for _, test in BagShuffleSplit(2, test_size=0.5, random_state=0).split(y, y)]
    [2, 3]
    """

    n_splits: int = 10
    test_size: float = field(default=0.2, kw_only=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield training and test indices of instances; see :meth:`BagKFold.split`."""
        index, has_proportion = _bags_of(y)
        n_known, n_bags = int(has_proportion.sum()), len(has_proportion)
        if n_known < 2:
            raise InputError(
                "y must have at least 2 bags to hold some out, with a proportion where any has "
                f"one; got {n_known}."
            )
        fraction = check_number("test_size", self.test_size, 0.0, 1.0, closed="right")
        first = min(max(round(fraction * n_known), 1), n_known - 1)
        others = round(fraction * (n_bags - n_known))
        _warn_if_few(n_bags, first + others)
        random = check_random_state(self.random_state)
        for _ in range(check_count("n_splits", self.n_splits)):
            order = random.permutation(n_bags)
            kinds = order[has_proportion[order]][:first], order[~has_proportion[order]][:others]
            yield _halves(index, order, np.isin(np.arange(n_bags), np.concatenate(kinds)))


def deal_bags(
    sizes: Indices, n_splits: int, random_state: Any, has_proportion: Mask | None = None
) -> tuple[Indices, Indices]:
    """Assign bags to folds in random order, larger bags first, each to the emptiest fold.

    Bags with a proportion come before the others.  Sizes are compared as powers of two: by the
    sizes themselves, bags that all differ would be assigned in the same way for every seed.

    Parameters
    ----------
    sizes : int array of shape (n_bags,)
    n_splits : int
        Number of folds, from 2 to the number of bags, or of those with a proportion where there
        are any.
    random_state : int, RandomState or None
    has_proportion : bool array of shape (n_bags,), optional
        Mask of the bags with a proportion; by default all.

    Returns
    -------
    folds : int array of shape (n_bags,)
        From 0 to ``n_splits - 1``, each at least once.
    order : int array of shape (n_bags,)
        The random order of the bags.
    """
    if check_count("n_splits", n_splits) < 2 or n_splits > len(sizes):
        raise InputError(
            f"n_splits must be from 2 to the number of bags ({len(sizes)}); got {n_splits}."
        )
    has_proportion = np.ones(len(sizes), dtype=bool) if has_proportion is None else has_proportion
    if has_proportion.sum() < n_splits:
        raise InputError(
            f"n_splits must be at most the number of bags with a proportion "
            f"({has_proportion.sum()} of {len(sizes)} bags), as a fold without one has no score; "
            f"got {n_splits}. Use fewer splits, or give more proportions."
        )
    shuffled = check_random_state(random_state).permutation(len(sizes))
    doublings = np.floor(np.log2(sizes[shuffled]))
    largest_first = shuffled[np.lexsort((-doublings, ~has_proportion[shuffled]))]
    folds, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(n_splits)
    for bag in largest_first:
        folds[bag] = np.argmin(filled)
        filled[folds[bag]] += sizes[bag]
    return folds, shuffled


def _halves(index: Indices, order: Indices, held_out: Mask) -> tuple[Indices, Indices]:
    """Return training and test instances; a training prefix splits at most one bag.

    Parameters
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    order : int array of shape (n_bags,)
        Order of the bags in the training set.
    held_out : bool array of shape (n_bags,)
    """
    train = np.flatnonzero(~held_out[index])
    by_bag = np.argsort(np.argsort(order)[index[train]], kind="stable")
    return train[by_bag], np.flatnonzero(held_out[index])


def _warn_if_few(n_bags: int, n_held_out: int) -> None:
    if n_held_out < FEW_BAGS:
        warn(
            f"a split holds out {n_held_out} of the {n_bags} bags, too few for a reliable score by "
            "bag error. Use fewer splits, or RepeatedBagKFold and its mean.",
            FewBagsWarning,
        )


def _bags_of(y: Any) -> tuple[Indices, Mask]:
    """Return the bag of each instance, and the mask of bags with a proportion; all if none has."""
    if y is None:
        raise InputError("y must be given: bags are split by the bag target, not by X.")
    if not is_bag_target(y):
        return np.arange(len(y)), np.ones(len(y), dtype=bool)
    bags = Bags.from_target(y, table=True)
    index = bags.index
    has_proportion = bags.has_proportion[: index.max() + 1]
    return index, has_proportion if has_proportion.any() else ~has_proportion
