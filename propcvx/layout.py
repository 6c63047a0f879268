"""Instances laid out bag by bag, so that one sort of a matrix sorts many bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SLOTS = 2**19
"""Instances in a block, about: few enough for a cache, enough to be worth a call of NumPy."""
MAX_WIDTHS = 64
"""With more sizes of bags than this, similar ones share a width."""
MIN_RUN = 32
"""Shorter runs of instances of one bag are not worth a row of their own."""


@dataclass(frozen=True)
class Block:
    """Some bags, each in a row of slots as wide as the bag or a little wider.

    Attributes
    ----------
    bags : int array of shape (n_bags,), or slice
        The bags, in the order of their rows.
    ends : int array of shape (n_bags,)
        The slot after each row.
    members : int array of shape (n_slots,), or slice
        The instance in each slot; a slice where they follow each other.
    padding : int array
        Slots without an instance (``members`` has any one there), at the end of their rows.
    rows : tuple of (int, int)
        Number of rows and their width, for each width in turn.
    """

    bags: Indices | slice
    ends: Indices
    members: Indices | slice
    padding: Indices
    rows: tuple[tuple[int, int], ...]

    def gather(self, values: Array, room: Array | None = None) -> Array:
        """Copy values of instances (last axis) into slots; padding holds anything.

        Where instances follow each other, their slots are those of ``room`` if it is given.
        """
        if not isinstance(self.members, slice):
            return values.take(self.members, axis=-1, mode="clip")
        if room is None:
            return values[..., self.members].copy()
        room[..., self.members] = values[..., self.members]
        return room[..., self.members]

    def sort(self, slots: Array) -> Array:
        """Sort slots (last axis) ascending in every row, in place, padding -inf from the left."""
        slots[..., self.padding] = -np.inf
        first = 0
        for n_rows, width in self.rows:
            last = first + n_rows * width
            slots[..., first:last].reshape(*slots.shape[:-1], n_rows, width).sort(axis=-1)
            first = last
        return slots

    def ranked(self, ascending: Array, rank: Indices) -> Array:
        """Value of each bag's instance of a rank, 1 for the top; anything where it is 0.

        ``ascending`` is what :meth:`sort` gave, ``rank`` has one entry per bag (last axis).
        """
        slot = self.ends - rank
        if ascending.ndim == 1:
            return ascending.take(slot, mode="clip")
        slot = np.minimum(slot, ascending.shape[-1] - 1)
        ascending = ascending[(None,) * (slot.ndim - ascending.ndim)]
        return np.take_along_axis(ascending, slot, axis=-1)


@dataclass(frozen=True)
class Layout:
    """The instances of some bags, laid out for sorting; made once for any number of scores.

    Attributes
    ----------
    blocks : list of Block
    run : int
        Length of the runs of one bag in which instances come, 1 where it is short.
    """

    blocks: list[Block]
    run: int

    @classmethod
    def of(cls, bags: Bags) -> Layout:
        """Lay out the instances of bags."""
        return cls(blocks_of(bags.index, bags.sizes), run_of(bags.index))


def blocks_of(index: Indices, sizes: Indices) -> list[Block]:
    """Lay out bags in blocks of about ``SLOTS`` instances, bags of the same width together.

    Parameters
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    sizes : int array of shape (n_bags,)
        Number of instances of each bag.
    """
    order = np.argsort(index, kind="stable")
    starts = np.cumsum(sizes) - sizes
    widths = _widths(sizes)
    bags = np.argsort(widths, kind="stable")
    block = (np.cumsum(widths[bags]) - 1) // SLOTS
    cuts = np.flatnonzero(np.diff(block)) + 1
    return [_block(part, order, starts, sizes, widths) for part in np.split(bags, cuts)]


def run_of(index: Indices) -> int:
    """Largest length of runs, all equally long, that have instances of one bag each.

    It is 1 where that would be less than ``MIN_RUN``.

    Examples
    --------
    >>> run_of(np.repeat([0, 1, 0], [64, 96, 32]))
    32
    """
    starts = np.flatnonzero(np.diff(index)) + 1
    run = int(np.gcd.reduce(starts, initial=len(index)))
    return run if run >= MIN_RUN else 1


def _widths(sizes: Indices) -> Indices:
    """Widths of rows: the sizes, or where there are many of them, up to an eighth more."""
    if len(np.unique(sizes)) <= MAX_WIDTHS:
        return sizes
    unit = 2 ** np.maximum(np.floor(np.log2(sizes)).astype(np.intp) - 3, 0)
    return -(-sizes // unit) * unit


def _block(
    bags: Indices, order: Indices, starts: Indices, sizes: Indices, widths: Indices
) -> Block:
    width = widths[bags]
    ends = np.cumsum(width)
    column = np.arange(ends[-1]) - np.repeat(ends - width, width)
    inside = column < np.repeat(sizes[bags], width)
    members = order[np.where(inside, np.repeat(starts[bags], width) + column, 0)]
    distinct, n_rows = np.unique(width, return_counts=True)
    rows = tuple(zip(n_rows.tolist(), distinct.tolist(), strict=True))
    return Block(_as_slice(bags), ends, _as_slice(members), np.flatnonzero(~inside), rows)


def _as_slice(indices: Indices) -> Any:
    """A slice for indices that follow each other, the indices themselves otherwise."""
    first, n = int(indices[0]), len(indices)
    follow = np.array_equal(indices, np.arange(first, first + n))
    return slice(first, first + n) if follow else indices
