r"""A smoothed Newton method for the SVM dual with many instances and few features.

``svm_dual`` with any bounds :math:`l \le v \le u` is the dual of

.. math::

    \min_{w, b} \tfrac12 \|w\|^2 + \sum_i \phi_i(r_i), \quad r_i = y_i - w^\top F_i - b, \quad
    \phi_i(r) = \max(l_i r, u_i r),

which is the hinge loss where the bounds are those of a labeling.  The slope of :math:`\phi_i`
jumps from l to u at 0.  *Rounded*, it rises linearly over a width :math:`\mu`; only instances
inside the width have curvature, so a Newton step in the few unknowns (w, b) costs little more than
a product with F.  Where such a step would gain less than the gap that is due to rounding, the width
falls, as much as the gap still has to.  The slopes of the rounded losses are a feasible v, whose
duality gap ends the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.losses import best_offset
from propcvx.programs import Program
from propcvx.programs.structures import moved_in_box
from propcvx.solvers.solution import Answer

# docs/specialised.md has the measurements behind these.
CHUNK = 16384
"""Instances within the width whose rows are copied at a time; they stay in a processor's cache."""

FALL = 0.1, 0.5
"""The width falls at most to a tenth, at least to a half."""

EXACTNESS = 1e-5
"""A minimiser is good enough to read v off if its error is so much of the gap that is asked for:
the gap of v grows as the root of the error."""

WIDEN = 0.03
"""Share of a plane's own gap below which a warm start widens the width."""

MAX_ITER = 500
"""Newton steps of one call."""

MOST_LENGTHS = 100
"""Lengths of one step that are tried."""


@dataclass(frozen=True)
class Warm:
    """Where a call ended: the plane (w, b) for centred features, and the width."""

    plane: Array
    width: float


@dataclass(frozen=True)
class Losses:
    """The piecewise linear losses of all instances.

    Attributes
    ----------
    rows : array of shape (n_instances, rank + 1)
        The centred features and a column of ones, or of zeros without a bias.
    y, lower, upper : array of shape (n_instances,)
    """

    rows: Array
    y: Array
    lower: Array
    upper: Array

    @property
    def bias(self) -> bool:
        """Whether there is one."""
        return bool(self.rows[0, -1])

    @cached_property
    def jump(self) -> Array:
        """By how much each slope jumps."""
        return self.upper - self.lower

    def slopes(self, residuals: Array, width: float) -> Array:
        """Slopes of the rounded losses, in [lower, upper]."""
        slopes = residuals * (1.0 / width)
        slopes += 0.5
        np.clip(slopes, 0.0, 1.0, out=slopes)
        slopes *= self.jump
        slopes += self.lower
        return slopes


