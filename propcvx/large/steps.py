r"""The SVM step of Algorithm 1 over rows in parts: sums over the parts in a few passes.

For the hinge it is the search of :mod:`propcvx.solvers.specialised.newton` itself, which is given
sums over the parts in the place of sums over the instances in memory; and then, as in memory, the
best bias for the weights, by a histogram of the residuals.  Losses with a second derivative are
minimised as the likelihood of MeanMap is, by :func:`~.logistic.minimise_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from cvxpy import OPTIMAL, USER_LIMIT
from scipy.special import expit

from propcvx.alternating.problem import Separator
from propcvx.alternating.svm_step import MOST, best_losses
from propcvx.arrays import Array
from propcvx.labelings.losses import INSTANCE_LOSSES
from propcvx.large.parts import Frame, Kept, Parts, added, summed, unpacked
from propcvx.solvers.specialised.logistic import Sums, minimise_sums, smooth_sums
from propcvx.solvers.specialised.newton import MAX_ITER, Feasible, Losses, Rounded, Warm, search

BINS = 4096
"""Intervals in which residuals are counted about the best bias."""

FEW = 2000
"""So many instances of one interval are looked at one by one."""

MOST_ZOOMS, WIDER = 12, 16.0
"""How often the intervals are made narrower, or wider by this factor."""

MOST_STEPS = 40
"""After so many steps residuals are computed from the plane itself."""

EPS = np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all instances, as what they are computed from.

    Attributes
    ----------
    weights, offset : array of shape (rank,), float
        For the centred instances in their unit.
    labels : Labels
        A labeling, and
    errors : float
        the sum of its losses.
    """

    weights: Array
    offset: float
    labels: Any
    errors: float


@dataclass(frozen=True, eq=False)
class Labels:
    """A labeling, whose bits are beside the parts, and what is known of it.

    Attributes
    ----------
    kept : sequence
        The bits.
    sums : array of shape (2,)
        Sums of the weights of the positives and of the negatives.
    loss : float
        The weighted sum of the proportion losses.
    errors : float
        The sum of the instance losses for the scores that
    scores : Scores or None
        it was made for.
    """

    kept: Kept
    sums: Array
    loss: float
    errors: float = np.nan
    scores: Scores | None = None


@dataclass(frozen=True)
class Question:
    """What a pass asks for: sums over instances, of which one of weight one has the weight C."""

    frame: Frame
    C: float

    def losses(self, part: Any, bits: Any) -> Iterator[Losses]:
        """The losses of each block of a part."""
        C = self.C * self.frame.relative_weights(part)
        for block, rows in self.frame.blocks(part):
            y = unpacked(bits, block)
            box = C[block] * y
            yield Losses(rows, y, np.minimum(box, 0.0), np.maximum(box, 0.0))


def _asked(part: Any, bits: Any, question: Question, function: Any, arguments: Any) -> Any:
    """Sums over the blocks of a part."""
    return added(function(losses, *arguments) for losses in question.losses(part, bits))


def _residuals(losses: Losses, steps: Array) -> Array:
    """Residuals after the steps that have led to a plane, one after the other.

    As in memory, where residuals are kept, rounding errors are those of the last, small steps.
    """
    residuals = losses.y.copy()
    for change in (losses.rows @ steps.T).T:
        residuals -= change
    return residuals


def _at(losses: Losses, steps: Array, width: float) -> Any:
    """What :meth:`Losses.at` and :meth:`Losses.curvature` need."""
    residuals = _residuals(losses, steps)
    near = np.flatnonzero(np.abs(residuals) < width / 2)
    return *losses.sums(residuals, width, near), *losses.products(residuals, near)


def _gap(
    losses: Losses, here: tuple[Array, float], balance: tuple[bool, float, float], plane: Array
) -> tuple[float, float]:
    """The gap between a balanced v and the plane of its weights, and the losses there."""
    (steps, width), (up, some, rest) = here, balance
    residuals = _residuals(losses, steps)
    v, end = losses.slopes(residuals, width), losses.upper if up else losses.lower
    v += np.where(np.abs(residuals) < width / 2, some, 0.0) * (end - v)
    v += rest * (end - v)
    found = Feasible.of(losses, v, plane)
    return found.gap, found.primal - 0.5 * float(plane[:-1] @ plane[:-1])


def _ends(losses: Losses) -> tuple[Array]:
    """Sums of the rows times the lower and the upper ends of their boxes."""
    return (np.array([losses.lower, losses.upper]) @ losses.rows,)


def _histogram(losses: Losses, plane: Array, edges: Array) -> tuple[Any]:
    """The jumps of the instances whose residuals are between two edges, and beyond them."""
    places = np.searchsorted(edges, losses.y - losses.rows @ plane, side="right")
    return (np.bincount(places, losses.jump, len(edges) + 1),)


