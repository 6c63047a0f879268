r"""The likelihood of counts by alternating between the separator and expected labels.

This is the EM algorithm (Dempster, Laird and Rubin 1977), and Algorithm 1 with soft labels: with
the separator fixed, the labels become their expectations given the counts; with these fixed, the
separator becomes a logistic regression, which is a convex program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

from propcvx.arrays import Array
from propcvx.history import Fitted, History, Round, StopReason
from propcvx.labelings.given_counts import CountLikelihood
from propcvx.programs import Program, soft_logistic_regression
from propcvx.solvers.solver import Solution


def maximize_likelihood(
    features: Array,
    likelihood: CountLikelihood,
    lam: float,
    solve: Callable[[Program], Solution],
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Iterator[Fitted]:
    r"""Maximize :math:`\ell(F w + b) - \tfrac{\lambda}{2} \|w\|^2` from w = 0, round by round.

    The expectation of the log-likelihood of the labels, given the counts, is a lower bound of
    :math:`\ell` but for a constant, and touches it at the separator before.  So no round decreases
    the penalized likelihood.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F.
    likelihood : CountLikelihood
        :math:`\ell`.
    lam : float
        :math:`\lambda \ge 0`.
    solve : callable
        ``solve(program) -> Solution``.
    tol : float
        The loop ends when the objective decreases by less than ``tol`` times one plus its size.
    max_iter : int
        Largest number of rounds.

    Yields
    ------
    Fitted
        The result after each round, and the history so far.  The objective is minus the penalized
        log-likelihood, which never increases.  The labeling has +1 where a positive is more
        probable than a negative, given the counts.
    """
    program = soft_logistic_regression(features, likelihood.weights)
    objective, rounds = np.inf, list[Round]()
    _, t = likelihood.value_and_means(np.full(len(features), likelihood.starting_log_odds))
    for _ in range(max_iter):  # repeat
        started = perf_counter()
        # fix the expected labels, solve for w and b
        solution = solve(program.set(t=t, lam=lam))
        w, b = solution.variables["w"], float(solution.variables["b"])
        # fix w and b, take the expected labels given the counts
        value, t = likelihood.value_and_means(features @ w + b)
        # until the objective decreases by less than the threshold
        before, objective = objective, 0.5 * lam * float(w @ w) - value
        converged = before - objective <= tol * (1.0 + abs(objective))
        reason = StopReason.CONVERGED if converged else StopReason.MAX_ROUNDS
        by, seconds = (solution.solver, solution.status), perf_counter() - started
        rounds.append(Round(objective, *by, seconds))
        yield Fitted(np.where(t > 0.5, 1.0, -1.0), w, b, objective, History(rounds, reason))
        if converged:
            break
