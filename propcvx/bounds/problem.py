r"""The problem of all bounds: the optimal value over labelings.

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
from propcvx.svm.problem import PropSVM

ROUNDING_OF_SUMS = 1e-12
"""Relative rounding error of a sum of costs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelingProblem(PropSVM):
    r"""Minimize :math:`g(y) + \sum_k c_k(m_k(y))` over labelings y that agree with known labels.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance; a constant feature can stand for a bias.
    bags : Bags
    C : float
        Weight of the hinge loss.
    loss : ProportionLoss
        The loss :math:`L_p`; with :func:`propcvx.labelings.losses.constraint` the problem is in the
        constraint form, for any weights.
    weights : float or array of shape (n_bags,)
        The weights :math:`\omega_k`.
    """

    features: Array

    def cost(self, labeling: Array) -> float:
        """Sum the costs of the bags; infinite if a count is infeasible or a known label changed."""
        is_known = self.bags.labels != 0
        if (labeling[is_known] != self.bags.labels[is_known]).any():
            return np.inf
        return super().cost(labeling)

    @cached_property
    def least_cost(self) -> float:
        """Least sum of the bags' costs."""
        return float(sum(cost.min() for cost in self.costs))

    def reach(self, value: float = np.inf) -> float:
        r"""Bound the length of the SVM weights of a labeling with at most this value.

        :math:`\tfrac12 \|w\|^2` is at most the value without the bags' costs, and w = 0 shows that
        it is at most CN.  Both sums of costs are rounded.
        """
        losses = value * (1.0 + ROUNDING_OF_SUMS) - self.least_cost
        return float(np.sqrt(2.0 * min(self.C * len(self.features), losses)))
