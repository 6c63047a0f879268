r"""The restricted master of Algorithm 2, in any of its three forms.

A master is called with the labelings found so far and returns alpha and the weights mu; the
cutting-plane loop is the same for all of them.

The reduced-gradient form is SimpleMKL (Rakotomamonjy et al. 2008): :math:`\min_\mu J(\mu)` over the
simplex, eq:convex_3, where J and its gradient come from an inner QP.  J is convex, so the slope
along a line only rises and the line search bisects on its sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.errors import InaccurateSolutionWarning, warn
from propcvx.programs import RestrictedMaster, mkl_epigraph, mkl_group, mkl_inner
from propcvx.programs.structures import relative_gap
from propcvx.solvers import Solution, Solve
from propcvx.solvers.interface import check_gap

_Optimum = tuple[Array, Array, Solution]
"""Alpha, the weights mu up to scale, and the solver's last solution."""

Form = Callable[[Array, Array, Weight, Solve], _Optimum]
"""``form(features, labelings, C, solve)``."""

MAX_STEPS = 200
MAX_BISECTIONS = 30
RELATIVE_GAP = 1e-4
BOUNDS_GAP = 1e-3
"""Relative gap of a master's bounds: a small error of alpha is a larger error of the weights."""
ZERO = 1e-12
"""Size below which weights are set to zero; as rounding errors they would stop the next step."""
FLAT = 0.1
"""Fraction of the first slope at which a line search ends."""


@dataclass(frozen=True)
class MasterSolution:
    r"""Solution of the MKL problem over some labelings, eq:convex_3.

    Attributes
    ----------
    alpha : array of shape (n_instances,)
        Dual variables, in [0, C_i]; a value that a solver left near an end is set to the end.
    mu : array of shape (n_labelings,)
        Weights of the labelings, >= 0, summing to one.
    value : float
        :math:`\alpha^\top 1 - \beta'` with :math:`\beta' = \max_t \tfrac12 \|F^\top (y_t \circ
        \alpha)\|^2`, evaluated at this alpha or at the solver's own, whichever is larger: at most
        the restricted master's optimum.
    upper : float
        Primal value for the weights :math:`w_t = \mu_t F^\top (y_t \circ \alpha)`, or for those
        that the solver gives, whichever is smaller: at least the restricted master's optimum.
    level : float
        :math:`\beta'` at this alpha; a labeling whose violation value is larger is violated.
    solver, status : str
        The solver that answered, and its status.
    """

    alpha: Array
    mu: Array
    value: float
    upper: float
    level: float
    solver: str
    status: str


def restricted_master(
    form: Form, features: Array, C: Weight, solve: Solve = Solve()
) -> Callable[[Array], MasterSolution]:
    """Return a function that solves a form of the restricted master.

    Parameters
    ----------
    form : callable
        :func:`epigraph`, :func:`group` or :func:`reduced_gradient`.
    features : array of shape (n_instances, rank)
        F, one row per instance.
    C : float or array of shape (n_instances,)
        Weight of the hinge loss.
    solve : Solve
        Solves a program.

    Returns
    -------
    callable
        From the labelings found so far, shape (n_labelings, n_instances), to the solution.
    """

    def solve_master(labelings: Array) -> MasterSolution:
        alpha, mu, answer = form(features, labelings, C, solve)
        alpha, mu = np.clip(alpha, 0.0, C), np.maximum(mu, 0.0)
        mu = mu / mu.sum()
        problem = RestrictedMaster(features, labelings, C)
        value, upper = problem.bounds(alpha, mu)
        if "W" in answer.variables:
            upper = min(upper, problem.primal(answer.variables["W"]))
        answer = replace(answer, gap=relative_gap(value, upper))
        limited = bool(solve.options) or solve.time_limit < np.inf
        check_gap(answer.solver, "the restricted master", answer, BOUNDS_GAP, limited)
        weights = mu[:, None] * ((labelings * alpha) @ features)
        alpha = settle(alpha, (labelings * (weights @ features.T)).sum(axis=0), C)
        settled_value, _ = problem.bounds(alpha, mu)
        value, level = max(value, settled_value), float(alpha.sum()) - settled_value
        return MasterSolution(alpha, mu, value, upper, level, answer.solver, answer.status)

    return solve_master


