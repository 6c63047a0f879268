r"""Losses of Equation (4), eq:pSVM_2: :math:`L` on instances and :math:`L_p` on proportions.

An instance loss is a convex function of the margin :math:`y_i f_i`, times a weight of the instance;
the paper's is the hinge.  A proportion loss is any convex function of :math:`\tilde p_k - p_k`;
by convexity, one sort per bag solves the labeling step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.checks import check_number
from propcvx.errors import InputError

ArrayFunction = Callable[[Array], Array]
ExpressionFunction = Callable[[Any], cp.Expression]

GAPS = np.linspace(-1.0, 1.0, 1001)
"""Points at which a proportion loss is checked: from no positives to only positives."""

MARGINS = np.linspace(-10.0, 10.0, 1001)
"""Points at which an instance loss is checked."""


def check_loss(
    what: str, points: Array, evaluate: ArrayFunction, expression: ExpressionFunction
) -> None:
    """Raise unless both forms of a loss are one function, finite and convex.

    Parameters
    ----------
    what : str
        The loss and its NumPy form, for messages.
    points : array
        Points at which the loss is checked, equally spaced.
    evaluate, expression : callable
        The function on NumPy arrays and on CVXPY expressions.

    Raises
    ------
    InputError
    """
    values = np.asarray(evaluate(points))
    if values.shape != points.shape or not np.isfinite(values).all():
        raise InputError(
            f"{what} must give a finite number for each value in [{points[0]:g}, {points[-1]:g}]; "
            f"got shape {values.shape} for shape {points.shape}, "
            f"{np.count_nonzero(~np.isfinite(values))} of them not finite."
        )
    rounding = 1e-12 * np.abs(values).max()
    bends = np.diff(values, 2)
    if bends.min() < -rounding:
        raise InputError(
            f"{what} must be convex, and it is not near {points[1 + np.argmin(bends)]:.3g}; one "
            "sort per bag solves the labeling step of convex losses only."
        )
    if not expression(cp.Variable(points.shape)).is_convex():
        raise InputError(
            f"{what} must be convex by the rules of CVXPY (https://dcp.stanford.edu) as an "
            "expression, too."
        )
    stated = np.asarray(expression(cp.Constant(points)).value)
    if stated.shape != points.shape or np.abs(stated - values).max() > 1e4 * rounding:
        raise InputError(
            f"{what} and expression must be the same function of each value; got different values."
        )


@dataclass(frozen=True)
class InstanceLoss:
    r"""A loss :math:`L(y_i, f_i) = c_i\, h(y_i f_i)` of each instance, with h convex.

    Attributes
    ----------
    name : str
        Name in print and messages.
    margin_loss : callable
        The function h on NumPy arrays.
    expression : callable
        The same function on CVXPY expressions.
    weights : float or array of shape (n_instances,)
        The weights :math:`c_i \ge 0`, not all 0.
    gain : callable or None
        :math:`h(-f) - h(f)` on NumPy arrays, if there is a form without cancellation.

    Raises
    ------
    InputError
        If h is not finite and convex on [-10, 10], its two forms are not the same function, gain is
        another one, or weights are negative, not finite or all 0.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from propcvx.labelings.losses import InstanceLoss
    >>> loss = InstanceLoss("exponential", lambda m: np.exp(-m), lambda m: cp.exp(-m))
    >>> loss.evaluate(1.0, np.array([0.0, 1.0])).round(3)
    array([1.   , 0.368])
    """

    name: str
    margin_loss: ArrayFunction = field(repr=False)
    expression: ExpressionFunction = field(repr=False)
    weights: Array | float = 1.0
    gain: ArrayFunction | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        what = f"instance loss {self.name!r}: margin_loss"
        check_loss(what, MARGINS, self.margin_loss, self.expression)
        differences = self.margin_loss(-MARGINS) - self.margin_loss(MARGINS)
        if self.gain and not np.allclose(self.gain(MARGINS), differences, rtol=1e-9, atol=1e-9):
            raise InputError(
                f"instance loss {self.name!r}: gain must be the same function of a score f as "
                "margin_loss(-f) - margin_loss(f); got different values."
            )
        weights = np.asarray(self.weights)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise InputError(
                f"instance loss {self.name!r}: weights must be positive numbers, or some of them "
                f"0; got {np.min(weights)!r} among them."
            )

    def evaluate(self, labeling: Array | float, scores: Array) -> Array:
        """Compute the loss of each instance."""
        return self.weights * self.margin_loss(labeling * scores)

    def reduction(self, scores: Array) -> Array:
        r"""Compute the reduction :math:`\delta_i = L(-1, f_i) - L(+1, f_i)` by a flip to +1.

        For instances of equal weight it rises with the score if the loss falls with the margin,
        strictly for the hinge (Proposition 1).
        """
        if self.gain is None:
            return self.evaluate(-1.0, scores) - self.evaluate(1.0, scores)
        return self.weights * self.gain(scores)

    def of_bags(self, bags: Bags) -> InstanceLoss:
        """Return this loss with a weight for each instance: its own, times the bags' weights.

        Raises
        ------
        InputError
            If there is not one weight for each instance.
        """
        weights, relative = np.asarray(self.weights), bags.weights
        if weights.ndim and weights.shape != (bags.n_instances,):
            raise InputError(
                f"instance_loss must have one weight for each of the {bags.n_instances} instances; "
                f"got weights of shape {weights.shape}. In a search, pass them as sample_weight of "
                "fit, which is split with the rows."
            )
        return self if relative is None else replace(self, weights=weights * relative)


def _hinge_margin_loss(margins: Array) -> Array:
    return np.maximum(0.0, 1.0 - margins)


def _hinge_expression(margins: cp.Expression) -> cp.Expression:
    return cp.pos(1 - margins)


def _hinge_gain(scores: Array) -> Array:
    return scores + np.maximum(-1.0, np.minimum(1.0, scores))


def _squared_hinge(margins: Array) -> Array:
    return np.square(_hinge_margin_loss(margins))


def _squared_hinge_expression(margins: cp.Expression) -> cp.Expression:
    return cp.square(_hinge_expression(margins))


def _squared_hinge_gain(scores: Array) -> Array:
    return _hinge_gain(scores) * np.maximum(2.0, 1.0 + np.abs(scores))


def _huberized_hinge(margins: Array) -> Array:
    return np.where(margins < -1.0, -4.0 * margins, _squared_hinge(margins))


def _huberized_hinge_expression(margins: cp.Expression) -> cp.Expression:
    return cp.huber(_hinge_expression(margins), 2)


def _logistic(margins: Array) -> Array:
    return np.logaddexp(0.0, -margins)


def _logistic_expression(margins: cp.Expression) -> cp.Expression:
    return cp.logistic(-margins)


HINGE = InstanceLoss("hinge", _hinge_margin_loss, _hinge_expression, gain=_hinge_gain)
"""The hinge loss with weights of one: the paper's, and the default everywhere."""

