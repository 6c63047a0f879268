"""The SVM of any labeling, and a labeling with its separator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.labelings.losses import HINGE
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers import solve
from propcvx.svm.kernels import unit_of


@dataclass(frozen=True)
class RoundedLabeling:
    """A labeling and the separator that it gives.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
        Real-valued, or feasible.
    weights : array of shape (rank,)
        The weights over the features.
    """

    labeling: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class SolvedLabeling(RoundedLabeling):
    r"""A labeling of -1 and +1 and its SVM.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
    weights : array of shape (rank,)
        :math:`F^\top v`.
    duals : array of shape (n_instances,)
        :math:`v = y \circ \alpha`, with alpha in its box.
    value : float
        Primal value at the best multiple of the weights, and what the labeling costs beside: an
        upper bound on the labeling's, whatever the solver's error.
    """

    duals: Array
    value: float


@dataclass(frozen=True)
class LabelingSVM:
    """The SVM of any labeling, without a bias.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    C : float or array of shape (n_instances,)
    tol : float
        Relative gap of its solver.
    """

    features: Array
    C: Weight
    tol: float = 1e-9

    @cached_property
    def _posed(self) -> tuple[float, Program]:
        """A factor of the features, and the dual program in these units."""
        unit = unit_of(self.features, self.C)
        return unit, svm_dual(unit * self.features, bias=False)

    def alpha(self, labeling: Array) -> Array:
        """Its dual variables."""
        unit, program = self._posed
        program = program.set(**svm_dual_parameters(labeling, self.C / unit**2))
        answer = solve(program, tol=self.tol, residuals=False, quiet=True)
        return np.asarray(unit**2 * labeling * answer.variables["v"])

    def weights(self, labeling: Array) -> Array:
        """Its weights."""
        return np.asarray(self.features.T @ (labeling * self.alpha(labeling)))

    def value(self, labeling: Array, weights: Array) -> float:
        """Primal SVM value of a labeling and some weights."""
        losses = HINGE.of(labeling, self.features @ weights)
        return 0.5 * float(weights @ weights) + float(np.sum(self.C * losses))

    def solved(self, labeling: Array) -> SolvedLabeling:
        """The SVM of a labeling of -1 and +1."""
        duals = labeling * np.clip(self.alpha(labeling), 0.0, self.C)
        weights = self.features.T @ duals
        value = best_multiple(weights, labeling * (self.features @ weights), self.C)
        return SolvedLabeling(labeling, weights, duals, value)

    def best(self, labelings: Array) -> SolvedLabeling:
        """The one of least value of some labelings, shape (n_labelings, n_instances)."""
        return min(map(self.solved, np.unique(labelings, axis=0)), key=lambda one: one.value)


def best_multiple(weights: Array, margins: Array, C: Weight) -> float:
    r"""Least :math:`\tfrac12 c^2 \|w\|^2 + \sum_i C_i \max(0, 1 - c m_i)` over :math:`c \ge 0`."""
    C = np.broadcast_to(C, len(margins))
    square, worst = float(weights @ weights), float(C.sum())
    if square == 0.0:
        return worst
    low, high = 0.0, np.sqrt(2.0 * worst / square)
    while low < (middle := (low + high) / 2) < high:
        falls = middle * square < np.where(middle * margins < 1.0, C * margins, 0.0).sum()
        low, high = (middle, high) if falls else (low, middle)
    return float(0.5 * low**2 * square + C @ np.maximum(0.0, 1.0 - low * margins))
