r"""A primal-dual interior-point method for the restricted master in its epigraph form, eq:convex_4.

In :math:`x = \alpha / C` the problem is

.. math::

    \min_{0 \le x \le 1, \beta} \beta - 1^\top x \quad \text{s.t. }
    q_t(x) = \tfrac{C}{2} \|F^\top (y_t \circ x)\|^2 \le \beta

with multipliers :math:`\mu_t` of the cuts and :math:`\lambda, \nu` of the box.  The steps are in
:mod:`.mkl_newton`.  What ends them is
the duality gap between x and the group form's weights :math:`w_t = \mu_t F^\top (y_t \circ x)`,
which bounds the error whatever the steps were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from propcvx.programs import Program
from propcvx.solvers.answer import Answer
from propcvx.solvers.specialised.mkl_newton import Bound, Iterate, advance
from propcvx.solvers.specialised.weighted_gram import Scaled

Array = NDArray[np.float64]

MAX_ITER = 60
INSIDE = 0.1
"""The least multiplier of the box at a cold start."""
CENTRAL = 0.3
"""The first iterate with a relative gap below this is where the next master starts."""
ENTRY = 0.3
"""Weight of a labeling that comes in there."""
SURE = 0.1
"""Relative gap below which instances may be left out."""
FAR = 100.0
"""How many times as far from the margin as their weight tells, relative to the means."""
WORTH = 0.75
"""Instances are left out if at most this share remains."""


@dataclass(frozen=True)
class Path:
    """Where steps ended, how many, where they came near the central path, if all took part."""

    bound: Bound
    iterations: int
    central: Iterate | None
    whole: bool


class Warm(NamedTuple):
    """A problem that was solved, and where its steps came near the central path."""

    problem: Scaled
    central: Iterate | None


def run_mkl_interior_point(program: Program, options: dict[str, Any], warm: Any) -> Answer:
    """Solve ``mkl_epigraph``."""
    start = perf_counter()
    problem, central = _problem(program, warm)
    path = _solve(problem, central, **options)
    status = cp.OPTIMAL if path.bound.gap <= options["tol"] else cp.USER_LIMIT
    scores = path.bound.mu @ path.bound.slopes
    return Answer(
        status,
        {"alpha": problem.C * path.bound.x, "beta": np.array(-problem.C * path.bound.value)},
        {
            "cuts": path.bound.mu,
            "lower": np.maximum(0.0, scores - 1.0),
            "upper": np.maximum(0.0, 1.0 - scores),
        },
        solve_seconds=perf_counter() - start,
        iterations=path.iterations,
        warm=Warm(problem, path.central),
    )


def _problem(program: Program, warm: Any) -> tuple[Scaled, Iterate | None]:
    """The problem of a program, and where the one for its first labelings was central."""
    master: Any = program.structure
    return Scaled.of(master.features, master.labelings, master.C), None


def _solve(problem: Scaled, central: Iterate | None, tol: float, max_iter: int = MAX_ITER) -> Path:
    """From the last path, and leaving instances out; where that fails, cold with all of them."""
    start = _cold(problem) if central is None else _entered(problem, central)
    path = _follow(problem, start, tol, max_iter, SURE)
    if path.bound.gap <= tol or (central is None and path.whole):
        return path
    again = _follow(problem, _cold(problem), tol, max_iter, 0.0)
    better = min(path, again, key=lambda path: path.bound.gap)
    return replace(better, iterations=path.iterations + again.iterations)


def _follow(problem: Scaled, at: Iterate, tol: float, max_iter: int, sure: float) -> Path:
    """Newton steps until the gap is at most ``tol``; the iterate with the smallest gap."""
    x, place, iteration = np.zeros_like(at.x), np.arange(len(at.x)), 0
    part, bound = problem, Bound.at(problem, at.x, at.mu)
    best, central = (bound, place), None
    while best[0].gap > tol and iteration < max_iter:
        central = at if central is None and bound.gap < CENTRAL else central
        near = at.low * at.x.mean() <= FAR * at.low.mean() * at.x
        if bound.gap < sure and near.mean() <= WORTH:
            part, at, place = part.only(near), at.only(near), place[near]
            bound = Bound.at(part, at.x, at.mu)
        iteration += 1
        try:
            with np.errstate(all="ignore"):  # x on its bounds, as rounding has it, ends it below
                at = advance(part, at, bound)
                bound = Bound.at(part, at.x, at.mu)
        except LinAlgError:  # as close as the conditioning of A allows
            break
        best = (bound, place) if bound.gap < best[0].gap else best
    x[best[1]] = best[0].x
    return Path(Bound.at(problem, x, best[0].mu), iteration, central, len(place) == len(x))


def _cold(problem: Scaled) -> Iterate:
    """Twice the best multiple of 1, or the middle of the box, all labelings weighing the same."""
    t, n = problem.labelings.shape
    ones = np.ones(n)
    quadratic = 0.5 * np.mean(problem.slopes(ones) @ ones)
    return _feasible(problem, n / max(quadratic, 2.0 * n) * ones, np.full(t, 1.0 / t))


def _feasible(problem: Scaled, x: Array, mu: Array) -> Iterate:
    """The other variables so that nothing but complementarity is left to reach."""
    slopes = problem.slopes(x)
    margins, quadratics = mu @ slopes - 1.0, 0.5 * slopes @ x
    low, up = np.maximum(margins, 0.0) + INSIDE, np.maximum(-margins, 0.0) + INSIDE
    slack = float(np.mean(np.concatenate([low * x, up * (1.0 - x)])))
    beta = quadratics.max() + len(mu) * slack
    return Iterate(x, beta, mu, low, up, beta - quadratics)


def _entered(problem: Scaled, last: Iterate) -> Iterate:
    """An iterate for the first labelings, with beta where the cuts of the others are met."""
    labelings = problem.labelings[len(last.mu) :]
    mu = np.append((1.0 - ENTRY) * last.mu, np.full(len(labelings), ENTRY / len(labelings)))
    quadratics = (0.5 * problem.slopes(last.x) @ last.x)[len(last.mu) :]
    beta = max(last.beta, quadratics.max() + last.centrality / mu[-1])
    slack = np.append(last.slack + beta - last.beta, beta - quadratics)
    return last._replace(beta=beta, mu=mu, slack=slack)
