r"""A smoothed Newton method for the SVM dual with many instances and few features.

``svm_dual`` with any bounds :math:`l \le v \le u` is the dual of

.. math::

    \min_{w, b} \tfrac12 \|w\|^2 + \sum_i \phi_i(r_i), \quad r_i = y_i - w^\top F_i - b, \quad
    \phi_i(r) = \max(l_i r, u_i r),

which is the hinge loss for the bounds of a labeling.  The slope of :math:`\phi_i`
jumps from l to u at 0.  *Rounded*, it rises linearly over a width :math:`\mu`; only instances
inside the width have curvature, so a Newton step in the few unknowns (w, b) costs little more than
a product with F.  Where such a step would gain less than the gap that is due to rounding, the width
falls, as much as the gap still has to.  The slopes of the rounded losses are a feasible v, whose
duality gap ends the search.

On cod-rna.t, 271,617 instances of eight features, an SVM with a gap of 1e-4 takes a fifth of the
time of one ``LinearSVC``, and from the last hyperplane a twelfth to a sixth.  InvCal with 10,000
bags of 20 features takes 0.2 s and 40 MB, through CVXPY and PIQP 5.5 s and 3 GB.

The limit is C in units of the features: C times their mean square.  Up to 1e8 all of 300 problems
reached a gap of 1e-6, under five kernels of OpenBLAS (docs/solvers.md).  Beyond it ``v @ F`` rounds
w to about 1e-16 times C; the gap is at most 3e-6 at 1e9, 7e-5 at 1e10 and 5e-3 at 1e12, and the
status ``user_limit``.  A hard margin, whose v is smaller than C, has no such limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import solve_triangular

from propcvx.arrays import Array, Indices
from propcvx.programs import Program, svm_dual_parameters
from propcvx.programs.structures import SVMDual, moved_in_box
from propcvx.solvers.solver import Solution

FALL = 0.1, 0.5
"""The width falls at most to a tenth, at least to a half.  Neighboring choices differ by a step or
two in eight; 0.02 fails on one problem in 40."""

EXACTNESS = 1e-5
"""A minimizer is good enough to read v off if its error is so much of the gap that is asked for:
the gap of v grows as the root of the error.  1e-8 makes no difference; from 1e-3 on, v is computed
too early, and once more later."""

HARD = 1e4
"""Bounds of v, in units of the features, from which the search has several stages."""

WIDEN = 0.03
"""Fraction of a hyperplane's gap below which a warm start widens the width.  With 0.01 to 0.1, 12
SVMs of cod-rna.t take 190 to 194 passes over the instances, without widening 375."""

STAGE = 0.3
"""Fraction of the tolerance that a stage is solved to, and by which its v is then multiplied."""

LEAST = 1e-3
"""Fraction of the tolerance below which a smaller width makes no v better."""

FEW = 8
"""Instances per unknown up to which their rows are factored themselves, not the sums of their
products, which would lose half of the digits."""

MAX_ITER = 500
"""Largest number of Newton steps of one call."""

MOST_LENGTHS = 100
"""Number of lengths of one step that are tried."""


@dataclass(frozen=True)
class WarmStart:
    """The end of a call: the hyperplane (w, b) for centered features, and the width."""

    plane: Array
    width: float


@dataclass(frozen=True)
class Losses:
    """The piecewise linear losses of instances.

    Attributes
    ----------
    rows : array of shape (n_instances, rank + 1)
        The centered features and a column of ones, or of zeros without a bias.
    y, lower, upper : array of shape (n_instances,)
    """

    rows: Array
    y: Array
    lower: Array
    upper: Array

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.rows.shape[1] - 1

    @property
    def bias(self) -> bool:
        """Whether there is a bias."""
        return bool(self.rows[0, -1])

    @cached_property
    def jump(self) -> Array:
        """Jump of each slope."""
        return self.upper - self.lower

    def within(self, bounds: float) -> Losses:
        """Clip the slopes of the losses to a size."""
        lower, upper = np.maximum(self.lower, -bounds), np.minimum(self.upper, bounds)
        return replace(self, lower=lower, upper=upper)

    @property
    def middle(self) -> float:
        """The bias to start from with w = 0."""
        return 0.5 * float(self.y.min() + self.y.max()) if self.bias else 0.0

    def residuals(self, plane: Array) -> Array:
        """Compute residuals r that keep the digits of small weights if the bias equals a label."""
        return self.y - self.bias * plane[-1] - self.rows[:, :-1] @ plane[:-1]

    def slopes(self, residuals: Array, width: float) -> Array:
        """Compute the slopes of the rounded losses, in [lower, upper]."""
        slopes = residuals * (1.0 / width)
        slopes += 0.5
        np.clip(slopes, 0.0, 1.0, out=slopes)
        slopes *= self.jump
        slopes += self.lower
        return slopes

    def feasible(self, here: Rounded) -> FeasibleDual:
        """Balance the slopes over the instances within the width, and compute their gap."""
        near, v = here.near, self.slopes(here.residuals, here.width)
        if self.bias:
            v[near] = moved_in_box(v[near], self.lower[near], self.upper[near], -v.sum())
        return self.balanced(v, here.plane[-1])

    def balanced(self, v: Array, bias: float) -> FeasibleDual:
        """Compute the nearest feasible v, and its gap with a bias."""
        v = np.clip(v, self.lower, self.upper)
        if self.bias and abs(v.sum()) > 1e-13 * np.abs(v).sum():
            v = moved_in_box(v, self.lower, self.upper, -v.sum())
        return FeasibleDual.from_v(self, v, np.append(v @ self.rows[:, :-1], bias))


@dataclass(frozen=True)
class Rounded:
    r"""The rounded losses at one hyperplane.

    Attributes
    ----------
    losses : Losses
    plane : array of shape (rank + 1,)
        w and b; b stays 0 without a bias.
    width : float
    residuals : array of shape (n_instances,)
    near : array of int
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
    width: float
    residuals: Array
    near: Indices
    rounding: float
    primal: float
    descent: Array

    @classmethod
    def from_plane(cls, losses: Losses, plane: Array, width: float, residuals: Array) -> Rounded:
        """Round the losses at a hyperplane with these residuals."""
        near, w = np.flatnonzero(np.abs(residuals) < width / 2), np.append(plane[:-1], 0.0)
        slopes, distances = losses.slopes(residuals, width), np.abs(residuals[near])
        rounding = float(losses.jump[near] @ (distances * (0.5 - distances / width)))
        primal = float(slopes @ residuals) + rounding + 0.5 * float(w @ w)
        descent = slopes @ losses.rows - w
        return cls(losses, plane, width, residuals, near, rounding, primal, descent)

    @property
    def error(self) -> float:
        """Duality gap that is due to the hyperplane not being the minimizer yet."""
        w = self.descent[:-1]
        return 0.5 * float(w @ w) + 0.5 * self.width * abs(float(self.descent[-1]))

    @cached_property
    def curvature(self) -> tuple[Array, Array]:
        """A root of the curvature times the width, and the sums of residuals times rows.

        Both are of the instances within the width, times their jumps.
        """
        jump, rows = self.losses.jump[self.near], self.losses.rows[self.near]
        pull, rows = (jump * self.residuals[self.near]) @ rows, np.sqrt(jump)[:, None] * rows
        if len(rows) <= FEW * rows.shape[1]:
            return np.asarray(np.linalg.qr(rows, mode="r")), pull
        squares, axes = np.linalg.eigh(rows.T @ rows)
        return np.sqrt(np.maximum(squares, 0.0))[:, None] * axes.T, pull

    def step(self, fall: float = 1.0) -> Array:
        """Compute the Newton step to the minimizer for a width smaller by the factor ``fall``.

        Its equations hold while the same instances are within the width.  A root of their matrix,
        scaled to columns of length one, is factored: for a large C the weights' own curvature of
        one would be lost in the matrix itself.
        """
        root, pull = self.curvature
        width = fall * self.width
        descent = self.descent + (1.0 - fall) / width * pull
        own = np.eye(len(descent))
        own[-1, -1] = 0.0
        if not root[:, -1].any():  # no bias, or as if one instance were inside, for its scale
            mean_jump = float(self.losses.jump.sum()) / max(1, len(self.losses.jump))
            own[-1, -1] = np.sqrt(mean_jump / width) or 1.0
        stacked = np.vstack([root / np.sqrt(width), own])
        scale = 1.0 / np.linalg.norm(stacked, axis=0)
        triangle = np.linalg.qr(scale * stacked, mode="r")
        half = solve_triangular(triangle, scale * descent, trans=1)
        return scale * solve_triangular(triangle, half)

    def line(self, step: Array, width: float) -> Callable[[float], Rounded]:
        """Return the losses rounded with a width as a function of the length of a step."""
        change = self.losses.rows @ step
        return lambda t: Rounded.from_plane(
            self.losses, self.plane + t * step, width, self.residuals - t * change
        )

    def search_line(self, step: Array) -> Rounded:
        """Take a step, or go to about the lowest point of its line if that is far from its end.

        There the slope along the line is a twentieth of what it was at the start, or less.
        """
        slope, along = -float(self.descent @ step), self.line(step, self.width)
        low, low_slope, high, high_slope, length = 0.0, slope, np.inf, np.inf, 1.0
        for fraction in (0.5, *[0.05] * MOST_LENGTHS):
            there = along(length)
            new_slope = -float(there.descent @ step)
            if abs(new_slope) <= fraction * abs(slope):
                break
            if new_slope < 0.0:
                low, low_slope = length, new_slope
            else:
                high, high_slope = length, new_slope
            if high_slope <= low_slope:  # nothing but rounding errors
                break
            if high == np.inf:
                length *= 4.0
            else:
                secant = low - low_slope * (high - low) / (high_slope - low_slope)
                length = np.clip(secant, 0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)
        return there

    def narrow(self, fall: float) -> Rounded:
        """Predict the minimizer for a smaller width; keep the hyperplane if that is nearer."""
        width = fall * self.width
        there = self.line(self.step(fall), width)(1.0)
        if there.error <= there.rounding:
            return there
        return min(there, self.with_width(width), key=lambda rounded: rounded.error)

    def with_width(self, width: float) -> Rounded:
        """Round the losses at the same hyperplane with another width."""
        return Rounded.from_plane(self.losses, self.plane, width, self.residuals)


