"""The SVM step of Algorithm 1: w and b for a fixed labeling; and the same with a memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from propcvx.alternating.problem import Separator
from propcvx.arrays import Array
from propcvx.labelings.losses import HINGE, InstanceLoss, best_offset
from propcvx.programs import Program, margin_classifier, svm_dual, svm_dual_parameters
from propcvx.programs.structures import feasible_in_box
from propcvx.solvers import Solution, SolverNames, solve
from propcvx.svm.kernels import unit_of

Step = Callable[[Array, float, Separator | None], Separator]
"""``svm_step(labeling, C, after)``; ``after`` is the separator that led to the labeling."""

Known = dict[Hashable, Separator]  # answers by labeling and C
Solved = MutableMapping[Hashable, Known]  # of steps on the same features, by solver and tolerance

MOST = 2000
"""With more instances than this nothing is kept: a separator holds several numbers for each."""


@dataclass(frozen=True)
class SVMStep:
    r"""Solves the SVM of a fixed labeling; built once, re-solved for every labeling and C.

    Where zero has a primal objective as small as that of w, up to the solver's gap, w is taken as
    zero: the labeling step then does not sort a solver's errors.  All scores are equal, all
    labelings with its counts as good, and of them it takes the one along the difference of the
    classes' means: by the order of the instances, all starts would go the same way from there, and
    with the labels before, w would stay zero.

    With a bias the problem is invariant to translations, so it is solved in features of mean zero
    and mean square one: a solver's rounding errors then depend on neither the distance to the
    origin nor the scale.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    solver : str, Solver or sequence
        Any solver of the program, or several to try in turn; ``"auto"`` is
        :func:`propcvx.solvers.automatic`.
    tol : float
        Its tolerance: the relative duality gap, see :func:`propcvx.solvers.solve`.
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
        """Solve, from where the separator before ended, and take the bias that is best for w."""
        parameters = svm_dual_parameters(labeling, C / self._unit**2 * self.loss.weights)
        solution = self._solve(after, parameters)
        box = parameters["lower"], parameters["upper"]
        v = feasible_in_box(solution.variables["v"], *box)
        weights, ties = self._posed.T @ v, labeling
        losses, offset = best_losses(labeling - self._posed @ weights, *box)
        zero, offset_of_zero = best_losses(labeling, *box)
        error = _gap(solution) + len(labeling) * np.finfo(float).eps * zero
        if zero - error <= 0.5 * float(weights @ weights) + losses:
            weights, offset = np.zeros_like(weights), offset_of_zero
            ties = self._posed @ (self._posed.T @ labeling)
        return self._separator(weights, offset, ties, solution, self._unit**2 * v)

    def _solve(self, after: Separator | None, parameters: dict[str, Any]) -> Solution:
        program, options = self._program.set(**parameters), self.options
        warm = None if after is None else after.warm
        return solve(
            program, self.solver, tol=self.tol, residuals=False, warm=warm, quiet=True, **options
        )

    def _separator(
        self, posed: Array, offset: Any, ties: Array, solution: Solution, duals: Array | None
    ) -> Separator:
        """The separator, with the weights and the bias that it has for the features themselves."""
        weights, scores = self._unit * posed, self._posed @ posed + offset
        bias, gap = offset - self._mean @ weights, self._unit**2 * _gap(solution)
        answer = solution.solver, solution.status, solution.warm
        return Separator(weights, bias, scores, ties, gap, *answer, duals)

    @cached_property
    def _mean(self) -> Array:
        return self.features.mean(axis=0)

    @cached_property
    def _unit(self) -> float:
        return unit_of(self.features - self._mean)

    @cached_property
    def _posed(self) -> Array:
        return self._unit * (self.features - self._mean)

    @cached_property
    def _program(self) -> Program:
        return svm_dual(self._posed)

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


def _gap(solution: Solution) -> float:
    """The duality gap in units of the objective, 0 where it is not known."""
    return (solution.gap or 0.0) * abs(solution.value)


def best_losses(residuals: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """The sum of the losses with the best bias, and that bias."""
    offset = best_offset(residuals, lower, upper)
    left = residuals - offset
    return float(np.where(left > 0.0, upper, lower) @ left), offset


@dataclass(frozen=True)
class LossStep(SVMStep):
    """The same for any other instance loss, by its primal program."""

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """Solve, from where the separator before ended."""
        solution = self._solve(after, {"y": labeling, "C": C / self._unit**2})
        weights, offset = solution.variables["w"], float(solution.variables["b"])
        return self._separator(weights, offset, labeling, solution, None)

    @cached_property
    def _program(self) -> Program:
        return margin_classifier(self._posed, self.loss)


def svm_step(
    features: Array, loss: InstanceLoss, solver: SolverNames, tol: float, options: dict[str, Any]
) -> SVMStep:
    """The step of an instance loss: the dual SVM for the hinge, the primal program for others."""
    kind = SVMStep if loss.of_margins is HINGE.of_margins else LossStep
    return kind(features, solver, tol, options, loss)


@dataclass(frozen=True)
class RememberedStep:
    """An SVM step, and what it has answered.

    Different starts of Algorithm 1 reach the same labelings, and while C* is small the labels do
    not depend on C_p.  So of the SVMs of a grid of 3 by 3 parameters with ten starts each, two in
    three to three in four have been solved already (heart and vote, bags of 8 to 64).

    The solver never starts from an earlier solution, so that the answer is a function of the
    labeling and C, whoever asked first.

    Attributes
    ----------
    step : SVMStep
    known : dict
        Answers by labeling and C; other steps on the same features may have given them.
    """

    step: SVMStep
    known: Known = field(default_factory=dict, repr=False)

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """See :class:`SVMStep`."""
        question = (np.packbits(labeling > 0.0).tobytes(), C)
        if question not in self.known:
            self.known[question] = self.step(labeling, C)
        return self.known[question]

    def __getstate__(self) -> dict[str, Any]:
        return {"step": self.step, "known": {}}


def remembered(step: SVMStep, solved: Solved) -> Step:
    """The step with the memory of all like it on the same features.

    Steps with many instances, a loss or solvers of one's own come back as they are.

    Parameters
    ----------
    step : SVMStep
    solved : dict
        What steps on these features have answered, by solver, tolerance and weights of the
        instances; it is added to.
    """
    plain = isinstance(step.solver, str) and not step.options and len(step.features) <= MOST
    if not plain or step.loss.of_margins is not HINGE.of_margins:
        return step
    weights = np.asarray(step.loss.weights, dtype=np.float64).tobytes()
    return RememberedStep(step, solved.setdefault((step.solver, step.tol, weights), {}))
