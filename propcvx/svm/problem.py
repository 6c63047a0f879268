"""The problem of proportion-SVM, which labelings and separators are solutions of."""

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

MOST_SWAPPED = 100
"""Instances of each label of a bag that swaps are tried of: those that cost least to flip."""


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
        r"""The labels for fixed scores, with C* in place of C where it is given.

        They minimize :math:`C \sum_i L(y_i, s_i) + \sum_k c_k`, with :math:`c_k` what the bags
        cost.  Of equal scores, those with larger ``ties`` are positive first.
        """
        weights = np.broadcast_to(self.weights / (C or self.C), self.bags.n_bags)
        loss = self.instance_loss
        return best_labeling(scores, self.bags, self.loss, weights, instance_loss=loss, ties=ties)

    def objective(self, labeling: Array, separator: Separator, C: float | None = None) -> float:
        """Value of eq:pSVM_2, with C* in place of C where it is given."""
        errors = float(self.instance_loss.of(labeling, separator.scores).sum())
        norm = 0.5 * float(separator.weights @ separator.weights)
        return norm + (C or self.C) * errors + self.cost(labeling)

    def relabel(self, labeling: Array, separator: Separator, C: float) -> tuple[Array, int]:
        """The labeling step after a labeling, and how many labels it changes."""
        relabeled = self.best_labeling(separator.scores, C, separator.ties)
        return relabeled, int(np.count_nonzero(relabeled != labeling))

    @cached_property
    def costs(self) -> tuple[Array, ...]:
        """What each bag costs with 0, 1, ..., :math:`n_k` positives; infinite if not allowed."""
        return self.loss.costs(self.bags, self.weights)

    def cost(self, labeling: Array) -> float:
        """What the bags cost for a labeling; infinite if a count is not allowed."""
        return self.loss.total(self.bags, self.weights, labeling)

    def swaps(self, labeling: Array, changes: Array) -> Indices:
        """A positive and a negative instance of the same bag, in rows.

        ``changes`` is what the flip of each label adds to the losses.
        """
        pairs = [
            np.meshgrid(*(_first(free[labeling[free] == sign], changes) for sign in (1.0, -1.0)))
            for free in self.bags.free
        ]
        return np.vstack([np.column_stack([up.ravel(), down.ravel()]) for up, down in pairs])

    def flips(self, labeling: Array) -> tuple[Indices, Array]:
        """Single instances whose other label is allowed, in rows, and what the bags then cost."""
        now, counts = self.cost(labeling), self.bags.positives_of(labeling)
        after = np.full(len(labeling), np.inf)
        for free, cost, count in zip(self.bags.free, self.costs, counts, strict=True):
            after[free] = now - cost[count] + cost[count - labeling[free].astype(np.intp)]
        allowed = np.flatnonzero(np.isfinite(after))
        return allowed[:, None], after[allowed]

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings whose counts have a finite cost."""
        return FeasibleLabelings.allowed_by(self.loss, self.bags)

    def allowed(self, labeling: Array) -> Array:
        """The labeling, or where its counts have an infinite loss the nearest in each bag."""
        return self.feasible.best(labeling)


def _first(instances: Indices, changes: Array) -> Indices:
    return instances[np.argsort(changes[instances], kind="stable")[:MOST_SWAPPED]]