INSTANCE_LOSSES: Mapping[str, InstanceLoss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            HINGE,
            InstanceLoss(
                "squared_hinge", _squared_hinge, _squared_hinge_expression, gain=_squared_hinge_gain
            ),
            InstanceLoss(
                "huberized_hinge",
                _huberized_hinge,
                _huberized_hinge_expression,
                gain=partial(np.multiply, 4.0),
            ),
            InstanceLoss("logistic", _logistic, _logistic_expression, gain=np.positive),
        )
    }
)
r"""Instance losses by name, each with weights of one.

With the margin :math:`m = y_i f_i`, ``"hinge"`` is :math:`\max(0, 1 - m)`, ``"squared_hinge"`` its
square, ``"huberized_hinge"`` that square for :math:`m \ge -1` and its tangent :math:`-4 m` for
smaller margins (``modified_huber`` in scikit-learn), and ``"logistic"`` is
:math:`\log(1 + e^{-m})`.
"""


def best_offset(residuals: Array, lower: Array, upper: Array) -> float:
    r"""Find the b that minimizes :math:`\sum_i \max(l_i (r_i - b), u_i (r_i - b))`.

    The slope in b starts at minus the sum of u and gains :math:`u_i - l_i` at each :math:`r_i`; the
    middle of the flat stretch is returned.

    Examples
    --------
    >>> best_offset(np.array([3.0, 0.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    1.5
    """
    order = np.argsort(residuals)
    slopes = np.cumsum((upper - lower)[order]) - upper.sum()
    flat = 1e-12 * max(slopes[-1], float(upper.sum()))
    first, last = np.searchsorted(slopes, [-flat, flat], side="right")
    edges = residuals[order[np.minimum([first, last], len(order) - 1)]]
    return float(edges.mean())


