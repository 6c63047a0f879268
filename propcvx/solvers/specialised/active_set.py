r"""An active-set method for the SVM dual with few instances, fast from an answer nearby.

``svm_dual`` asks for v within bounds :math:`l \le v \le u` and, with a bias, of sum zero.  At its
solution the residuals :math:`r = y - K v - b` are at most 0 where v is at its lower bound, at
least 0 at its upper bound, and 0 in between.  Given which instances are on which side, v and b
solve one linear system over those in between; whoever is then beyond a bound, or has a residual of
the wrong sign, changes sides, all of them at once, until none does (a primal-dual active-set
method, as of Kunisch and Rendl).  From the answer to a similar labeling or C it takes a few steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from propcvx.programs import Program
from propcvx.solvers.specialised.gram import Gram, gram_of
from propcvx.solvers.specialised.svm_points import parameters_of, store_svm
from propcvx.solvers.through_cvxpy import Run
from propcvx.solvers.warm import leave_end, take_end

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Sides = NDArray[np.int8]

MANY = 0.15
"""With a larger share of the targets y changed, the last answer is no guess."""

BETWEEN = 0.15
"""Share of the instances that the guess from no answer puts in between."""

START, LEAST, MOST = 1e-2, 1e-12, 10.0
"""Ridge on the change of v, in units of the Gram matrix's diagonal: the first, and its range."""

SHRINK, GROW = 0.3, 10.0
"""What it is multiplied by after a step that got nearer, and after one that did not."""

SLACK = 1e-9
"""Residuals of the wrong sign that are smaller change no sides."""

MAX_STEPS = 60
"""Linear systems from one guess."""


@dataclass(frozen=True)
class Box:
    """The parameters of ``svm_dual``, y a copy that is kept, and whether v sums to zero."""

    y: Array
    lower: Array
    upper: Array
    bias: bool

    @cached_property
    def scale(self) -> float:
        """Largest distance between the bounds: C."""
        return float((self.upper - self.lower).max())

    def feasible(self, v: Array) -> Array:
        """A feasible v near this one: moved into the bounds, and then to sum zero."""
        v = np.minimum(np.maximum(v, self.lower), self.upper)
        excess = float(v.sum()) if self.bias else 0.0
        room = (self.lower if excess > 0.0 else self.upper) - v
        return v - room * (excess / (room.sum() or 1.0))


@dataclass(frozen=True)
class Point:
    """One v with K v and the bias, and the side of each instance: -1 lower, 1 upper, 0 between.

    Where an instance is on a side, v is at that bound.
    """

    v: Array
    scores: Array
    bias: float
    sides: Sides


@dataclass(frozen=True)
class Answer:
    """A feasible point, its primal objective, and by how much that exceeds the dual one."""

    box: Box
    point: Point
    residuals: Array
    primal: float
    gap: float