def settle(alpha: Array, scores: Array, C: Weight) -> Array:
    r"""Set alpha to 0 or C where it differs from them by a solver's tolerance.

    At an optimum :math:`\alpha_i = 0` or :math:`f_i \le 1`, and :math:`\alpha_i = C` or
    :math:`f_i \ge 1`.  A solver leaves both sides of such an alternative inexact.  The side that is
    nearer to holding, with alpha measured in units of its mean, is made exact.

    Parameters
    ----------
    alpha : array of shape (n_instances,)
        In [0, C].
    scores : array of shape (n_instances,)
        :math:`f_i`, times the labels.
    C : float or array of shape (n_instances,)
        Weight of the hinge loss.

    Examples
    --------
    >>> settle(np.array([1e-7, 0.6, 1.0 - 1e-7]), np.array([1.3, 1.0 + 1e-7, 0.2]), 1.0)
    array([0. , 0.6, 1. ])
    """
    mean = float(alpha.mean())
    excess, slack = mean * (scores - 1.0), mean * (1.0 - scores)
    return np.where(alpha < excess, 0.0, np.where(C - alpha < slack, C, alpha))


def epigraph(features: Array, labelings: Array, C: Weight, solve: Solve) -> _Optimum:
    """Solve the epigraph form, :func:`propcvx.programs.mkl_epigraph`."""
    answer = solve(mkl_epigraph(features, labelings, C))
    return answer.variables["alpha"], answer.duals["cuts"], answer


def group(features: Array, labelings: Array, C: Weight, solve: Solve) -> _Optimum:
    """Solve the dual in groups of primal weights, :func:`propcvx.programs.mkl_group`."""
    answer = solve(mkl_group(features, labelings, C))
    norms = answer.variables["s"]
    return answer.duals["margin"], norms if norms.max() > 0 else np.ones_like(norms), answer


def reduced_gradient(features: Array, labelings: Array, C: Weight, solve: Solve) -> _Optimum:
    """Run SimpleMKL, as in the paper, by QPs alone, :func:`propcvx.programs.mkl_inner`."""
    program = mkl_inner(features, labelings, C)

    def inner(mu: Array) -> Trial:
        answer = solve(program.set(root_mu=np.sqrt(mu)))
        weights = (labelings * answer.variables["alpha"]) @ features
        return Trial(mu, answer.value, -0.5 * np.square(weights).sum(axis=1), answer)

    result = simple_mkl(inner, np.full(len(labelings), 1.0 / len(labelings)))
    return result.answer.variables["alpha"], result.mu, result.answer


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


def simple_mkl(inner: Callable[[Array], Trial], mu: Array) -> Trial:
    """Descend from mu until the gap is below ``RELATIVE_GAP`` of the value, or of one.

    Warns
    -----
    InaccurateSolutionWarning
        If it stalls or ``MAX_STEPS`` pass before that.
    """
    point = inner(mu)
    for _ in range(MAX_STEPS):
        if point.gap <= RELATIVE_GAP * max(1.0, abs(point.value)):
            return point
        candidate = _line_search(inner, point, _direction(point))
        if candidate.value >= point.value:
            break
        point = candidate
    warn(
        f"SimpleMKL stopped with a gap of {point.gap:.3g} at the value {point.value:.6g}. Use "
        "CuttingPlanes(master='epigraph'), or a smaller solver_tol.",
        InaccurateSolutionWarning,
    )
    return point


def _direction(point: Trial) -> Array:
    """Compute the reduced gradient, with the largest weight as reference; it sums to zero."""
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
        mu = start.mu + step * direction
        mu[mu < ZERO] = 0.0
        point = inner(mu / mu.sum())
        rises = direction @ point.gradient > 0
        if not rises and step == high:
            break
        if point.value < start.value and abs(direction @ point.gradient) <= FLAT * abs(slope):
            break
        low, high = (low, step) if rises else (step, high)
        step = (low + high) / 2
    return point


MASTERS: Mapping[str, Callable[..., Callable[[Array], MasterSolution]]] = MappingProxyType(
    {
        form.__name__: partial(restricted_master, form)
        for form in (group, epigraph, reduced_gradient)
    }
)
"""Forms of the restricted master, by name: ``master(features, C, solve)``."""
