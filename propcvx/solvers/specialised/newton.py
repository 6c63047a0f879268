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

On cod-rna.t, 271,617 instances of eight features, an SVM with a gap of 1e-4 takes a fifth of the
time of one ``LinearSVC``, and from the last plane a twelfth to a sixth.  InvCal with 10,000 bags of
20 features takes 0.2 s and 40 MB, through CVXPY and PIQP 5.5 s and 3 GB.  Of 288 problems, with
features and C scaled by 1e-6 to 1e6 and offsets of up to 1e6 spreads, all reached a gap of 1e-7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.labelings.losses import best_offset
from propcvx.programs import Program, svm_dual_parameters
from propcvx.programs.structures import SVMDual, moved_in_box
from propcvx.solvers.solution import Answer

FALL = 0.1, 0.5
"""The width falls at most to a tenth, at least to a half.  Neighbouring choices differ by a step or
two in eight; 0.02 fails on one problem in 40."""

EXACTNESS = 1e-5
"""A minimiser is good enough to read v off if its error is so much of the gap that is asked for:
the gap of v grows as the root of the error.  1e-8 makes no difference; from 1e-3 on, v is computed
too early, and once more later."""

WIDEN = 0.03
"""Share of a plane's own gap below which a warm start widens the width.  With 0.01 to 0.1, 12 SVMs
of cod-rna.t take 190 to 194 passes over the instances, without widening 375."""

MAX_ITER = 500
"""Newton steps of one call.  Of 800 problems the few that reach it have a C far beyond what the
data can use, and report ``user_limit``."""

MOST_LENGTHS = 100
"""Lengths of one step that are tried."""


@dataclass(frozen=True)
class Warm:
    """Where a call ended: the plane (w, b) for centred features, and the width."""

    plane: Array
    width: float


