r"""The problem that all bounds are of: the best labeling's value.

Without bias, a labeling y has the SVM value
:math:`g(y) = \max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac12 \|F^\top (y \circ \alpha)\|^2
= \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)`, and every bag adds a cost of its
number of positives.  The constraint form, eq:convex_1, has a cost of 0 for feasible counts and of
infinity for all others; the loss form, eq:pSVM_2, has :math:`\omega_k L_p(m / n_k - p_k)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.local_search import Moves
from propcvx.labelings.losses import HINGE, ProportionLoss

ROUNDING_OF_SUMS = 1e-12
"""Error of a sum of costs, as a share of it."""


@dataclass(frozen=True, eq=False)
class LabelingProblem:
    r"""Minimise :math:`g(y) + \sum_k c_k(m_k(y))` over labelings y that agree with known labels.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance; a constant feature can stand for a bias.
    bags : Bags
    costs : tuple of arrays
        :math:`c_k` of each bag for 0, 1, ..., :math:`n_k` positives; infinite where not allowed.
    C : float
        Weight of the hinge loss.
    """

    features: Array
    bags: Bags
    costs: tuple[Array, ...]
    C: float

    @classmethod
    def of(
        cls, features: Array, bags: Bags, C: float, loss: ProportionLoss, weights: Array | float
    ) -> LabelingProblem:
        r"""The loss form, with the weights :math:`\omega_k` of shape (n_bags,).

        With the loss :func:`propcvx.labelings.losses.constraint` it is the constraint form, at any
        weights.
        """
        return cls(features, bags, loss.costs(bags, weights), C)

    def cost(self, labeling: Array) -> float:
        """What the bags add; infinite where a count is not allowed or a known label is changed."""
        known = self.bags.labels != 0
        if (labeling[known] != self.bags.labels[known]).any():
            return np.inf
        return self.moves.cost(labeling)

    def best_for(self, scores: Array) -> Array:
        r"""Labeling that minimises :math:`C \sum_i \max(0, 1 - y_i s_i) + \sum_k c_k` for scores s.

        Parameters
        ----------
        scores : array of shape (n_instances,)

        Returns
        -------
        labeling : float array of shape (n_instances,)
        """
        gains = self.C * HINGE.reduction(scores)
        labeling = np.where(self.bags.labels > 0, 1.0, -1.0)
        for members, cost in zip(self.bags.members, self.costs, strict=True):
            known = self.bags.labels[members]
            free = members[known == 0]
            order = free[np.argsort(-gains[free], kind="stable")]
            gained = np.append(0.0, np.cumsum(gains[order]))
            positive = int((known > 0).sum())
            count = np.argmin(cost[positive : positive + len(free) + 1] - gained)
            labeling[order[:count]] = 1.0
        return labeling

    @cached_property
    def moves(self) -> Moves:
        """The changes of a labeling inside a bag, and what the bags add."""
        return Moves(self.bags, self.costs)

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings whose counts lie in the range of those with finite cost."""
        allowed = [np.flatnonzero(np.isfinite(cost)) for cost in self.costs]
        known, negative = self.bags.known_counts()
        lower = np.maximum([counts[0] for counts in allowed], known)
        upper = np.minimum([counts[-1] for counts in allowed], self.bags.sizes - negative)
        return FeasibleLabelings(self.bags, lower, upper)

    @property
    def constraint_form(self) -> bool:
        """Whether bags add nothing for the counts of some interval, and allow no others."""
        ranges = zip(self.costs, self.feasible.lower, self.feasible.upper, strict=True)
        return all(not cost[low : high + 1].any() for cost, low, high in ranges)

    @cached_property
    def least_cost(self) -> float:
        """What the bags add at least."""
        return float(sum(cost.min() for cost in self.costs))

    def reach(self, value: float = np.inf) -> float:
        r"""No SVM of a labeling whose value is at most this has longer weights.

        :math:`\tfrac12 \|w\|^2` is at most the value without the bags' costs, and w = 0 shows that
        it is at most CN.  Both sums of costs are rounded.
        """
        losses = value * (1.0 + ROUNDING_OF_SUMS) - self.least_cost
        return float(np.sqrt(2.0 * min(self.C * len(self.features), losses)))
