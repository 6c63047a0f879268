r"""Losses of eq:pSVM_2: :math:`L` on instances and :math:`L_p` on proportions.

The instance loss is the hinge, as throughout the paper.  A proportion loss is any convex function
of :math:`\tilde p_k - p_k`; convexity is what lets one sort per bag solve the labeling step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError

Array = NDArray[np.float64]

GAPS = np.linspace(-1.0, 1.0, 1001)
"""Where a proportion loss is looked at before it is used: from no positives to nothing else."""

SAMPLE = 1000
"""About how many of many values tell between which ones those of a rank are."""


def hinge(labeling: Array, scores: Array) -> Array:
    r"""Hinge loss :math:`\max(0, 1 - y_i f_i)` of each instance."""
    return np.maximum(0.0, 1.0 - labeling * scores)


def hinge_reduction(scores: Array) -> Array:
    r"""Reduction :math:`\delta_i = L(-1, f_i) - L(+1, f_i)` by flipping an instance from -1 to +1.

    Strictly increasing in the score (Proposition 1).
    """
    return scores + np.maximum(-1.0, np.minimum(1.0, scores))


def best_bias(labeling: Array, scores: Array) -> float:
    r"""Bias that minimises :math:`\sum_i \max(0, 1 - y_i (f_i + b))`, scores without bias given.

    The sum is convex and piecewise linear in b with breakpoints :math:`y_i - f_i`, and its slope
    starts at minus the number of positives and gains one at each breakpoint; the middle of the
    flat stretch is returned.

    Examples
    --------
    >>> best_bias(np.array([1.0, -1.0]), np.array([3.0, 1.0]))
    -2.0
    """
    breakpoints = labeling - scores
    last, positives = len(breakpoints) - 1, int(np.count_nonzero(labeling > 0))
    left, right = max(positives - 1, 0), min(positives, last)
    below, above = _of_ranks(breakpoints, left, right)
    return (below + above) / 2


def _of_ranks(values: Array, first: int, last: int) -> tuple[float, float]:
    """Values of two ranks next to each other."""
    if len(values) > 10 * SAMPLE:
        place, margin = first * SAMPLE // len(values), int(4 * SAMPLE**0.5)
        sample = np.sort(values[:: len(values) // SAMPLE])
        low, high = sample[max(place - margin, 0)], sample[min(place + margin, SAMPLE - 1)]
        below = int(np.count_nonzero(values < low))
        inside = values[(low <= values) & (values <= high)]
        if below <= first and last < below + len(inside):
            values, first, last = inside, first - below, last - below
    ordered = np.partition(values, (first, last))
    return float(ordered[first]), float(ordered[last])


def best_regression_bias(targets: Array, widths: Array, scores: Array) -> float:
    r"""Bias that minimises :math:`\sum_k \max(0, |\tau_k - f_k - b| - \epsilon_k)`.

    The sum is convex and piecewise linear in b with breakpoints
    :math:`\tau_k - f_k \pm \epsilon_k`, and its slope starts at minus the number of targets and
    gains one at each breakpoint; their median is the middle of the flat stretch.

    Parameters
    ----------
    targets : array of shape (K,)
        The values :math:`\tau_k` to be met.
    widths : array of shape (K,)
        Half-widths :math:`\epsilon_k \ge 0` of the tube.
    scores : array of shape (K,)
        Scores :math:`f_k` without bias.

    Examples
    --------
    >>> best_regression_bias(np.array([1.0, 5.0]), np.array([0.5, 0.5]), np.array([0.0, 0.0]))
    3.0
    """
    residuals = targets - scores
    return float(np.median(np.concatenate([residuals - widths, residuals + widths])))


@dataclass(frozen=True)
class ProportionLoss:
    r"""A convex loss :math:`L_p(\tilde p_k, p_k) = h(\tilde p_k - p_k)`.

    Attributes
    ----------
    name : str
        Its name in ``PROPORTION_LOSSES``.
    of : callable
        The function h on NumPy arrays.
    expression : callable
        The same function on CVXPY expressions, entry by entry.

    Raises
    ------
    InputError
        If h is not finite and convex on [-1, 1], or the two forms are not the same function.
    """

    name: str
    of: Callable[[Array], Array]
    expression: Callable[[Any], cp.Expression]

    def __post_init__(self) -> None:
        values = np.asarray(self.of(GAPS))
        if values.shape != GAPS.shape or not np.isfinite(values).all():
            raise InputError(
                f"proportion loss {self.name!r}: of must give a finite number for each gap in "
                f"[-1, 1], got shape {values.shape} for shape {GAPS.shape}, "
                f"{np.count_nonzero(~np.isfinite(values))} of them not finite."
            )
        rounding = 1e-12 * np.abs(values).max()
        bends = np.diff(values, 2)
        if bends.min() < -rounding:
            raise InputError(
                f"proportion loss {self.name!r} must be convex in the gap, and of is not near "
                f"{GAPS[1 + np.argmin(bends)]:.3g}; one sort per bag solves the labeling step of "
                "convex losses only."
            )
        if not self.expression(cp.Variable(GAPS.shape)).is_convex():
            raise InputError(
                f"proportion loss {self.name!r}: expression must be convex by the rules of CVXPY "
                "(https://dcp.stanford.edu)."
            )
        stated = np.asarray(self.expression(cp.Constant(GAPS)).value)
        if stated.shape != GAPS.shape or np.abs(stated - values).max() > 1e4 * rounding:
            raise InputError(
                f"proportion loss {self.name!r}: of and expression must be the same function of "
                "each gap, got different values."
            )


PROPORTION_LOSSES: Mapping[str, ProportionLoss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            ProportionLoss("absolute", np.abs, cp.abs),
            ProportionLoss("squared", np.square, cp.square),
        )
    }
)
"""Proportion losses by name; the paper's experiments use ``"absolute"``."""
