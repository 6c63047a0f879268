"""The table of bounds, with the problems that each bound refuses and its algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log10
from types import MappingProxyType
from typing import Any

import numpy as np
from cvxpy import OPTIMAL

from propcvx.bounds.branch_and_bound import MomentBound
from propcvx.bounds.interval import Interval
from propcvx.bounds.moments import Multipliers, certify_values, improve_duals
from propcvx.bounds.partition import divide
from propcvx.bounds.swap_search import SwapSearch
from propcvx.checks import resolve
from propcvx.errors import InputError
from propcvx.relaxation.comparison import FOR_BOUNDS, RELAXATIONS, find_all, name_of
from propcvx.relaxation.result import RelaxationResult, check_result
from propcvx.svm.problem import LabelingProblem

MOST_LISTED = 20_000
"""Largest number of labelings that enumeration lists."""

TOL = 1e-9
"""Error of the values of listed labelings, relative to the value at w = 0."""


@dataclass(frozen=True)
class Bound:
    """A way to prove lower bounds on the optimal value over labelings, for ``certify(bounds=)``.

    Attributes
    ----------
    run : callable
        ``run(problem, interval, search)``, with a :class:`LabelingProblem`, an :class:`Interval`
        and a :class:`SwapSearch`, proves lower bounds to the interval and offers labelings through
        the search.  It regularly calls ``interval.check_time()``, which raises an error
        at the time limit, and it ends when the interval is closed.
    refusal_reason : callable
        ``refusal_reason(problem)`` returns why it does not support a problem and which bound does;
        None if it supports the problem.
    in_auto : bool
        Whether ``bounds="auto"`` includes it.  The moment bound is not included, as
        ``"branch_and_bound"`` begins with it.
    finds_labeling : bool
        Whether it finds the best labeling itself, so that no search is needed before it.

    Examples
    --------
    No hinge loss is negative, and a bag costs at least the smallest cost of a count:

    >>> from propcvx import bag_target, certify
    >>> from propcvx.bounds import Bound
    >>> from propcvx.datasets import make_two_bags
    >>> def cheapest_counts(problem, interval, search):
    ...     interval.check_time()  # ends the bound at the time limit
    ...     interval.prove("cheapest_counts", problem.least_cost)
    >>> data = make_two_bags(10, random_state=0)
    >>> y = bag_target(data.bags, data.proportions)
    >>> bounds = [Bound(cheapest_counts), "bag_moments"]
    >>> result = certify(data.X, y, C=0.1, C_p=1.0, bounds=bounds)
    >>> [event.bound for event in result.history if event.lower > 0.0][-1]
    'bag_moments'
    """

    run: Callable[[LabelingProblem, Interval, SwapSearch], None]
    refusal_reason: Callable[[LabelingProblem], str | None] = lambda problem: None
    in_auto: bool = True
    finds_labeling: bool = False

    @property
    def name(self) -> str:
        """The name of its function."""
        return name_of(self.run)


def enumeration(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """Compute the values of all labelings as one block, ignoring the time limit."""
    partition = divide(problem).merge_all()
    single = Multipliers.equal(partition, problem.features.shape[1])
    tol = TOL * problem.C * len(problem.features)
    improve_duals(partition, single, np.inf, tol, lambda: None)
    values = certify_values(partition, single).of_labelings(0)
    search.evaluate(partition.labeling([int(values.argmin())]))
    interval.prove("enumeration", float(values.min()))


def _refuses_to_list(problem: LabelingProblem) -> str | None:
    number = divide(problem).size
    if number <= MOST_LISTED:
        return None
    size = f"about 10^{log10(number):.0f}"
    return f"lists at most {MOST_LISTED:,} labelings, here are {size}; use 'branch_and_bound'"


def bag_moments(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """Prove the moment bound with a copy of the weights for every bag."""
    moments = MomentBound(problem, interval, search, "bag_moments")
    moments.maximize(moments.root())


def branch_and_bound(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """Prove the moment bound with bags merged and branched on."""
    MomentBound(problem, interval, search, "branch_and_bound").branch()


BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "enumeration": Bound(enumeration, _refuses_to_list, finds_labeling=True),
        "bag_moments": Bound(bag_moments, in_auto=False),
        "branch_and_bound": Bound(branch_and_bound),
    }
)
"""Bounds by name, in the order in which they are computed."""


def relaxation_bound(name: str, relaxation: Any) -> Bound:
    """Convert a relaxation, an object with the method ``relax``, to a bound.

    Each of its programs gets the time that is left of the limit at its start, at least a second.
    """
    source = f"relaxation {name_of(relaxation)}"

    def run(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
        def prove(current: RelaxationResult) -> None:
            check_result(source, current, problem.feasible)
            if current.loss != "hinge":
                raise InputError(
                    f"it must bound the hinge loss; got the {current.loss} loss. Pass a relaxation "
                    "such as 'lifted' or 'cutting_planes'."
                )
            interval.prove(name, current.lower + problem.least_cost)
            if current.history.stop_reason is None or current.history[-1].status != OPTIMAL:
                interval.check_time()

        parts = (problem.features, problem.feasible, problem.C)
        solve = replace(FOR_BOUNDS, time_limit=max(interval.time_limit - interval.seconds, 1.0))
        result = relaxation.relax(*parts, solve=solve, on_round=prove)
        check_result(source, result, problem.feasible)
        for labeling in result.labelings:
            search.evaluate(labeling)
        prove(result)
        if isinstance(result.exception, KeyboardInterrupt):
            raise result.exception

    return Bound(run, in_auto=False)


def find_bounds(bounds: Any, problem: LabelingProblem) -> dict[str, Bound]:
    """Return bounds by name, from names in ``BOUNDS``, a :class:`Bound`, or any relaxation.

    Parameters
    ----------
    bounds : "auto", str, object, or sequence of these
        As in :func:`propcvx.certify`; ``"auto"`` is all automatic bounds that do not refuse the
        problem.
    problem : LabelingProblem

    Returns
    -------
    dict from str to Bound

    Raises
    ------
    InputError
        If one is none of these, and the message lists the names; or if it refuses the problem.
    """
    if isinstance(bounds, str) and bounds == "auto":
        able = [name for name in BOUNDS if not BOUNDS[name].refusal_reason(problem)]
        bounds = [name for name in able if BOUNDS[name].in_auto]
    table = find_all(bounds, _find_bound)
    for name, kind in table.items():
        table[name] = kind if isinstance(kind, Bound) else relaxation_bound(name, kind)
        if reason := table[name].refusal_reason(problem):
            raise InputError(f"bounds: {name!r} {reason}.")
    return table


def _find_bound(kind: Any) -> Any:
    table = {**BOUNDS, **RELAXATIONS}
    return kind if isinstance(kind, Bound) else resolve("bounds", kind, table, "relax")
