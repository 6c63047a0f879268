r"""A primal-dual interior-point method for the restricted master in its epigraph form, eq:convex_4.

In :math:`x = \alpha / C` and with the factor scaled by :math:`\sqrt C`, the problem is

.. math::

    \min_{0 \le x \le 1, \beta} \beta - 1^\top x \quad \text{s.t. }
    q_t(x) = \tfrac12 \|F^\top (y_t \circ x)\|^2 \le \beta

with multipliers :math:`\mu_t` of the cuts and :math:`\lambda, \nu` of the box.  A Newton step on
its optimality conditions takes one Cholesky factor of
:math:`A = \sum_t \mu_t \, K \circ y_t y_t^\top + \operatorname{diag}(\lambda / x + \nu / (1 - x))`;
steps are Mehrotra's predictor and corrector (Nocedal and Wright 2006, Section 14.2).  What ends it
is the duality gap between this x and the group form's weights
:math:`w_t = \mu_t F^\top (y_t \circ x)`, which bounds the error whatever the steps were.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from propcvx.programs import Program
from propcvx.solvers.through_cvxpy import Run
from propcvx.solvers.weighted_gram import Scaled, Solve, factor

Array = NDArray[np.float64]

MAX_ITER = 60
TO_BOUNDARY = 0.995
"""Share of the way to the boundary that a step goes at most."""
FAR = 1e-3
"""Where solutions are below this share of C, the middle of the box is no good start."""


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

    def room(self, step: Iterate) -> float:
        """Length at which the first of the positive variables becomes zero."""
        values = self.x, 1.0 - self.x, self.mu, self.low, self.up, self.slack
        changes = step.x, -step.x, step.mu, step.low, step.up, step.slack
        falls = (float(np.max(-dv / v)) for v, dv in zip(values, changes, strict=True))
        return 1.0 / max(*falls, 1e-300)

    def products(self) -> tuple[Array, ...]:
        """The products that are zero at the optimum."""
        return self.low * self.x, self.up * (1.0 - self.x), self.mu * self.slack

    @property
    def centrality(self) -> float:
        """Mean of those products."""
        return float(np.mean(np.concatenate(self.products())))


@dataclass(frozen=True)
class Bound:
    r"""What is known at an iterate, all in units of the scaled problem.

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
    def at(cls, problem: Scaled, iterate: Iterate) -> Bound:
        """Evaluate both sides of the duality."""
        x, mu = iterate.x, iterate.mu / iterate.mu.sum()
        slopes = problem.slopes(x)
        quadratics = np.maximum(0.0, 0.5 * slopes @ x)
        norm, hinge = mu @ np.sqrt(2.0 * quadratics), np.maximum(0.0, 1.0 - mu @ slopes)
        value, upper = x.sum() - quadratics.max(), 0.5 * norm**2 + hinge.sum()
        return cls(x, mu, quadratics, slopes, float(value), float(upper))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.upper - self.value) / max(abs(self.value), np.finfo(float).tiny)


@dataclass(frozen=True)
class NewtonSystem:
    """The linear system of the steps at one iterate, factored once for predictor and corrector."""

    at: Iterate
    slopes: Array
    solve: Solve
    solved_slopes: Array
    bordered: Array

    @classmethod
    def of(cls, problem: Scaled, at: Iterate, slopes: Array) -> NewtonSystem:
        """Factor it; raises LinAlgError where A is not numerically positive definite."""
        solve = factor(problem, at.mu, at.low / at.x + at.up / (1.0 - at.x))
        solved = solve(slopes.T)
        t = len(at.mu)
        bordered = np.zeros((t + 1, t + 1))
        bordered[:t, :t] = slopes @ solved + np.diag(at.slack / at.mu)
        bordered[:t, t] = bordered[t, :t] = 1.0
        return cls(at, slopes, solve, solved, bordered)

    def step(self, dual: Array, cuts: Array, aims: tuple[Array, ...]) -> Iterate:
        """Step that removes residuals and changes the products by ``aims``."""
        at, (low, up, cut) = self.at, aims
        right = self.solve(low / at.x - up / (1.0 - at.x) - dual)
        border = np.append(self.slopes @ right + cuts + cut / at.mu, 1.0 - at.mu.sum())
        solution = np.linalg.solve(self.bordered, border)
        dmu, dbeta = solution[:-1], solution[-1]
        dx = right - self.solved_slopes @ dmu
        dlow, dup = (low - at.low * dx) / at.x, (up + at.up * dx) / (1.0 - at.x)
        return Iterate(dx, dbeta, dmu, dlow, dup, (cut - at.slack * dmu) / at.mu)