def _inside(losses: Losses, plane: Array, edges: Array, bins: Array) -> tuple[tuple[Array], Array]:
    """Residuals and boxes of the instances from one bin to another, and sums for those beyond.

    Between the two bins there are none.  Equal residuals are one, with the sum of their boxes.
    """
    residuals = losses.y - losses.rows @ plane
    places = np.searchsorted(edges, residuals, side="right")
    within = (places >= bins[0]) & (places <= bins[1]) & (losses.jump > 0.0)
    points, where = np.unique(residuals[within], return_inverse=True)
    boxes = [np.bincount(where, end[within], len(points)) for end in (losses.lower, losses.upper)]
    lower = np.where(places < bins[0], losses.lower, 0.0)
    upper = np.where(places > bins[1], losses.upper, 0.0)
    beyond = [[lower @ residuals, lower.sum()], [upper @ residuals, upper.sum()]]
    return (np.array([points, *boxes]),), np.array(beyond)


def _direction(losses: Losses) -> tuple[Array]:
    """Sum of the labels times the rows."""
    return (losses.y @ losses.rows[:, :-1],)


def _smooth(losses: Losses, name: str, plane: Array) -> Sums:
    """Sum of the losses, and its derivatives."""
    of, derivatives = INSTANCE_LOSSES[name].of_margins, SMOOTH[name]
    signed = losses.y[:, None] * losses.rows
    return smooth_sums(signed, losses.jump, lambda m: (of(m), *derivatives(m)), plane)


SMOOTH: Mapping[str, Callable[[Array], tuple[Any, Any]]] = MappingProxyType(
    {
        "squared_hinge": lambda m: (-2.0 * np.maximum(0.0, 1.0 - m), 2.0 * (m < 1.0)),
        "huberised_hinge": lambda m: (
            -2.0 * np.clip(1.0 - m, 0.0, 2.0),
            2.0 * ((m < 1.0) & (m > -1.0)),
        ),
        "logistic": lambda m: (-expit(-m), expit(m) * expit(-m)),
    }
)
"""First and second derivatives, in the margin, of losses that have them almost everywhere."""


