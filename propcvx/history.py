"""Records of a method: its rounds, the reason for its stop, and its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from propcvx.arrays import Array
from propcvx.text import Readable, text_table

SHOWN = 8
"""Number of rounds that a longer history prints, half from either end."""

COLUMNS = {"n_cuts": "cuts", "C_star": "C*", "n_flips": "flips"}
"""Fields of a round that are printed under another name."""

FORMATS = {
    **{"round": "d", "objective": ".6g", "violation": ".2g", "cuts": "d", "C*": ".3g"},
    **{"flips": "d", "solver": "", "status": "", "seconds": ".3f"},
}
"""The columns that are printed, and their formats; columns that the method lacks are omitted."""


class StopReason(Enum):
    """Reason why a method stopped; ``advice`` says what to try.

    The value of a member is its meaning in words.
    """

    SOLVED = "the program was solved"
    CONVERGED = "the objective decreased by less than the tolerance"
    FIXED_POINT = "the labeling step returned the labeling it was given"
    NO_VIOLATION = "the oracle found no labeling that violates the relaxation"
    MAX_CUTS = "the largest number of cuts was reached"
    MAX_ROUNDS = "the largest number of rounds was reached"
    INTERRUPTED = "it was interrupted"
    SOLVER_FAILED = "a solver failed"
    PROVED = "the bounds met within the tolerance"
    OUT_OF_TIME = "the time limit was reached"
    EXHAUSTED = "the bounds that were asked for can do no more"

    @property
    def advice(self) -> str:
        """Advice if the result is not good enough."""
        return _ADVICE[self]

    @classmethod
    def from_exception(cls, failure: BaseException) -> StopReason:
        """Return the stop reason of a loop that an exception ended."""
        return cls.INTERRUPTED if isinstance(failure, KeyboardInterrupt) else cls.SOLVER_FAILED


_ADVICE = {
    StopReason.SOLVED: "nothing, if the status is 'optimal': this is the optimum",
    StopReason.CONVERGED: "a smaller tol continues; another start may reach a lower objective",
    StopReason.FIXED_POINT: "a local minimum; another start may reach a lower objective",
    StopReason.NO_VIOLATION: "with an exact oracle this is the relaxation's optimum; an inexact "
    "one may miss violated labelings",
    StopReason.MAX_CUTS: "a larger max_cuts continues; more cuts do not always classify better",
    StopReason.MAX_ROUNDS: "a larger max_iter continues",
    StopReason.INTERRUPTED: "what had been reached is kept; another call that starts there goes on",
    StopReason.SOLVER_FAILED: "finished rounds are kept; try another solver, or several",
    StopReason.PROVED: "nothing; the labeling is optimal to the tolerance",
    StopReason.OUT_OF_TIME: "what is proved is kept; with more time another call proves more",
    StopReason.EXHAUSTED: "pass 'branch_and_bound'; if it stopped before the bounds met, lower C",
}


@dataclass(frozen=True)
class Round:
    """Round of an iterative method.

    Attributes
    ----------
    objective : float
        Objective at the end of the round; of alter-pSVM with C* in place of C, before the labels
        change.
    violation : float or None
        Violation of the relaxation by the oracle's labeling (conv-pSVM).
    n_cuts : int or None
        Number of labelings in the restricted master (conv-pSVM).
    C_star : float or None
        The annealing value C* (alter-pSVM).
    n_flips : int or None
        Number of labels that the labeling step then changed (alter-pSVM).
    solver, status : str
        The solver that answered, and its status.
    seconds : float
        Wall time of the round.
    """

    objective: float
    solver: str
    status: str
    seconds: float
    violation: float | None = None
    n_cuts: int | None = None
    C_star: float | None = None
    n_flips: int | None = None


class History(Readable, list[Round]):
    """A list of rounds in order, with the reason for stopping (None while running).

    ``pandas.DataFrame(history)`` has a row for each round.

    Examples
    --------
    >>> from propcvx.history import History, Round, StopReason
    >>> rounds = [
    ...     Round(2.5, "piqp", "optimal", 0.02, C_star=0.1, n_flips=3),
    ...     Round(2.0, "piqp", "optimal", 0.01, C_star=0.1, n_flips=0),
    ... ]
    >>> print(History(rounds, StopReason.FIXED_POINT))
    round  objective   C*  flips  solver   status  seconds
        1        2.5  0.1      3  piqp    optimal    0.020
        2          2  0.1      0  piqp    optimal    0.010
    Stopped after 2 rounds and 0.03 s: the labeling step returned the labeling it was given.
    Advice: a local minimum; another start may reach a lower objective.
    """

    def __init__(self, rounds: Iterable[Round] = (), stop_reason: StopReason | None = None) -> None:
        super().__init__(rounds)
        self.stop_reason = stop_reason

    @property
    def objectives(self) -> list[float]:
        """Objective of every round."""
        return [record.objective for record in self]

    def __str__(self) -> str:
        """Format at most eight rounds, a line each, the stop reason, and advice."""
        if not self:
            return "No round is done."
        rows = [
            {"round": number}
            | {COLUMNS.get(name, name): part for name, part in vars(record).items()}
            for number, record in enumerate(self, 1)
        ]
        formats = {name: FORMATS[name] for name in FORMATS if rows[0][name] is not None}
        head, *lines = text_table(rows, formats).splitlines()
        if len(lines) > SHOWN:
            lines[SHOWN // 2 : -SHOWN // 2] = [f"... {len(lines) - SHOWN} more rounds"]
        if self.stop_reason is not None:
            rounds = f"{len(self)} round{'s' if len(self) > 1 else ''}"
            seconds = sum(record.seconds for record in self)
            lines.append(f"Stopped after {rounds} and {seconds:.2f} s: {self.stop_reason.value}.")
            lines.append(f"Advice: {self.stop_reason.advice}.")
        return "\n".join([head, *lines])


def single_round_history(value: float, answer: Any) -> History:
    """Return the history of a method that solves one program."""
    seconds = answer.build_seconds + answer.solve_seconds
    return History([Round(value, answer.solver, answer.status, seconds)], StopReason.SOLVED)


@dataclass(frozen=True, eq=False)
class FitResult:
    """Result of a method, which ``BagClassifier._run`` returns: a labeling and its separator.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
        Labels -1 and +1; with more than two classes, class numbers 1, 2, ...
    weights : array of shape (rank,), or (rank, n_classes)
        The weights over the features.
    bias : float, or array of shape (n_classes,)
        The bias, or a bias for each class.
    objective : float
        Objective value at the end; smaller is better.
    history : History
        The rounds and the stop reason.
    exception : exception or None
        The exception that stopped the method early, if any.
    ill_posed : bool
        Whether the method has warned that the data do not identify the result well.
    """

    labeling: Array
    weights: Array
    bias: Any
    objective: float
    history: History
    exception: BaseException | None = None
    ill_posed: bool = False

    @property
    def stop_reason(self) -> StopReason | None:
        """The reason of the exception if there is one, otherwise ``history.stop_reason``."""
        if self.exception is not None:
            return StopReason.from_exception(self.exception)
        return self.history.stop_reason

    def scores(self, features: Array) -> Array:
        """Compute the decision values of instances from their features."""
        return features @ self.weights + self.bias


def labels_of(scores: Array) -> Array:
    """Return -1 or +1 by the sign of a score, or of several scores the number of the largest."""
    return np.where(scores > 0.0, 1.0, -1.0) if scores.ndim == 1 else scores.argmax(axis=1) + 1.0
