r"""The problem of proportion-SVM: over labelings and separators, and over labelings alone.

Without bias, a labeling y has the SVM value
:math:`g(y) = \max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac12 \|F^\top (y \circ \alpha)\|^2
= \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)`, and every bag adds a cost of its
number of positives.  The constraint form, eq:convex_1, has a cost of 0 for feasible counts and of
infinity for all others; the loss form, eq:pSVM_2, has :math:`\omega_k L_p(m / n_k - p_k)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling
from propcvx.labelings.losses import HINGE, InstanceLoss, ProportionLoss
from propcvx.svm.step import Separator

MAX_SWAPPED = 100
"""Number of instances per bag and label for which swaps are tried: the least cost to flip."""


@dataclass(frozen=True)
class PropSVM:
    r"""Problem of pSVM, eq:pSVM_2: bags, losses and weights, without the features.

    .. math::

        \min_{y, w, b} \tfrac12 \|w\|^2 + C \sum_i L(y_i, w^\top F_i + b)
        + \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    Attributes
    ----------
    bags : Bags
    C : float
        Weight of the instance loss.
    weights : float or array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss (:math:`C_p` in the paper).
    loss : ProportionLoss
        The loss :math:`L_p`.
    instance_loss : InstanceLoss
        The loss L.
    """

    bags: Bags
    C: float
    weights: Any
    loss: ProportionLoss
    instance_loss: InstanceLoss = HINGE

    def best_labeling(
        self, scores: Array, C: float | None = None, ties: Array | None = None
    ) -> Array:
        r"""Compute the best labels for fixed scores, with another C* instead of C if passed.

        They minimize :math:`C \sum_i L(y_i, s_i) + \sum_k c_k`, with :math:`c_k` the costs of the
        bags.  Of equal scores, those with larger ``ties`` are positive first.
        """
        weights = np.broadcast_to(self.weights / (C or self.C), self.bags.n_bags)
        loss = self.instance_loss
        return best_labeling(scores, self.bags, self.loss, weights, instance_loss=loss, ties=ties)

    def objective(self, labeling: Array, separator: Separator, C: float | None = None) -> float:
        """Compute the value of Equation (4), eq:pSVM_2, with another C* instead of C if passed."""
        errors = float(self.instance_loss.evaluate(labeling, separator.scores).sum())
        norm = 0.5 * float(separator.weights @ separator.weights)
        return norm + (C or self.C) * errors + self.cost(labeling)

    @cached_property
    def costs(self) -> tuple[Array, ...]:
        """Cost of each bag with 0, 1, ..., :math:`n_k` positives; infinite if infeasible."""
        return self.loss.costs(self.bags, self.weights)

    def cost(self, labeling: Array) -> float:
        """Compute the costs of the bags for a labeling; infinite if a count is infeasible."""
        return self.loss.total(self.bags, self.weights, labeling)

    def swaps(self, labeling: Array, changes: Array) -> Indices:
        """List pairs of a positive and a negative instance of the same bag, in rows.

        ``changes`` is the change of the losses by the flip of each label.
        """
        pairs = [
            np.meshgrid(*(_cheapest(free[labeling[free] == sign], changes) for sign in (1.0, -1.0)))
            for free in self.bags.unlabeled
        ]
        return np.vstack([np.column_stack([up.ravel(), down.ravel()]) for up, down in pairs])

    def flips(self, labeling: Array) -> tuple[Indices, Array]:
        """List instances with a feasible flip, in rows, and the costs of the bags after it."""
        cost_now, counts = self.cost(labeling), self.bags.positives_of(labeling)
        after = np.full(len(labeling), np.inf)
        for free, cost, count in zip(self.bags.unlabeled, self.costs, counts, strict=True):
            after[free] = cost_now - cost[count] + cost[count - labeling[free].astype(np.intp)]
        allowed = np.flatnonzero(np.isfinite(after))
        return allowed[:, None], after[allowed]

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings whose counts have a finite cost."""
        return FeasibleLabelings.from_loss(self.loss, self.bags)


def _cheapest(instances: Indices, changes: Array) -> Indices:
    return instances[np.argsort(changes[instances], kind="stable")[:MAX_SWAPPED]]


ROUNDING_OF_SUMS = 1e-12
"""Relative rounding error of a sum of costs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelingProblem(PropSVM):
    r"""Minimize :math:`g(y) + \sum_k c_k(m_k(y))` over labelings y that agree with known labels.

    g is the value of the labeling's SVM, and :math:`c_k` the cost of :math:`m_k(y)` positives in
    bag k, :math:`\omega_k L_p(m_k / n_k, p_k)`.

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