@dataclass(frozen=True)
class Losses:
    """The piecewise linear losses of instances in memory.

    The same sums of instances that are elsewhere do as well: what the search asks of this class is
    ``at``, ``line``, ``curvature``, ``feasible``, ``without_weights``, ``rank``,
    ``mean_jump``, ``middle`` and ``farthest``.

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
    def rank(self) -> int:
        """Number of features."""
        return self.rows.shape[1] - 1

    @property
    def bias(self) -> bool:
        """Whether there is one."""
        return bool(self.rows[0, -1])

    @cached_property
    def jump(self) -> Array:
        """By how much each slope jumps."""
        return self.upper - self.lower

    @property
    def mean_jump(self) -> float:
        """The mean of these."""
        return float(self.jump.sum()) / max(1, len(self.jump))

    @property
    def middle(self) -> float:
        """The bias to start from with w = 0."""
        return 0.5 * float(self.y.min() + self.y.max()) if self.bias else 0.0

    def farthest(self, bias: float) -> float:
        """The largest residual for w = 0."""
        return float(np.abs(self.y - bias).max())

    def slopes(self, residuals: Array, width: float) -> Array:
        """Slopes of the rounded losses, in [lower, upper]."""
        slopes = residuals * (1.0 / width)
        slopes += 0.5
        np.clip(slopes, 0.0, 1.0, out=slopes)
        slopes *= self.jump
        slopes += self.lower
        return slopes

    def at(self, plane: Array, width: float, residuals: Array | None = None) -> Rounded:
        """Round the losses at a plane, with the residuals :math:`r = y - F w - b` if known."""
        residuals = self.y - self.rows @ plane if residuals is None else residuals
        near = np.flatnonzero(np.abs(residuals) < width / 2)
        sums = self.sums(residuals, width, near)
        few = not self.bias and 2 * len(near) <= self.rank
        return (FewNear if few else Rounded).of(self, plane, width, *sums, (residuals, near))

    def sums(self, residuals: Array, width: float, near: Indices) -> tuple[float, float, Array]:
        """Sums of the losses, of what the rounding adds to the gap, and of slopes times rows."""
        slopes, distances = self.slopes(residuals, width), np.abs(residuals[near])
        rounding = float(self.jump[near] @ (distances * (0.5 - distances / width)))
        return float(slopes @ residuals) + rounding, rounding, slopes @ self.rows

    def line(self, here: Rounded, step: Array, width: float) -> Callable[[float], Rounded]:
        """What is found with a width after any length of a step."""
        residuals, change = here.state[0], self.rows @ step
        return lambda t: self.at(here.plane + t * step, width, residuals - t * change)

    def curvature(self, here: Rounded) -> tuple[Array, Array]:
        """Sums over the instances within the width, times their jumps.

        They are of the products of the rows with themselves, and with the residuals.
        """
        return self.products(*here.state)

    def products(self, residuals: Array, near: Indices) -> tuple[Array, Array]:
        """The same for any residuals and instances."""
        jump, rows = self.jump[near], self.rows[near]
        return rows.T @ (jump[:, None] * rows), (jump * residuals[near]) @ rows

    def feasible(self, here: Rounded) -> Feasible:
        """The slopes, balanced over the instances within the width, and their gap."""
        residuals, near = here.state
        v = self.slopes(residuals, here.width)
        if self.bias:
            lower, upper = self.lower[near], self.upper[near]
            v[near] = moved_in_box(v[near], lower, upper, -v.sum())
            if abs(v.sum()) > 1e-13 * np.abs(v).sum():  # too little is left in their boxes
                v = moved_in_box(v, self.lower, self.upper, -v.sum())
        plane = v @ self.rows
        plane[-1] = here.plane[-1]
        return Feasible.of(self, v, plane)

    def without_weights(self) -> Feasible:
        """The v nearest to 0, and the best bias for its weights."""
        v = np.clip(0.0, self.lower, self.upper)
        if self.bias:
            v = moved_in_box(v, self.lower, self.upper, -v.sum())
        plane = v @ self.rows
        plane[-1] = 0.0
        if self.bias:
            plane[-1] = best_offset(self.y - self.rows @ plane, self.lower, self.upper)
        return Feasible.of(self, v, plane)


@dataclass(frozen=True)
class Rounded:
    r"""The rounded losses at one plane.

    Attributes
    ----------
    losses : Losses
        Or others with the same methods.
    plane : array of shape (rank + 1,)
        w and b; b stays 0 without a bias.
    width : float
    rounding : float
        Duality gap that is due to the rounding.
    primal : float
        The objective, without rounding.
    descent : array of shape (rank + 1,)
        Minus the gradient of the rounded objective.
    state : object
        What the losses know of this plane beside.
    """

    losses: Any
    plane: Array
    width: float
    rounding: float
    primal: float
    descent: Array
    state: Any = None

    @classmethod
    def of(
        cls,
        losses: Any,
        plane: Array,
        width: float,
        loss: float,
        rounding: float,
        pull: Array,
        state: Any,
    ) -> Rounded:
        """From the sums of the losses, of what the rounding adds, and of slopes times rows."""
        w = np.append(plane[:-1], 0.0)
        primal = loss + 0.5 * float(w @ w)
        return cls(losses, plane, width, rounding, primal, pull - w, state)

    @property
    def error(self) -> float:
        """Duality gap that is due to the plane not being the minimiser yet."""
        w = self.descent[:-1]
        return 0.5 * float(w @ w) + 0.5 * self.width * abs(float(self.descent[-1]))

    @cached_property
    def curvature(self) -> tuple[Array, Array]:
        """See :meth:`Losses.curvature`."""
        sums: tuple[Array, Array] = self.losses.curvature(self)
        return sums

    def step(self, fall: float = 1.0) -> Array:
        """The Newton step to the minimiser for a width that much smaller.

        Its equations hold while the same instances are within the width; they are scaled to ones on
        the diagonal.
        """
        products, pull = self.curvature
        descent = self.descent + (1.0 - fall) / (fall * self.width) * pull
        hessian = np.diag(np.append(np.ones(len(descent) - 1), 0.0))
        hessian += products / (fall * self.width)
        if hessian[-1, -1] == 0.0:  # no bias, or as if one instance were inside, for its scale
            hessian[-1, -1] = self.losses.mean_jump / (fall * self.width) or 1.0
        scale = 1.0 / np.sqrt(hessian.diagonal())
        hessian *= scale * scale[:, None]
        hessian.flat[:: len(hessian) + 1] += 1e-14  # lest rounding errors make it singular
        return scale * np.linalg.solve(hessian, scale * descent)

    def moved(self, step: Array) -> Rounded:
        """Where a step leads, or about the lowest point of its line if that is far from there.

        There the slope along the line is a twentieth of what it was at the start, or less.
        """
        slope, along = -float(self.descent @ step), self.losses.line(self, step, self.width)
        low, low_slope, high, high_slope, length = 0.0, slope, np.inf, np.inf, 1.0
        for share in (0.5, *[0.05] * MOST_LENGTHS):
            there: Rounded = along(length)
            new_slope = -float(there.descent @ step)
            if abs(new_slope) <= share * abs(slope):
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

    def narrowed(self, fall: float) -> Rounded:
        """Where the minimiser for a smaller width would be; the same plane if that is nearer."""
        width = fall * self.width
        there: Rounded = self.losses.line(self, self.step(fall), width)(1.0)
        if there.error <= there.rounding:
            return there
        return min(there, self.rounded_to(width), key=lambda rounded: rounded.error)

    def rounded_to(self, width: float) -> Rounded:
        """The same plane with another width."""
        there: Rounded = self.losses.at(self.plane, width, self.state[0])
        return there


@dataclass(frozen=True)
class FewNear(Rounded):
    """The same without a bias, with many more features than instances within the width."""

    @cached_property
    def spanned(self) -> tuple[Array, Rounded]:
        """An orthonormal basis of the rows of these instances, and their losses in it."""
        losses, (residuals, near) = self.losses, self.state
        basis, triangle = np.linalg.qr(losses.rows[near].T)
        rows, state = np.pad(triangle.T, ((0, 0), (0, 1))), (residuals[near], np.arange(len(near)))
        inside = Losses(rows, losses.y[near], losses.lower[near], losses.upper[near])
        descent = np.append(self.descent @ basis, 0.0)
        return basis, replace(self, losses=inside, descent=descent, state=state)

    def step(self, fall: float = 1.0) -> Array:
        """The same step: out of the span of these rows the curvature is that of the weights."""
        basis, inside = self.spanned
        change = Rounded.step(inside, fall) - inside.descent
        return self.descent + basis @ change[:-1]


@dataclass(frozen=True)
class Feasible:
    """A feasible v, the plane of its weights and some b, and the gap between them.

    Where the instances are elsewhere, so are v and the residuals.
    """

    plane: Array
    primal: float
    gap: float
    v: Any = None
    residuals: Any = None

    @classmethod
    def of(cls, losses: Losses, v: Array, plane: Array) -> Feasible:
        """The gap of a v, as a sum in which nothing cancels."""
        residuals, w = losses.y - losses.rows @ plane, plane[:-1]
        above = np.maximum(residuals, 0.0)
        below = above - residuals
        primal = 0.5 * float(w @ w) + float(losses.upper @ above - losses.lower @ below)
        gap = float((losses.upper - v) @ above + (v - losses.lower) @ below)
        return cls(plane, primal, gap, v, residuals)

    def within(self, tol: float) -> bool:
        """Whether the gap is at most ``tol`` times the primal objective."""
        return self.gap <= tol * abs(self.primal)


def search(losses: Any, warm: Any, tol: float, limit: int) -> tuple[Feasible, Rounded, int]:
    """The best there is within so many steps: where a search from ``warm`` fails, anew from w = 0.

    Returns
    -------
    Feasible
        Never worse than w = 0.
    Rounded
        Where the steps ended.
    int
        Their number.
    """
    best, end, steps = minimise(_start(losses, warm), tol, limit, ahead=True)
    if not best.within(tol) and steps < limit:
        anew, end, more = minimise(_start(losses, None), tol, limit - steps, ahead=False)
        best, steps = _better(best, anew, tol), steps + more
    if not best.within(tol):
        best = _better(best, losses.without_weights(), tol)
    return best, end, steps


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
    share, steps = 0.8, -1
    for steps in range(max_iter):
        target = share * tol * abs(here.primal)
        if here.rounding <= target and here.error <= EXACTNESS * target:
            best = _better(best, here.losses.feasible(here), tol)
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
        else:
            there = here.moved(step) if gain > 0.0 else here
            if np.array_equal(there.descent, here.descent):  # nothing but rounding errors is left
                break
            here = there
    return _better(best, here.losses.feasible(here), tol), here, steps + 1


def _better(best: Feasible | None, new: Feasible, tol: float) -> Feasible:
    return new if best is None or new.within(tol) or new.primal < best.primal else best


def run_newton(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual`` to a relative duality gap of ``options["tol"]``.

    ``warm`` is where an earlier call ended.  Where the gap is not reached the status is
    ``"user_limit"``, and the answer the best one seen, which is never worse than w = 0.
    """
    return _answer(program.structure, program.values, options, warm)


