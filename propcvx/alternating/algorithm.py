r"""Algorithm 1: alternating between the separator and the labels, with annealing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter

import numpy as np

from propcvx.arrays import Array
from propcvx.errors import InputError
from propcvx.history import Fitted, History, Round, StopReason
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator, Step


@dataclass(frozen=True)
class Iterate:
    """The state of Algorithm 1 after a round.

    Attributes
    ----------
    number : int
        The number of the round, from 1 on.
    C_star : float
        The annealing value C*.
    labeling : array of shape (n_instances,)
    separator : Separator
        The SVM of that labeling.
    objective : float
        Value of eq:pSVM_2 of labeling and separator, with C* instead of C.
    n_flips : int
        Number of labels that the labeling step then changes.
    stop_reason : StopReason
        Why the repeat loop ends here; ``MAX_ROUNDS`` if it may continue.
    """

    number: int
    C_star: float
    labeling: Array
    separator: Separator
    objective: float
    n_flips: int
    stop_reason: StopReason


def annealing_values(C: float, start: float = 1e-5, delta: float = 0.5) -> list[float]:
    r"""Return the C* of Algorithm 1: :math:`C^* \leftarrow \min\{(1 + \Delta) C^*, C\}`.

    Examples
    --------
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
) -> Iterator[Iterate]:
    r"""Run Algorithm 1 from one labeling, round by round; :func:`descent` returns its result.

    A pure function: the same arguments give the same rounds, wherever they are computed.

    Parameters
    ----------
    problem : PropSVM
        The problem, whose labeling step is exact.
    svm_step : callable
        ``svm_step(labeling, C, after) -> Separator``, see :class:`propcvx.svm.step.SVMStep`.
    labeling : array of shape (n_instances,)
        The labeling to start from, entries -1 and +1.
    schedule : sequence of float
        The values of C*, see :func:`annealing_values`; ``[C]`` is no annealing.
    tol : float
        A repeat loop ends when the objective decreases by less, in units of C, or relative to the
        objective if that is above C: instances s times as large with C / s^2 and C_p / s^2 are the
        same problem.
        The paper's threshold is 1e-4 at any size, which is below the error of a solver where the
        losses of many instances are summed.
    max_iter : int
        Largest number of rounds at one C*.

    Yields
    ------
    Iterate
        The state after each round; :func:`propcvx.plotting.annealing` draws them.
    """
    separator, numbers = None, count(1)
    for C in schedule:
        objective = np.inf
        for _ in range(max_iter):  # repeat
            # fix y, solve for w and b
            separator = _better(problem, labeling, C, svm_step(labeling, C, separator), separator)
            before, objective = objective, problem.objective(labeling, separator, C)
            # fix w and b, solve for y
            relabeled, n_flips = problem.relabel(labeling, separator, C)
            # until the objective decreases by less than the threshold
            reason = _stop(n_flips, before - objective, tol * max(problem.C, objective))
            yield Iterate(next(numbers), C, labeling, separator, objective, n_flips, reason)
            labeling = relabeled
            if reason is not StopReason.MAX_ROUNDS:
                break


def _stop(n_flips: int, decrease: float, tol: float) -> StopReason:
    """Return why a repeat loop ends after this round, or ``MAX_ROUNDS``."""
    if n_flips == 0:
        return StopReason.FIXED_POINT
    return StopReason.CONVERGED if decrease < tol else StopReason.MAX_ROUNDS


def _better(
    problem: PropSVM, labeling: Array, C: float, new: Separator, old: Separator | None
) -> Separator:
    """Return the new separator, unless the old one is better because of a solver's error."""
    if old is None:
        return new
    return min(new, old, key=lambda separator: problem.objective(labeling, separator, C))


def descent(iterates: Iterable[Iterate]) -> Fitted:
    """Run :func:`alternate` to convergence and return the labeling, its SVM and the history."""
    history, last, started = History(), None, perf_counter()
    for last in iterates:
        answer, seconds = last.separator, perf_counter() - started
        solved = Round(last.objective, answer.solver, answer.status, seconds)
        history.append(replace(solved, C_star=last.C_star, n_flips=last.n_flips))
        history.stop_reason, started = last.stop_reason, perf_counter()
    if last is None:
        raise InputError("schedule must hold at least one value of C*, and max_iter be >= 1.")
    separator = last.separator
    return Fitted(last.labeling, separator.weights, separator.bias, last.objective, history)
