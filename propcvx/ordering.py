"""An order of instances and bags, and of the two classes, that the data alone determine.

Ties between equal scores go to the first, sums are rounded in the order of their terms, and random
labels are drawn one after the other.  With the instances in this order, none of that depends on how
the rows came, what the bags are called, or which class is called positive.
"""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.bags import Bags

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SHARE_UNIT = 2.0**-40
"""What shares are rounded to multiples of, so that 1 - (1 - p) is p."""


def row_order(rows: Array) -> Indices:
    """Order that sorts rows lexicographically; equal rows stay as they came.

    Examples
    --------
    >>> row_order(np.array([[2.0, 1.0], [1.0, 5.0], [2.0, 0.0]]))
    array([1, 2, 0])
    """
    order = np.argsort(rows[:, 0], kind="stable")
    distinct = (np.diff(rows[order, 0]) > 0.0).all()
    return order if distinct else np.lexsort(rows.T[::-1])


def in_canonical_order(bags: Bags, rows: Array) -> Bags:
    """The same bags and instances in an order that depends on neither rows nor names.

    Bags go by proportion, size and their instances; the instances of a bag by their rows, and equal
    ones by their known labels.  Bags that are equal in all of these can be exchanged without
    anything being changed, and so can such instances.  Positives and negatives are exchanged where
    there are more positives, and where there are as many and the exchanged bags come first.

    Parameters
    ----------
    bags : Bags
    rows : array of shape (n_instances, n_columns)
        What tells instances apart.

    Returns
    -------
    Bags
        Their ``rows`` say where each instance was, and their ``sign`` whether classes are
        exchanged.
    """
    order = row_order(rows)
    differs = np.any(rows[order[1:]] != rows[order[:-1]], axis=1)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.append(0, np.cumsum(differs))
    shares = np.rint(bags.proportions / SHARE_UNIT) * SHARE_UNIT
    bags = replace(bags, proportions=shares)
    both = [bags, bags.swapped()]
    positives, negatives = (float(one.proportions @ one.sizes) for one in both)
    if not isclose(positives, negatives, rel_tol=SHARE_UNIT):
        both = both[:1] if positives < negatives else both[1:]
    return min((_sorted(one, rank) for one in both), key=itemgetter(0))[1]


def _sorted(bags: Bags, rank: Indices) -> tuple[list[tuple[float, int, bytes]], Bags]:
    """What the bags are sorted by, and the bags with their instances in order."""
    kind = 3 * rank + bags.labels + 1
    inside = np.lexsort((kind, bags.index))
    contents = np.split(kind[inside].astype(">i8"), bags.starts[1:])
    keys = [
        (share, size, content.tobytes())
        for share, size, content in zip(
            bags.proportions.tolist(), bags.sizes.tolist(), contents, strict=True
        )
    ]
    order_of_bags = np.array(sorted(range(bags.n_bags), key=keys.__getitem__), dtype=np.intp)
    place = np.argsort(order_of_bags)
    in_order = bags.take(np.lexsort((kind, place[bags.index])), order_of_bags)
    return [keys[bag] for bag in order_of_bags], in_order


def distinguishing_rows(X: Any, *, precomputed: bool) -> Array:
    """What tells instances apart: their features, or the sorted entries of a Gram matrix's rows."""
    if precomputed and X.shape[0] == X.shape[1]:
        return np.column_stack([X.diagonal(), np.sort(X, axis=1)])
    return X.toarray() if sp.issparse(X) else X
