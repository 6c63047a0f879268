r"""A primal-dual interior-point method for the restricted master in its epigraph form, eq:convex_4.

With :math:`C_i = C c_i`, C the largest of them, rows of F multiplied by :math:`c_i` and
:math:`x_i = \alpha_i / C_i` the problem is

.. math::

    \min_{0 \le x \le 1, \beta} \beta - c^\top x \quad \text{s.t. }
    q_t(x) = \tfrac{C}{2} \|F^\top (y_t \circ x)\|^2 \le \beta

with multipliers :math:`\mu_t` of the cuts and :math:`\lambda, \nu` of the box.  The steps are
Mehrotra's predictor and corrector (Nocedal and Wright 2006, Section 14.2); what CVXPY makes of the
problem has T r further unknowns and as many equations, these steps factor one matrix of size N,

.. math::

    A = C \sum_t \mu_t K \circ y_t y_t^\top
    + \operatorname{diag}(\lambda / x + \nu / (1 - x)),

or, by Woodbury's identity, a matrix of size T r if that is smaller.  The steps end by the duality
gap between x and the group form's weights :math:`w_t = \mu_t F^\top (y_t \circ x)`, which bounds
the error for any steps.

On vote with a Gaussian kernel, 348 instances, the master of 5 cuts takes 40 ms and that of 20 cuts
60 ms; the fastest form through CVXPY takes 1.5 s and 9.4 s.  With four labelings, all of 60
problems reached a gap of 1e-6 up to C = 1e3 in units of the features (times their mean square).  At
1e6 half of them end between 1e-6 and 7e-4, where the linear system is singular to double precision;
at 1e10 and beyond most have a gap above 1%, which :func:`propcvx.solvers.solve` raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from propcvx.arrays import Array, Weight
from propcvx.programs import Program
from propcvx.solvers.solver import Solution

Products = tuple[Array, ...]

MAX_ITER = 200
"""Steps of one call; 12 to 45 are taken with some thousand instances, 71 and 82 with 100,000 and
200,000."""

TO_BOUNDARY = 0.995
"""Largest fraction of the way to the boundary that a step goes."""

MIN_MULTIPLIER = 0.1
"""The least multiplier of the box at the start."""


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

    def move(self, step: Iterate, length: float) -> Iterate:
        """Return the end of a step of some length."""
        return Iterate(*(v + length * dv for v, dv in zip(self, step, strict=True)))

    def step_length(self, step: Iterate) -> float:
        """Compute the length, at most one, to which a step stays a little inside the boundary."""
        values = self.x, self.x - 1.0, self.mu, self.low, self.up, self.slack
        changes = step.x, step.x, step.mu, step.low, step.up, step.slack
        fastest = float(np.min(np.concatenate(changes) / np.concatenate(values)))
        return min(1.0, TO_BOUNDARY / max(-fastest, 1e-300))

    def products(self) -> Products:
        """Compute the products that are zero at the optimum."""
        return self.low * self.x, self.up * (1.0 - self.x), self.mu * self.slack

    @property
    def centrality(self) -> float:
        """Compute the mean of the products."""
        return float(np.mean(np.concatenate(self.products())))


@dataclass(frozen=True)
class Scaled:
    """The restricted master in units of C; K where its factor is the smaller one."""

    features: Array
    labelings: Array
    C: float
    gram: Array | None
    weights: Array | float = 1.0

    @classmethod
    def from_cuts(cls, features: Array, labelings: Array, C: Weight) -> Scaled:
        """Build with the Gram matrix, unless T r is much smaller than N."""
        largest, small = float(np.max(C)), 2 * len(labelings) * features.shape[1] < len(features)
        weights = C / largest
        features = np.reshape(weights, (-1, 1)) * features
        gram = None if small else features @ features.T
        return cls(features, labelings, largest, gram, weights)

    def slopes(self, x: Array) -> Array:
        r"""Compute gradients :math:`\nabla q_t = C \, y_t \circ K (y_t \circ x)`, one row per t.

        As :math:`q_t` is quadratic, its value is half the product of x with its row.
        """
        signed = self.labelings * (self.C * x)
        if self.gram is None:
            return self.labelings * (signed @ self.features @ self.features.T)
        return self.labelings * (signed @ self.gram)

    def factor(self, mu: Array, diagonal: Array) -> Callable[[Array], Array]:
        """Return a solver of A; raise LinAlgError if A is not numerically positive definite."""
        if self.gram is None:
            return self._low_rank_factor(mu, diagonal)
        matrix = (self.labelings.T * (self.C * mu)) @ self.labelings
        matrix *= self.gram
        matrix.flat[:: len(diagonal) + 1] += diagonal
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        return lambda b: cho_solve(factor, b, check_finite=False)

    def _low_rank_factor(self, mu: Array, diagonal: Array) -> Callable[[Array], Array]:
        """Return a solver of A = B B' + diagonal by Woodbury's identity, refined.

        Refined once, the last step of some masters misses a gap of 1e-8; a third time adds nothing.
        """
        roots = np.sqrt(self.C * mu)[:, None] * self.labelings
        B = np.hstack([root[:, None] * self.features for root in roots])
        scaled = B / diagonal[:, None]
        inner = B.T @ scaled
        inner.flat[:: len(inner) + 1] += 1.0
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve_once(b: Array) -> Array:
            by_diagonal = (b.T / diagonal).T
            return by_diagonal - scaled @ cho_solve(factor, B.T @ by_diagonal, check_finite=False)

        def solve(b: Array) -> Array:
            x = solve_once(b)
            for _ in range(2):
                x = x + solve_once(b - B @ (B.T @ x) - (x.T * diagonal).T)
            return x

        return solve

    def start(self) -> Iterate:
        """Return twice the best multiple of 1, or the middle of the box, with equal weights.

        The other variables satisfy all conditions except complementarity.
        """
        t, n = self.labelings.shape
        ones, mu = np.ones(n), np.full(t, 1.0 / t)
        total = float(np.sum(self.weights * ones))
        x = total / max(0.5 * float(np.mean(self.slopes(ones) @ ones)), 2.0 * total) * ones
        slopes = self.slopes(x)
        margins, quadratics = mu @ slopes - self.weights, 0.5 * slopes @ x
        low, up = (
            np.maximum(margins, 0.0) + MIN_MULTIPLIER,
            np.maximum(-margins, 0.0) + MIN_MULTIPLIER,
        )
        slack = float(np.mean(np.concatenate([low * x, up * (1.0 - x)])))
        beta = quadratics.max() + t * slack
        return Iterate(x, beta, mu, low, up, beta - quadratics)


class Bound(NamedTuple):
    """A point with mu that sums to one, and the relative duality gap there."""

    x: Array
    mu: Array
    quadratics: Array
    slopes: Array
    gap: float

    @classmethod
    def from_point(cls, problem: Scaled, x: Array, mu: Array) -> Bound:
        """Evaluate both sides of the duality."""
        mu, slopes = mu / mu.sum(), problem.slopes(x)
        quadratics = np.maximum(0.0, 0.5 * slopes @ x)
        norm, hinge = mu @ np.sqrt(2.0 * quadratics), np.maximum(0.0, problem.weights - mu @ slopes)
        lower = np.sum(problem.weights * x) - quadratics.max()
        upper = 0.5 * norm**2 + hinge.sum()
        gap = (upper - lower) / max(upper, np.finfo(float).tiny)
        return cls(x, mu, quadratics, slopes, float(gap))


def newton_steps(
    problem: Scaled, at: Iterate, slopes: Array
) -> Callable[[Array, Array, Products], Iterate]:
    """Return the function that computes steps from one iterate, with one factorization.

    A step removes the primal and dual residuals and changes the products by ``aims``.

    Raises
    ------
    LinAlgError
        If A is not numerically positive definite.
    """
    solve = problem.factor(at.mu, at.low / at.x + at.up / (1.0 - at.x))
    solved_slopes, t = solve(slopes.T), len(at.mu)
    bordered = np.zeros((t + 1, t + 1))
    bordered[:t, :t] = slopes @ solved_slopes + np.diag(at.slack / at.mu)
    bordered[:t, t] = bordered[t, :t] = 1.0

    def step(dual: Array, cuts: Array, aims: Products) -> Iterate:
        low, up, cut = aims
        right = solve(low / at.x - up / (1.0 - at.x) - dual)
        border = np.append(slopes @ right + cuts + cut / at.mu, 1.0 - at.mu.sum())
        solution = np.linalg.solve(bordered, border)
        dmu, dbeta = solution[:-1], solution[-1]
        dx = right - solved_slopes @ dmu
        dlow, dup = (low - at.low * dx) / at.x, (up + at.up * dx) / (1.0 - at.x)
        return Iterate(dx, dbeta, dmu, dlow, dup, (cut - at.slack * dmu) / at.mu)

    return step


def advance(problem: Scaled, at: Iterate, bound: Bound) -> Iterate:
    """Take Mehrotra's step: a predictor, then a corrector with second-order products."""
    dual = at.mu @ bound.slopes - problem.weights - at.low + at.up
    cuts = bound.quadratics - at.beta + at.slack
    step, products = newton_steps(problem, at, bound.slopes), at.products()
    predictor = step(dual, cuts, tuple(-product for product in products))
    length = at.step_length(predictor)
    goal = (at.move(predictor, length).centrality / at.centrality) ** 3 * at.centrality
    bends = predictor.low * predictor.x, -predictor.up * predictor.x, predictor.mu * predictor.slack
    second = length**2
    aims = tuple(goal - p - second * bend for p, bend in zip(products, bends, strict=True))
    bent = problem.slopes(predictor.x)
    dual = dual + second * (predictor.mu @ bent)
    cuts = cuts + second * 0.5 * (bent @ predictor.x)
    corrected = step(dual, cuts, aims)
    return at.move(corrected, at.step_length(corrected))


