"""The SVM step of Algorithm 1: w and b for a fixed labeling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.alternating.problem import Separator
from propcvx.errors import InaccurateSolutionWarning, warn
from propcvx.losses import HINGE, InstanceLoss, best_bias
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers import Solution, SolverNames, solve, svm_solver

Array = NDArray[np.float64]

SVMStep = Callable[[Array, float, Separator | None], Separator]
"""``svm_step(labeling, C, after)``; ``after`` is the separator that led to the labeling."""

TIGHTER = (1.0, 1e-2, 1e-4)
"""Shares of its tolerance that a solver is asked for in turn, until the gap is within it."""


@dataclass(frozen=True)
class HingeStep:
    r"""Solves the SVM of a fixed labeling; built once, re-solved for every labeling and C.

    With a bias the problem is invariant to translations, so it is solved in features that have
    mean zero: a solver's rounding errors then do not grow with the distance to the origin.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    solver : str or sequence of str
        Any solver of ``svm_dual``, or several to try in turn.
    tol : float
        Largest duality gap, relative to the objective; it is checked, whoever has solved.
    options : dict
        Handed to the solver as they are.
    loss : InstanceLoss
        The hinge, with any weights.
    """

    features: Array
    solver: SolverNames = "auto"
    tol: float = 1e-6
    options: dict[str, Any] = field(default_factory=dict)
    loss: InstanceLoss = HINGE

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """Solve for w, from where the separator before ended, and take the bias best for it."""
        weights = C * self.loss.weights
        solution, separator = self._solve(labeling, weights, after.warm if after else None)
        return separator

    @cached_property
    def _mean(self) -> Array:
        return self.features.mean(axis=0)

    @cached_property
    def _centred(self) -> Array:
        return self.features - self._mean

    @cached_property
    def _program(self) -> Program:
        return svm_dual(self._centred)

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}
