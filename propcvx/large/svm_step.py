r"""The SVM step of Algorithm 1 over partitions: sums over them in a few passes.

For the hinge it is the search of :mod:`propcvx.solvers.specialised.newton` itself, which gets sums
over the partitions in place of sums over rows in memory; and then, as in memory, the best bias for
the weights, by a histogram of the residuals.  Losses with a second derivative are minimised as the
likelihood of MeanMap is, by :func:`~.logistic.minimise_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from cvxpy import OPTIMAL, USER_LIMIT
from numpy.typing import NDArray
from scipy.special import expit

from propcvx.arrays import Array
from propcvx.labelings.losses import INSTANCE_LOSSES
from propcvx.large.partitions import Kept, Part, Partitions
from propcvx.solvers.specialised.logistic import Sums, minimise_sums, smooth_sums
from propcvx.solvers.specialised.newton import MAX_ITER, Feasible, Losses, Rounded, Warm, search
from propcvx.svm.step import MOST_REMEMBERED, best_losses

BINS = 4096  # intervals in which residuals are counted about the best bias
FEW = 2000  # so many instances of an interval are looked at one by one
MOST_ZOOMS, WIDER = 12, 16.0  # the intervals become narrower, or wider by this factor
MOST_STEPS = 40  # after so many steps residuals are computed from the plane itself
EPS = np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of all rows, as the plane over centred rows in their unit.

    Attributes
    ----------
    weights : array of shape (n_features,)
    offset : float
    """

    weights: Array
    offset: float

    def of(self, part: Part) -> Array:
        """The scores of the rows of a part."""
        return part.rows @ np.append(self.weights, self.offset)


@dataclass(frozen=True, eq=False)
class Labels:
    """A labeling, which is kept beside the parts, and what is known about it.

    Attributes
    ----------
    kept : sequence
        A bit for each label, see :func:`packed`.
    sums : array of shape (2,)
        Sums of the weights of the positives and of the negatives.
    loss : float
        The weighted sum of the proportion losses.
    errors : dict
        Sums of the instance losses, by scores.
    """

    kept: Kept
    sums: Array
    loss: float
    errors: dict[Scores, float]


def packed(labeling: Array) -> NDArray[np.uint8]:
    """A bit for each label."""
    return np.packbits(labeling > 0.0)


def unpacked(bits: NDArray[np.uint8], n: int) -> Array:
    """The labels -1.0 and +1.0 of n rows."""
    return np.asarray(2.0 * np.unpackbits(bits, count=n) - 1.0, dtype=np.float64)


def _summed(part: Part, bits: Any, C: float, function: Any, arguments: Any) -> Any:
    """A function of the losses of a part, whose rows of weight one have the weight C."""
    y = unpacked(bits, len(part.rows))
    lower, upper = C * part.weights * np.array([np.minimum(y, 0.0), np.maximum(y, 0.0)])
    return function(Losses(part.rows, y, lower, upper), *arguments)


def _residuals(losses: Losses, steps: Array) -> Array:
    """Residuals after the steps that have led to a plane, one after the other.

    As in memory, where residuals are kept, rounding errors are those of the last, small steps.
    """
    residuals = losses.y.copy()
    for change in (losses.rows @ steps.T).T:
        residuals -= change
    return residuals


def _at(losses: Losses, steps: Array, width: float) -> Any:
    """What ``Losses.at`` and ``Losses.curvature`` need."""
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
    feasible = Feasible.of(losses, v, plane)
    return feasible.gap, feasible.primal - 0.5 * float(plane[:-1] @ plane[:-1])


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
    sums = smooth_sums(signed, losses.jump, lambda m: (of(m), *derivatives(m)), plane)
    return *sums[:2], sums[2]()


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


