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
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling
from propcvx.labelings.local_search import Moves
from propcvx.labelings.losses import ProportionLoss

ROUNDING_OF_SUMS = 1e-12
"""Rounding error of a sum of costs, as a share of the sum."""


@dataclass(frozen=True, eq=False)
class LabelingProblem:
    r"""Minimise :math:`g(y) + \sum_k c_k(m_k(y))` over labelings y that agree with known labels.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance; a constant feature can stand for a bias.
    bags : Bags
    C : float
        Weight of the hinge loss.
    loss : ProportionLoss
        The loss :math:`L_p`; with :func:`propcvx.labelings.losses.constraint` the problem is in the
        constraint form, whatever the weights.
    weights : float or array of shape (n_bags,)
        The weights :math:`\omega_k`.
    """

    features: Array
    bags: Bags
    C: float
    loss: ProportionLoss
    weights: Array | float

    @cached_property
    def costs(self) -> tuple[Array, ...]:
        """:math:`c_k` of each bag for 0, 1, ..., :math:`n_k` positives; infinite if not allowed."""
        return self.loss.costs(self.bags, self.weights)

    def cost(self, labeling: Array) -> float:
        """Sum of the bags' costs; infinite if a count is not allowed or a known label changed."""
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
        weights = np.broadcast_to(np.divide(self.weights, self.C), self.bags.n_bags)
        return best_labeling(scores, self.bags, self.loss, weights)

    @cached_property
    def moves(self) -> Moves:
        """The changes of a labeling inside a bag, and the bags' costs."""
        return Moves(self.bags, self.costs)

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings whose counts have a finite cost."""
        return FeasibleLabelings.allowed_by(self.loss, self.bags)

    @property
    def constraint_form(self) -> bool:
        """Whether all counts that are allowed cost nothing."""
        ranges = zip(self.costs, self.feasible.lower, self.feasible.upper, strict=True)
        return all(not cost[low : high + 1].any() for cost, low, high in ranges)

    @cached_property
    def least_cost(self) -> float:
        """Least sum of the bags' costs."""
        return float(sum(cost.min() for cost in self.costs))

    def reach(self, value: float = np.inf) -> float:
        r"""The longest weights that the SVM of a labeling with at most this value can have.

        :math:`\tfrac12 \|w\|^2` is at most the value without the bags' costs, and w = 0 shows that
        it is at most CN.  Both sums of costs are rounded.
        """
        losses = value * (1.0 + ROUNDING_OF_SUMS) - self.least_cost
        return float(np.sqrt(2.0 * min(self.C * len(self.features), losses)))