@dataclass(frozen=True)
class FeasibleDual:
    """A feasible v, the hyperplane of its weights and some b, and the gap between them."""

    plane: Array
    primal: float
    gap: float
    v: Array
    residuals: Array

    @classmethod
    def from_v(cls, losses: Losses, v: Array, plane: Array) -> FeasibleDual:
        """Compute the gap of a v as a sum without cancellation."""
        residuals, w = losses.residuals(plane), plane[:-1]
        excess = np.maximum(residuals, 0.0)
        shortfall = excess - residuals
        primal = 0.5 * float(w @ w) + float(losses.upper @ excess - losses.lower @ shortfall)
        gap = float((losses.upper - v) @ excess + (v - losses.lower) @ shortfall)
        return cls(plane, primal, gap, v, residuals)

    @property
    def relative_gap(self) -> float:
        """The gap over the primal objective."""
        return max(self.gap, 0.0) / (abs(self.primal) or 1.0)

    def within(self, tol: float) -> bool:
        """Check whether the relative gap is at most ``tol``."""
        return self.relative_gap <= tol


def search(
    losses: Losses, warm: WarmStart | None, tol: float, limit: int
) -> tuple[FeasibleDual, Rounded, int]:
    """Search from the end of an earlier call; if that fails, from w = 0 in stages.

    Large bounds of v are reached in stages.  The v of a hard margin is within smaller bounds, too:
    multiplied by a little more than one it leaves no loss.

    Returns
    -------
    FeasibleDual
        The v with the smallest relative gap.
    Rounded
        Where the steps ended.
    int
        The number of steps.
    """
    best, steps, stretch = None, 0, 1.0 + STAGE * tol
    if warm is not None:
        best, last, steps = minimize(_start(losses, warm), tol, limit)
        if best.within(tol):
            return best, last, steps
    warm = None
    for bounds in _stages(losses):
        inner = _start(losses.within(bounds), warm)
        solution, last, more = minimize(inner, STAGE * tol, limit - steps)
        steps, warm = steps + more, WarmStart(last.plane, last.width)
        larger = losses.balanced(stretch * solution.v, stretch * solution.plane[-1])
        if larger.within(tol):
            return larger, last, steps
    solution, last, more = minimize(_start(losses, warm), tol, limit - steps)
    return _smaller_gap(best, solution), last, steps + more


