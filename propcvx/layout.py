"""Instances in matrices with a bag in each row, so that one sort of a matrix sorts many bags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_WIDTHS = 64
"""With more sizes of bags than this, similar ones share a matrix."""


@dataclass(frozen=True, eq=False)
class BagRows:
    """Bags of about the same size, one in each row of a matrix.

    Attributes
    ----------
    bags : int array of shape (n_rows,)
    sizes : int array of shape (n_rows,)
    members : int array of shape (n_rows, width)
        The instances of each bag in their order, and then any one in what is left of the row.
    """

    bags: Indices
    sizes: Indices
    members: Indices

    @cached_property
    def ranks(self) -> Indices:
        """Numbers 1 to width."""
        return np.arange(1, self.members.shape[1] + 1)

    @cached_property
    def padding(self) -> NDArray[np.bool_] | None:
        """Where there is no instance; None where there is one everywhere."""
        outside = self.ranks > self.sizes[:, None]
        return outside if outside.any() else None

    def gather(self, values: Array) -> Array:
        """Values of instances (last axis) in the rows of their bags, -inf in the padding."""
        rows = values.take(self.members, axis=-1)
        if self.padding is not None:
            rows[..., self.padding] = -np.inf
        return rows

    def scatter(self, rows: Array, values: Array) -> None:
        """Write what stands in the rows to the values of the instances."""
        if self.padding is None:
            values[..., self.members] = rows
        else:
            values[..., self.members[~self.padding]] = rows[..., ~self.padding]


def bag_rows(index: Indices, sizes: Indices) -> list[BagRows]:
    """Lay out bags in matrices, those of the same width together.

    Parameters
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    sizes : int array of shape (n_bags,)
        Number of instances of each bag, 1 at least.

    Examples
    --------
    >>> [rows.members.tolist() for rows in bag_rows(np.array([0, 1, 0, 2, 2]), np.array([2, 1, 2]))]
    [[[1]], [[0, 2], [3, 4]]]
    """
    order, starts = np.argsort(index, kind="stable"), np.cumsum(sizes) - sizes
    widths = _widths(sizes)
    parts = []
    for width in np.unique(widths):
        bags = np.flatnonzero(widths == width)
        places = np.minimum(np.arange(width), sizes[bags, None] - 1)
        parts.append(BagRows(bags, sizes[bags], order[starts[bags, None] + places]))
    return parts


def _widths(sizes: Indices) -> Indices:
    """Widths of rows: the sizes, or where there are many of them, up to an eighth more."""
    if len(np.unique(sizes)) <= MAX_WIDTHS:
        return sizes
    unit = 2 ** np.maximum(np.floor(np.log2(sizes)).astype(np.intp) - 3, 0)
    return -(-sizes // unit) * unit
