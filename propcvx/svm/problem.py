"""The problem of proportion-SVM, which labelings and separators are solutions of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import check_labeling
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling
from propcvx.labelings.losses import HINGE, InstanceLoss, ProportionLoss
from propcvx.labelings.moves import Moves
from propcvx.svm.step import Separator


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

        They minimise :math:`C \sum_i L(y_i, s_i) + \sum_k c_k`, with :math:`c_k` what the bags
        cost.  Of equal scores, those with larger ``ties`` are positive first.
        """
        weights = np.broadcast_to(self.weights / (C or self.C), self.bags.n_bags)
        loss = self.instance_loss
        return best_labeling(scores, self.bags, self.loss, weights, instance_loss=loss, ties=ties)

    def objective(self, labeling: Array, separator: Separator, C: float | None = None) -> float:
        """Value of eq:pSVM_2, with C* in place of C where it is given."""
        errors = float(self.instance_loss.of(labeling, separator.scores).sum())
        norm = 0.5 * float(separator.weights @ separator.weights)
        return norm + (C or self.C) * errors + self.loss.total(self.bags, self.weights, labeling)

    def relabel(self, labeling: Array, separator: Separator, C: float) -> tuple[Array, int]:
        """The labeling step after a labeling, and how many labels it changes."""
        relabeled = self.best_labeling(separator.scores, C, separator.ties)
        return relabeled, int(np.count_nonzero(relabeled != labeling))

    @cached_property
    def costs(self) -> tuple[Array, ...]:
        """What each bag costs with 0, 1, ..., :math:`n_k` positives; infinite if not allowed."""
        return self.loss.costs(self.bags, self.weights)

    @cached_property
    def moves(self) -> Moves:
        """The changes of a labeling inside a bag, and what the bags cost."""
        return Moves(self.bags, self.costs)

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings whose counts have a finite cost."""
        return FeasibleLabelings.allowed_by(self.loss, self.bags)

    def allowed(self, labeling: Array) -> Array:
        """The labeling, or where its counts have an infinite loss the nearest in each bag."""
        return self.feasible.best(check_labeling("a start", labeling, self.bags.n_instances))
