r"""Points and Newton steps of the interior-point method for the restricted master.

A Newton step on the optimality conditions takes one Cholesky factor of
:math:`A = C \sum_t \mu_t K \circ y_t y_t^\top + \operatorname{diag}(\lambda / x + \nu / (1 - x))`,
in single precision while the gap is large.  Steps are Mehrotra's predictor and corrector (Nocedal
and Wright 2006, Section 14.2) and Gondzio's further correctors (1996), which solve with the same
factor.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.solvers.specialised.weighted_gram import Near, Scaled, Solve, factor

Array = NDArray[np.float64]
Products = tuple[Array, ...]

TO_BOUNDARY = 0.995
"""Share of the way to the boundary that a step goes at most."""
ROUGH = 3e-3
"""Relative gap above which a Cholesky factor in single precision is good enough."""
CORRECTORS = 2
"""Further correctors at most."""
LONGER = 0.3
"""By how much one aims to lengthen the step; a tenth of it is the least that is worth another."""
SPREAD = 10.0
"""Products are brought to within this factor of their goal."""


class Iterate(NamedTuple):
    r"""Primal and dual variables, or a step in them.

    These are :math:`x, \beta, \mu, \lambda, \nu` and the slack of the cuts.
    """

    x: Array
    beta: Array
    mu: Array
    low: Array
    up: Array
    slack: Array

    def moved(self, step: Iterate, length: float) -> Iterate:
        """Where a step of some length ends."""
        return Iterate(*(v + length * dv for v, dv in zip(self, step, strict=True)))

    def only(self, near: Near) -> Iterate:
        """The variables of some of the instances."""
        return self._replace(x=self.x[near], low=self.low[near], up=self.up[near])

    def room(self, step: Iterate) -> float:
        """Length, at most one, to which a step stays a little inside the boundary."""
        values = self.x, self.x - 1.0, self.mu, self.low, self.up, self.slack
        changes = step.x, step.x, step.mu, step.low, step.up, step.slack
        fastest = float(np.min(np.concatenate(changes) / np.concatenate(values)))
        return min(1.0, TO_BOUNDARY / max(-fastest, 1e-300))

    def products(self) -> Products:
        """The products that are zero at the optimum."""
        return self.low * self.x, self.up * (1.0 - self.x), self.mu * self.slack

    def curvature(self) -> Products:
        """By how much products at the end of a whole step differ from what is linear in it."""
        return self.low * self.x, -self.up * self.x, self.mu * self.slack

    @property
    def centrality(self) -> float:
        """Mean of those products."""
        return float(np.mean(np.concatenate(self.products())))


@dataclass(frozen=True)
class Bound:
    r"""What is known at a point, all in units of the scaled problem.

    Attributes
    ----------
    x, mu : arrays
        The point; mu sums to one.
    quadratics : array of shape (T,)
        :math:`q_t(x)`.
    slopes : array of shape (T, N)
        Their gradients.
    value, upper : float
        Lower and upper bound on the optimum.
    """

    x: Array
    mu: Array
    quadratics: Array
    slopes: Array
    value: float
    upper: float

    @classmethod
    def at(cls, problem: Scaled, x: Array, mu: Array) -> Bound:
        """Evaluate both sides of the duality."""
        mu, slopes = mu / mu.sum(), problem.slopes(x)
        quadratics = np.maximum(0.0, 0.5 * slopes @ x)
        norm, hinge = mu @ np.sqrt(2.0 * quadratics), np.maximum(0.0, 1.0 - mu @ slopes)
        value, upper = x.sum() - quadratics.max(), 0.5 * norm**2 + hinge.sum()
        return cls(x, mu, quadratics, slopes, float(value), float(upper))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.upper - self.value) / max(abs(self.value), sys.float_info.min)


@dataclass(frozen=True)
class NewtonSystem:
    """The linear system of the steps at one iterate, factored once for all of them."""

    at: Iterate
    slopes: Array
    solve: Solve
    solved_slopes: Array
    solved_losses: Array
    bordered: Array

    @classmethod
    def of(cls, problem: Scaled, at: Iterate, bound: Bound) -> NewtonSystem:
        """Factor it; raises LinAlgError where A is not numerically positive definite."""
        slopes, diagonal = bound.slopes, at.low / at.x + at.up / (1.0 - at.x)
        solve = factor(problem, at.mu, diagonal, rough=bound.gap > ROUGH)
        t = len(at.mu)
        both = solve(np.vstack([slopes, 1.0 - at.mu @ slopes]).T)
        solved, losses = both[:, :t], both[:, t]
        bordered = np.zeros((t + 1, t + 1))
        bordered[:t, :t] = slopes @ solved + np.diag(at.slack / at.mu)
        bordered[:t, t] = bordered[t, :t] = 1.0
        return cls(at, slopes, solve, solved, losses, bordered)

    def predictor(self, cuts: Array) -> Iterate:
        """Step that removes residuals and products."""
        aims = tuple(-product for product in self.at.products())
        return self._step(self.solved_losses, cuts, aims)

    def corrector(self, dual: Array, cuts: Array, aims: Products) -> Iterate:
        """Step that removes residuals and changes the products by ``aims``."""
        right = aims[0] / self.at.x - aims[1] / (1.0 - self.at.x) - dual
        return self._step(self.solve(right), cuts, aims)

    def _step(self, right: Array, cuts: Array, aims: Products) -> Iterate:
        at, (low, up, cut) = self.at, aims
        border = np.append(self.slopes @ right + cuts + cut / at.mu, 1.0 - at.mu.sum())
        solution = np.linalg.solve(self.bordered, border)
        dmu, dbeta = solution[:-1], solution[-1]
        dx = right - self.solved_slopes @ dmu
        dlow, dup = (low - at.low * dx) / at.x, (up + at.up * dx) / (1.0 - at.x)
        return Iterate(dx, dbeta, dmu, dlow, dup, (cut - at.slack * dmu) / at.mu)


def advance(problem: Scaled, at: Iterate, bound: Bound) -> Iterate:
    """Predictor and correctors, the first of these with the second order of everything."""
    cuts = bound.quadratics - at.beta + at.slack
    system, products = NewtonSystem.of(problem, at, bound), at.products()
    predictor = system.predictor(cuts)
    length = at.room(predictor)
    goal = (at.moved(predictor, length).centrality / at.centrality) ** 3 * at.centrality
    second, bent = length**2, problem.slopes(predictor.x)
    dual = at.mu @ bound.slopes - 1.0 - at.low + at.up + second * (predictor.mu @ bent)
    cuts = cuts + second * 0.5 * (bent @ predictor.x)
    crossed = zip(products, predictor.curvature(), strict=True)
    aims = tuple(goal - product - second * bend for product, bend in crossed)
    step = system.corrector(dual, cuts, aims)
    length = at.room(step)
    for _ in range(CORRECTORS):
        trial = at.moved(step, min(1.0, length + LONGER)).products()
        aims = tuple(aim + _back(p, goal) for aim, p in zip(aims, trial, strict=True))
        other = system.corrector(dual, cuts, aims)
        if at.room(other) < length + 0.1 * LONGER:
            break
        step, length = other, at.room(other)
    return at.moved(step, length)


def _back(products: Array, goal: float) -> Array:
    """Change of products that are far from their goal, downwards by no more than that."""
    low, high = goal / SPREAD, goal * SPREAD
    return np.maximum(np.clip(products, low, high) - products, -high)
