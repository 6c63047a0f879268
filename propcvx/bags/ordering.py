"""An order of instances and bags, and of the two classes, that the data alone determine.

Ties between equal scores go to the first, sums are rounded in the order of their terms, and random
labels are drawn one after the other.  With the instances in this order, none of that depends on how
the rows came, what the bags are called, or which class is called positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum, isclose
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Indices
from propcvx.bags.bags import Bags
from propcvx.bags.counts import SHARE_UNIT


def in_canonical_order(bags: Bags, X: Any, *, precomputed: bool = False, sign: int = 0) -> Bags:
    """The same bags and instances in an order that depends on neither rows nor names.

    Bags go by proportion, size and their instances; the instances of a bag by their rows of X, and
    equal ones by their known labels and their weights.  Bags that are equal in all of these can be
    exchanged without anything being changed, and so can such instances.
    Positives and negatives are exchanged where there are more positives, and where there are as
    many and the exchanged bags come first; several classes are put into order, too.

    Parameters
    ----------
    bags : Bags
    X : array or sparse matrix of shape (n_instances, n_columns)
        The instances.
    precomputed : bool
        Whether X is their Gram matrix.
    sign : int
        -1 or 1 where it is decided whether positives and negatives are exchanged.

    Returns
    -------
    Bags
        Their ``rows`` say where each instance was, their ``sign`` whether two classes are
        exchanged, and their ``columns`` where each of several was.
    """
    bags = bags.with_rounded_shares()
    ranks = instance_ranks(X, precomputed)
    signs = [_with_ordered_classes(bags, ranks)] if bags.multiclass else _signs(bags, sign)
    return min((_sorted(signed, ranks) for signed in signs), key=itemgetter(0))[1]


def _signs(bags: Bags, sign: int) -> list[Bags]:
    """The bags with that sign; without one those with fewer positives, of equal numbers both."""
    both, shared = [bags, bags.swapped()], bags.with_share
    if sign:
        return both[:1] if sign > 0 else both[1:]
    positives, negatives = (float(each.proportions[shared] @ bags.sizes[shared]) for each in both)
    if isclose(positives, negatives, rel_tol=SHARE_UNIT):
        return both
    return both[:1] if positives < negatives else both[1:]


def _with_ordered_classes(bags: Bags, ranks: Indices) -> Bags:
    """The bags with their classes in order.

    Classes go by their shares of all instances; equal ones by their shares in the bags, which are
    told apart by their instances, and by their known labels.
    """
    return bags.permuted(np.argsort(_dense_ranks(_class_keys(bags, ranks)), kind="stable"))


def _class_keys(bags: Bags, ranks: Indices) -> list[tuple[float, bytes]]:
    """What classes are sorted by: none of it depends on names or on the order of rows and bags."""
    shares = np.sort(bags.proportions, axis=1)
    nameless = replace(bags, proportions=shares, labels=np.minimum(bags.labels, 1))
    kind = _kinds(ranks, nameless)
    content = _dense_ranks(_contents(nameless, kind))[bags.index]
    keys = []
    for number, column in zip(bags.label_values, bags.proportions.T, strict=True):
        rows = np.column_stack([content, kind, column[bags.index], bags.labels == number])
        keys.append((fsum(column * bags.sizes), rows[np.lexsort(rows.T)].tobytes()))
    return keys


def _sorted(bags: Bags, ranks: Indices) -> tuple[tuple[list[tuple[Any, ...]], bytes], Bags]:
    """What the bags are sorted by, and the bags with their instances in order."""
    kind = _kinds(ranks, bags)
    keys = _contents(bags, kind)
    order_of_bags = np.argsort(_dense_ranks(keys), kind="stable")
    places = np.argsort(order_of_bags)[bags.index]
    order = np.lexsort((kind, places))
    in_order = bags.take(order, order_of_bags)
    return ([keys[bag] for bag in order_of_bags], places[order].tobytes()), in_order


def _dense_ranks(keys: Sequence[Any]) -> Indices:
    """Rank of each key among the distinct ones."""
    rank = {key: place for place, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)


def _kinds(ranks: Indices, bags: Bags) -> Indices:
    """Numbers of instances by other ranks, by their weights and by their known labels."""
    step = max(3, int(bags.labels.max()) + 2)
    if bags.weights is not None:
        ranks = _ranks(np.column_stack([ranks, bags.weights]))
    return np.asarray(step * ranks + bags.labels + 1, dtype=np.intp)


def instance_ranks(X: Any, precomputed: bool) -> Indices:
    """Ranks that are equal for equal instances.

    They go by their features; of a Gram matrix by its diagonal and sorted rows, which need not tell
    all instances apart: the others stay as they came.
    """
    if precomputed and X.shape[0] == X.shape[1]:
        return _ranks(np.column_stack([X.diagonal(), np.sort(X, axis=1)]))
    return _ranks(X.toarray() if sp.issparse(X) else X)


def _ranks(rows: NDArray[Any]) -> Indices:
    """Rank of each row among the distinct ones, in lexicographic order.

    Only rows that are equal in the first column are compared as a whole, which is slow and takes
    several times their memory.
    """
    _, ranks, counts = np.unique(rows[:, 0], return_inverse=True, return_counts=True)
    tied = counts[ranks] > 1
    if tied.any():
        keys = len(rows) * ranks
        keys[tied] += np.unique(rows[tied], axis=0, return_inverse=True)[1].ravel()
        ranks = np.unique(keys, return_inverse=True)[1]
    return ranks


def _contents(bags: Bags, kind: Indices) -> list[tuple[Any, ...]]:
    """Proportion, size, and the sorted kinds of the instances of each bag."""
    inside = np.lexsort((kind, bags.index))
    contents = np.split(kind[inside].astype(">i8"), bags.membership.indptr[1:-1])
    shares = np.nan_to_num(bags.proportions, nan=-1.0)  # NaN has no place in an order
    keys = np.column_stack([shares, bags.sizes]).tolist()
    return [(*key, inside.tobytes()) for key, inside in zip(keys, contents, strict=True)]