@dataclass(frozen=True)
class Rounded:
    r"""The rounded losses at one plane.

    Attributes
    ----------
    plane : array of shape (rank + 1,)
        w and b; b stays 0 without a bias.
    residuals : array of shape (n_instances,)
        :math:`r = y - F w - b`.
    width : float
    inside : array of int
        Instances within the width.
    rounding : float
        Duality gap that is due to the rounding.
    primal : float
        The objective, without rounding.
    descent : array of shape (rank + 1,)
        Minus the gradient of the rounded objective.
    """

    losses: Losses
    plane: Array
    residuals: Array
    width: float
    inside: Indices
    rounding: float
    primal: float
    descent: Array

    @classmethod
    def at(cls, losses: Losses, plane: Array, residuals: Array, width: float) -> Rounded:
        """Round the losses at a plane with known residuals."""
        slopes, near = (
            losses.slopes(residuals, width),
            np.flatnonzero(np.abs(residuals) < width / 2),
        )
        distances, w = np.abs(residuals[near]), np.append(plane[:-1], 0.0)
        rounding = float(losses.jump[near] @ (distances * (0.5 - distances / width)))
        primal = float(slopes @ residuals) + rounding + 0.5 * float(w @ w)
        descent = slopes @ losses.rows - w
        return cls(losses, plane, residuals, width, near, rounding, primal, descent)

    @property
    def error(self) -> float:
        """Duality gap that is due to the plane not being the minimiser yet."""
        w = self.descent[:-1]
        return 0.5 * float(w @ w) + 0.5 * self.width * abs(float(self.descent[-1]))

    def step(self, fall: float = 1.0) -> Array:
        """The Newton step to the minimiser for a width that much smaller.

        Its equations hold while the same instances are within the width; they are scaled to ones on
        the diagonal.
        """
        rows, near = self.losses.rows, self.inside
        curvature = self.losses.jump[near] / (fall * self.width)
        change = (1.0 - fall) * curvature * self.residuals[near]
        descent = self.descent + change @ rows[near] if fall < 1.0 else self.descent
        hessian = np.diag(np.append(np.ones(len(descent) - 1), 0.0))
        for first in range(0, len(near), CHUNK):
            columns = rows.T.take(near[first : first + CHUNK], axis=1)
            hessian += (columns * curvature[first : first + CHUNK]) @ columns.T
        if hessian[-1, -1] == 0.0:  # no bias, or as if one instance were inside, for its scale
            hessian[-1, -1] = self.losses.jump.mean() / (fall * self.width) or 1.0
        scale = 1.0 / np.sqrt(hessian.diagonal())
        hessian *= scale * scale[:, None]
        hessian.flat[:: len(hessian) + 1] += 1e-14  # lest rounding errors make it singular
        return scale * np.linalg.solve(hessian, scale * descent)

    def moved(self, step: Array) -> Rounded:
        """Where a step leads, or about the lowest point of its line if that is far from there.

        There the slope along the line is a twentieth of what it was at the start, or less.
        """
        slope, change = -float(self.descent @ step), self.losses.rows @ step
        low, low_slope, high, high_slope, length = 0.0, slope, np.inf, np.inf, 1.0
        for share in (0.5, *[0.05] * MOST_LENGTHS):
            plane, residuals = self.plane + length * step, self.residuals - length * change
            there = Rounded.at(self.losses, plane, residuals, self.width)
            found = -float(there.descent @ step)
            if abs(found) <= share * abs(slope):
                break
            if found < 0.0:
                low, low_slope = length, found
            else:
                high, high_slope = length, found
            if high_slope <= low_slope:  # nothing but rounding errors
                break
            if high == np.inf:
                length *= 4.0
            else:
                secant = low - low_slope * (high - low) / (high_slope - low_slope)
                length = np.clip(secant, 0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)
        return there

    def narrowed(self, fall: float) -> Rounded:
        """Where the minimiser for a smaller width would be; the same plane if that is nearer."""
        width, step = fall * self.width, self.step(fall)
        residuals = self.residuals - self.losses.rows @ step
        there = Rounded.at(self.losses, self.plane + step, residuals, width)
        if there.error <= there.rounding:
            return there
        return min(there, self.rounded_to(width), key=lambda rounded: rounded.error)

    def rounded_to(self, width: float) -> Rounded:
        """The same plane with another width."""
        return Rounded.at(self.losses, self.plane, self.residuals, width)

    def feasible(self) -> Feasible:
        """The slopes, balanced over the instances within the width, and their gap."""
        losses, near = self.losses, self.inside
        v = losses.slopes(self.residuals, self.width)
        if losses.bias:
            lower, upper = losses.lower[near], losses.upper[near]
            v[near] = moved_in_box(v[near], lower, upper, -v.sum())
            if abs(v.sum()) > 1e-13 * np.abs(v).sum():  # too little is left in their boxes
                v = moved_in_box(v, losses.lower, losses.upper, -v.sum())
        return Feasible.of(losses, v, float(self.plane[-1]))


@dataclass(frozen=True)
class Feasible:
    """A feasible v, the plane of its weights and some b, and the gap between them."""

    v: Array
    bias: float
    residuals: Array
    primal: float
    gap: float

    @classmethod
    def of(cls, losses: Losses, v: Array, bias: float) -> Feasible:
        """The gap of a v, as a sum in which nothing cancels."""
        plane = v @ losses.rows
        plane[-1] = bias
        residuals, w = losses.y - losses.rows @ plane, plane[:-1]
        above = np.maximum(residuals, 0.0)
        below = above - residuals
        primal = 0.5 * float(w @ w) + float(losses.upper @ above - losses.lower @ below)
        gap = float((losses.upper - v) @ above + (v - losses.lower) @ below)
        return cls(v, bias, residuals, primal, gap)

    def within(self, tol: float) -> bool:
        """Whether the gap is at most ``tol`` times the primal objective."""
        return self.gap <= tol * abs(self.primal)