def _stages(losses: Losses) -> list[float]:
    """Return the bounds of v that are reached before the largest."""
    widest = float(np.abs([losses.lower, losses.upper]).max(initial=0.0))
    ratio = widest * (float(np.mean(np.square(losses.rows[:, :-1]))) or 1.0) / HARD
    return [widest / 100.0**n for n in range(int(np.log(max(ratio, 1.0)) / np.log(100.0)), 0, -1)]


def minimize(here: Rounded, tol: float, max_iter: int) -> tuple[FeasibleDual, Rounded, int]:
    """Take Newton steps with falling width until some v has a relative gap of ``tol``.

    Returns
    -------
    FeasibleDual
        The v with the smallest relative gap of those seen.
    Rounded
        Where the steps ended.
    int
        The number of steps.
    """
    best: FeasibleDual | None = None
    fraction, steps = 0.8, -1
    for steps in range(max_iter):
        target = fraction * tol * abs(here.primal)
        if here.rounding <= target and here.error <= EXACTNESS * target:
            before, best = best, _smaller_gap(best, here.losses.feasible(here))
            if best.within(tol) or fraction < LEAST:
                return best, here, steps
            if before is not None and best.relative_gap > 0.5 * before.relative_gap:
                fraction /= 4
        step = here.step()
        gain = 0.5 * float(here.descent @ step)
        if here.rounding > target and gain <= here.rounding:
            fall = float(np.clip(0.9 * np.sqrt(target / here.rounding), *FALL))
            here = here.narrow(fall)
        else:
            there = here.search_line(step) if gain > 0.0 else here
            if np.array_equal(there.descent, here.descent):
                break
            here = there
    return _smaller_gap(best, here.losses.feasible(here)), here, steps + 1


