r"""The separation problem along all dimensions and both signs at once, eq:convex_vio.

One sort of every bag along a dimension gives the best labelings of both signs: the top instances
for the one, the bottom instances for the other.  Their values are weighted sums of the sorted
scores; no labeling is built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.layout import Block, blocks_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class DimensionSearch:
    r"""Values :math:`\max_{y \in \mathcal{Y}} \pm \sum_i \alpha_i y_i x_i^{(j)}` of all j.

    Attributes
    ----------
    known : array of shape (n_instances, d)
        :math:`y_i x_i` of the instances whose label is known, 0 for all others.
    free : int array
        Instances whose label is free.
    parts : list of Part
        Those instances, bag by bag.
    """

    known: Array
    free: Indices
    parts: list[Part]

    @classmethod
    def of(cls, feasible: FeasibleLabelings, dimensions: Array) -> DimensionSearch:
        r"""Lay the dimensions out bag by bag, once for all alpha.

        Parameters
        ----------
        feasible : FeasibleLabelings
            The set :math:`\mathcal{Y}`.
        dimensions : array of shape (n_instances, d)
            The dimensions :math:`x^{(j)}`, one per column.
        """
        labels = feasible.bags.labels
        free = np.flatnonzero(labels == 0)
        bags, index = np.unique(feasible.bags.index[free], return_inverse=True)
        sizes, positive = np.bincount(index), feasible.bags.known_counts()[0]
        low, high = ((count - positive)[bags] for count in (feasible.lower, feasible.upper))
        columns = np.ascontiguousarray(dimensions[free].T)
        parts = [
            Part.of(block, columns, *(count[block.bags] for count in (sizes, low, high)))
            for block in (blocks_of(index, sizes) if len(free) else [])
        ]
        return cls(labels[:, None] * dimensions, free, parts)

    def values(self, alpha: Array) -> Array:
        """Values for alpha, shape (2, d): of the sign + first."""
        known, free = alpha @ self.known, alpha[self.free]
        return np.stack([known, -known]) + sum(part.values(free) for part in self.parts)


@dataclass(frozen=True)
class Part:
    """One block of bags.

    With a bag's scores s ascending, the best labeling for its sum has -1 up to some slot, then
    the sign of s where the count of positives may still grow, then +1.  Where that is does not
    depend on the scores, so a weight for s and one for abs(s) in each slot give the values.

    Attributes
    ----------
    block : Block
    slots : array of shape (d, n_slots)
        The dimensions, in the slots of the block.
    signs, middle : arrays of shape (n_slots, 2)
        Weights of s and of abs(s) for either sign, 0 in the padding.
    left : int array
        Slots that are padding once the rows are sorted.
    """

    block: Block
    slots: Array
    signs: Array
    middle: Array
    left: Indices

    @classmethod
    def of(cls, block: Block, columns: Array, sizes: Indices, low: Indices, high: Indices) -> Part:
        """Part of a block, from the dimensions one per row and the counts of its bags."""
        widths = np.diff(block.ends, prepend=0)
        ends, sizes, low, high = (np.repeat(of, widths) for of in (block.ends, sizes, low, high))
        below = ends - np.arange(len(ends))  # instances from this slot to the top of its bag
        above = sizes - below + 1
        inside = (above > 0).astype(float)
        top = inside * ((below <= low) - 1.0 * (below > high))
        bottom = inside * ((above > high) - 1.0 * (above <= low))
        signs = np.column_stack([top, bottom])
        middle = inside[:, None] - np.abs(signs)
        return cls(block, block.gather(columns), signs, middle, np.flatnonzero(inside == 0.0))

    def values(self, alpha: Array) -> Array:
        """Values of the bags of this part, shape (2, d)."""
        ascending = self.block.sort(self.slots * self.block.gather(alpha))
        ascending[:, self.left] = 0.0
        values = ascending @ self.signs
        if self.middle.any():
            values += np.abs(ascending) @ self.middle
        return values.T