def run_newton_on_means(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    r"""The same for ``inv_cal_dual``, which is that problem with every bag twice.

    :math:`v = (a, -a^*)` has the bounds :math:`[0, C_p]` and :math:`[-C_p, 0]`, and the targets are
    :math:`\tau - \epsilon` and :math:`\tau + \epsilon`.
    """
    known: Any = program.structure
    values, n_bags = program.values, len(known.bag_means)
    target, tube = values["target"], values["epsilon"]
    box = np.broadcast_to(values["C_p"], n_bags)
    posed = {
        "y": np.concatenate([target - tube, target + tube]),
        "lower": np.concatenate([np.zeros(n_bags), -box]),
        "upper": np.concatenate([box, np.zeros(n_bags)]),
    }
    twice = SVMDual(np.vstack([known.bag_means, known.bag_means]), bias=True)
    answer = _answer(twice, posed, options, warm)
    (a, negated), (low, lowest), (top, highest) = (
        np.split(both, 2)
        for both in (answer.variables["v"], answer.duals["lower"], answer.duals["upper"])
    )
    bounds = {"a_lower": low, "a_upper": top, "a_star_lower": highest, "a_star_upper": lowest}
    duals = {**bounds, "balance": answer.duals["balance"]}
    return replace(answer, variables={"a": a, "a_star": -negated}, duals=duals)


def run_newton_on_cut(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """The same for a restricted master over one labeling, which is its SVM without a bias."""
    master: Any = program.structure
    (labeling,) = np.asarray(master.labelings, dtype=np.float64)
    values = svm_dual_parameters(labeling, master.C)
    answer = _answer(SVMDual(master.features, bias=False), values, options, warm)
    variables, duals = master.answer(labeling * answer.variables["v"], np.ones(1))
    return replace(answer, variables=variables, duals=duals)


def _answer(svm: Any, values: Any, options: Mapping[str, Any], warm: Any) -> Answer:
    """The search on a structure with these values of its parameters."""
    losses, tol = Losses(svm.rows, values["y"], values["lower"], values["upper"]), options["tol"]
    best, end, steps = search(losses, warm, tol, options.get("max_iter", MAX_ITER))
    above = np.maximum(best.residuals, 0.0)
    duals = {"lower": above - best.residuals, "upper": above}
    if svm.bias:
        duals["balance"] = np.asarray(best.plane[-1] - svm.offset @ (best.v @ svm.centred))
    return Answer(
        cp.OPTIMAL if best.within(tol) else cp.USER_LIMIT,
        {"v": best.v},
        duals,
        iterations=steps,
        gap=max(best.gap, 0.0) / (abs(best.primal) or 1.0),
        warm=Warm(end.plane, end.width),
    )


def _start(losses: Any, warm: Any) -> Rounded:
    """The plane of an earlier call, or w = 0 with every instance within the width.

    The earlier width is too narrow for a plane that is far from the minimiser now; it is widened
    until the gap due to rounding, about its square, is a share of that due to the plane.
    """
    plane = np.zeros(losses.rank + 1)
    known = isinstance(warm, Warm) and len(warm.plane) == len(plane)
    plane = warm.plane if known else np.append(plane[:-1], losses.middle)
    widest = 2.5 * losses.farthest(plane[-1]) or 1.0
    width = warm.width if known else widest
    start: Rounded = losses.at(plane, width)
    wanted = WIDEN * start.error - np.finfo(float).eps * abs(start.primal)
    if start.rounding >= wanted or width >= widest:
        return start
    return start.rounded_to(min(width * np.sqrt(wanted / max(start.rounding, 1e-300)), widest))
