r"""Good labelings: alternation, then swaps of two labels inside a bag and flips of single ones.

It begins from random directions, and goes on from the best labeling with a bag or two labeled anew.
Every value is that of the labeling's own SVM, a primal one and so an upper bound whatever the
solver's accuracy.  A move is tried only if duals do not show that it cannot be better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds.interval import Interval
from propcvx.bounds.problem import LabelingProblem
from propcvx.errors import SolverError
from propcvx.relaxation.bounds import best_multiple
from propcvx.relaxation.labeling_svm import LabelingSVM

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BETTER = 1e-9
"""A value counts as better if it is by more than this share."""


@dataclass(frozen=True, eq=False)
class Plane:
    r"""A labeling, its SVM and the value it proves.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
    value : float
        Primal value with the bags' cost: an upper bound on the labeling's.
    duals : array of shape (n_instances,)
        :math:`v = y \circ \alpha`.
    weights : array of shape (rank,)
        :math:`F^\top v`.
    """

    labeling: Array
    value: float
    duals: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class SwapSearch:
    """Local search over labelings of a problem; every labeling met is offered to the interval.

    Attributes
    ----------
    problem : LabelingProblem
    interval : Interval
    tol : float
        Relative gap of the SVMs.
    """

    problem: LabelingProblem
    interval: Interval
    tol: float = 1e-8

    @cached_property
    def _svm(self) -> LabelingSVM:
        return LabelingSVM(self.problem.features, self.problem.C, self.tol)

    def plane(self, labeling: Array) -> Plane:
        """The SVM of a labeling."""
        F, C = self.problem.features, self.problem.C
        try:
            alpha = self._svm.alpha(labeling)
        except SolverError:
            alpha = np.zeros(len(F))
        duals = labeling * np.clip(alpha, 0.0, C)
        weights = F.T @ duals
        value = best_multiple(weights, labeling * (F @ weights), C) + self.problem.cost(labeling)
        self.interval.offer("swap search", labeling, value)
        return Plane(labeling, value, duals, weights)

    def from_directions(
        self, number: int, random: np.random.RandomState, share: float = 1.0
    ) -> None:
        """Descend from the best labelings for random weights, for a share of the time at most."""
        for _ in range(number):
            if self.interval.seconds > share * self.interval.time_limit:
                return
            weights = random.normal(size=self.problem.features.shape[1])
            self.descend(self.problem.best_for(self.problem.features @ weights))

    def hop(self, number: int, random: np.random.RandomState, share: float = 1.0) -> None:
        """Basin hopping: one or two bags of the best labeling are labeled anew, then descent."""
        bags = self.problem.bags
        for _ in range(number):
            if self.interval.seconds > share * self.interval.time_limit:
                return
            drawn = random.choice(bags.n_bags, size=random.randint(1, 3))
            other = self.problem.best_for(random.normal(size=bags.n_instances))
            inside = np.isin(bags.index, drawn)
            self.descend(np.where(inside, other, np.asarray(self.interval.labeling)))

    def descend(self, labeling: Array) -> Plane:
        """Alternate and move until neither helps."""
        best = self._alternate(self.plane(labeling))
        while True:
            better = next(self._better_moves(best), None)
            if better is None:
                return best
            best = self._alternate(better)

    def _alternate(self, best: Plane) -> Plane:
        """Algorithm 1: label for the plane, and the plane for the labels, while it helps."""
        while True:
            self.interval.check_time()
            labeling = self.problem.best_for(self.problem.features @ best.weights)
            if (labeling == best.labeling).all():
                return best
            other = self.plane(labeling)
            if other.value >= best.value * (1.0 - BETTER):
                return best
            best = other

    def _better_moves(self, best: Plane) -> Iterator[Plane]:
        """Planes of better labelings that are one move away; the most promising move first."""
        swaps, (flips, costs) = self._swaps(best.labeling), self._flips(best.labeling)
        least = np.append(
            self._least(best, swaps) + self.problem.cost(best.labeling),
            self._least(best, flips) + costs,
        )
        for place in np.argsort(least, kind="stable"):
            if least[place] >= best.value * (1.0 - BETTER):
                return
            self.interval.check_time()
            moved = swaps[place] if place < len(swaps) else flips[place - len(swaps)]
            labeling = best.labeling.copy()
            labeling[moved] *= -1.0
            other = self.plane(labeling)
            if other.value < best.value * (1.0 - BETTER):
                yield other

    def _swaps(self, labeling: Array) -> Indices:
        """A positive and a negative instance of the same bag, in rows."""
        free = self.problem.bags.labels == 0
        pairs = [
            np.meshgrid(
                inside[free[inside] & (labeling[inside] > 0)],
                inside[free[inside] & (labeling[inside] < 0)],
            )
            for inside in self.problem.members
        ]
        return np.vstack([np.column_stack([up.ravel(), down.ravel()]) for up, down in pairs])

    def _flips(self, labeling: Array) -> tuple[Indices, Array]:
        """Single instances whose other label is allowed, in rows, and what the bags then add."""
        bags, now = self.problem.bags, self.problem.cost(labeling)
        flips, costs = [], []
        for inside, cost, count in zip(
            self.problem.members, self.problem.costs, bags.positives_of(labeling), strict=True
        ):
            free = inside[bags.labels[inside] == 0]
            after = now - cost[count] + cost[count - labeling[free].astype(np.intp)]
            flips.append(free[np.isfinite(after)])
            costs.append(after[np.isfinite(after)])
        return np.concatenate(flips)[:, None], np.concatenate(costs)

    def _least(self, plane: Plane, moves: Indices) -> Array:
        """Lower bounds on the SVM values after moves: the duals are made anew, one by one."""
        F, v, C = self.problem.features, plane.duals, self.problem.C
        squares = np.maximum(np.square(F).sum(axis=1), np.finfo(float).tiny)
        weights = plane.weights - np.einsum("pm,pmj->pj", v[moves], F[moves])
        total = np.abs(v).sum() - np.abs(v[moves]).sum(axis=1)
        for moved in moves.T:
            sign = -plane.labeling[moved]
            slope = sign - np.einsum("pj,pj->p", F[moved], weights)
            alpha = np.clip(sign * slope / squares[moved], 0.0, C)
            weights = weights + (sign * alpha)[:, None] * F[moved]
            total = total + alpha
        values: Array = total - 0.5 * np.square(weights).sum(axis=1)
        return values
