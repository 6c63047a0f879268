r"""A search for good labelings of a ``LabelingProblem``, which it offers to the interval.

It alternates as in Algorithm 1, swaps two labels of a bag, and flips single labels.  A step is
taken only if the value falls.  A move is tried only if no lower bound shows that it cannot be
better, beginning with the least cost for the current separator.  Every value is the objective at
some weights, and so an upper bound for any accuracy of the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import RandomState

from propcvx.arrays import Array, Indices
from propcvx.bounds.interval import Interval
from propcvx.errors import SolverError
from propcvx.solvers import Solve
from propcvx.svm.problem import LabelingProblem
from propcvx.svm.step import MAX_CACHED, LabelingSVM, Separator, bits_of, improve, is_better

IDLE = 15
"""Number of descents in a row without a better labeling after which the search ends, first of
descents that begin in random directions, then of descents that begin with hops."""


@dataclass(frozen=True, eq=False)
class SwapSearch:
    """Local search over labelings of a problem, which passes each labeling to an `Interval`.

    Attributes
    ----------
    problem : LabelingProblem
    interval : Interval
    svm : LabelingSVM
        The SVM of the problem's features and C.
    separators : dict
        SVMs by labeling, which searches with the same ``svm`` can share.
    """

    problem: LabelingProblem
    interval: Interval
    svm: LabelingSVM
    separators: dict[bytes, Separator] = field(default_factory=dict, repr=False)

    @classmethod
    def from_problem(
        cls, problem: LabelingProblem, interval: Interval, tol: float = 1e-8
    ) -> SwapSearch:
        """Build a search with SVMs to this relative gap."""
        return cls(problem, interval, LabelingSVM(problem.features, problem.C, Solve(tol=tol)))

    def search(self, random: RandomState, fraction: float = 1.0) -> None:
        """Descend from random directions, then hop from the best labeling.

        The search ends after ``IDLE`` descents of either kind without success, when the interval is
        closed, or when a fraction of the time has passed.
        """
        self._run(self._from_directions(random), fraction)
        if self.interval.labeling is not None:
            self._run(self.hops(self.evaluate(self.interval.labeling), random), fraction)

    def evaluate(self, labeling: Array) -> Separator:
        """Solve the SVM of a labeling, offer its value to the interval, and return it."""
        key = bits_of(labeling)
        separator = self.separators.get(key) or self._solve(labeling)
        if len(labeling) <= MAX_CACHED:
            self.separators[key] = separator
        self.interval.offer("swap search", labeling, separator.value)
        return separator

    def value(self, labeling: Array) -> float:
        """Compute the value of a labeling to check a bound with; minus infinity if solvers fail."""
        try:
            return float(self.svm.separate(labeling).value + self.problem.cost(labeling))
        except SolverError:
            return -np.inf

    def separate(self, labeling: Array) -> Separator:
        """Return the SVM of a labeling, or raise an error at the time limit."""
        self.interval.check_time()
        return self.evaluate(labeling)

    def lower_bounds(self, plane: Separator, flipped: Indices) -> Array:
        """Compute lower bounds on the SVM values after moves, from updated duals."""
        F, v, C = self.problem.features, plane.duals, self.problem.C
        squares = np.maximum(np.square(F).sum(axis=1), np.finfo(float).tiny)
        weights = plane.weights - np.einsum("pm,pmj->pj", v[flipped], F[flipped])
        total = np.abs(v).sum() - np.abs(v[flipped]).sum(axis=1)
        for flips in flipped.T:
            sign = -plane.labeling[flips]
            slope = sign - np.einsum("pj,pj->p", F[flips], weights)
            alpha = np.clip(sign * slope / squares[flips], 0.0, C)
            weights = weights + (sign * alpha)[:, None] * F[flips]
            total = total + alpha
        values: Array = total - 0.5 * np.square(weights).sum(axis=1)
        return values

    def descend(self, labeling: Array) -> Separator:
        """Alternate and move from a labeling until neither decreases the value."""
        best = self.alternate(self.separate(labeling))
        while (better := self._better_move(best)) is not None:
            best = self.alternate(better)
        return best

    def alternate(self, start: Separator) -> Separator:
        """Alternate between labels and separator while the value decreases."""

        def step(best: Separator) -> Separator:
            return self.separate(self.problem.best_labeling(best.scores, ties=best.ties))

        return improve(start, step)

    def hops(self, best: Separator, random: RandomState) -> Iterator[Separator]:
        """Relabel one or two bags and descend, and yield the best separator after each hop."""
        bags = self.problem.bags
        while True:
            sample = random.choice(bags.n_bags, size=random.randint(1, 3))
            other = self.problem.best_labeling(random.normal(size=bags.n_instances))
            labeling = np.where(np.isin(bags.index, sample), other, best.labeling)
            result = self.descend(labeling)
            best = result if is_better(result.value, best.value) else best
            yield best

    def _better_move(self, best: Separator) -> Separator | None:
        """Find the separator of a better labeling that is one move away."""
        problem = self.problem
        # the change of the loss by flipping each label, for a fixed separator
        changes = problem.C * best.labeling * problem.instance_loss.reduction(best.scores)
        swaps, (flips, costs) = problem.swaps(best.labeling, changes), problem.flips(best.labeling)
        moves = ((swaps, problem.cost(best.labeling)), (flips, costs))
        order = np.concatenate([changes[move].sum(axis=1) + cost for move, cost in moves])
        lower = np.concatenate([self.lower_bounds(best, move) + cost for move, cost in moves])
        for place in np.argsort(order, kind="stable"):
            if not is_better(lower[place], best.value):
                continue
            move = swaps[place] if place < len(swaps) else flips[place - len(swaps)]
            labeling = best.labeling.copy()
            labeling[move] *= -1.0
            other = self.separate(labeling)
            if is_better(other.value, best.value):
                return other
        return None

    def _solve(self, labeling: Array) -> Separator:
        cost = self.problem.cost(labeling)
        try:
            separator = self.svm.separate(labeling)
        except SolverError:  # the objective at w = 0 is an upper bound, too
            n, rank = self.problem.features.shape
            zero, zeros = np.zeros(rank), np.zeros(n)
            return Separator(labeling, zero, 0.0, zeros, self.problem.C * n + cost, zeros)
        return replace(separator, value=separator.value + cost)

    def _from_directions(self, random: RandomState) -> Iterator[Separator]:
        """Descend from the best labelings for random weights, and yield the results."""
        while True:
            weights = random.normal(size=self.problem.features.shape[1])
            yield self.descend(self.problem.best_labeling(self.problem.features @ weights))

    def _run(self, descents: Iterator[Separator], fraction: float) -> None:
        """Descend until it no longer helps, the interval is closed, or time is up."""
        limit, best, idle = fraction * self.interval.time_limit, np.inf, 0
        for plane in descents:
            idle = 0 if is_better(plane.value, best) else idle + 1
            best = min(plane.value, best)
            if idle == IDLE or self.interval.closed or self.interval.seconds > limit:
                return
