"""An order of instances and bags, and of the two classes, that the data alone determine.

Ties between equal scores go to the first, sums are rounded in the order of their terms, and random
labels are drawn one after the other.  With the instances in this order, none of that depends on how
the rows came, what the bags are called, or which class is called positive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import count, groupby, islice, permutations, product
from math import fsum, isclose
from operator import itemgetter
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.bags import Bags
from propcvx.class_bags import ClassBags

MOST_ROUNDS = 30
"""How often one of several instances that a Gram matrix does not distinguish is chosen."""

MOST_ORDERS = 120
"""How many orders of classes that are alike are tried."""

SHARE_UNIT = 2.0**-40
"""What shares are rounded to multiples of, so that 1 - (1 - p) is p."""


def in_canonical_order(bags: Bags, X: Any, *, precomputed: bool = False) -> Bags:
    """The same bags and instances in an order that depends on neither rows nor names.

    Bags go by proportion, size and their instances; the instances of a bag by their rows of X, and
    equal ones by their known labels.  Bags that are equal in all of these can be exchanged without
    anything being changed, and so can such instances.  Positives and negatives are exchanged where
    there are more positives, and where there are as many and the exchanged bags come first.

    Parameters
    ----------
    bags : Bags
    X : array or sparse matrix of shape (n_instances, n_columns)
        The instances.
    precomputed : bool
        Whether X is their Gram matrix.

    Returns
    -------
    Bags
        Their ``rows`` say where each instance was, and their ``sign`` whether classes are
        exchanged.
    """
    shares = np.rint(bags.proportions / SHARE_UNIT) * SHARE_UNIT
    bags = replace(bags, proportions=shares)
    both = [bags, bags.swapped()]
    positives, negatives = (float(one.proportions @ one.sizes) for one in both)
    if not isclose(positives, negatives, rel_tol=SHARE_UNIT):
        both = both[:1] if positives < negatives else both[1:]
    return min((_sorted(one, X, precomputed) for one in both), key=itemgetter(0))[1]


def classes_in_canonical_order(bags: ClassBags, X: Any, *, precomputed: bool = False) -> ClassBags:
    """As :func:`in_canonical_order`, for several classes, whose order is canonical, too.

    Classes go by their shares of all instances; equal ones by their shares in the bags, which are
    told apart by their instances, and by their known labels.  Classes that are equal in all of
    these can mostly be exchanged without anything being changed; of their orders the one is taken
    whose sorted bags come first, of those that are tried.

    Parameters
    ----------
    bags : ClassBags
    X : array or sparse matrix of shape (n_instances, n_columns)
    precomputed : bool
        Whether X is the Gram matrix of the instances.
    """
    bags = replace(bags, proportions=np.rint(bags.proportions / SHARE_UNIT) * SHARE_UNIT)
    keys = _class_keys(bags, X, precomputed)
    alike = [
        [place for place, key in enumerate(keys) if key == one] for one, _ in groupby(sorted(keys))
    ]
    orders = islice(product(*map(permutations, alike)), MOST_ORDERS)
    each = (bags.permuted(np.concatenate(order)) for order in orders)
    _, found = min((_sorted(one, X, precomputed) for one in each), key=itemgetter(0))
    return cast(ClassBags, found)


def _class_keys(bags: ClassBags, X: Any, precomputed: bool) -> list[tuple[Any, ...]]:
    """What classes are sorted by: none of it depends on names or on the order of rows and bags."""
    shares = np.sort(bags.proportions, axis=1)
    nameless = replace(bags, proportions=shares, labels=np.minimum(bags.labels, 1))
    kind = _kinds(_instance_ranks(X, nameless, precomputed), nameless)
    contents = _contents(nameless, kind)
    place = {key: rank for rank, key in enumerate(sorted({*map(repr, contents)}))}
    group = np.array([place[repr(key)] for key in contents])
    of_instance = np.column_stack([group[bags.index], kind])
    keys = []
    for number, column in zip(bags.label_values, bags.proportions.T, strict=True):
        in_bags = sorted(zip(group.tolist(), column.tolist(), strict=True))
        known = sorted(of_instance[bags.labels == number].tolist())
        keys.append((fsum(column * bags.sizes), in_bags, known))
    return keys


def _sorted(bags: Bags, X: Any, precomputed: bool) -> tuple[list[tuple[Any, ...]], Bags]:
    """What the bags are sorted by, and the bags with their instances in order."""
    kind = _kinds(_instance_ranks(X, bags, precomputed), bags)
    keys = _contents(bags, kind)
    order_of_bags = np.array(sorted(range(bags.n_bags), key=keys.__getitem__), dtype=np.intp)
    place = np.argsort(order_of_bags)
    in_order = bags.take(np.lexsort((kind, place[bags.index])), order_of_bags)
    return [keys[bag] for bag in order_of_bags], in_order


def _kinds(ranks: Indices, bags: Bags) -> Indices:
    """Numbers that tell ranks apart, and in a rank known labels."""
    return max(3, int(bags.labels.max()) + 2) * ranks + bags.labels + 1


def _instance_ranks(X: Any, bags: Bags, precomputed: bool) -> Indices:
    """Ranks that are equal for equal instances: by their features, or by a Gram matrix."""
    if precomputed and X.shape[0] == X.shape[1]:
        return _gram_ranks(X, bags)
    return _ranks(X.toarray() if sp.issparse(X) else X)


def _ranks(rows: NDArray[Any]) -> Indices:
    """Rank of each row among the distinct ones, in lexicographic order."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _contents(bags: Bags, kind: Indices) -> list[tuple[Any, ...]]:
    """Proportion, size, and the sorted kinds of the instances of each bag."""
    inside = np.lexsort((kind, bags.index))
    contents = np.split(kind[inside].astype(">i8"), bags.starts[1:])
    keys = np.column_stack([bags.proportions, bags.sizes]).tolist()
    return [(*key, inside.tobytes()) for key, inside in zip(keys, contents, strict=True)]


