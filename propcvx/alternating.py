r"""Algorithm 1: alternating between the separator and the labels, with annealing.

With expected labels the same loop maximizes the likelihood of counts.  This is the EM algorithm
(Dempster, Laird and Rubin 1977): with the separator fixed, the labels become their expectations
given the counts; with these fixed, the separator becomes a logistic regression, a convex program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter

import numpy as np

from propcvx.arrays import Array
from propcvx.errors import InputError
from propcvx.history import FitResult, History, Round, StopReason
from propcvx.labelings.given_counts import CountLikelihood
from propcvx.programs import Program, soft_logistic_regression
from propcvx.solvers import Solution
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator, Step


def annealing_values(C: float, start: float = 1e-5, delta: float = 0.5) -> list[float]:
    r"""Return the C* of Algorithm 1: :math:`C^* \leftarrow \min\{(1 + \Delta) C^*, C\}`.

    Parameters
    ----------
    C : float
        The last value.
    start : float, default=1e-5
        C* before the first increase, divided by C; it is not in the list.
    delta : float, default=0.5
        Relative increase :math:`\Delta > 0` of C* at each level.

    Examples
    --------
    >>> from propcvx.alternating import annealing_values
    >>> annealing_values(1.0, start=0.3)
    [0.44999999999999996, 0.6749999999999999, 1.0]
    """
    values = [start * C]
    while values[-1] < C:
        values.append(min((1.0 + delta) * values[-1], C))
    return values[1:] or [C]


def alternate(
    problem: PropSVM,
    svm_step: Step,
    labeling: Array,
    schedule: Sequence[float],
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
) -> Iterator[FitResult]:
    r"""Run Algorithm 1 from one labeling, and yield the result after each round.

    :func:`propcvx.alternating.descent` runs it to the end.  A pure function: the same arguments
    give the same rounds, wherever they are computed.

    Parameters
    ----------
    problem : PropSVM
        The problem, whose labeling step is exact.
    svm_step : callable
        ``svm_step(labeling, C, previous) -> Separator``, such as a
        :class:`propcvx.svm.step.SVMStep`; ``previous`` is the separator that led to the labeling,
        or None at the start.
    labeling : array of shape (n_instances,)
        The labeling to start from, entries -1 and +1.
    schedule : sequence of float
        The values of C*, see :func:`annealing_values`; ``[C]`` is no annealing.
    tol : float, default=1e-4
        The rounds at one C* end when the objective decreases by less than ``tol`` times the larger
        of C and the objective.  The paper's threshold is 1e-4 at any size, which is below the error
        of a solver where the losses of many instances are summed.
    max_iter : int, default=100
        Largest number of rounds at one C*.

    Yields
    ------
    FitResult
        The result after each round: the labeling and its SVM, and the history so far, whose last
        round has C*, the objective with C* instead of C, and the number of labels that the
        labeling step then changes.  :func:`propcvx.plotting.annealing` draws them.
    """
    separator, rounds = None, list[Round]()
    for C in schedule:
        objective = np.inf
        for _ in range(max_iter):  # repeat
            started = perf_counter()
            # fix y, solve for w and b
            separator = _choose(problem, labeling, C, svm_step(labeling, C, separator), separator)
            previous, objective = objective, problem.objective(labeling, separator, C)
            # fix w and b, solve for y
            relabeled = problem.best_labeling(separator.scores, C, separator.ties)
            n_flips = int(np.count_nonzero(relabeled != labeling))
            # until the objective decreases by less than the threshold
            reason = _stop(n_flips, previous - objective, tol * max(problem.C, objective))
            origin = separator.solver, separator.status
            seconds = perf_counter() - started
            rounds.append(Round(objective, *origin, seconds, C_star=C, n_flips=n_flips))
            history = History(rounds, reason)
            yield FitResult(labeling, separator.weights, separator.bias, objective, history)
            labeling = relabeled
            if reason is not StopReason.MAX_ROUNDS:
                break


def _stop(n_flips: int, decrease: float, tol: float) -> StopReason:
    """Return why a repeat loop ends after this round, or ``MAX_ROUNDS``."""
    if n_flips == 0:
        return StopReason.FIXED_POINT
    return StopReason.CONVERGED if decrease < tol else StopReason.MAX_ROUNDS


def _choose(
    problem: PropSVM, labeling: Array, C: float, new: Separator, old: Separator | None
) -> Separator:
    """Return the new separator, unless the old one is better because of a solver's error."""
    if old is None:
        return new
    return min(new, old, key=lambda separator: problem.objective(labeling, separator, C))


def maximize_likelihood(
    features: Array,
    likelihood: CountLikelihood,
    lam: float,
    solve: Callable[[Program], Solution],
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Iterator[FitResult]:
    r"""Maximize :math:`\ell(F w + b) - \tfrac{\lambda}{2} \|w\|^2` from w = 0, round by round.

    The expectation of the log-likelihood of the labels, given the counts, is a lower bound of
    :math:`\ell` up to a constant, and touches it at the separator before.  So no round decreases
    the penalized likelihood.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        The features F, one row per instance.
    likelihood : CountLikelihood
        :math:`\ell`.
    lam : float
        :math:`\lambda \ge 0`.
    solve : callable
        ``solve(program) -> Solution``.
    tol : float, default=1e-8
        The loop ends when the objective decreases by less than ``tol`` times one plus its size.
    max_iter : int, default=1000
        Largest number of rounds.

    Yields
    ------
    FitResult
        The result after each round, and the history so far.  The objective is minus the penalized
        log-likelihood, which never increases.  The labeling has +1 where a positive is more
        probable than a negative, given the counts.
    """
    program = soft_logistic_regression(features, likelihood.weights)
    objective, rounds = np.inf, list[Round]()
    _, t = likelihood.value_and_means(np.full(len(features), likelihood.start))
    for _ in range(max_iter):  # repeat
        started = perf_counter()
        # fix the expected labels, solve for w and b
        solution = solve(program.set(t=t, lam=lam))
        w, b = solution.variables["w"], float(solution.variables["b"])
        # fix w and b, take the expected labels given the counts
        value, t = likelihood.value_and_means(features @ w + b)
        # until the objective decreases by less than the threshold
        previous, objective = objective, 0.5 * lam * float(w @ w) - value
        converged = previous - objective <= tol * (1.0 + abs(objective))
        reason = StopReason.CONVERGED if converged else StopReason.MAX_ROUNDS
        seconds = perf_counter() - started
        rounds.append(Round(objective, solution.solver, solution.status, seconds))
        yield FitResult(np.where(t > 0.5, 1.0, -1.0), w, b, objective, History(rounds, reason))
        if converged:
            break


def descent(rounds: Iterable[FitResult]) -> FitResult:
    """Run a loop such as :func:`alternate` to convergence and return the result of its end."""
    results = deque(rounds, maxlen=1)
    if not results:
        raise InputError(
            "rounds must yield a result; got none. Use a schedule with a value, and max_iter >= 1."
        )
    return results.pop()
