"""The kinds of bound, one row each: who refuses which problem, and what is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType

import numpy as np

from propcvx.bounds.branch_and_bound import STAGES, BagMoments, BranchAndBound
from propcvx.bounds.enumeration import MOST_LISTED, list_values
from propcvx.bounds.interval import Interval
from propcvx.bounds.moment_program import LARGEST, program_bound, program_size
from propcvx.bounds.pieces import MOST_LABELINGS, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.result import RelaxationResult

MOST_CUTS = 200
"""Labelings of conv-pSVM's relaxation."""

MOST_MIXED_INTEGER = 30
"""Instances for which the most violated labeling is asked of a mixed-integer solver."""


@dataclass(frozen=True)
class Bound:
    """One kind of bound.

    Attributes
    ----------
    run : callable
        ``run(problem, interval, search)`` proves lower bounds to the interval and offers labelings
        through the search.  It asks ``interval.check_time()`` every now and then, and ends when the
        interval is closed.
    refuses : callable
        ``refuses(problem)`` says why it cannot do a problem, with the nearest that it can; None if
        it can.
    automatic : bool
        Whether it is asked where no kinds are named; the moment bounds are not, as
        ``"branch_and_bound"`` begins with them.
    """

    run: Callable[[LabelingProblem, Interval, SwapSearch], None]
    refuses: Callable[[LabelingProblem], str | None] = lambda problem: None
    automatic: bool = True


def enumeration(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """Values of all labelings."""
    piece, values = list_values(problem)
    labeling = np.empty(len(problem.features))
    labeling[piece.instances] = piece.labelings[values.argmin()]
    search.plane(labeling)
    interval.prove("enumeration", float(values.min()))


def _refuses_to_list(problem: LabelingProblem) -> str | None:
    number = divide(problem).size
    if number <= MOST_LISTED:
        return None
    return f"lists at most {MOST_LISTED:,} labelings, here are {number:.3g}; use 'branch_and_bound'"


def relaxation(oracle: str, name: str) -> Callable[[LabelingProblem, Interval, SwapSearch], None]:
    """conv-pSVM's relaxation, eq:convex_4, with an oracle whose cuts have a bound."""

    def run(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
        def on_round(reached: RelaxationResult) -> None:
            interval.prove(name, reached.lower + problem.least_cost)
            interval.check_time()

        planes = CuttingPlanes(master="epigraph", oracle=oracle, max_cuts=MOST_CUTS, tol=1e-6)
        result = planes.relax(problem.features, problem.feasible, problem.C, on_round=on_round)
        if isinstance(result.stopped_by, KeyboardInterrupt):
            raise result.stopped_by
        for labeling in result.labelings:
            search.plane(labeling)

    return run


def _refuses_to_sweep(problem: LabelingProblem) -> str | None:
    rank = problem.features.shape[1]
    return None if rank <= 2 else f"needs at most 2 features, here are {rank}; use 'bag_moments'"


def _refuses_mixed_integer(problem: LabelingProblem) -> str | None:
    if find_spec("pyscipopt") is None:
        return "needs SCIP: pip install propcvx[exact]"
    if len(problem.features) <= MOST_MIXED_INTEGER:
        return None
    return (
        f"takes at most {MOST_MIXED_INTEGER} instances, here are {len(problem.features)}; use "
        "'bag_moments'"
    )


def bag_moments(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """The moment bound with a copy of the weights for every bag."""
    moments = BagMoments.of(problem, interval, search, "bag_moments")
    moments.maximise(moments.root(), STAGES, prove=True)


def moment_program(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """The same bound from its program in CVXPY, by an interior-point method."""
    interval.prove("moment_program", program_bound(problem, solver="clarabel", tol=1e-7)[1])


def _refuses_program(problem: LabelingProblem) -> str | None:
    size = program_size(problem)
    if divide(problem).costs:
        return f"takes bags of at most {MOST_LABELINGS:,} labelings; use 'bag_moments'"
    if size <= LARGEST:
        return None
    return (
        f"takes semidefinite matrices of at most {LARGEST:,} entries, here are {size:,}; use "
        "'bag_moments'"
    )


def branch_and_bound(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """The moment bound with bags merged and branched on."""
    moments = BagMoments.of(problem, interval, search, "branch_and_bound")
    BranchAndBound(moments).run(moments.root())


BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "enumeration": Bound(enumeration, _refuses_to_list),
        "sweep": Bound(relaxation("sweep", "sweep"), _refuses_to_sweep),
        "relaxation": Bound(
            relaxation("mixed_integer", "relaxation"), _refuses_mixed_integer, automatic=False
        ),
        "bag_moments": Bound(bag_moments, automatic=False),
        "moment_program": Bound(moment_program, _refuses_program, automatic=False),
        "branch_and_bound": Bound(branch_and_bound),
    }
)
"""Kinds of bound by name, in the order in which they are asked."""