def best_regression_bias(
    targets: Array, widths: Array, scores: Array, weights: Array | float = 1.0
) -> float:
    r"""Find the b that minimizes :math:`\sum_k \omega_k \max(0, |\tau_k - f_k - b| - \epsilon_k)`.

    Up to a constant the sum is half the sum of :math:`\omega_k |r - b|` over both
    :math:`r = \tau_k - f_k \pm \epsilon_k`.  Of several b return the middle, see
    :func:`best_offset`.

    Parameters
    ----------
    targets : array of shape (K,)
        The values :math:`\tau_k` to be reached.
    widths : array of shape (K,)
        Half-widths :math:`\epsilon_k \ge 0` of the tube.
    scores : array of shape (K,)
        Scores :math:`f_k` without bias.
    weights : float or array of shape (K,)
        :math:`\omega_k \ge 0`, not all zero.

    Examples
    --------
    >>> best_regression_bias(np.array([1.0, 5.0]), np.array([0.5, 0.5]), np.array([0.0, 0.0]))
    3.0
    """
    residuals = targets - scores
    half = 0.5 * np.tile(np.broadcast_to(weights, len(targets)), 2)
    return best_offset(np.concatenate([residuals - widths, residuals + widths]), -half, half)


@dataclass(frozen=True)
class ProportionLoss:
    r"""A convex loss :math:`L_p(\tilde p_k, p_k) = h(\tilde p_k - p_k)`, or infinite.

    A bag without a proportion has the loss :math:`h(0)` for any labels.

    Attributes
    ----------
    name : str
        Name in print and messages.
    evaluate : callable
        The function h on NumPy arrays.
    expression : callable
        The same function on CVXPY expressions, entry by entry.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict, Series or None
        The loss is infinite for counts of positives outside of
        :meth:`~propcvx.bags.bags.Bags.count_range` of this tolerance, Equation (10) of the paper;
        None allows all counts.
    dead_zone : float, "sampling", array of shape (n_bags,), dict, Series or None
        If not None, the loss is :math:`h(\max(0, |\tilde p_k - p_k| - \epsilon_k))` with these
        :math:`\epsilon_k`, see :meth:`~propcvx.bags.bags.Bags.epsilons`; h must then not fall from
        0 to 1.

    Raises
    ------
    InputError
        If h is not finite and convex on [-1, 1], or the two forms are not the same function.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from propcvx.labelings.losses import ProportionLoss
    >>> above = ProportionLoss(
    ...     "above", lambda d: np.maximum(3 * d, -d), lambda d: cp.maximum(3 * d, -d)
    ... )
    >>> float(above.evaluate(0.5)), float(above.evaluate(-0.5))
    (1.5, 0.5)
    """

    name: str
    evaluate: ArrayFunction = field(repr=False)
    expression: ExpressionFunction = field(repr=False)
    epsilon: Any = None
    dead_zone: Any = None

    def __post_init__(self) -> None:
        check_loss(f"proportion loss {self.name!r}: evaluate", GAPS, self.evaluate, self.expression)
        if self.dead_zone is not None and np.diff(self.evaluate(GAPS[GAPS >= 0.0])).min() < 0.0:
            raise InputError(
                f"proportion loss {self.name!r}: evaluate must not fall from 0 to 1 with a "
                "dead_zone, as the loss would not be convex."
            )

    def key_by_id(self, bags: Bags) -> ProportionLoss:
        """Key the values of each bag by its id, so that the loss is valid for any subset."""
        epsilon, dead_zone = bags.key_by_id(self.epsilon), bags.key_by_id(self.dead_zone)
        return replace(self, epsilon=epsilon, dead_zone=dead_zone)

    def of_counts(self, bags: Bags, counts: Indices, rows: Any = slice(None)) -> Array:
        """Compute the loss of bags from counts of positives; see ``Bags.gaps``."""
        return self.of_differences(bags, bags.gaps(counts, rows), rows)

    def of_differences(self, bags: Bags, gaps: Array, rows: Any = slice(None)) -> Array:
        r"""Compute the loss of each :math:`\tilde p_k - p_k` in an array with bags as last axis."""
        if self.dead_zone is not None:
            gaps = np.maximum(0.0, np.abs(gaps) - bags.epsilons(self.dead_zone)[rows])
        return self.evaluate(gaps)

    def of_gaps(self, bags: Bags, gaps: cp.Expression) -> cp.Expression:
        r"""Build the CVXPY expression of the loss of each bag from :math:`\tilde p_k - p_k`."""
        if self.dead_zone is not None:
            widths = cp.Constant(bags.epsilons(self.dead_zone), name="epsilon")
            gaps = cp.pos(cp.abs(gaps) - widths)
        return self.expression(gaps)

    def allowed(self, bags: Bags) -> tuple[Indices, Indices]:
        """Return each bag's smallest and largest number of positives with a finite loss."""
        if self.epsilon is None:
            return 0 * bags.sizes, bags.sizes
        return bags.count_range(self.epsilon)

    def costs(self, bags: Bags, weights: Array | float) -> tuple[Array, ...]:
        """Compute the weighted loss of each bag for 0, 1, ..., :math:`n_k` positives.

        Parameters
        ----------
        bags : Bags
        weights : float or array of shape (n_bags,)
        """
        weights = np.broadcast_to(weights, bags.n_bags)
        lower, upper = self.allowed(bags)
        bag = np.repeat(np.arange(bags.n_bags), bags.sizes + 1)
        counts = np.concatenate([np.arange(size + 1) for size in bags.sizes])
        finite = (lower[bag] <= counts) & (counts <= upper[bag])
        losses = np.where(finite, weights[bag] * self.of_counts(bags, counts, bag), np.inf)
        return tuple(np.split(losses, np.cumsum(bags.sizes + 1)[:-1]))

    def total(self, bags: Bags, weights: Array | float, labeling: Array) -> float:
        """Sum the weighted losses of a labeling; infinite if a count is infeasible."""
        lower, upper = self.allowed(bags)
        counts = bags.positives_of(labeling)
        if (counts < lower).any() or (counts > upper).any():
            return np.inf
        return float(np.broadcast_to(weights, bags.n_bags) @ self.of_counts(bags, counts))


