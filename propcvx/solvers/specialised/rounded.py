r"""Newton's method for a piecewise linear loss whose kinks are rounded.

.. math::

    \min_x \tfrac12 x^\top R x - q^\top x + \sum_i \phi_i(y_i - a_i^\top x), \quad
    \phi_i(r) = \max(l_i r, u_i r),

where R is diagonal, ones and a zero for the bias.  Rounding replaces the slope of :math:`\phi_i`,
which jumps from l to u at 0, by one that rises linearly over a width :math:`\mu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EXACTNESS = 1e-7
"""The minimiser of the rounded losses is found to this share of the gap that is asked for."""


CHUNK = 8192
"""Rows that are copied at once."""


@dataclass(frozen=True)
class Losses:
    r"""The piecewise linear losses of some instances, and what else pulls at the unknowns.

    Attributes
    ----------
    rows : array of shape (n, m)
        :math:`a_i`.
    y, lower, upper : arrays of shape (n,)
    ridge : array of shape (m,)
        The diagonal of R.
    pull : array of shape (m,)
        q.
    """

    rows: Array
    y: Array
    lower: Array
    upper: Array
    ridge: Array
    pull: Array

    @cached_property
    def width(self) -> Array:
        """The jump of each slope."""
        return self.upper - self.lower


@dataclass(frozen=True)
class Rounded:
    r"""The losses rounded at one x: slopes there, and where they are between their bounds.

    Attributes
    ----------
    x, residuals : arrays
        The unknowns, and :math:`r = y - A x`.
    width : float
        :math:`\mu`.
    v : array of shape (n,)
        Slopes of the rounded losses, within the bounds.
    descent : array of shape (m,)
        Minus the gradient.
    """

    losses: Losses
    x: Array
    residuals: Array
    width: float
    v: Array
    descent: Array

    @classmethod
    def at(cls, losses: Losses, x: Array, residuals: Array, width: float) -> Rounded:
        """Round the losses at x."""
        v = _slopes(losses, residuals, width)
        descent = losses.pull + v @ losses.rows - losses.ridge * x
        return cls(losses, x, residuals, width, v, descent)

    @cached_property
    def inside(self) -> NDArray[np.intp]:
        """Instances whose slope is between its bounds."""
        return np.flatnonzero(np.abs(self.residuals) < self.width / 2)

    @cached_property
    def gap(self) -> float:
        r"""Gap :math:`\sum_i \phi_i(r_i) - v_i r_i` that is due to the rounding."""
        r = np.abs(self.residuals[self.inside])
        return float(self.losses.width[self.inside] @ (r * (0.5 - r / self.width)))

    @property
    def error(self) -> float:
        """Gap that is due to x not being the minimiser yet."""
        ridge = self.losses.ridge > 0
        free = np.abs(self.x[~ridge] * self.descent[~ridge]).sum()
        return float(0.5 * self.descent[ridge] @ self.descent[ridge] + free)

    def step(self) -> Array:
        """The Newton step."""
        hessian = np.zeros((len(self.x), len(self.x)))
        for start in range(0, len(self.inside), CHUNK):
            part = self.inside[start : start + CHUNK]
            rows = self.losses.rows[part]
            hessian += (rows * (self.losses.width[part] / self.width)[:, None]).T @ rows
        diagonal = np.einsum("ii->i", hessian)
        diagonal += self.losses.ridge
        diagonal[self.losses.ridge == 0] += 1e-14 * diagonal.max()
        try:
            return np.asarray(np.linalg.solve(hessian, self.descent))
        except np.linalg.LinAlgError:  # R has drowned in what is inside; still a descent direction
            return np.asarray(np.linalg.lstsq(hessian, self.descent)[0])

    def moved(self, step: Array) -> Rounded:
        """Where a step leads, shortened or lengthened to (nearly) the lowest point of its line."""
        change = self.losses.rows @ step
        whole = Rounded.at(self.losses, self.x + step, self.residuals - change, self.width)
        slope, end = -float(self.descent @ step), -float(whole.descent @ step)
        if abs(end) <= 0.5 * abs(slope):
            return whole
        t = _line_search(self, step, change, slope, end)
        return Rounded.at(self.losses, self.x + t * step, self.residuals - t * change, self.width)


@dataclass(frozen=True)
class Descent:
    """Where Newton's method ended, after how many steps, and how far that is.

    ``moved`` is the mean change of a residual in units of the region, which is left above 1.
    """

    end: Rounded
    steps: int
    moved: float


def minimise(
    losses: Losses, x: Array, width: float, target: float, steps: int, region: float
) -> Descent:
    """Minimise until the gap is at most ``target``.

    The width of the rounding falls whenever the minimiser for it is found well enough.

    Parameters
    ----------
    losses : Losses
    x : array of shape (m,)
        Where to start.
    width : float
        The first width of the rounding.
    target : float
        Largest gap to end with.
    steps : int
        Largest number of Newton steps.
    region : float
        Stop as well when a residual has changed by more.
    """
    here, smallest = Rounded.at(losses, x, losses.y - losses.rows @ x, width), 1e-13 * width
    start, moved = here.residuals, 0.0
    for count in range(steps):
        found = here.gap <= target and here.error <= EXACTNESS * target
        if found or here.width < smallest:
            return Descent(here, count, moved)
        if target < here.gap and here.error <= 0.3 * here.gap:
            fall = float(np.clip(0.7 * np.sqrt(target / here.gap), 0.1, 0.5))
            here = Rounded.at(losses, here.x, here.residuals, fall * here.width)
        step = here.step()
        if here.descent @ step <= 0.0:  # nothing but rounding errors is left
            return Descent(here, count, moved)
        here = here.moved(step)
        moved = float(np.abs(here.residuals - start).mean() / region)
        if moved > 1.0:
            return Descent(here, count + 1, moved)
    return Descent(here, steps, moved)


def _slopes(losses: Losses, residuals: Array, width: float) -> Array:
    slopes = residuals * (1.0 / width)
    slopes += 0.5
    np.clip(slopes, 0.0, 1.0, out=slopes)
    slopes *= losses.width
    slopes += losses.lower
    return slopes


def _line_search(here: Rounded, step: Array, change: Array, slope: float, end: float) -> float:
    """Step length at which the slope along the line is a fifth of what it was, or less."""

    def at(t: float) -> float:
        v = _slopes(here.losses, here.residuals - t * change, here.width)
        straight = (here.losses.ridge * (here.x + t * step) - here.losses.pull) @ step
        return float(straight - v @ change)

    low, low_slope, high, high_slope = 0.0, slope, 1.0, end
    while high_slope < 0 and high < 1e30:
        low, low_slope, high = high, high_slope, 4 * high
        high_slope = at(high)
    for _ in range(100):
        if high_slope == low_slope:
            return high
        secant = low - low_slope * (high - low) / (high_slope - low_slope)
        margin = 0.1 * (high - low)
        t = min(max(secant, low + margin), high - margin)
        now = at(t)
        if abs(now) <= 0.2 * abs(slope) or margin <= 1e-15 * high:
            break
        if now < 0:
            low, low_slope = t, now
        else:
            high, high_slope = t, now
    return t
