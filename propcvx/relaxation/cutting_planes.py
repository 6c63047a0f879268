r"""Algorithm 2: cutting planes for the relaxation eq:convex_4.

The loop receives the restricted master and the oracle, and knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from propcvx.checks import check_count, check_flag, check_number, named
from propcvx.errors import SolverError
from propcvx.history import History, Round, StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.bounds import lower_bound
from propcvx.relaxation.masters import MASTERS, MasterSolution
from propcvx.relaxation.oracles import ORACLES, Cut, Oracle, checked
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.solvers import SolverNames

Array = NDArray[np.float64]

TOWARDS_ZERO = 1e-9
"""Where an oracle is asked, an alpha of 0 is this share of the mean alpha."""

INACTIVE = 1e-6
"""A labeling whose weight mu is smaller has none but for a solver's tolerance."""


@dataclass(eq=False, repr=False)
class CuttingPlanes(BaseEstimator):
    """Algorithm 2, and what can be swapped in it.

    Parameters
    ----------
    master : str or callable
        Form of the restricted master: ``"group"``, ``"epigraph"`` or ``"reduced_gradient"``, of
        which the last needs a solver of quadratic programs only; or a callable
        ``master(features, C, *, solver, tol, options)`` that gives a function from labelings to a
        :class:`propcvx.relaxation.masters.MasterSolution`.
    oracle : str or callable
        ``"ascent"`` (the paper's, improved by a few more sorts), ``"coordinate"`` (the paper's,
        along the axes that keep 90% of the variance), ``"coordinate_features"`` (along the features
        themselves), ``"random_directions"``, ``"several"`` (five cuts a round); with a bound that
        no labeling exceeds ``"eigenvalue"`` and ``"semidefinite"``; and of the most violated
        labeling ``"exhaustive"``, ``"sweep"`` (two features) and ``"mixed_integer"``; or a
        callable ``oracle(features, feasible)`` that gives a function from alpha to a
        :class:`propcvx.relaxation.oracles.Cut`.
    max_cuts : int
        Largest number of labelings in the master.
    tol : float
        Stops when the objective decreases by less, or no labeling is violated by more, in units of
        C: instances s times as large with C / s^2 are the same problem.
    drop_inactive : bool
        Whether labelings that have no weight in the master leave it, so that many rounds stay
        cheap.  Its optimum is the same without them.

    Examples
    --------
    >>> from propcvx import ConvPropSVM
    >>> model = ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep", max_cuts=10))
    >>> model.set_params(relaxation__max_cuts=20).relaxation.max_cuts
    20
    """

    _: KW_ONLY
    master: Any = "group"
    oracle: Any = "ascent"
    max_cuts: int = 1
    tol: float = 1e-4
    drop_inactive: bool = False

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: float,
        *,
        solver: SolverNames = "auto",
        tol: float = 1e-8,
        options: Mapping[str, Any] = NO_OPTIONS,
        on_round: Callable[[RelaxationResult], None] = lambda reached: None,
    ) -> RelaxationResult:
        r"""Run Algorithm 2 from :math:`\alpha = 1 / N`.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            F, one row per instance.
        feasible : FeasibleLabelings
            The set :math:`\mathcal{Y}`.
        C : float
            Weight of the hinge loss.
        solver : str or sequence
            Who solves the master.
        tol : float
            The solver's tolerance.
        options : mapping
            Handed to the solver as they are.
        on_round : callable
            Called after each round with what is reached.

        Returns
        -------
        RelaxationResult
            The vectors of M are the labelings found.  After an interruption or a solver's failure,
            what the rounds before it reached, with ``stopped_by``.

        Raises
        ------
        InputError
            If a parameter cannot be used, or an oracle's answer is not what it says it is.
        KeyboardInterrupt, SolverError
            In the first round, when there is nothing to keep.
        """
        check_count("max_cuts", self.max_cuts)
        check_number("tol", self.tol, least=0.0)
        check_flag("drop_inactive", self.drop_inactive)
        master = named("master", self.master, MASTERS, "__call__")(
            features, C, solver=solver, tol=tol, options=options
        )
        oracle = named("oracle", self.oracle, ORACLES, "__call__")(features, feasible)
        oracle = checked(oracle, features, feasible)
        reached: RelaxationResult | None = None
        try:
            for reached in self._rounds(master, oracle, len(features), C):
                on_round(reached)
        except (KeyboardInterrupt, SolverError) as failure:
            if reached is None:
                raise
            history = History(reached.history.rounds, StopReason.of(failure))
            return replace(reached, history=history, stopped_by=failure)
        return cast(RelaxationResult, reached)

    def _rounds(
        self, master: Callable[[Array], MasterSolution], oracle: Oracle, n_instances: int, C: float
    ) -> Iterator[RelaxationResult]:
        """Algorithm 2, round by round."""
        labelings: list[Array] = []
        history = History()
        upper = np.inf
        alpha = np.full(n_instances, 1.0 / n_instances)
        cut = oracle(alpha)
        lower = lower_bound(alpha, cut.bound, C)
        while history.stop_reason is None:
            start = perf_counter()
            fresh = [other for other in cut.others if not _known(other, labelings)]
            labelings = [*labelings, cut.labeling, *fresh][: self.max_cuts]
            active = np.array(labelings)
            solution = master(active)
            alpha = off_zero(solution.alpha)
            cut = oracle(alpha)
            lower = max(lower, lower_bound(alpha, cut.bound, C))
            upper = min(upper, solution.upper)
            record = Round(
                objective=solution.value,
                solver=solution.solver,
                status=solution.status,
                seconds=perf_counter() - start,
                violation=_violation(cut, active, solution.level),
                n_cuts=len(active),
            )
            history = History([*history, record], self._stop_reason(record, history, self.tol * C))
            yield RelaxationResult(
                solution.value, lower, upper, active, solution.mu, solution.alpha, active, history
            )
            if self.drop_inactive:
                labelings = list(active[solution.mu > INACTIVE])

    def _stop_reason(self, record: Round, before: History, tol: float) -> StopReason | None:
        if record.violation is not None and record.violation <= tol:
            return StopReason.NO_VIOLATION
        if len(before) and before[-1].objective - record.objective < tol:
            return StopReason.CONVERGED
        return StopReason.MAX_CUTS if record.n_cuts == self.max_cuts else None


def off_zero(alpha: Array) -> Array:
    r"""Alpha with what is 0 made as good as 0, so that scores tell those instances apart.

    Instances with :math:`\alpha_i = 0` have equal scores :math:`\alpha_i x_i^{(j)}`, and their
    labels would be those of the order of the rows; so they take what scores of
    :math:`\alpha_i \to 0+` say.
    """
    return np.maximum(alpha, TOWARDS_ZERO * alpha.mean())


def _violation(cut: Cut, labelings: Array, level: float) -> float:
    """By how much a labeling violates the relaxation; by nothing if it or its negative is in it."""
    return 0.0 if _known(cut.labeling, labelings) else max(0.0, cut.value - level)


def _known(labeling: Array, labelings: Sequence[Array] | Array) -> bool:
    """Whether a labeling or its negative, which is the same cut, is one of some."""
    return any(abs(float(labeling @ other)) == len(labeling) for other in labelings)
