"""Changes of one or two labels inside a bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags

MOST_SWAPPED = 100
"""Instances of each label of a bag that swaps are tried of: those that cost least to flip."""


@dataclass(frozen=True, eq=False)
class Moves:
    r"""Changes of a labeling inside a bag, and what the bags cost.

    Attributes
    ----------
    bags : Bags
    costs : sequence of arrays
        Of each bag for 0, 1, ..., :math:`n_k` positives; infinite where not allowed.
    """

    bags: Bags
    costs: Sequence[Array]

    def cost(self, labeling: Array) -> float:
        """What the bags add for a labeling."""
        counts = self.bags.positives_of(labeling)
        return float(sum(cost[m] for cost, m in zip(self.costs, counts, strict=True)))

    def swaps(self, labeling: Array, changes: Array) -> Indices:
        """A positive and a negative instance of the same bag, in rows."""
        pairs = [
            np.meshgrid(*(_first(free[labeling[free] == sign], changes) for sign in (1.0, -1.0)))
            for free in self.bags.free
        ]
        return np.vstack([np.column_stack([up.ravel(), down.ravel()]) for up, down in pairs])

    def flips(self, labeling: Array) -> tuple[Indices, Array]:
        """Single instances whose other label is allowed, in rows, and what the bags then add."""
        now, counts = self.cost(labeling), self.bags.positives_of(labeling)
        after = np.full(len(labeling), np.inf)
        for free, cost, count in zip(self.bags.free, self.costs, counts, strict=True):
            after[free] = now - cost[count] + cost[count - labeling[free].astype(np.intp)]
        allowed = np.flatnonzero(np.isfinite(after))
        return allowed[:, None], after[allowed]


def _first(instances: Indices, changes: Array) -> Indices:
    return instances[np.argsort(changes[instances], kind="stable")[:MOST_SWAPPED]]
