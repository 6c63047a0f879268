r"""The separation problem along all dimensions and both signs at once, eq:convex_vio.

One sort of every bag along a dimension gives the best labelings of both signs: the top instances
for the one, the bottom instances for the other.  Their values are sums of the sorted scores; no
labeling is built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.layout import BagRows, bag_rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class DimensionSearch:
    r"""Values :math:`\max_{y \in \mathcal{Y}} \pm \sum_i \alpha_i y_i x_i^{(j)}` of all j.

    Attributes
    ----------
    known : array of shape (n_instances, d)
        :math:`y_i x_i` of the instances whose label is known, 0 for all others.
    free : array of shape (d, n_free)
        The dimensions of the instances whose label is free.
    instances : int array of shape (n_free,)
        Which instances these are.
    parts : list of BagRows
        Those instances, bag by bag.
    counts : int array of shape (2, n_bags)
        Smallest and largest number of positives among the free instances of each of their bags.
    """

    known: Array
    free: Array
    instances: Indices
    parts: list[BagRows]
    counts: Indices

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
        counts = np.stack([feasible.lower, feasible.upper]) - feasible.bags.known_counts()[0]
        parts = bag_rows(index, np.bincount(index))
        columns = np.ascontiguousarray(dimensions[free].T)
        return cls(labels[:, None] * dimensions, columns, free, parts, counts[:, bags])

    def values(self, alpha: Array) -> Array:
        """Values for alpha, shape (2, d): of the sign + first."""
        known, scores = alpha @ self.known, alpha[self.instances] * self.free
        return np.stack([known, -known]) + sum(self._best(scores, part) for part in self.parts)

    def _best(self, scores: Array, part: BagRows) -> Array:
        """Sums of the top and of the bottom instances of some bags, the rest subtracted."""
        low, high = self.counts[:, part.bags]
        descending = np.sort(part.gather(scores), axis=-1)[..., ::-1]
        top = np.clip((descending > 0.0).sum(axis=-1), low, high)
        if part.padding is not None:
            descending = np.where(part.padding, 0.0, descending)
        bottom = np.clip((descending < 0.0).sum(axis=-1), low, high)
        sums = np.zeros((*descending.shape[:-1], descending.shape[-1] + 1))
        np.cumsum(descending, axis=-1, out=sums[..., 1:])
        above, below = (
            np.take_along_axis(sums, rank[..., None], axis=-1)[..., 0]
            for rank in (top, part.sizes - bottom)
        )
        total = sums[..., -1]
        return np.stack([2.0 * above - total, 2.0 * below - total]).sum(axis=-1)