def epsilon_insensitive(epsilon: Any) -> ProportionLoss:
    r"""Build the loss :math:`\max(0, |\tilde p_k - p_k| - \epsilon_k)`.

    Parameters
    ----------
    epsilon : float, "sampling", array of shape (n_bags,), dict or Series
        Tolerance in [0, 1], of all bags, or as in :meth:`propcvx.Bags.epsilons`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings.losses import epsilon_insensitive
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 1, 1], [0.8, 0.55]))
    >>> epsilon_insensitive(0.1).of_counts(bags, np.array([1, 1])).round(2)
    array([0.2, 0. ])
    """
    if not hasattr(epsilon, "__len__"):
        check_number("epsilon", epsilon, 0.0, 1.0, closed="both")
    return ProportionLoss("epsilon_insensitive", np.abs, cp.abs, dead_zone=epsilon)


def constraint(epsilon: Any = "rounding") -> ProportionLoss:
    r"""Build the loss of Equation (10), which is 0 for feasible counts and else infinite.

    Counts are feasible if :math:`|\tilde p_k - p_k| \le \epsilon`.
    With it alter-pSVM descends on the problem that conv-pSVM relaxes, except for the bias.

    Parameters
    ----------
    epsilon : float, str, array of shape (n_bags,), dict or Series, default="rounding"
        As in :meth:`propcvx.bags.bags.Bags.count_range`.
    """
    return ProportionLoss("constraint", _nothing, _nothing, epsilon)


def _nothing(gaps: Any) -> Any:
    return 0.0 * gaps


PROPORTION_LOSSES: Mapping[str, ProportionLoss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            ProportionLoss("absolute", np.abs, cp.abs),
            ProportionLoss("squared", np.square, cp.square),
            epsilon_insensitive(0.05),
            constraint(),
        )
    }
)
"""Proportion losses by name; the paper's experiments use ``"absolute"``.

``"epsilon_insensitive"`` has a tolerance of 0.05, and ``"constraint"`` allows the nearest counts;
:func:`epsilon_insensitive` and :func:`constraint` build losses with another tolerance.
"""
