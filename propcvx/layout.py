"""Instances laid out bag by bag, so that one sort of a matrix sorts many bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Block:
    """Bags of similar size, one per row.

    Attributes
    ----------
    bags : int array of shape (n_rows,)
        The bag in each row.
    members : int array of shape (n_rows, width), or slice
        Instances of each bag, padded by ``len(instances)``; a slice where the instances are in
        that order already and nothing is padded.
    width : int
        Length of the rows.
    """

    bags: Indices
    members: Indices | slice
    width: int

    def gather(self, values: Array) -> Array:
        """Values of instances (last axis) in rows, shape (..., n_rows, width), padded by -inf."""
        if isinstance(self.members, slice):
            return values.reshape(*values.shape[:-1], len(self.bags), self.width)
        padding = np.full((*values.shape[:-1], 1), -np.inf)
        return np.concatenate([values, padding], axis=-1)[..., self.members]

    def scatter(self, rows: NDArray[Any], out: NDArray[Any]) -> None:
        """Write rows back to instances; ``out`` has one entry more, for the padding."""
        if isinstance(self.members, slice):
            out[..., :-1] = rows.reshape(*rows.shape[:-2], -1)
        else:
            out[..., self.members] = rows


def blocks_of(index: Indices, sizes: Indices) -> list[Block]:
    """Lay out bags in blocks whose widths are at most twice the size of any bag in them.

    Parameters
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    sizes : int array of shape (n_bags,)
        Number of instances of each bag.
    """
    order = np.argsort(index, kind="stable")
    starts = np.cumsum(sizes) - sizes
    in_order = bool((order == np.arange(len(order))).all())
    if in_order and (sizes == sizes[0]).all():
        return [Block(np.arange(len(sizes)), slice(None), int(sizes[0]))]
    group = np.ceil(np.log2(sizes)).astype(int)
    return [_block(np.flatnonzero(group == g), order, starts, sizes) for g in np.unique(group)]


def _block(bags: Indices, order: Indices, starts: Indices, sizes: Indices) -> Block:
    width = int(sizes[bags].max())
    column = np.arange(width)
    position = np.minimum(starts[bags, None] + column, len(order) - 1)
    inside = column < sizes[bags, None]
    return Block(bags, np.where(inside, order[position], len(order)), width)
