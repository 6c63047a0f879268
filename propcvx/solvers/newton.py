r"""A smoothed Newton method for the SVM dual with few features and many instances.

``svm_dual`` with any bounds :math:`l \le v \le u` is the dual of

.. math::

    \min_{w, b} \tfrac12 \|w\|^2 + \sum_i \phi_i(r_i), \quad r_i = y_i - w^\top F_i - b, \quad
    \phi_i(r) = \max(l_i r, u_i r),

which is the hinge loss where the bounds are those of a labeling.  Newton steps in the few
unknowns (w, b) minimise it with the kink of :math:`\phi_i` rounded over a width
:math:`\mu`, driven down until the gap between the two programs is small enough; the slope of the
rounded loss is a feasible v.  Far from its kink an instance is linear, so the steps are taken over
the instances near theirs, and one pass over all of them gives the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program
from propcvx.solvers.rounded import Descent, Losses, Rounded, minimise
from propcvx.solvers.through_cvxpy import Run

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SHARE = 0.1
"""Share of the instances that the first Newton steps are taken over."""

SMALLEST = 2000
"""Up to so many instances, all are used at once."""

STRIDES = (64, 8)
"""Without a plane to start from, every 64th instance is solved for first, then every 8th."""

COARSE = 3e-4
"""Relative gap to which those are solved."""

REGION = 0.5
"""Newton steps over the nearest instances stop where these have moved by so much of their reach."""

PARAMETERS = ("y", "lower", "upper")

MAX_STEPS = 500
"""Newton steps of one call."""


@dataclass
class Warm:
    """Where the last call on a program ended."""

    plane: Array
    scores: Array
    width: float


_LAST: WeakKeyDictionary[cp.Problem, Warm] = WeakKeyDictionary()


def is_svm(program: Program) -> bool:
    """``svm_dual``, with or without a bias."""
    return program.name == "svm_dual"


@dataclass(frozen=True)
class Point:
    r"""Primal and dual feasible points of one problem.

    Attributes
    ----------
    plane : array of shape (rank,) or (rank + 1,)
        w, and the bias last where there is one.
    v : array of shape (n_instances,)
        Feasible for the dual; its weights :math:`F^\top v` are w.
    residuals : array of shape (n_instances,)
        r at the plane.
    primal, gap : float
        The primal objective, and by how much it exceeds the dual one.
    """

    plane: Array
    v: Array
    residuals: Array
    primal: float
    gap: float

    def within(self, tol: float) -> bool:
        """Whether the gap is at most ``tol`` times the primal objective."""
        return self.gap <= tol * self.primal


@dataclass(frozen=True)
class Instances:
    """The data of one ``svm_dual`` and what is summed over all instances.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    y, lower, upper : arrays of shape (n_instances,)
    bias : bool
        Whether v sums to zero.
    """

    features: Array
    y: Array
    lower: Array
    upper: Array
    bias: bool

    @classmethod
    def of(cls, program: Program) -> Instances:
        """Read them off a program whose parameters are set."""
        y, lower, upper = (np.asarray(program.parameters[k].value) for k in PARAMETERS)
        return cls(program.constants["features"], y, lower, upper, "balance" in program.constraints)

    def residuals(self, plane: Array) -> Array:
        """:math:`r = y - F w - b`."""
        scores = self.features @ plane[: self.features.shape[1]]
        if self.bias:
            scores += plane[-1]
        return np.subtract(self.y, scores, out=scores)

    def slopes(self, residuals: Array) -> Array:
        r""":math:`v_i` at which :math:`\phi_i(r_i) = v_i r_i`."""
        slopes = self.upper - self.lower
        slopes *= residuals > 0.0
        slopes += self.lower
        return slopes

    def pull(self, v: Array) -> Array:
        r""":math:`F^\top v`, and the sum of v where there is a bias."""
        pull = v @ self.features
        return np.append(pull, v.sum()) if self.bias else pull

    def losses(self, near: Indices, point: Point) -> tuple[Losses, Array]:
        """Losses of the instances ``near``, all others linear; and the slopes of those."""
        v = self.slopes(point.residuals)
        v[near] = 0.0
        rank = self.features.shape[1]
        rows, ridge = np.ones((len(near), rank + self.bias)), np.ones(rank + self.bias)
        np.take(self.features, near, axis=0, out=rows[:, :rank], mode="clip")
        ridge[rank:] = 0.0
        y, lower, upper = self.y[near], self.lower[near], self.upper[near]
        return Losses(rows, y, lower, upper, ridge, self.pull(v)), v

    def primal(self, plane: Array, residuals: Array) -> float:
        """The primal objective."""
        w = plane[: self.features.shape[1]]
        losses = self.lower * residuals
        np.maximum(losses, self.upper * residuals, out=losses)
        return float(0.5 * w @ w + losses.sum())

    def point(self, plane: Array, v: Array) -> Point:
        """A feasible v, the plane of its weights and some bias, and the gap between them."""
        w, residuals = plane[: self.features.shape[1]], self.residuals(plane)
        primal = self.primal(plane, residuals)
        return Point(plane, v, residuals, primal, primal - float(self.y @ v - 0.5 * w @ w))

    def start(self, plane: Array, scores: Array | None = None) -> Point:
        """A plane, and no dual point yet; its scores where they are known."""
        residuals = self.residuals(plane) if scores is None else self.y - scores
        return Point(plane, self.y[:0], residuals, self.primal(plane, residuals), np.inf)

    def bias_alone(self) -> tuple[Array, float]:
        """Of the planes with w = 0 the best one, and its objective; without a bias, w = 0."""
        plane = np.zeros(self.features.shape[1] + self.bias)
        if not self.bias:
            return plane, self.primal(plane, self.y)
        least, most = self.y.min(), self.y.max()
        above, below = self.upper @ (self.y - least), self.lower @ (self.y - most)
        plane[-1] = least if above < below else most
        return plane, float(min(above, below))

    def every(self, step: int) -> Instances:
        """Every so many instances, each counting for so many."""
        lower, upper = step * self.lower[::step], step * self.upper[::step]
        return Instances(self.features[::step], self.y[::step], lower, upper, self.bias)


def run_newton(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``svm_dual`` to a relative duality gap of ``options["gap"]``.

    The plane of the last call is where the next call on the same program starts.  ``max_steps``
    limits the Newton steps; where it is reached, the status is ``"user_limit"``.  ``Run.gap`` is
    the gap of the answer, status or not.
    """
    start = perf_counter()
    search = Search(options.get("gap", 1e-8), options.get("max_steps", MAX_STEPS))
    instances = Instances.of(program)
    _store(program, None)
    point = search(instances, _LAST.get(program.problem))
    _LAST[program.problem] = Warm(point.plane, instances.y - point.residuals, search.width)
    _store(program, point)
    status = cp.OPTIMAL if point.within(search.tol) else cp.USER_LIMIT
    return Run(status, 0.0, perf_counter() - start, search.steps, max(point.gap, 0.0))


