"""The problem that Algorithm 1 descends on, and a separator as it sees one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling
from propcvx.labelings.losses import HINGE, InstanceLoss, ProportionLoss


@dataclass(frozen=True)
class Separator:
    r"""A separating hyperplane, as an SVM step answers.

    Attributes
    ----------
    weights : array of shape (rank,)
        The weights w over the features.
    bias : float
    scores : array of shape (n_instances,)
        Of the instances, bias included.
    ties : array of shape (n_instances,)
        Of instances with equal scores, those where this is larger are labeled +1 first.
    gap : float
        By how much its objective may exceed the best one for its labeling.
    solver, status : str
        Who answered, and how.
    warm : object
        Where the solver ended, for the next call.
    duals : array of shape (n_instances,), optional
        :math:`v = y \circ \alpha` of the SVM dual, where that is what was solved.
    """

    weights: Array
    bias: float
    scores: Array
    ties: Array | None = None
    gap: float = 0.0
    solver: str = ""
    status: str = ""
    warm: Any = None
    duals: Array | None = None


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
    weights : array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss (:math:`C_p` in the paper).
    loss : ProportionLoss
        The loss :math:`L_p`.
    instance_loss : InstanceLoss
        The loss L.
    """

    bags: Bags
    C: float
    weights: Array
    loss: ProportionLoss
    instance_loss: InstanceLoss = HINGE

    def best_labeling(
        self, scores: Array, C: float | None = None, ties: Array | None = None
    ) -> Array:
        """The labels for fixed scores, with C* in place of C where it is given.

        Of equal scores, those with larger ``ties`` are positive first.
        """
        weights, loss = self.weights / (C or self.C), self.instance_loss
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

    def allowed(self, labeling: Array) -> Array:
        """The labeling, or where its counts have an infinite loss the nearest in each bag."""
        return FeasibleLabelings.allowed_by(self.loss, self.bags).best(labeling)

    def take(self, instances: Indices) -> PropSVM:
        """The problem on some whole bags, given by their instances."""
        kept = np.unique(self.bags.index[instances])
        return replace(
            self,
            bags=self.bags.take(instances),
            weights=self.weights[kept],
            instance_loss=self.instance_loss.take(instances),
        )
