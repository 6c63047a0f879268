r"""SimpleMKL (Rakotomamonjy et al. 2008): reduced gradient over the weights mu, eq:convex_3.

:math:`\min_\mu J(\mu)` over the simplex, where J and its gradient come from an inner QP
(:func:`propcvx.programs.mkl_inner`).  J is convex, so the slope along a line only rises and the
line search bisects on its sign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InaccurateSolutionWarning, warn

Array = NDArray[np.float64]

MAX_STEPS = 200
MAX_BISECTIONS = 30
RELATIVE_GAP = 1e-4
ZERO = 1e-12
"""Weights below this are zero; left as rounding errors they would stop the next step at once."""
FLAT = 0.1
"""A line search ends when the slope has fallen to this share of the one it started with."""


@dataclass(frozen=True)
class Trial:
    """A trial point on the simplex with J, its gradient, and the inner solver's answer there."""

    mu: Array
    value: float
    gradient: Array
    answer: Any

    @property
    def gap(self) -> float:
        r""":math:`\mu^\top \nabla J - \min_t \partial_t J`, a bound on J minus its minimum."""
        return float(self.mu @ self.gradient - self.gradient.min())


def reduced_gradient(inner: Callable[[Array], Trial], mu: Array) -> Trial:
    """Descend from mu until the gap is below ``RELATIVE_GAP`` of the value.

    Warns
    -----
    InaccurateSolutionWarning
        If it stalls or ``MAX_STEPS`` pass before that.
    """
    point = inner(mu)
    for _ in range(MAX_STEPS):
        if point.gap <= RELATIVE_GAP * max(1.0, abs(point.value)):
            return point
        reached = _line_search(inner, point, _direction(point))
        if reached.value >= point.value:
            break
        point = reached
    warn(
        f"SimpleMKL stopped with a gap of {point.gap:.3g} at the value {point.value:.6g}; a "
        "tighter tol of its inner solver, or the epigraph form, may do.",
        InaccurateSolutionWarning,
    )
    return point


def _direction(point: Trial) -> Array:
    """Reduced gradient with the largest weight as the reference; it sums to zero."""
    pivot = int(np.argmax(point.mu))
    direction = point.gradient[pivot] - point.gradient
    direction[(point.mu <= 0.0) & (direction < 0.0)] = 0.0
    direction[pivot] = 0.0
    direction[pivot] = -direction.sum()
    return direction


def _line_search(inner: Callable[[Array], Trial], start: Trial, direction: Array) -> Trial:
    falling = direction < 0
    low, high = 0.0, float(np.min(start.mu[falling] / -direction[falling]))
    slope = float(direction @ start.gradient)
    step = high
    for _ in range(MAX_BISECTIONS):
        moved = start.mu + step * direction
        moved[moved < ZERO] = 0.0
        point = inner(moved / moved.sum())
        rises = direction @ point.gradient > 0
        if not rises and step == high:
            break
        if point.value < start.value and abs(direction @ point.gradient) <= FLAT * abs(slope):
            break
        low, high = (low, step) if rises else (step, high)
        step = (low + high) / 2
    return point