@dataclass(frozen=True)
class PartedLosses:
    """The losses of all instances, as sums over the parts: see :class:`Losses`."""

    parts: Parts
    question: Question
    labels: Labels

    bias = True

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.question.frame.mean)

    @property
    def mean_jump(self) -> float:
        """The mean of the jumps."""
        return float(self.sums.sum()) / self.question.frame.n

    @property
    def sums(self) -> Array:
        """Sums of C over the positives and over the negatives."""
        return self.question.C * self.labels.sums

    @property
    def _signs(self) -> Array:
        return np.array([1.0, -1.0])[self.sums > 0.0]

    @property
    def middle(self) -> float:
        """The bias to start from with w = 0."""
        return float(self._signs.mean())

    def farthest(self, bias: float) -> float:
        """The largest residual for w = 0."""
        return float(np.abs(self._signs - bias).max())

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Sums over the blocks of all parts: a pass."""
        return summed(self.parts, _asked, self.labels.kept, self.question, function, arguments)

    def at(self, plane: Array, width: float, steps: Array | None = None) -> Rounded:
        """A pass for the sums of the rounded losses, at a plane that steps have led to."""
        steps = plane[None] if steps is None or len(steps) > MOST_STEPS else steps
        loss, rounding, pull, *curvature = self.ask(_at, steps, width)
        return Rounded.of(self, plane, width, loss, rounding, pull, (steps, tuple(curvature)))

    def again(self, here: Rounded, width: float) -> Rounded:
        """The same plane with another width."""
        return self.at(here.plane, width, here.state[0])

    def line(self, here: Rounded, step: Array, width: float) -> Callable[[float], Rounded]:
        """What is found with a width after any length of a step."""
        plane, steps = here.plane, here.state[0]
        return lambda t: self.at(plane + t * step, width, np.vstack([steps, t * step]))

    def curvature(self, here: Rounded) -> Any:
        """It came with the other sums."""
        return here.state[1]

    def feasible(self, here: Rounded) -> Feasible:
        """The slopes, balanced over the instances within the width, and their gap: a pass."""
        (steps, (products, pull)), w = here.state, np.append(here.plane[:-1], 0.0)
        plane = here.descent + w  # the last entry is the sum of the slopes
        up, short = plane[-1] < 0.0, abs(plane[-1])
        room = 0.5 * products[:, -1] + (-1.0 if up else 1.0) * pull / here.width
        some = min(1.0, short / room[-1]) if room[-1] > 0.0 else 0.0
        plane = plane + (some if up else -some) * room
        rest = 0.0
        if abs(plane[-1]) > 1e-13 * self.mean_jump * self.question.frame.n:
            (ends,) = self.ask(_ends)
            room = ends[int(up)] - plane
            rest = min(1.0, plane[-1] / -room[-1]) if room[-1] else 0.0
            plane = plane + rest * room
        plane[-1] = here.plane[-1]
        gap, loss = self.ask(_gap, (steps, here.width), (up, some, rest), plane)
        return Feasible(plane, loss + 0.5 * float(plane[:-1] @ plane[:-1]), gap)

    def without_weights(self) -> Feasible:
        """No v, and the best bias for w = 0."""
        loss, bias = self.of_zero
        return Feasible(np.append(np.zeros(self.rank), bias), loss, loss)

    @cached_property
    def of_zero(self) -> tuple[float, float]:
        """Sum of the losses with w = 0, and its best bias."""
        ends = np.diag(self.sums)
        return best_losses(np.array([1.0, -1.0]), -ends[1], ends[0])

    def best_bias(self, plane: Array) -> tuple[float, float]:
        """Sum of the losses with the best bias for the weights of a plane, and that bias.

        The slope of that sum in the bias starts at minus the sum of the upper ends, and rises by
        the jump of each instance at its residual: it is zero in a bin, or between two.
        """
        if len(self._signs) == 1:
            return self.of_zero
        weights, edges = np.append(plane[:-1], 0.0), plane[-1] + np.linspace(-1.0, 1.0, BINS)
        flat = 1e-12 * self.sums.max()
        for _ in range(MOST_ZOOMS):
            (jumps,) = self.ask(_histogram, weights, edges)
            slopes = np.cumsum(jumps) - self.sums[0]
            bins = np.searchsorted(slopes, [-flat, flat], side="right")
            if bins[0] == 0 or bins[1] >= len(edges):
                edges = edges.mean() + WIDER * (edges - edges.mean())
            elif jumps[bins].max() <= FEW * self.mean_jump:
                break
            else:
                ends = [np.linspace(edges[one - 1], edges[one], BINS // 2) for one in bins]
                edges = np.unique(ends)
        found, beyond = self.ask(_inside, weights, edges, bins)
        sums = np.where(beyond[:, 1] == 0.0, 1.0, beyond[:, 1])
        outside = np.array([beyond[:, 0] / sums, beyond[:, 1], beyond[:, 1]])
        return best_losses(*np.hstack([*found, outside]))


@dataclass(frozen=True)
class PartedStep:
    """The SVM step: see :class:`propcvx.alternating.svm_step.SVMStep`.

    Attributes
    ----------
    parts : Parts
    frame : Frame
    loss : str
        The name of the instance loss.
    tol : float
        The relative duality gap.
    """

    parts: Parts
    frame: Frame
    loss: str
    tol: float

    def __call__(self, labels: Labels, C: float, after: Separator | None = None) -> Separator:
        """Solve, from where the separator before ended, and take the bias that is best for w."""
        posed = Question(self.frame, C / self.frame.unit**2)
        losses = PartedLosses(self.parts, posed, labels)
        solve = self._hinge if self.loss == "hinge" else self._smooth
        w, offset, value, direction, found = solve(losses, after)
        weights, scores = self.frame.unit * w, Scores(w, offset, labels, value / posed.C)
        bias = offset - float(self.frame.mean @ weights)
        return Separator(weights, bias, scores, direction, **found)  # type: ignore[arg-type]

    def _hinge(self, losses: PartedLosses, after: Separator | None) -> tuple[Any, ...]:
        """By the smoothed Newton method; few instances from the beginning, as in memory."""
        warm = after.warm if after is not None and self.frame.n > MOST else None
        best, end, _ = search(losses, warm, self.tol, MAX_ITER)
        w, direction, (value, offset) = best.plane[:-1], None, losses.best_bias(best.plane)
        gap = best.gap / (abs(best.primal) or 1.0) * abs(best.primal - best.gap)
        zero, offset_of_zero = losses.of_zero
        if zero - gap - self.frame.n * EPS * zero <= 0.5 * float(w @ w) + value:
            w, value, offset = np.zeros_like(w), zero, offset_of_zero
            (direction,) = losses.ask(_direction)
        status = OPTIMAL if best.within(self.tol) else USER_LIMIT
        found = {"gap": self.frame.unit**2 * gap, "solver": "newton", "status": status}
        return w, offset, value, direction, {**found, "warm": Warm(end.plane, end.width)}

    def _smooth(self, losses: PartedLosses, after: Separator | None) -> tuple[Any, ...]:
        """By Newton steps within a trust region."""
        zero = np.zeros(losses.rank + 1)
        plane, value, status, _ = minimise_sums(
            lambda plane: losses.ask(_smooth, self.loss, plane),
            linear=zero,
            ridge=np.append(zero[1:] + 0.5, 0.0),
            start=zero if after is None else after.warm,
            tol=min(self.tol, 1e-9),
            size=float(losses.sums.sum()),
        )
        w, found = plane[:-1], {"solver": "trust-exact", "status": status, "warm": plane}
        return w, float(plane[-1]), value - 0.5 * float(w @ w), None, found
