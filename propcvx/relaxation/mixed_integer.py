"""The exact mixed-integer program."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from time import perf_counter

import numpy as np
from cvxpy import OPTIMAL, USER_LIMIT

from propcvx.arrays import Array, Weight
from propcvx.checks import check_count, check_seconds
from propcvx.errors import InputError, SolverError
from propcvx.history import History, Round, StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import constrained_psvm
from propcvx.programs.psvm import FEASIBILITY
from propcvx.relaxation.oracles import AscentOracle
from propcvx.relaxation.oracles.exact import lower_bound_of
from propcvx.relaxation.result import Relaxation, RelaxationResult, Rounds
from propcvx.relaxation.rounding import alternate_labels
from propcvx.solvers import Solve
from propcvx.svm.step import LabelingSVM, Separator

SAFETY = 1e-6
"""Allowance subtracted from the solver's bound, relative to it."""

SHORT = 10.0
"""Number of tolerances by which each slack may be too small; SCIP has constraints within one."""


@dataclass(eq=False, repr=False)
class MixedInteger(Relaxation):
    """Exact problem as a mixed-integer program, :func:`propcvx.programs.constrained_psvm`.

    For tens of instances; at the time limit, the result is the interval so far.  The default solver
    is SCIP (``pip install pyscipopt``), whose lower bound it uses.  Another mixed-integer solver,
    such as ``solver="gurobi"`` of :class:`propcvx.ConvPropSVM`, gives a labeling, and no lower
    bound.  It starts from the labeling of a few alternations, whose value makes its constants
    tight.

    Parameters
    ----------
    time_limit : float, default=60.0
        Time limit in seconds; infinity for none.  Solvers other than SCIP and Gurobi take no limit:
        use infinity with them.
    max_instances : int, default=200
        Largest number of instances that it accepts.
    """

    _: KW_ONLY
    time_limit: float = 60.0
    max_instances: int = 200

    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: Weight, solve: Solve
    ) -> Rounds:
        """Solve for the best labeling, with a bound that includes the solver's error."""
        if len(features) > check_count("max_instances", self.max_instances):
            raise InputError(
                f"{len(features)} instances are above max_instances={self.max_instances}; "
                "relaxation='lifted' takes some hundreds and 'cutting_planes' any number."
            )
        start, svm = perf_counter(), LabelingSVM(features, C)
        best = starting_point(svm, feasible)
        program = constrained_psvm(features, feasible, C, value=best.value)
        solve_start, status, lower = perf_counter(), USER_LIMIT, 0.0
        limit = min(check_seconds("time_limit", self.time_limit), solve.time_limit)
        try:
            answer = solve(program, time_limit=limit)
        except SolverError as failure:
            if perf_counter() - solve_start < limit:
                raise  # else the time ran out before there was any labeling
            name = failure.solver
        else:
            name, status, dual_bound = answer.solver, answer.status, lower_bound_of(program)
            nearest = svm.best(feasible.best(answer.variables["z"] - 0.5)[None])
            best = min(best, nearest, key=attrgetter("value"))
            total = float(np.broadcast_to(C, len(features)).sum())
            error = SAFETY * dual_bound + SHORT * max(answer.tol, FEASIBILITY) * total
            lower = min(max(0.0, dual_bound - error), best.value)
        value, labelings, weights = best.value, best.labeling[None], np.ones(1)
        alpha = np.abs(best.duals)
        record = Round(value, name, status, perf_counter() - start)
        is_late = status != OPTIMAL and perf_counter() - solve_start >= limit
        stop_reason = StopReason.OUT_OF_TIME if is_late else StopReason.SOLVED
        history = History([record], stop_reason)
        yield RelaxationResult(value, lower, value, labelings, weights, alpha, labelings, history)


def starting_point(svm: LabelingSVM, feasible: FeasibleLabelings) -> Separator:
    """Find a good feasible labeling quickly: the labeling of the first cut, then alternation."""
    n = len(svm.features)
    cut = AscentOracle(svm.features, feasible)(np.full(n, 1.0 / n))
    return alternate_labels(svm.best(cut.labeling[None]), svm, feasible)