def minimise(
    here: Rounded, tol: float, max_iter: int, ahead: bool
) -> tuple[Feasible, Rounded, int]:
    """Newton steps, the width falling, until some v has a relative gap of ``tol``.

    Where the width falls, a step ``ahead`` goes to where the minimiser would then be.  That needs
    fewer steps and, where C is millions of times what the problem can use, loses all digits: it
    ends early then.

    Returns
    -------
    Feasible
        That v; or of all those seen the one with the lowest primal objective.
    Rounded
        Where the steps ended.
    int
        Their number.
    """
    best: Feasible | None = None
    share = 0.8
    for steps in range(max_iter):
        target = share * tol * abs(here.primal)
        if here.rounding <= target and here.error <= EXACTNESS * target:
            best = _better(best, here.feasible(), tol)
            if best.within(tol) or share < 1e-6:
                return best, here, steps
            if ahead and not best.within(10.0 * tol):  # nothing but rounding errors is left
                break
            share /= 4
        step = here.step()
        gain = 0.5 * float(here.descent @ step)
        lag = gain if ahead or gain <= 0.0 else here.error  # a step ahead mends what is left
        if here.rounding > target and lag <= here.rounding:
            fall = float(np.clip(0.9 * np.sqrt(target / here.rounding), *FALL))
            here = here.narrowed(fall) if ahead else here.rounded_to(fall * here.width)
        elif gain > 0.0:
            here = here.moved(step)
        else:  # nothing but rounding errors is left
            break
    return _better(best, here.feasible(), tol), here, steps + 1


def _better(best: Feasible | None, new: Feasible, tol: float) -> Feasible:
    return new if best is None or new.within(tol) or new.primal < best.primal else best


def run_newton(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual`` to a relative duality gap of ``options["tol"]``.

    ``warm`` is where an earlier call ended.  Where the gap is not reached the status is
    ``"user_limit"``, and the answer the best one seen, which is never worse than w = 0.
    """
    start = perf_counter()
    svm: Any = program.structure
    values = program.values
    losses = Losses(svm.rows, values["y"], values["lower"], values["upper"])
    tol = options["tol"]
    limit = options.get("max_iter", MAX_ITER)
    best, end, steps = minimise(_start(losses, warm), tol, limit, ahead=True)
    if not best.within(tol) and steps < limit:
        best, end, more = minimise(_start(losses, None), tol, limit - steps, ahead=False)
        steps += more
    if not best.within(tol):
        best = _better(best, _without_weights(losses), tol)
    above = np.maximum(best.residuals, 0.0)
    duals = {"lower": above - best.residuals, "upper": above}
    if svm.bias:
        duals["balance"] = np.asarray(best.bias - svm.offset @ (best.v @ svm.centred))
    return Answer(
        cp.OPTIMAL if best.within(tol) else cp.USER_LIMIT,
        {"v": best.v},
        duals,
        solve_seconds=perf_counter() - start,
        iterations=steps,
        gap=max(best.gap, 0.0) / (abs(best.primal) or 1.0),
        warm=Warm(end.plane, end.width),
    )


def _start(losses: Losses, warm: Any) -> Rounded:
    """The plane of an earlier call, or w = 0 with every instance within the width.

    The earlier width is too narrow for a plane that is far from the minimiser now; it is widened
    until the gap due to rounding, about its square, is a share of that due to the plane.
    """
    plane = np.zeros(losses.rows.shape[1])
    known = isinstance(warm, Warm) and len(warm.plane) == len(plane)
    if known:
        plane = warm.plane
    elif losses.bias:
        plane[-1] = 0.5 * (losses.y.min() + losses.y.max())
    widest = 2.5 * float(np.abs(losses.y - plane[-1]).max()) or 1.0
    width = warm.width if known else widest
    start = Rounded.at(losses, plane, losses.y - losses.rows @ plane, width)
    wanted = WIDEN * start.error
    if start.rounding >= wanted or width >= widest:
        return start
    return start.rounded_to(min(width * np.sqrt(wanted / max(start.rounding, 1e-300)), widest))


def _without_weights(losses: Losses) -> Feasible:
    """The v nearest to 0, and the best bias for w = 0."""
    v = np.clip(0.0, losses.lower, losses.upper)
    if not losses.bias:
        return Feasible.of(losses, v, 0.0)
    v = moved_in_box(v, losses.lower, losses.upper, -v.sum())
    features = losses.rows[:, :-1]
    residuals = losses.y - features @ (v @ features)
    return Feasible.of(losses, v, best_offset(residuals, losses.lower, losses.upper))
