"""An order of instances and bags that the data alone determine.

Ties between equal scores go to the first, sums are rounded in the order of their terms, and random
labels are drawn one after the other.  With the instances in this order, none of that depends on how
the rows came or what the bags are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.bags import Bags

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    anything being changed, and so can such instances.

    Parameters
    ----------
    bags : Bags
    rows : array of shape (n_instances, n_columns)
        What tells instances apart.

    Returns
    -------
    Bags
        Their ``rows`` say where each instance was.
    """
    order = row_order(rows)
    differs = np.any(rows[order[1:]] != rows[order[:-1]], axis=1)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.append(0, np.cumsum(differs))
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
    return bags.take(np.lexsort((kind, place[bags.index])), order_of_bags)


def distinguishing_rows(X: Any, *, precomputed: bool) -> Array:
    """What tells instances apart: their features, or the sorted entries of a Gram matrix's rows."""
    if precomputed and X.shape[0] == X.shape[1]:
        return np.column_stack([X.diagonal(), np.sort(X, axis=1)])
    return X.toarray() if sp.issparse(X) else X
