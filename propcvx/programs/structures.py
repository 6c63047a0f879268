r"""The data of a program, for solvers that use its structure.

The function that builds a program attaches one of these records, which holds the program's own
arrays.  No variant of a program has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from propcvx.arrays import Array, Weight
from propcvx.checks import check_gram_memory
from propcvx.labelings.losses import best_offset, best_regression_bias

Values = Mapping[str, Array]
Parts = dict[str, Any]

ROUNDING = 1e-12
"""Mean of centered features, relative to their root mean square."""

FLAT = 1e-8
"""Fraction of the objective at 0 below which the objective without slopes counts as 0."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Base of the records by which specialized solvers recognize a program."""

    def magnitude(self, values: Values) -> float:
        """Return the size of the variables if known, else 1; ``values`` are the parameters."""
        return 1.0

    def gap(self, values: Values, variables: Values, duals: Values) -> float | None:
        """Compute the relative duality gap of a solution; None if it is not known."""
        return None


@dataclass(frozen=True, eq=False)
class SVMDual(Structure):
    r"""Structure of the SVM dual, :math:`\max_{l \le v \le u} y^\top v - \tfrac12 \|F^\top v\|^2`.

    Attributes
    ----------
    features : array of shape (N, r)
        The features F, one row per instance.
    bias : bool
        Whether v sums to zero.
    """

    features: Array = field(repr=False)
    bias: bool

    @cached_property
    def offset(self) -> Array:
        """Center of the features: with a bias their mean, if it is not 0 up to rounding; else 0."""
        n, rank = self.features.shape
        if not self.bias:
            return np.zeros(rank)
        mean = np.full(n, 1.0 / n) @ self.features
        size = np.sqrt(np.einsum("ij,ij->", self.features, self.features) / self.features.size)
        return mean if np.abs(mean).max(initial=0.0) > ROUNDING * size else np.zeros(rank)

    @cached_property
    def rows(self) -> Array:
        """The centered features and a column of ones, or of zeros without a bias."""
        n, rank = self.features.shape
        rows = np.empty((n, rank + 1), order="F")
        np.subtract(self.features, self.offset, out=rows[:, :rank])
        rows[:, rank] = self.bias
        return rows

    @property
    def centered(self) -> Array:
        r"""The features less their offset.

        As v sums to zero, :math:`F^\top v` and the program do not change, but fewer digits are
        lost if the data lie far from the origin.
        """
        return self.rows[:, :-1] if self.offset.any() else self.features

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix of the centered features, if memory allows."""
        check_gram_memory(
            len(self.features), "use a solver that needs none, such as 'newton' or 'clarabel'"
        )
        return self.centered @ self.centered.T

    def magnitude(self, values: Values) -> float:
        """Return the farthest bound of the box: C for a labeling."""
        return float(max(np.abs(values["lower"]).max(), np.abs(values["upper"]).max()))

    def gap(self, values: Values, variables: Values, duals: Values) -> float:
        """Compute the relative gap between a feasible v and the hyperplane of its weights."""
        return relative_gap(*self.bounds(values, variables["v"]))

    def feasible(self, values: Values, v: Array) -> Array:
        """Clip v to its box, and balance it if there is a bias."""
        box = values["lower"], values["upper"]
        return feasible_in_box(v, *box) if self.bias else np.clip(v, *box)

    def bounds(self, values: Values, v: Array) -> tuple[float, float]:
        r"""Bound the optimal value by the dual objective of v and the primal one of its hyperplane.

        v is made feasible first: clipped to its box, and the rest of its sum spread over the room
        that is left there.  The hyperplane is :math:`w = F^\top v` with the best bias b.  With
        :math:`r = y - F w - b` the two differ by
        :math:`\sum_i (u_i - v_i) r_i^+ + (v_i - l_i) r_i^-`, in which nothing cancels.
        """
        y, lower, upper = values["y"], values["lower"], values["upper"]
        v = self.feasible(values, v)
        weights = v @ self.centered
        residuals = y - self.centered @ weights
        if self.bias:
            residuals -= best_offset(residuals, lower, upper)
        excess, shortfall = np.maximum(residuals, 0.0), np.maximum(-residuals, 0.0)
        primal = 0.5 * float(weights @ weights) + float(upper @ excess - lower @ shortfall)
        return primal - float((upper - v) @ excess + (v - lower) @ shortfall), primal


@dataclass(frozen=True, eq=False)
class RestrictedMaster(Structure):
    r"""Structure of the restricted master over some labelings, eq:convex_4, for solvers.

    Attributes
    ----------
    features : array of shape (N, r)
        The features F, one row per instance.
    labelings : array of shape (T, N)
        The labelings :math:`y_t` found so far.
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.
    """

    features: Array = field(repr=False)
    labelings: Array = field(repr=False)
    C: Weight

    def magnitude(self, values: Values) -> float:
        """Return the largest upper limit of alpha, which is C."""
        return float(np.max(self.C))

    def gap(self, values: Values, variables: Values, duals: Values) -> float | None:
        """Compute the relative gap between :meth:`bounds` of alpha and mu, the duals of the cuts.

        If the solver's own value is outside of these bounds, the gap extends to it.
        """
        if duals.get("cuts") is None:
            return None
        lower, upper = self.bounds(variables["alpha"], duals["cuts"])
        stated = -float(variables["beta"])
        return relative_gap(min(lower, stated), max(upper, stated))

    def bounds(self, alpha: Array, mu: Array) -> tuple[float, float]:
        r"""Bound the optimal value from any alpha and mu.

        With alpha clipped to its box and mu to the simplex, the bounds are
        :math:`\alpha^\top 1 - \max_t \tfrac12 \|F^\top (y_t \circ \alpha)\|^2` and the primal group
        form at
        :math:`w_t = \mu_t F^\top (y_t \circ \alpha)`.
        """
        alpha, mu = np.clip(alpha, 0.0, self.C), np.maximum(mu, 0.0)
        mu = mu / (mu.sum() or 1.0)
        weights = (self.labelings * alpha) @ self.features
        lower = float(alpha.sum()) - 0.5 * float(np.square(weights).sum(axis=1).max())
        return lower, self.primal(mu[:, None] * weights)

    def primal(self, W: Array) -> float:
        """Compute the value of the group form at any weights, shape (T, r)."""
        hinge = np.maximum(0.0, 1.0 - self._margins(W))
        return 0.5 * float(np.linalg.norm(W, axis=1).sum()) ** 2 + float(np.sum(self.C * hinge))

    def answer(self, alpha: Array, mu: Array) -> tuple[Parts, Parts]:
        """Return the variables and duals of the program from alpha and mu."""
        weights = (self.labelings * alpha) @ self.features
        beta = 0.5 * np.square(weights).sum(axis=1).max() - alpha.sum()
        excess = self._margins(mu[:, None] * weights) - 1.0
        duals = {"lower": np.maximum(0.0, excess), "upper": np.maximum(0.0, -excess)}
        return {"alpha": alpha, "beta": beta}, {"cuts": mu, **duals}

    def _margins(self, W: Array) -> Array:
        return np.asarray(np.einsum("ti,ti->i", self.labelings, W @ self.features.T))


@dataclass(frozen=True, eq=False)
class GroupMaster(RestrictedMaster):
    r"""Structure of the restricted master in groups of primal weights, eq:convex_3.

    Its answer has alpha in the duals ``margin`` and mu, unscaled, in ``s``.
    """

    def magnitude(self, values: Values) -> float:
        """Return 1: the size of weights and losses is not known."""
        return 1.0

    def gap(self, values: Values, variables: Values, duals: Values) -> float:
        """Compute the smaller of two gaps: of the epigraph form, or between alpha and weights W.

        alpha determines the weights, but a small error of alpha is a large error of the weights.
        """
        lower, upper = self.bounds(duals["margin"], variables["s"])
        return relative_gap(lower, min(upper, self.primal(variables["W"])))

    def answer(self, alpha: Array, mu: Array) -> tuple[Parts, Parts]:
        """Return the variables and duals of the group form from alpha and mu."""
        weights = (self.labelings * alpha) @ self.features
        W = mu[:, None] * weights
        s = np.linalg.norm(W, axis=1)
        xi = np.maximum(0.0, 1.0 - self._margins(W))
        norms = [np.full(len(mu), s.sum()), -weights]
        duals = {"margin": alpha, "slack": self.C - alpha, "norms": norms}
        return {"W": W, "s": s, "xi": xi}, duals


@dataclass(frozen=True, eq=False)
class InvCalDual(Structure):
    r"""Structure of the dual of InvCal, eq:rueping_svm, for solvers.

    Attributes
    ----------
    bag_means : array of shape (K, r)
        M.
    """

    bag_means: Array = field(repr=False)

    def magnitude(self, values: Values) -> float:
        """Return the largest width of the box, C_p."""
        return float(np.max(values["C_p"]))

    def gap(self, values: Values, variables: Values, duals: Values) -> float:
        r"""Compute the relative gap of a feasible :math:`z = a - a^*` and its weights' hyperplane.

        For that z the best a and :math:`a^*` are its positive and its negative part; the hyperplane
        is :math:`w = M^\top z` with the best bias.  If w = 0 has no losses, the optimum is 0, and
        the gap is relative to the losses of scores that miss by the targets, or by 1.
        """
        target, tube = values["target"], values["epsilon"]
        box = np.broadcast_to(values["C_p"], len(target))
        z = feasible_in_box(variables["a"] - variables["a_star"], -box, box)
        weights = self.bag_means.T @ z

        def losses(residuals: Array) -> float:
            bias = best_regression_bias(residuals, tube, np.zeros_like(residuals), box)
            return float(box @ np.maximum(np.abs(residuals - bias) - tube, 0.0))

        norm = 0.5 * float(weights @ weights)
        size = float(box @ np.maximum(1.0, np.abs(target)))
        lower = float(target @ z - tube @ np.abs(z))
        upper = losses(target - self.bag_means @ weights)
        floor = size if losses(target) <= np.finfo(float).eps * size else 0.0
        return relative_gap(lower - norm, upper + norm, floor)


@dataclass(frozen=True, eq=False)
class RidgeRegression(Structure):
    r"""Structure of a weighted ridge regression of the proportions on the bag means.

    Attributes
    ----------
    bag_means : array of shape (K, r)
        M.
    weights : array of shape (K,)
        The weights of the bags.
    """

    bag_means: Array = field(repr=False)
    weights: Array = field(repr=False)

    def centered(self, p: Array) -> tuple[Array, Array, Array]:
        """Return the weighted mean of the bag means, and centered rows and proportions.

        Rows and proportions are multiplied by the roots of the weights; the least squares then has
        no bias.
        """
        fractions, root = self.weights / self.weights.sum(), np.sqrt(self.weights)
        mean = fractions @ self.bag_means
        return mean, root[:, None] * (self.bag_means - mean), root * (p - fractions @ p)

    def gap(self, values: Values, variables: Values, duals: Values) -> float | None:
        r"""Bound the distance of the objective from its optimum, relative to its value at w = 0.

        If that value is nearly 0, as all proportions are equal, it is relative to ``FLAT`` times
        the value at w = 0 and b = 0.

        At the best b for each w the objective is :math:`2 \lambda`-strongly convex in w: with the
        gradient g there it can fall by :math:`\|g\|^2 / 4 \lambda`.  None where
        :math:`\lambda` is 0.
        """
        w, lam = variables["w"], float(values["lam"])
        if lam == 0.0:
            return None
        _, rows, targets = self.centered(values["p"])
        gradient = 2.0 * ((rows @ w - targets) @ rows + lam * w)
        excess = float(gradient @ gradient) / (4.0 * lam)
        flat = FLAT * float(self.weights @ np.square(values["p"]) or self.weights.sum())
        return excess / max(float(targets @ targets), flat)


@dataclass(frozen=True, eq=False)
class SecondMomentFit(Structure):
    r"""Structure of a regression of covariance matrices on numbers, with a semidefinite slope.

    Attributes
    ----------
    covariances : array of shape (G, r, r)
        :math:`S_g`.
    between : array of shape (G,)
        :math:`d_g`.
    weights : array of shape (G,)
        The weights of the rows.
    """

    covariances: Array = field(repr=False)
    between: Array = field(repr=False)
    weights: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class LogisticModel(Structure):
    """Structure of the conditional exponential model of MeanMap, for solvers.

    Attributes
    ----------
    features : array of shape (N, r)
        The features F, one row per instance.
    bias : bool
        Whether there is a bias b.
    fractions : array of shape (N,)
        Weights of the instances; they sum to one.
    """

    features: Array = field(repr=False)
    bias: bool
    fractions: Array = field(repr=False)

    def gap(self, values: Values, variables: Values, duals: Values) -> float | None:
        r"""Bound the distance of the objective from its optimum, relative to its fall from w = 0.

        At the best b for each w the objective is :math:`2 \lambda`-strongly convex in w: with the
        gradient g there it can fall by :math:`\|g\|^2 / 4 \lambda`.  None where
        :math:`\lambda` is 0, or where only a bias without bound fits the labels.
        """
        label, scores = float(values.get("mean_label", 0.0)), self.features @ variables["w"]
        if abs(label) >= 1.0 or values["lam"] == 0.0:
            return None
        zero = float(np.arctanh(label))
        offset = best_logistic_bias(scores, label, self.fractions) if self.bias else 0.0
        target, lam, w = values["mean_operator"], float(values["lam"]), variables["w"]
        slopes = self.fractions * np.tanh(scores + offset)
        gradient = slopes @ self.features - target + 2.0 * lam * w
        fall = float(target @ w - lam * (w @ w)) + label * (offset - zero)
        fall -= float(self.fractions @ np.logaddexp(scores + offset, -scores - offset))
        fall += float(np.logaddexp(zero, -zero))
        excess = float(gradient @ gradient) / (4.0 * lam)
        return excess / max(fall, np.finfo(float).eps)


def feasible_in_box(v: Array, lower: Array, upper: Array) -> Array:
    """Clip v to its box, and spread the rest of its sum over the room that is left."""
    v = np.clip(v, lower, upper)
    return moved_in_box(v, lower, upper, -float(v.sum()))


def moved_in_box(v: Array, lower: Array, upper: Array, change: float) -> Array:
    """Move v in its box so that its sum changes by a number, as far as there is room.

    Examples
    --------
    >>> moved_in_box(np.array([0.0, 0.5]), np.zeros(2), np.ones(2), 0.75)
    array([0.5 , 0.75])
    """
    room = (upper if change > 0.0 else lower) - v
    total = float(room.sum())
    return v if total == 0.0 else v + room * min(1.0, change / total)


def best_logistic_bias(scores: Array, mean_label: float, fractions: Array) -> float:
    r"""Find b so that the weighted mean of :math:`\tanh(f_i + b)` is a label in (-1, 1)."""
    zero, margin = np.arctanh(mean_label), 1.0 + 1e-9 * float(np.abs(scores).max())
    low, high = zero - scores.max() - margin, zero - scores.min() + margin

    def excess(b: float) -> float:
        return float(fractions @ np.tanh(scores + b)) - mean_label

    return float(brentq(excess, low, high, xtol=np.finfo(float).tiny, maxiter=5000))


def relative_gap(lower: float, upper: float, floor: float = 0.0) -> float:
    """Compute the gap, at least 0, relative to the larger bound in size, or to ``floor``.

    Infinite if a bound is not finite.
    """
    size = max(abs(lower), abs(upper), floor)
    if not np.isfinite(upper - lower):
        return np.inf
    return max(0.0, upper - lower) / size if size > 0.0 else 0.0