@dataclass
class Search:
    """One call: its tolerance, and the Newton steps and the width of the rounding so far."""

    tol: float
    max_steps: int
    steps: int = 0
    width: float = 0.0

    def __call__(self, instances: Instances, last: Warm | None) -> Point:
        """Solve from the last plane, if it still is better than none, or from coarse to fine."""
        plane, primal = instances.bias_alone()
        if primal <= 0.0:
            return replace(instances.start(plane), v=np.zeros_like(instances.y), gap=0.0)
        if last is not None:
            warm = instances.start(last.plane, last.scores)
            if warm.primal < primal:
                self.width = last.width
                return self._descend(instances, warm, self.tol)
        for stride in STRIDES:
            if len(instances.y) >= stride * SMALLEST:
                part = instances.every(stride)
                plane = self._descend(part, part.start(plane), max(self.tol, COARSE)).plane
        return self._descend(instances, instances.start(plane), self.tol)

    def _descend(self, instances: Instances, point: Point, tol: float) -> Point:
        """Newton steps over the nearest instances, over ever more where they have to go far."""
        share, strictness, new = SHARE, 0.5, point
        while not new.within(tol) and self.steps < self.max_steps:
            near, reach = _nearest(point.residuals, share, self.width)
            losses, v = instances.losses(near, point)
            descent = self._minimise(losses, point, reach, strictness * tol * point.primal)
            new = _certified(instances, losses, descent.end, v, near)
            if not new.within(tol):
                point = _lowest(instances, point, instances.start(descent.end.x))
                share, strictness = (2 * share, 0.5) if descent.left else (share, strictness / 4)
        return new

    def _minimise(self, losses: Losses, point: Point, reach: float, target: float) -> Descent:
        """Newton steps over some instances, the others linear."""
        width = min(self.width, reach) or min(2.0 * float(np.abs(point.residuals).max()), reach)
        left = self.max_steps - self.steps
        descent = minimise(losses, point.plane, width, target, left, REGION * reach)
        self.steps += max(descent.steps, 1)
        self.width = 2.0 * descent.end.width
        return descent


