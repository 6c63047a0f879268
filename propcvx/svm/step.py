"""The SVM of a fixed labeling, with and without a bias, its record, and a cache of records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import attrgetter
from typing import Any, cast

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.labelings.losses import HINGE, InstanceLoss, best_offset
from propcvx.programs import Program, margin_classifier, svm_dual, svm_dual_parameters
from propcvx.programs.structures import feasible_in_box
from propcvx.solvers import Solution, Solve
from propcvx.svm.kernels import scale_by, unit_of


@dataclass(frozen=True, eq=False)
class Separator:
    r"""A labeling, and a separating hyperplane for it.

    A rounding of your own needs to set ``labeling`` and ``weights`` only.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
        Entries -1 and +1; real-valued for soft roundings of a relaxation.
    weights : array of shape (rank,)
        The weights w over the features.
    bias : float
        The bias b.
    scores : array of shape (n_instances,)
        Scores of the instances, bias included.
    value : float
        The value of the labeling's SVM; in :class:`~propcvx.bounds.SwapSearch` with the costs of
        the bags.
    duals : array of shape (n_instances,), optional
        :math:`v = y \circ \alpha` of the SVM dual, if the dual was solved.
    ties : array of shape (n_instances,), optional
        Of instances with equal scores, those with larger ``ties`` are labeled +1 first.
    gap : float
        Upper bound on the excess of ``value`` over the optimal value for its labeling.
    solver, status : str
        The solver that answered, and its status.
    warm_start : object
        Where the solver ended, for the next call.
    """

    labeling: Any
    weights: Array
    bias: float = 0.0
    scores: Any = None
    value: float = np.nan
    duals: Any = None
    ties: Array | None = None
    gap: float = 0.0
    solver: str = ""
    status: str = ""
    warm_start: Any = None


Step = Callable[[Array, float, Separator | None], Separator]
"""``step(labeling, C, previous)``; ``previous`` is the separator that led to the labeling."""

Cache = dict[Hashable, Separator]  # answers by labeling and C
Caches = MutableMapping[Hashable, Cache]  # of steps on the same features, by solver and tolerance

MIN_DECREASE = 1e-9
"""Relative difference above which a value counts as lower."""

SIGNS = np.array([1.0, -1.0])

MAX_CACHED = 2000
"""Number of instances above which nothing is cached, as a separator has several numbers each."""


def bits_of(labeling: Array) -> bytes:
    """Convert a labeling of -1 and +1 to a key."""
    return np.packbits(labeling > 0.0).tobytes()


class PicklesFields:
    """Base of dataclasses that build their program once, and do not send it to a process."""

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(cast(Any, self))}


@dataclass(frozen=True)
class SVMStep(PicklesFields):
    r"""Solver of the SVM of a fixed labeling; built once, solved again for every labeling and C.

    If w = 0 has a primal objective as small as the solution, up to the solver's gap, w is set to
    zero, so that the labeling step does not sort a solver's errors.  All scores are then equal, and
    all labelings with the same counts equally good.  The step chooses the labeling along the
    difference of the class means: with the order of the instances, all starts would continue in the
    same way, and with the previous labels, w would stay zero.

    With a bias the problem is invariant to translations, so it is solved in features of mean zero
    and mean square one: a solver's rounding errors then depend on neither the distance to the
    origin nor the scale.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    solve : Solve
        Solves the program.
    loss : InstanceLoss
        The hinge, with any weights.
    """

    features: Array
    solve: Solve = Solve(tol=1e-6)
    loss: InstanceLoss = HINGE

    def __call__(self, labeling: Array, C: float, previous: Separator | None = None) -> Separator:
        """Solve with a warm start from the separator before, and set the best bias for w."""
        parameters = svm_dual_parameters(labeling, C / self._unit**2 * self.loss.weights)
        program, start = self._program.set(**parameters), previous and previous.warm_start
        solution = self.solve(program, warm_start=start)
        box = parameters["lower"], parameters["upper"]
        v = feasible_in_box(solution.variables["v"], *box)
        weights, ties = self._scaled.T @ v, labeling
        losses, offset = best_losses(labeling - self._scaled @ weights, *box)
        lower, upper = (bound.sum() for bound in box)  # of the labels -1 and of the labels +1
        zero, offset_of_zero = best_losses(SIGNS, lower * (SIGNS < 0.0), upper * (SIGNS > 0.0))
        error = gap_of(solution) + len(labeling) * np.finfo(float).eps * zero
        if zero - error <= 0.5 * float(weights @ weights) + losses:
            weights, offset = np.zeros_like(weights), offset_of_zero
            ties = self._scaled @ (self._scaled.T @ labeling)
        duals = self._unit**2 * v
        return self._separator(labeling, weights, offset, solution, ties=ties, duals=duals)

    def _separator(
        self, labeling: Array, scaled: Array, offset: Any, solution: Solution, **others: Any
    ) -> Separator:
        """Build the separator, with weights and bias for the original features."""
        weights = self._unit * scaled
        return Separator(
            labeling,
            weights,
            offset - self._mean @ weights,
            self._scaled @ scaled + offset,
            gap=self._unit**2 * gap_of(solution),
            solver=solution.solver,
            status=solution.status,
            warm_start=solution.warm_start,
            **others,
        )

    @cached_property
    def _mean(self) -> Array:
        is_constant = (
            np.ptp(self.features, axis=0) == 0.0
        )  # exactly, not up to the rounding of a sum
        return np.where(is_constant, self.features[0], self.features.mean(axis=0))

    @cached_property
    def _centered(self) -> Array:
        return self.features - self._mean

    @cached_property
    def _unit(self) -> float:
        return unit_of(self._centered)

    @cached_property
    def _scaled(self) -> Array:
        return scale_by(self._unit, self._centered)

    @cached_property
    def _program(self) -> Program:
        return svm_dual(self._scaled)


def gap_of(solution: Solution) -> float:
    """Return the duality gap in units of the objective; 0 if it is not known."""
    return (solution.gap or 0.0) * abs(solution.value)


def best_losses(residuals: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Compute the sum of the losses with the best bias, and that bias."""
    offset = best_offset(residuals, lower, upper)
    losses = residuals - offset
    return float(np.where(losses > 0.0, upper, lower) @ losses), offset