def is_mkl_epigraph(program: Program) -> bool:
    """Only the epigraph form of the restricted master is solved here."""
    return program.name == "mkl_epigraph"


def run_mkl_interior_point(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``mkl_epigraph``.

    ``options`` are ``tol``, the relative duality gap to reach, and ``max_iter``.
    """
    start = perf_counter()
    features, labelings, C = (program.constants[k] for k in ("features", "labelings", "C"))
    problem = Scaled(np.sqrt(C) * features, np.asarray(labelings, dtype=np.float64))
    bound, iterations, status = _iterate(problem, **options)
    _store(program, bound, C)
    return Run(status, 0.0, perf_counter() - start, iterations)


def _iterate(problem: Scaled, tol: float, max_iter: int = MAX_ITER) -> tuple[Bound, int, str]:
    """Newton steps until the gap is at most ``tol``; the iterate with the smallest gap."""
    at = _start(problem)
    best = bound = Bound.at(problem, at)
    iteration = 0
    while best.gap > tol and iteration < max_iter:
        iteration += 1
        try:
            with np.errstate(all="ignore"):  # x on its bounds, as rounding has it, ends it below
                at = _advance(problem, at, bound)
                bound = Bound.at(problem, at)
        except LinAlgError:  # as close as the conditioning of A allows
            break
        best = bound if bound.gap < best.gap else best
    return best, iteration, cp.OPTIMAL if best.gap <= tol else cp.USER_LIMIT


def _start(problem: Scaled) -> Iterate:
    """The middle of the box, or a small multiple of it where the best one is ``FAR`` below it."""
    t, n = problem.labelings.shape
    ones = np.ones(n)
    quadratics = 0.5 * problem.slopes(ones) @ ones
    share = n / (2.0 * max(quadratics.max(), np.finfo(float).tiny))
    share = share if share < FAR else 0.5
    quadratics = share**2 * quadratics
    beta = quadratics.max() + t * share
    return Iterate(share * ones, beta, np.full(t, 1.0 / t), ones, ones, beta - quadratics)


def _advance(problem: Scaled, at: Iterate, bound: Bound) -> Iterate:
    """One predictor and one corrector, with the second order of everything in the latter."""
    dual = at.mu @ bound.slopes - 1.0 - at.low + at.up
    cuts = bound.quadratics - at.beta + at.slack
    system, products = NewtonSystem.of(problem, at, bound.slopes), at.products()
    predictor = system.step(dual, cuts, tuple(-product for product in products))
    length = min(1.0, at.room(predictor))
    goal = (at.moved(predictor, length).centrality / at.centrality) ** 3 * at.centrality
    second, bent = length**2, problem.slopes(predictor.x)
    dual = dual + second * (predictor.mu @ bent)
    cuts = cuts + second * 0.5 * (bent @ predictor.x)
    crossed = (
        predictor.low * predictor.x,
        -predictor.up * predictor.x,
        predictor.mu * predictor.slack,
    )
    aims = tuple(goal - p - second * c for p, c in zip(products, crossed, strict=True))
    step = system.step(dual, cuts, aims)
    return at.moved(step, min(1.0, TO_BOUNDARY * at.room(step)))


def _store(program: Program, bound: Bound, C: float) -> None:
    """Leave the answer in the program; the duals of the box make the Lagrangian stationary."""
    scores = bound.mu @ bound.slopes
    program.variables["alpha"].value = C * bound.x
    program.variables["beta"].value = np.array(-C * bound.value)
    duals = {
        "cuts": bound.mu,
        "lower": np.maximum(0.0, scores - 1.0),
        "upper": np.maximum(0.0, 1.0 - scores),
    }
    for name, dual in duals.items():
        program.constraints[name].dual_variables[0].save_value(dual)