class PartedLosses:
    """The losses of all instances, as sums over the parts: see ``Losses``.

    Parameters
    ----------
    partitions : Partitions
    labels : Labels
    C : float
        The weight of a row of weight one, for centred rows in their unit.
    """

    bias = True

    def __init__(self, partitions: Partitions, labels: Labels, C: float) -> None:
        self.partitions, self.kept, self.C = partitions, labels.kept, C
        self.n, self.rank = partitions.frame.n, len(partitions.frame.mean)
        self.sums = C * labels.sums
        self.mean_jump = float(self.sums.sum()) / self.n
        self.signs = np.array([1.0, -1.0])[self.sums > 0.0]
        self.middle = float(self.signs.mean())
        positive, negative = np.diag(self.sums)
        self.of_zero = best_losses(np.array([1.0, -1.0]), -negative, positive)

    def farthest(self, bias: float) -> float:
        """The largest residual for w = 0."""
        return float(np.abs(self.signs - bias).max())

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Sums over all parts: a pass."""
        return self.partitions.sums(_summed, self.kept, self.C, function, arguments)

    def at(self, plane: Array, width: float, steps: Array | None = None) -> Rounded:
        """A pass for the sums of the rounded losses, at a plane that steps have led to."""
        steps = plane[None] if steps is None or len(steps) > MOST_STEPS else steps
        loss, rounding, pull, *curvature = self.sum(_at, steps, width)
        return Rounded.of(self, plane, width, loss, rounding, pull, (steps, tuple(curvature)))

    def line(self, here: Rounded, step: Array, width: float) -> Callable[[float], Rounded]:
        """The rounded losses, with a width, after any length of a step."""
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
        if abs(plane[-1]) > 1e-13 * self.sums.sum():
            (ends,) = self.sum(_ends)
            room = ends[int(up)] - plane
            rest = min(1.0, plane[-1] / -room[-1]) if room[-1] else 0.0
            plane = plane + rest * room
        plane[-1] = here.plane[-1]
        gap, loss = self.sum(_gap, (steps, here.width), (up, some, rest), plane)
        return Feasible(plane, loss + 0.5 * float(plane[:-1] @ plane[:-1]), gap)

    def without_weights(self) -> Feasible:
        """No v, and the best bias for w = 0."""
        loss, bias = self.of_zero
        return Feasible(np.append(np.zeros(self.rank), bias), loss, loss)

    def best_bias(self, plane: Array) -> tuple[float, float]:
        """Sum of the losses with the best bias for the weights of a plane, and that bias.

        The slope of that sum in the bias starts at minus the sum of the upper ends, and rises by
        the jump of each instance at its residual: it is zero in a bin, or between two.
        """
        if len(self.signs) == 1:
            return self.of_zero
        weights, edges = np.append(plane[:-1], 0.0), plane[-1] + np.linspace(-1.0, 1.0, BINS)
        flat = 1e-12 * self.sums.max()
        for _ in range(MOST_ZOOMS):
            (jumps,) = self.sum(_histogram, weights, edges)
            slopes = np.cumsum(jumps) - self.sums[0]
            bins = np.searchsorted(slopes, [-flat, flat], side="right")
            if bins[0] == 0 or bins[1] >= len(edges):
                edges = edges.mean() + WIDER * (edges - edges.mean())
            elif jumps[bins].max() <= FEW * self.mean_jump:
                break
            else:
                ends = [np.linspace(edges[k - 1], edges[k], BINS // 2) for k in bins]
                edges = np.unique(ends)
        inside, beyond = self.sum(_inside, weights, edges, bins)
        sums = np.where(beyond[:, 1] == 0.0, 1.0, beyond[:, 1])
        outside = np.array([beyond[:, 0] / sums, beyond[:, 1], beyond[:, 1]])
        return best_losses(*np.hstack([*inside, outside]))

    def minimum(self, loss: str, tol: float, warm: Any) -> tuple[Scores, float, dict[str, Any]]:
        """The plane of the SVM, the sum of its losses, and what else a separator has."""
        return self._hinge(tol, warm) if loss == "hinge" else self._smooth(loss, tol, warm)

    def _hinge(self, tol: float, warm: Any) -> tuple[Scores, float, dict[str, Any]]:
        """By the smoothed Newton method; few instances from the beginning, as in memory."""
        best, end, _ = search(self, warm if self.n > MOST_REMEMBERED else None, tol, MAX_ITER)
        w, (value, offset), ties = best.plane[:-1], self.best_bias(best.plane), None
        gap = best.gap / (abs(best.primal) or 1.0) * abs(best.primal - best.gap)
        zero, offset_of_zero = self.of_zero
        if zero - gap - self.n * EPS * zero <= 0.5 * float(w @ w) + value:
            w, value, offset = np.zeros_like(w), zero, offset_of_zero
            ties = Scores(self.sum(_direction)[0], 0.0)
        status, warm = OPTIMAL if best.within(tol) else USER_LIMIT, Warm(end.plane, end.width)
        answer = {"ties": ties, "gap": self.partitions.frame.unit**2 * gap, "solver": "newton"}
        return Scores(w, offset), value, {**answer, "status": status, "warm": warm}

    def _smooth(self, loss: str, tol: float, warm: Any) -> tuple[Scores, float, dict[str, Any]]:
        """By damped Newton steps."""
        zero = np.zeros(self.rank + 1)
        plane, value, status, _ = minimise_sums(
            lambda plane: self.sum(_smooth, loss, plane),
            linear=zero,
            ridge=np.append(zero[1:] + 0.5, 0.0),
            start=zero if warm is None else warm,
            tol=min(tol, 1e-9),
            size=float(self.sums.sum()),
        )
        w = plane[:-1]
        answer = {"solver": "newton", "status": status, "warm": plane}
        return Scores(w, float(plane[-1])), value - 0.5 * float(w @ w), answer