def _lowest(instances: Instances, old: Point, new: Point) -> Point:
    """The new point or, where it is higher than the old one, a lower one between them."""
    if new.primal <= old.primal:
        return new
    step, change = new.plane - old.plane, new.residuals - old.residuals
    w, step_w = (plane[: instances.features.shape[1]] for plane in (old.plane, step))
    low, high = 0.0, 1.0
    for _ in range(10):
        t = (low + high) / 2
        slope = (w + t * step_w) @ step_w
        if slope + instances.slopes(old.residuals + t * change) @ change < 0:
            low = t
        else:
            high = t
    return instances.start(old.plane + low * step) if low > 0 else old


def _nearest(residuals: Array, share: float, least: float) -> tuple[Indices, float]:
    """About that share of the instances, those nearest to their kink, and how near others are."""
    n, distances = len(residuals), np.abs(residuals)
    sample, share = np.sort(distances[:: max(1, n // 10_000)]), max(share, SMALLEST / n)
    last = min(int(share * len(sample)), len(sample) - 1)
    radius = max(float(sample[last]), least)
    if share >= 1.0 or radius >= sample[-1] or radius == 0.0:
        return np.arange(n), np.inf
    return np.flatnonzero(distances <= radius), float(
        sample[np.searchsorted(sample, radius, "right")]
    )


def _certified(
    instances: Instances, losses: Losses, end: Rounded, v: Array, near: Indices
) -> Point:
    """The feasible point of Newton's slopes of the instances ``near`` and the v of all others.

    So that v sums to zero, the room that ``near`` or, if that is too little, all have is used.
    """
    rank, v_near = instances.features.shape[1], end.v
    v[near] = v_near
    excess = float(v.sum()) if instances.bias else 0.0
    room = (losses.lower if excess > 0 else losses.upper) - v_near
    if abs(excess) <= abs(room.sum()):
        v[near] = v_near = v_near - room * (excess / (room.sum() or 1.0))
        weights = losses.pull[:rank] + v_near @ losses.rows[:, :rank]
    else:
        room = (instances.lower if excess > 0 else instances.upper) - v
        v -= room * (excess / room.sum())
        weights = v @ instances.features
    return instances.point(np.append(weights, end.x[rank:]), v)


def _store(program: Program, point: Point | None) -> None:
    """Leave v and the duals in the program, or take out those of an earlier call."""
    duals: dict[str, Any] = dict.fromkeys(program.constraints)
    if point is not None:
        duals["lower"] = np.maximum(-point.residuals, 0.0)
        duals["upper"] = np.maximum(point.residuals, 0.0)
        if "balance" in duals:
            duals["balance"] = np.asarray(point.plane[-1])
    program.variables["v"].save_value(None if point is None else point.v)
    for name, dual in duals.items():
        program.constraints[name].dual_variables[0].save_value(dual)
