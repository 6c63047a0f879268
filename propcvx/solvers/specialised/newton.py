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

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program
from propcvx.solvers.answer import Answer
from propcvx.solvers.specialised.rounded import Descent, Losses, Rounded, minimise
from propcvx.solvers.specialised.svm_points import Instances, Point, Start, duals_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SHARE = 0.1
"""Share of the instances that the first Newton steps are taken over."""

QUIET = 0.25
"""Half as many are taken at the next call where the steps went no farther than so much of a region.
"""

SMALLEST = 2000
"""Up to so many instances, all are used at once."""

STRIDES = (64, 8)
"""Without a plane to start from, every 64th instance is solved for first, then every 8th."""

COARSE = 3e-4
"""Relative gap to which those are solved."""

PART = 16
"""From the last plane, every 16th instance is solved for first where many targets are others."""

MANY = 1e-3
"""Share of the targets that are many."""

NO_WORSE = 1.1
"""The last plane is started from if its objective is below so much of that of a bias alone."""

REGION = 1.0
"""Newton steps over the nearest instances stop where these have moved by so much of their reach."""

PATIENCE = 500
"""Newton steps after which the width, which may be too narrow, is the widest again."""

MAX_STEPS = 1000
"""Newton steps of one call."""


@dataclass
class Warm:
    """Where the last call on a program ended; of the targets y, every so many."""

    plane: Array
    scores: Array
    sample: Array
    width: float
    share: float


STRICTEST = 1e-6
"""Newton steps that have been asked for less than this share of the gap will not do better."""


def run_newton(program: Program, options: dict[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual`` to a relative duality gap of ``options["gap"]``."""
    start = perf_counter()
    search = Search(options.get("gap", 1e-8), options.get("max_steps", MAX_STEPS))
    instances = Instances.of(program)
    point = search(instances, warm if isinstance(warm, Warm) else None)
    sample = instances.y[:: STRIDES[0]].copy()
    bias = float(point.plane[instances.features.shape[1] :].sum())
    duals = duals_of(point.above, point.below, bias)
    if not instances.bias:
        del duals["balance"]
    return Answer(
        cp.OPTIMAL if point.within(search.tol) else cp.USER_LIMIT,
        {"v": point.v},
        duals,
        solve_seconds=perf_counter() - start,
        iterations=search.steps,
        warm=Warm(point.plane, point.scores, sample, search.width, search.share),
    )


@dataclass
class Search:
    """One call: its tolerance; the steps, the width and the share of the instances so far."""

    tol: float
    max_steps: int
    steps: int = 0
    width: float = 0.0
    share: float = SHARE

    def __call__(self, instances: Instances, last: Warm | None) -> Point:
        """Solve from the last plane, if it still is better than none, or from coarse to fine."""
        plane, primal = instances.every(max(1, len(instances.y) // SMALLEST)).bias_alone()
        if primal <= 0.0:
            plane, primal = instances.bias_alone()
        if primal <= 0.0:
            return instances.point(plane, np.zeros_like(instances.y))
        if last is not None:
            warm = self._start(instances, last)
            if warm.primal < NO_WORSE * primal:
                return self._descend(instances, warm, self.tol)
            self.width, self.share = 0.0, SHARE
        for stride in STRIDES:
            if len(instances.y) >= stride * SMALLEST:
                part = instances.every(stride)
                plane = self._descend(part, part.start(plane), max(self.tol, COARSE)).plane
                self.share = SHARE
        return self._descend(instances, instances.start(plane), self.tol)

    def _start(self, instances: Instances, last: Warm) -> Start:
        """The last plane or, where many targets are others, the best one for some instances."""
        self.width, self.share = last.width, last.share
        few = len(instances.y) < STRIDES[0] * SMALLEST
        if few or np.mean(instances.y[:: STRIDES[0]] != last.sample) <= MANY:
            return instances.start(last.plane, last.scores)
        part = instances.every(PART)
        plane = self._descend(part, part.start(last.plane), max(self.tol, COARSE)).plane
        self.share = last.share
        return instances.start(plane)

    def _descend(self, instances: Instances, start: Start, tol: float) -> Point:
        """Newton steps over the nearest instances, over ever more where they have to go far."""
        strictness = 0.5
        while True:
            near, reach = _nearest(start.residuals, self.share, self.width)
            losses = instances.losses(near, start)
            descent = self._minimise(losses, start, reach, strictness * tol * start.primal)
            end = descent.end.x
            if descent.moved > 1.0 and self.steps < self.max_steps:
                self.share *= 2
                end = start.plane + (end - start.plane) / descent.moved
            else:
                new = _certified(instances, losses, descent.end, start.v, near)
                strictness /= 4 if self.width > 0.0 else 1
                if new.within(tol) or strictness <= STRICTEST or self.steps >= self.max_steps:
                    if descent.moved <= QUIET:
                        self.share = max(self.share / 2, SMALLEST / len(instances.y))
                    return new
                start = instances.start(start.plane)  # whose v is no longer its own
            start = _lowest(instances, start, end)

    def _minimise(self, losses: Losses, start: Start, reach: float, target: float) -> Descent:
        """Newton steps over some instances, the others linear."""
        width = min(self.width, reach) or min(2.0 * float(np.abs(start.residuals).max()), reach)
        left = min(PATIENCE, self.max_steps - self.steps)
        descent = minimise(losses, start.plane, width, target, left, REGION * reach)
        self.steps += max(descent.steps, 1)
        self.width = 2.0 * descent.end.width if descent.steps < PATIENCE else 0.0
        return descent


def _lowest(instances: Instances, old: Start, plane: Array) -> Start:
    """The plane or, where it is higher than the old one, a lower one between them."""
    new = instances.start(plane)
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
    sample, share = np.sort(distances[:: max(1, n // 2_000)]), max(share, SMALLEST / n)
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
