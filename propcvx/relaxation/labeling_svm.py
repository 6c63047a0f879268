"""The SVM of any labeling, and a labeling with its separator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propcvx.kernels import unit_of
from propcvx.losses import HINGE
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers import solve

Array = NDArray[np.float64]


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


@dataclass(frozen=True)
class LabelingSVM:
    """The SVM of any labeling, without a bias.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    C : float
    tol : float
        Relative gap of its solver.
    """

    features: Array
    C: float
    tol: float = 1e-9

    @cached_property
    def _unit(self) -> float:
        return unit_of(self.features, self.C)

    @cached_property
    def _program(self) -> Program:
        return svm_dual(self._unit * self.features, bias=False)

    def alpha(self, labeling: Array) -> Array:
        """Its dual variables."""
        program = self._program.set(**svm_dual_parameters(labeling, self.C / self._unit**2))
        answer = solve(program, tol=self.tol, residuals=False, quiet=True)
        return np.asarray(self._unit**2 * labeling * answer.variables["v"])

    def weights(self, labeling: Array) -> Array:
        """Its weights."""
        return np.asarray(self.features.T @ (labeling * self.alpha(labeling)))

    def value(self, labeling: Array, weights: Array) -> float:
        """Primal SVM value of a labeling and some weights."""
        losses = HINGE.of(labeling, self.features @ weights)
        return 0.5 * float(weights @ weights) + self.C * float(losses.sum())

    def best(self, labelings: Array) -> RoundedLabeling:
        """The labeling of least value, shape (n_labelings, n_instances), and its weights."""
        found = [RoundedLabeling(y, self.weights(y)) for y in np.unique(labelings, axis=0)]
        return min(found, key=lambda one: self.value(one.labeling, one.weights))