def run_active_set(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``svm_dual`` to a relative duality gap of ``options["gap"]``.

    Begins with the sides of the last answer on the same program; where that leads nowhere, and at
    the first call, with those at the best plane of w = 0.  ``max_steps`` limits the steps from
    either.  Where the gap is not reached, the status is ``"user_limit"``.  ``Run.gap`` is the gap
    of the answer, reached or not.
    """
    start = perf_counter()
    gram = gram_of(program)
    built = perf_counter()
    y, lower, upper = parameters_of(program)
    box = Box(y.copy(), lower, upper, "balance" in program.constraints)
    search = Search(gram, box, options.get("gap", 1e-8), options.get("max_steps", MAX_STEPS))
    answer = search.run(take_end(program, Answer))
    reached = answer.gap <= search.tol * answer.primal
    if reached:
        leave_end(program, answer)
    store_svm(program, answer.point.v, answer.point.bias, answer.residuals)
    status = cp.OPTIMAL if reached else cp.USER_LIMIT
    return Run(
        status,
        built - start,
        perf_counter() - built,
        search.steps,
        gap=max(answer.gap, 0.0),
        value=answer.primal - answer.gap,
        scores=answer.point.scores,
    )


@dataclass
class Search:
    """One call, and how many steps it has taken."""

    gram: Gram
    box: Box
    tol: float
    max_steps: int
    steps: int = 0

    def run(self, last: Answer | None) -> Answer:
        """From the last answer, if there is one that may be near, and then from none."""
        few = MANY * len(self.box.y)
        if last is not None and np.count_nonzero(last.box.y != self.box.y) <= few:
            answer = self.descend(self.nearby(last))
            if answer.gap <= self.tol * answer.primal:
                return answer
        return self.descend(self.far())

    def nearby(self, last: Answer) -> Point:
        """The last answer in proportion to C; new targets on the side of their residual."""
        factor, point = self.box.scale / last.box.scale, last.point
        others = (self.box.y != last.box.y).nonzero()[0]
        residuals = self.box.y[others] - point.scores[others] - point.bias
        scaled = Point(factor * point.v, factor * point.scores, point.bias, point.sides)
        return self.moved(scaled, others, _sign(residuals))

    def far(self) -> Point:
        """The gradient at w = 0: sides by the sign of the residuals, the smallest in between."""
        y, lower, upper = self.box.y, self.box.lower, self.box.upper
        bias = float(y[_balancing(self.box, y)]) if self.box.bias else 0.0
        v = self.box.feasible(np.where(y > bias, upper, np.where(y < bias, lower, 0.0)))
        scores = self.gram.matrix @ v
        residuals = y - scores
        if self.box.bias:
            residuals -= residuals[_balancing(self.box, residuals)]
        distances = np.abs(residuals)
        near = np.argsort(distances)[: 1 + int(BETWEEN * len(distances))]
        sides = _sign(residuals)
        sides[near] = 0
        return self.moved(Point(v, scores, bias, sides), np.arange(len(y)), sides)

    def descend(self, point: Point) -> Answer:
        """Steps until all are on their sides and the gap is reached, or there are too many.

        The ridge holds the steps back while the instances on the wrong side do not become fewer.
        """
        ridge, before = START * self.gram.size, len(point.v) + 1
        for _ in range(self.max_steps):
            stepped = self.step(point, ridge)
            if stepped is None:
                break
            self.steps += 1
            wrong = self.wrong(stepped)
            if not len(wrong):
                answer = self.certified(stepped)
                if answer.gap <= self.tol * answer.primal:
                    return answer
            if len(wrong) < max(before, 1):
                ridge = max(ridge * SHRINK, LEAST * self.gram.size)
            else:
                ridge = min(max(ridge * GROW, START * self.gram.size), MOST * self.gram.size)
            before, point = len(wrong), self.changed(stepped, wrong)
        return self.certified(point)

    def step(self, point: Point, ridge: float) -> Point | None:
        """Solve for v and bias, given the sides; None where rounding errors leave no solution."""
        box, v, scores, sides = self.box, point.v.copy(), point.scores, point.sides
        between = (sides == 0).nonzero()[0]
        if not len(between):
            if not box.bias:
                return Point(v, scores, 0.0, sides)
            sides, between = sides.copy(), np.array([_balancing(box, box.y - scores)])
            sides[between] = 0
        rows = self.gram.matrix[between]
        right = np.ones((2, len(between)))
        right[0] = box.y[between] - scores[between] - point.bias
        solved = _solve(rows[:, between], ridge, right)
        if solved is None:
            return None
        direct, by_bias = solved
        shift = float((direct.sum() + v.sum()) / by_bias.sum()) if box.bias else 0.0
        change = direct - shift * by_bias
        v[between] += change
        return Point(v, scores + change @ rows, point.bias + shift, sides)

    def wrong(self, point: Point) -> Indices:
        """Instances with v beyond a bound, in units of C, or with a residual of the wrong sign."""
        box, sides = self.box, point.sides
        beyond = np.maximum(point.v - box.upper, box.lower - point.v) / box.scale
        violation = np.where(sides == 0, beyond, sides * (point.scores + point.bias - box.y))
        return (violation > SLACK).nonzero()[0]

    def changed(self, point: Point, wrong: Indices) -> Point:
        """The same point after some instances have changed sides."""
        above = np.where(point.v[wrong] > self.box.upper[wrong], np.int8(1), np.int8(-1))
        return self.moved(point, wrong, np.where(point.sides[wrong] == 0, above, np.int8(0)))

    def moved(self, point: Point, which: Indices, to: Sides) -> Point:
        """The point with some instances on these sides, and v at the bound there."""
        v, sides = point.v.copy(), point.sides.copy()
        sides[which] = to
        bounded = which[to != 0]
        v[bounded] = np.where(sides[bounded] > 0, self.box.upper[bounded], self.box.lower[bounded])
        change = v[bounded] - point.v[bounded]
        scores = point.scores + change @ self.gram.matrix[bounded]
        return Point(v, scores, point.bias, sides)

    def certified(self, point: Point) -> Answer:
        """The feasible point nearby, and its duality gap."""
        box, v = self.box, self.box.feasible(point.v)
        scores = self.gram.matrix @ v
        residuals = box.y - scores - point.bias
        losses = np.maximum(box.lower * residuals, box.upper * residuals)
        norm = 0.5 * float(v @ scores)
        primal = norm + float(losses.sum())
        gap = primal - (float(box.y @ v) - norm)
        return Answer(box, Point(v, scores, point.bias, point.sides), residuals, primal, gap)


def _solve(matrix: Array, ridge: float, right: Array) -> Array | None:
    """Solutions of a positive definite system for two right sides, both overwritten."""
    matrix.flat[:: len(matrix) + 1] += ridge
    _, solved, failed = dposv(matrix.T, right.T, lower=1, overwrite_a=True, overwrite_b=True)
    return None if failed else solved.T


def _sign(residuals: Array) -> Sides:
    return np.sign(residuals).astype(np.int8)


def _balancing(box: Box, targets: Array) -> int:
    r"""Instance whose target is the b that minimises :math:`\sum_i \phi_i(t_i - b)`."""
    order = np.argsort(-targets)
    total = np.cumsum((box.upper - box.lower)[order]) + box.lower.sum()
    return int(order[min(int(np.searchsorted(total, 0.0)), len(order) - 1)])
