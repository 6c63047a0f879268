r"""Algorithm 2: cutting planes for the relaxation eq:convex_4.

The loop receives the restricted master and the oracle, and knows neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import SolverError
from propcvx.history import History, Round, StopReason
from propcvx.relaxation.masters import MasterSolution
from propcvx.relaxation.oracles import Cut, Oracle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Relaxation:
    r"""Where Algorithm 2 ended.

    Attributes
    ----------
    labelings : array of shape (n_cuts, n_instances)
        The labelings :math:`\mathcal{Y}_{active}`.
    master : MasterSolution
        The last restricted master.
    cut : Cut
        What the oracle answers to the last alpha.
    history : History
        One round per cut.
    stopped_by : exception or None
        The interruption or solver failure that ended the loop after at least one round.
    """

    labelings: Array
    master: MasterSolution
    cut: Cut
    history: History
    stopped_by: BaseException | None = None

    @property
    def objective(self) -> float:
        """Value of the last restricted master, to the solver's tolerance from below."""
        return self.master.value

    @property
    def violation(self) -> float:
        """By how much the oracle's labeling still violates the relaxation; 0 if it does not."""
        return max(0.0, self.cut.value - self.master.level)

    @property
    def lower_bound(self) -> float | None:
        r"""A lower bound on the relaxation's optimum, :math:`\alpha^\top 1 - s / 2`.

        Holds for any alpha in the box; None where the oracle is not exact.
        """
        return (
            float(self.master.alpha.sum() - self.cut.bound) if np.isfinite(self.cut.bound) else None
        )


def cutting_plane(
    master: Callable[[Array], MasterSolution],
    oracle: Oracle,
    alpha: Array,
    *,
    max_cuts: int,
    tol: float,
    progress: Callable[[Round], None] = lambda record: None,
) -> Relaxation:
    """Run Algorithm 2.

    Parameters
    ----------
    master : callable
        ``master(labelings) -> MasterSolution``, see :mod:`propcvx.relaxation.masters`.
    oracle : Oracle
        See :mod:`propcvx.relaxation.oracles`.
    alpha : array of shape (n_instances,)
        Where the first labeling is asked for; 1/N in the paper.
    max_cuts : int
        Largest number of labelings, at least 1.
    tol : float
        Stops when the objective decreases by less, or no labeling is violated by more.
    progress : callable
        Called with the record of each round.

    Returns
    -------
    Relaxation
        After an interruption or a solver's failure, what the rounds before it reached, with
        ``stopped_by``.

    Raises
    ------
    KeyboardInterrupt, SolverError
        In the first round, when there is nothing to keep.
    """
    history, labelings = History(), []
    reached: Relaxation | None = None
    try:
        cut = oracle(alpha)
        while True:
            start, before = perf_counter(), np.inf if reached is None else reached.objective
            labelings.append(cut.labeling)
            solution = master(np.array(labelings))
            cut = oracle(solution.alpha)
            record = Round(
                objective=solution.value,
                solver=solution.solver,
                status=solution.status,
                seconds=perf_counter() - start,
                violation=cut.value - solution.level,
                n_cuts=len(labelings),
            )
            history.append(record)
            history.stop_reason = _stop_reason(record, before, max_cuts, tol)
            reached = Relaxation(np.array(labelings), solution, cut, history)
            progress(record)
            if history.stop_reason is not None:
                return reached
    except (KeyboardInterrupt, SolverError) as failure:
        if reached is None:
            raise
        history.stop_reason = StopReason.of(failure)
        return replace(reached, stopped_by=failure)


def _stop_reason(record: Round, before: float, max_cuts: int, tol: float) -> StopReason | None:
    if record.violation is not None and record.violation <= tol:
        return StopReason.NO_VIOLATION
    if before - record.objective < tol:
        return StopReason.CONVERGED
    if record.n_cuts == max_cuts:
        return StopReason.MAX_CUTS
    return None
