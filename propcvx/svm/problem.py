"""The problem of proportion-SVM over labelings and separators."""

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
    r"""The pSVM problem, eq:pSVM_2, apart from its features.

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
        """Compute the value of eq:pSVM_2, with another C* instead of C if passed."""
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