@dataclass(frozen=True)
class LossStep(SVMStep):
    """Solver of the step for any other instance loss, by its primal program."""

    def __call__(self, labeling: Array, C: float, previous: Separator | None = None) -> Separator:
        """Solve with a warm start from the separator before."""
        program = self._program.set(y=labeling, C=C / self._unit**2)
        solution = self.solve(program, warm_start=previous and previous.warm_start)
        weights, offset = solution.variables["w"], float(solution.variables["b"])
        return self._separator(labeling, weights, offset, solution, ties=labeling)

    @cached_property
    def _program(self) -> Program:
        return margin_classifier(self._scaled, self.loss)


@dataclass(frozen=True)
class CachedStep:
    """An SVM step with a cache of its separators.

    Different starts of Algorithm 1 reach the same labelings, and while C* is small the labels do
    not depend on C_p.  So of the SVMs of a grid of 3 by 3 parameters with ten starts each, two in
    three to three in four have been solved already (heart and vote, bags of 8 to 64).

    The solver never starts from an earlier solution, so that the separator is a function of the
    labeling and C, in any order of calls.

    Attributes
    ----------
    step : SVMStep
    known : dict
        Separators by labeling and C, also from other steps on the same features.
    """

    step: SVMStep
    cache: Cache = field(default_factory=dict, repr=False)

    def __call__(self, labeling: Array, C: float, previous: Separator | None = None) -> Separator:
        """Solve as :class:`SVMStep`, or return the cached separator."""
        key = (bits_of(labeling), C)
        if key not in self.cache:
            self.cache[key] = self.step(labeling, C)
        return self.cache[key]

    def __getstate__(self) -> dict[str, Any]:
        return {"step": self.step, "cache": {}}


