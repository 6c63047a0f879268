r"""A search for good labelings of a :class:`LabelingProblem`; it offers all to the interval.

The search is that of :mod:`propcvx.labelings.local_search`.  Every value is the objective at some
weights, and so an upper bound whatever the solver's accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.random import RandomState

from propcvx.arrays import Array, Indices
from propcvx.bounds.interval import Interval
from propcvx.bounds.problem import LabelingProblem
from propcvx.errors import SolverError
from propcvx.labelings.local_search import Moves, descend, hops, until_idle
from propcvx.labelings.losses import HINGE
from propcvx.relaxation.labeling_svm import LabelingSVM, SolvedLabeling

IDLE = 15
"""The search ends after so many descents in a row without a better labeling, first of those that
begin in random directions, then of those that begin with hops."""

MOST_REMEMBERED = 2000
"""With more instances than this no SVM of a labeling is kept, as it has two numbers for each."""


@dataclass(frozen=True, eq=False)
class SwapSearch:
    """Local search over labelings of a problem; all that it solves is offered to the interval.

    Attributes
    ----------
    problem : LabelingProblem
    interval : Interval
    tol : float
        Relative gap of the SVMs.
    known : dict
        Labelings and their SVMs, which searches of the same problem and ``tol`` can share.
    svm : LabelingSVM, optional
        The SVM of another search of the same problem and ``tol``.
    """

    problem: LabelingProblem
    interval: Interval
    tol: float = 1e-8
    known: dict[bytes, SolvedLabeling] = field(default_factory=dict, repr=False)
    svm: LabelingSVM | None = field(default=None, repr=False)

    def inside(self, problem: LabelingProblem, interval: Interval) -> SwapSearch:
        """A search of the same problem with more labels known, which shares what is solved."""
        return replace(self, problem=problem, interval=interval, svm=self._svm)

    def search(self, random: RandomState, share: float = 1.0) -> None:
        """Descents from random directions, then hops from the best labeling.

        They end after ``IDLE`` of each without success, when the interval is closed, or when a
        share of the time is over.
        """
        self._run(self._from_directions(random), share)
        if self.interval.labeling is not None:
            self._run(hops(self, self.plane(self.interval.labeling), random), share)

    def descend(self, labeling: Array) -> SolvedLabeling:
        """Alternate and move until neither helps."""
        return descend(self, self.solved(labeling))

    def plane(self, labeling: Array) -> SolvedLabeling:
        """The SVM of a labeling."""
        key = np.packbits(labeling > 0.0).tobytes()
        known = self.known.get(key) or self._solve(labeling)
        if len(labeling) <= MOST_REMEMBERED:
            self.known[key] = known
        self.interval.offer("swap search", labeling, known.value)
        return known

    def solved(self, labeling: Array) -> SolvedLabeling:
        """The SVM of a labeling; it raises an error when time is over."""
        self.interval.check_time()
        return self.plane(labeling)

    def relabeled(self, plane: SolvedLabeling) -> Array:
        """The best labeling for the weights."""
        return self.problem.best_for(self.problem.features @ plane.weights)

    def best_for(self, scores: Array) -> Array:
        """The best labeling for scores."""
        return self.problem.best_for(scores)

    def changes(self, plane: SolvedLabeling) -> Array:
        """What flipping each label adds to the loss with the weights as they are."""
        gains = HINGE.reduction(self.problem.features @ plane.weights)
        return np.asarray(self.problem.C * plane.labeling * gains)

    def least(self, plane: SolvedLabeling, flipped: Indices) -> Array:
        """Lower bounds on the SVM values after moves: the duals are made anew, one by one."""
        F, v, C = self.problem.features, plane.duals, self.problem.C
        squares = np.maximum(np.square(F).sum(axis=1), np.finfo(float).tiny)
        weights = plane.weights - np.einsum("pm,pmj->pj", v[flipped], F[flipped])
        total = np.abs(v).sum() - np.abs(v[flipped]).sum(axis=1)
        for moved in flipped.T:
            sign = -plane.labeling[moved]
            slope = sign - np.einsum("pj,pj->p", F[moved], weights)
            alpha = np.clip(sign * slope / squares[moved], 0.0, C)
            weights = weights + (sign * alpha)[:, None] * F[moved]
            total = total + alpha
        values: Array = total - 0.5 * np.square(weights).sum(axis=1)
        return values

    @property
    def moves(self) -> Moves:
        """The changes of a labeling that the problem allows."""
        return self.problem.moves

    @cached_property
    def _svm(self) -> LabelingSVM:
        return self.svm or LabelingSVM(self.problem.features, self.problem.C, self.tol)

    def _solve(self, labeling: Array) -> SolvedLabeling:
        cost = self.problem.cost(labeling)
        try:
            solved = self._svm.solved(labeling)
        except SolverError:  # the objective at w = 0 is an upper bound, too
            n, rank = self.problem.features.shape
            return SolvedLabeling(labeling, np.zeros(rank), np.zeros(n), self.problem.C * n + cost)
        return replace(solved, value=solved.value + cost)

    def _from_directions(self, random: RandomState) -> Iterator[SolvedLabeling]:
        """The ends of descents from the best labelings for random weights."""
        while True:
            weights = random.normal(size=self.problem.features.shape[1])
            yield self.descend(self.problem.best_for(self.problem.features @ weights))

    def _run(self, descents: Iterator[SolvedLabeling], share: float) -> None:
        """Descents until they no longer help, the interval is closed, or time is over."""
        limit = share * self.interval.time_limit
        for _ in until_idle(descents, IDLE):
            if self.interval.closed or self.interval.seconds > limit:
                return
