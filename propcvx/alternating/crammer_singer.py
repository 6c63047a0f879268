"""The parts that Algorithm 1 receives for several classes: the problem and the SVM step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.errors import InputError
from propcvx.labelings.classes import best_classes, class_hinge, class_loss, hinge_sum
from propcvx.programs import Program, crammer_singer
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator, SVMStep, gap_of


@dataclass(frozen=True)
class ClassPropSVM(PropSVM):
    r"""The pSVM problem of several classes, apart from its features.

    .. math::

        \min_{y, W, b} \sum_c \|w_c\|^2 + C \sum_i L_{y_i}(W^\top F_i + b)
        + \sum_k \tfrac{\omega_k}{2} \sum_c h(\tilde p_{kc}(y) - p_{kc})

    with the loss of Crammer and Singer, :math:`L_c(f) = \max_d f_d + 1[d \ne c] - f_c`.  For two
    classes, :math:`w_2 = -w_1 = w / 2` and an even h it is eq:pSVM_2 with the same C.

    Attributes
    ----------
    bags : Bags
    C : float
        Weight of the loss of an instance.
    weights : array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss.
    loss : ProportionLoss
        The function h.
    """

    bags: Bags

    def best_labeling(
        self, scores: Array, C: float | None = None, ties: Array | None = None
    ) -> Array:
        """The labels for fixed scores (n_instances, n_classes), with C* in place of C if given."""
        weights = self.weights / (C or self.C)
        return best_classes(class_hinge(scores), self.bags, self.loss, weights, ties)

    def objective(self, labeling: Array, separator: Separator, C: float | None = None) -> float:
        """Value of the problem, with C* in place of C where it is given."""
        Y = one_hot(labeling, self.bags.n_classes)
        losses = class_loss(self.loss, self.bags, self.bags.counts_of(labeling))
        errors = (C or self.C) * hinge_sum(separator.scores, Y)
        return float(np.square(separator.weights).sum()) + errors + float(self.weights @ losses)

    def allowed(self, labeling: Array) -> Array:
        """The labeling, or the nearest one of finite loss."""
        if not np.isin(labeling, self.bags.label_values).all():
            raise InputError(
                f"a start must have numbers of classes, {self.bags.label_values}, got "
                f"{np.unique(labeling)}."
            )
        if self.loss.epsilon is None:
            return labeling
        agrees = one_hot(labeling, self.bags.n_classes)
        return best_classes(-agrees, self.bags, self.loss, self.weights)


def one_hot(labeling: Array, n_classes: int) -> Array:
    """Ones where an instance has the class, shape (n_instances, n_classes)."""
    return np.equal.outer(labeling, np.arange(1, n_classes + 1)).astype(np.float64)


@dataclass(frozen=True)
class CrammerSingerStep(SVMStep):
    """The SVM of a fixed labeling of several classes, with weights of zero where they are as good.

    Attributes
    ----------
    n_classes : int
    """

    n_classes: int = 2

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """Solve, from where the separator before ended."""
        Y, posed_C = one_hot(labeling, self.n_classes), C / self._unit**2
        solution = self.solve(self._program.set(Y=Y, C=posed_C), warm=after and after.warm)
        posed, offset, ties = solution.variables["W"], solution.variables["b"], Y
        value = float(np.square(posed).sum()) + posed_C * hinge_sum(self._posed @ posed + offset, Y)
        ahead = (Y.mean(axis=0) > 0.5).astype(float)  # the best b for W = 0, apart from its mean
        of_zero = posed_C * hinge_sum(np.broadcast_to(ahead, Y.shape), Y)
        error = gap_of(solution) + len(Y) * np.finfo(float).eps * of_zero
        if of_zero - error <= value:
            posed, offset = np.zeros_like(posed), ahead - ahead.mean()
            ties = self._posed @ (self._posed.T @ Y)
        return self._separator(labeling, posed, offset, solution, ties=ties)

    @cached_property
    def _program(self) -> Program:
        return crammer_singer(self._posed, self.n_classes)