def follow(problem: Scaled, tol: float, max_iter: int) -> tuple[Bound, int]:
    """Step until the gap is at most ``tol``; return the best point and the number of steps."""
    at = problem.start()
    bound = best = Bound.from_point(problem, at.x, at.mu)
    for iteration in range(max_iter):
        if bound.gap <= tol:
            return bound, iteration
        try:
            with np.errstate(all="ignore"):  # x on its bounds, as rounding has it, ends it below
                at = advance(problem, at, bound)
                bound = Bound.from_point(problem, at.x, at.mu)
        except (LinAlgError, ZeroDivisionError):  # as close as rounding and conditioning allow
            return best, iteration
        best = bound if bound.gap < best.gap else best
    return best, max_iter


def run_mkl_interior_point(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    """Solve ``mkl_epigraph`` or ``mkl_group``, two forms of one problem.

    ``options`` are ``tol``, the relative duality gap to reach, and ``max_iter``.  Every call makes
    a cold start, for any ``warm``.
    """
    master: Any = program.structure
    labelings = np.asarray(master.labelings, dtype=np.float64)
    problem = Scaled.from_cuts(master.features, labelings, master.C)
    bound, steps = follow(problem, options["tol"], options.get("max_iter", MAX_ITER))
    variables, duals = master.answer(problem.C * problem.weights * bound.x, bound.mu)
    return Solution(
        cp.OPTIMAL if bound.gap <= options["tol"] else cp.USER_LIMIT,
        variables,
        duals,
        iterations=steps,
        gap=bound.gap,
    )
