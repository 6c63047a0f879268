r"""Algorithm 2: cutting planes for the relaxation Equation (16), eq:convex_4.

The restricted master and the oracle are arguments of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.checks import Shapes, check_count, check_fields, check_number, resolve
from propcvx.history import History, Round, StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_consistent, lower_bound
from propcvx.relaxation.masters import MASTERS
from propcvx.relaxation.oracles import ORACLES, Cut, check_cut
from propcvx.relaxation.result import Relaxation, RelaxationResult, Rounds
from propcvx.solvers import Solve

TOWARDS_ZERO = 1e-9
"""Value that replaces an alpha of 0 in an oracle, as a fraction of the mean alpha."""


@dataclass(eq=False, repr=False)
class CuttingPlanes(Relaxation):
    """Cutting planes for the relaxation (Algorithm 2), with a choice of master and oracle.

    Parameters
    ----------
    master : str or callable, default="group"
        Form of the restricted master, which all have the same optimum: ``"group"`` or
        ``"epigraph"``, second-order cone programs, or ``"reduced_gradient"``, a sequence of
        quadratic programs.  Or a callable ``master(features, C, solve)`` that returns a function
        from labelings to a :class:`propcvx.relaxation.masters.MasterSolution`.
    oracle : str or callable, default="ascent"
        How a violated labeling is found.

        - Heuristics without a bound: ``"coordinate"`` (the paper's, along the axes that keep 90% of
          the variance), ``"coordinate_features"`` (along the features themselves), ``"ascent"``
          (the paper's, improved by a few more sorts), ``"random_directions"`` (the best
          of 100 random directions), and ``"several"`` (the five best of these, all added in one
          round).
        - Heuristics with a bound on the violation: ``"eigenvalue"`` and ``"semidefinite"``.
        - Exact: ``"exhaustive"`` (up to a million labelings), ``"sweep"`` (two features) and
          ``"mixed_integer"`` (SCIP).
        - A callable ``oracle(features, feasible)`` that returns a function from alpha to a
          :class:`propcvx.relaxation.oracles.Cut`.
    max_cuts : int, default=1
        Largest number of labelings in the master.  More solve the relaxation better, but usually
        classify worse, see :class:`propcvx.ConvPropSVM`.
    tol : float, default=1e-4
        Stop when the objective decreases by less than ``tol`` times C, or no labeling violates the
        relaxation by more.  With instance weights C is their mean.

    Examples
    --------
    >>> from propcvx import ConvPropSVM, CuttingPlanes
    >>> model = ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep", max_cuts=10))
    >>> model.set_params(relaxation__max_cuts=20).relaxation.max_cuts
    20
    """

    _: KW_ONLY
    master: str | Callable[..., Any] = "group"
    oracle: str | Callable[..., Any] = "ascent"
    max_cuts: int = 1
    tol: float = 1e-4

    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: Weight, solve: Solve
    ) -> Rounds:
        r"""Run Algorithm 2 from :math:`\alpha = 1 / N`; the vectors of M are the labelings."""
        check_count("max_cuts", self.max_cuts)
        tol = check_number("tol", self.tol, low=0.0, closed="left") * float(np.mean(C))
        master = resolve("master", self.master, MASTERS, "__call__")(features, C, solve)
        oracle = resolve("oracle", self.oracle, ORACLES, "__call__")(features, feasible)
        source = getattr(oracle, "__name__", type(oracle).__name__)
        alpha = np.full(len(features), 1.0 / len(features))
        cut, labelings, history = oracle(alpha), np.empty((0, len(features))), History()
        check_cut(source, cut, features, feasible, alpha)
        lower, upper = lower_bound(alpha, cut.bound, C), np.inf
        while history.stop_reason is None:  # repeat
            started = perf_counter()
            labelings = _with(cut, labelings)[: self.max_cuts]
            solution = master(labelings)
            numbers: Shapes = dict.fromkeys(("value", "upper", "level"), ())
            shapes = {"alpha": alpha.shape, "mu": (len(labelings),), **numbers}
            check_fields("master", solution, shapes, {"upper": np.inf})
            check_consistent("master", solution.value, solution.upper)
            alpha = off_zero(solution.alpha, C)
            cut = oracle(alpha)
            check_cut(source, cut, features, feasible, alpha)
            lower = max(lower, lower_bound(alpha, cut.bound, C))
            upper = min(upper, solution.upper)
            is_known = _is_known(cut.labeling, labelings)
            violation = 0.0 if is_known else max(0.0, cut.value - solution.level)
            origin = solution.solver, solution.status
            seconds = perf_counter() - started
            record = Round(solution.value, *origin, seconds, violation, len(labelings))
            # until the objective decreases by less than the threshold
            history = History([*history, record], self._stop_reason(record, history, tol))
            value, mu = solution.value, solution.mu
            yield RelaxationResult(
                value, lower, upper, labelings, mu, solution.alpha, labelings, history
            )

    def _stop_reason(self, record: Round, history: History, tol: float) -> StopReason | None:
        if record.violation is not None and record.violation <= tol:
            return StopReason.NO_VIOLATION
        if len(history) and history[-1].objective - record.objective < tol:
            return StopReason.CONVERGED
        return StopReason.MAX_CUTS if record.n_cuts == self.max_cuts else None


def off_zero(alpha: Array, C: Weight) -> Array:
    r"""Replace zeros of alpha by tiny numbers in its box, so that their instances differ in score.

    Instances with :math:`\alpha_i = 0` have equal scores :math:`\alpha_i x_i^{(j)}`, and their
    labels would depend on the order of the rows.  So they get the labels of the scores in the limit
    :math:`\alpha_i \to 0+`.
    """
    return np.minimum(np.maximum(alpha, TOWARDS_ZERO * alpha.mean()), C)


def _with(cut: Cut, labelings: Array) -> Array:
    """Add the labelings of a cut to the labelings."""
    fresh = [other for other in cut.others if not _is_known(other, labelings)]
    return np.vstack([labelings, cut.labeling, *fresh])


def _is_known(labeling: Array, labelings: Array) -> bool:
    """Check whether labelings contain a labeling or its negative, which is the same cut."""
    return any(abs(float(labeling @ other)) == len(labeling) for other in labelings)