def svm_step(features: Array, loss: InstanceLoss, solve: Solve, caches: Caches) -> Step:
    """Build the step of an instance loss: the dual SVM for the hinge, else the primal program.

    With the hinge, few instances, and one solver of the table without options, the step shares a
    cache with all equal steps on the same features.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
    loss : InstanceLoss
    solve : Solve
    caches : dict
        Separators of steps on these features, by solver, tolerance and weights of the instances; it
        is updated in place.
    """
    if loss.margin_loss is not HINGE.margin_loss:
        return LossStep(features, solve, loss)
    step, is_cacheable = (
        SVMStep(features, solve, loss),
        isinstance(solve.solver, str) and not solve.options,
    )
    if not is_cacheable or len(features) > MAX_CACHED:
        return step
    weights = np.asarray(loss.weights, dtype=np.float64).tobytes()
    return CachedStep(step, caches.setdefault((solve.solver, solve.tol, weights), {}))


@dataclass(frozen=True)
class LabelingSVM(PicklesFields):
    """The SVM of any labeling, without a bias, for one C.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    C : float or array of shape (n_instances,)
    solve : Solve
        Solves the program.
    """

    features: Array
    C: Weight
    solve: Solve = Solve(tol=1e-9)

    @cached_property
    def _unit(self) -> float:
        return unit_of(self.features, self.C)

    @cached_property
    def _program(self) -> Program:
        return svm_dual(scale_by(self._unit, self.features), bias=False)

    def alpha(self, labeling: Array) -> Array:
        """Compute the dual variables of the SVM of a labeling."""
        parameters = svm_dual_parameters(labeling, self.C / self._unit**2)
        answer = self.solve(self._program.set(**parameters))
        return np.asarray(self._unit**2 * labeling * answer.variables["v"])

    def weights(self, labeling: Array) -> Array:
        """Compute the weights of the SVM of a labeling."""
        return np.asarray(self.features.T @ (labeling * self.alpha(labeling)))

    def value(self, labeling: Array, weights: Array) -> float:
        """Compute the primal SVM value of a labeling and weights."""
        losses = HINGE.evaluate(labeling, self.features @ weights)
        return 0.5 * float(weights @ weights) + float(np.sum(self.C * losses))

    def separate(self, labeling: Array) -> Separator:
        """Solve the SVM of a labeling of -1 and +1.

        Its value is the primal value at the best multiple of the weights: an upper bound on the
        value of the labeling for any error of the solver.
        """
        duals = labeling * np.clip(self.alpha(labeling), 0.0, self.C)
        weights = self.features.T @ duals
        scores = self.features @ weights
        value = best_multiple(weights, labeling * scores, self.C)
        return Separator(labeling, weights, scores=scores, value=value, duals=duals)

    def best(self, labelings: Array) -> Separator:
        """Find the SVM of least value over labelings, shape (n_labelings, n_instances)."""
        return min(map(self.separate, np.unique(labelings, axis=0)), key=attrgetter("value"))


def best_multiple(weights: Array, margins: Array, C: Weight) -> float:
    r"""Minimize :math:`\tfrac12 c^2 \|w\|^2 + \sum_i C_i \max(0, 1 - c m_i)` over c >= 0."""
    C = np.broadcast_to(C, len(margins))
    square, worst = float(weights @ weights), float(C.sum())
    if square == 0.0:
        return worst
    low, high = 0.0, np.sqrt(2.0 * worst / square)
    while low < (middle := (low + high) / 2) < high:
        falls = middle * square < np.where(middle * margins < 1.0, C * margins, 0.0).sum()
        low, high = (middle, high) if falls else (low, middle)
    return float(0.5 * low**2 * square + C @ np.maximum(0.0, 1.0 - low * margins))


def improve(best: Separator, step: Callable[[Separator], Separator]) -> Separator:
    """Repeat a step as long as it lowers the value."""
    while is_better((other := step(best)).value, best.value):
        best = other
    return best


def is_better(value: float, reference: float) -> bool:
    """Check whether a value is lower, by more than rounding."""
    return value < reference - MIN_DECREASE * abs(reference)