def _gram_ranks(gram: Array, bags: Bags) -> Indices:
    """Ranks of instances by the Gram matrix and the bags alone.

    Instances differ if their diagonal entries, sorted rows, bags or known labels do; then if they
    have other entries with instances of one rank.  Of those that are still alike one is put before
    the others, which ranks the others by their entries with it, and so on.  Where such instances
    can be exchanged without anything else being changed, as equal ones and those on a circle can,
    whichever is chosen gives the same matrix; alike without that, as in strongly regular graphs,
    they stay as they came.
    """
    ranks = _ranks(np.column_stack([gram.diagonal(), np.sort(gram, axis=1)]))
    if ranks.max() == len(gram) - 1:
        return ranks
    entries = np.unique(gram, return_inverse=True)[1].reshape(gram.shape)
    together = bags.index[:, None] == bags.index
    pairs = 2 * len(gram) * entries + together
    known = bags.proportions[bags.index], bags.sizes[bags.index], bags.whole[bags.index]
    ranks = _ranks(np.column_stack([ranks, *known, bags.labels, *_copies(gram, bags)]))
    for _ in range(MOST_ROUNDS):
        ranks = _refined(ranks, pairs)
        alike = np.flatnonzero(np.bincount(ranks) > 1)
        if not len(alike):
            break
        ranks = 2 * ranks
        ranks[np.argmax(ranks == 2 * alike[0])] -= 1
        ranks = _ranks(ranks[:, None])
    return ranks


def _refined(ranks: Indices, pairs: Indices) -> Indices:
    """Ranks that differ where instances have other pairs with the instances of one rank."""
    while True:
        finer = _ranks(np.column_stack([ranks, np.sort(pairs + 2 * ranks, axis=1)]))
        if finer.max() == ranks.max():
            return ranks
        ranks = finer


def _copies(gram: Array, bags: Bags) -> tuple[Indices, Indices]:
    """Numbers that distinguish equal bags, and equal instances of a bag."""
    kind = _kinds(_ranks(gram), bags)
    keys = zip(_contents(bags, kind), bags.whole.tolist(), strict=True)
    return _numbered(keys)[bags.index], _numbered(zip(bags.index, kind, strict=True))


def _numbered(keys: Iterable[Hashable]) -> Indices:
    """How many equal ones have come before each key."""
    counters: defaultdict[Hashable, count[int]] = defaultdict(count)
    return np.array([next(counters[key]) for key in keys])