def _smaller_gap(best: FeasibleDual | None, new: FeasibleDual) -> FeasibleDual:
    return new if best is None or new.relative_gap < best.relative_gap else best


def run_on_svm(
    answer: Callable[..., Solution], program: Program, options: Mapping[str, Any], warm: Any
) -> Solution:
    """Solve ``svm_dual`` by a function, and by it a restricted master over one labeling."""
    structure: Any = program.structure
    if isinstance(structure, SVMDual):
        return answer(structure, program.values, options, warm)
    (labeling,) = np.asarray(structure.labelings, dtype=np.float64)
    values = svm_dual_parameters(labeling, structure.C)
    solution = answer(SVMDual(structure.features, bias=False), values, options, warm)
    variables, duals = structure.answer(labeling * solution.variables["v"], np.ones(1))
    return replace(solution, variables=variables, duals=duals)


def run_newton_on_means(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    r"""Solve ``inv_cal_dual``, which is the problem of ``svm_dual`` with every bag twice.

    :math:`v = (a, -a^*)` has the bounds :math:`[0, C_p]` and :math:`[-C_p, 0]`, and the targets are
    :math:`\tau - \epsilon` and :math:`\tau + \epsilon`.
    """
    structure: Any = program.structure
    values, n_bags = program.values, len(structure.bag_means)
    target, tube = values["target"], values["epsilon"]
    box = np.broadcast_to(values["C_p"], n_bags)
    values_twice = {
        "y": np.concatenate([target - tube, target + tube]),
        "lower": np.concatenate([np.zeros(n_bags), -box]),
        "upper": np.concatenate([box, np.zeros(n_bags)]),
    }
    twice = SVMDual(np.vstack([structure.bag_means, structure.bag_means]), bias=True)
    answer = solve_newton(twice, values_twice, options, warm)
    (a, negated), (low, lowest), (top, highest) = (
        np.split(both, 2)
        for both in (answer.variables["v"], answer.duals["lower"], answer.duals["upper"])
    )
    bounds = {"a_lower": low, "a_upper": top, "a_star_lower": highest, "a_star_upper": lowest}
    duals = {**bounds, "balance": answer.duals["balance"]}
    return replace(answer, variables={"a": a, "a_star": -negated}, duals=duals)


def solve_newton(
    svm: Any, values: Mapping[str, Array], options: Mapping[str, Any], warm: Any
) -> Solution:
    """Solve ``svm_dual`` to a relative duality gap of ``options["tol"]``.

    ``warm`` is the end of an earlier call.  If the gap is not reached, the status is
    ``"user_limit"``, and the solution is the v with the smallest gap.
    """
    losses, tol = Losses(svm.rows, values["y"], values["lower"], values["upper"]), options["tol"]
    is_usable = isinstance(warm, WarmStart) and len(warm.plane) == losses.rank + 1
    best, last, steps = search(
        losses, warm if is_usable else None, tol, options.get("max_iter", MAX_ITER)
    )
    excess = np.maximum(best.residuals, 0.0)
    duals = {"lower": excess - best.residuals, "upper": excess}
    if svm.bias:
        duals["balance"] = np.asarray(best.plane[-1] - svm.offset @ (best.v @ svm.centered))
    return Solution(
        cp.OPTIMAL if best.within(tol) else cp.USER_LIMIT,
        {"v": best.v},
        duals,
        iterations=steps,
        gap=best.relative_gap,
        warm_start=WarmStart(last.plane, last.width),
    )


def _start(losses: Losses, warm: WarmStart | None) -> Rounded:
    """Return the hyperplane of an earlier call, or w = 0 with every instance within the width.

    The earlier width is too narrow for a hyperplane that is now far from the minimizer.  It is
    widened until the gap due to rounding, about its square, is a fraction of the gap due to the
    hyperplane.
    """
    plane = np.append(np.zeros(losses.rank), losses.middle) if warm is None else warm.plane
    residuals = losses.residuals(plane)
    widest = 2.5 * float(np.abs(losses.y - losses.bias * plane[-1]).max()) or 1.0
    width = widest if warm is None else warm.width
    start = Rounded.from_plane(losses, plane, width, residuals)
    target = WIDEN * start.error - np.finfo(float).eps * abs(start.primal)
    if start.rounding >= target or width >= widest:
        return start
    least = target * (width / widest) ** 2
    return start.with_width(width * np.sqrt(target / max(start.rounding, least)))
