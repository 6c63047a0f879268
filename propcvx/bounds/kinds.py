"""The kinds of bound, one row each: who refuses which problem, and what is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from propcvx.bounds.branch_and_bound import STAGES, BagMoments, BranchAndBound
from propcvx.bounds.directions import best_of_arcs
from propcvx.bounds.enumeration import MOST_LISTED, list_values
from propcvx.bounds.interval import Interval
from propcvx.bounds.moment_program import LARGEST, program_bound, program_size
from propcvx.bounds.pieces import MOST_LABELINGS, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch
from propcvx.checks import check_choice
from propcvx.errors import InputError
from propcvx.programs import Lifting
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.lifted import Lifted
from propcvx.relaxation.mixed_integer import MixedInteger
from propcvx.relaxation.result import RelaxationResult
from propcvx.relaxation.table import RELAXATIONS, find_relaxation, name_of, relax

MOST_CUTS = 200
"""Labelings of conv-pSVM's relaxation."""

MOST_MIXED_INTEGER = 30
"""Instances for which the most violated labeling is asked of a mixed-integer solver."""

LONGEST = 1e9
"""Seconds, where there is no time limit."""

Relax = Callable[..., RelaxationResult]
"""``relax(features, feasible, C, on_round=) -> RelaxationResult``."""


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
    finds : bool
        Whether it finds the best labeling itself, so that no search need come before it.
    """

    run: Callable[[LabelingProblem, Interval, SwapSearch], None]
    refuses: Callable[[LabelingProblem], str | None] = lambda problem: None
    automatic: bool = True
    finds: bool = False


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


def _refuses_directions(problem: LabelingProblem) -> str | None:
    if not problem.constraint_form:
        return "needs the constraint form; use 'branch_and_bound'"
    return _refuses_to_sweep(problem)


def relaxation(
    name: str, made: Callable[[Interval], Relax]
) -> Callable[[LabelingProblem, Interval, SwapSearch], None]:
    """A relaxation of eq:convex_1 with bounds of the hinge, made for what is left of the time."""

    def run(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
        def prove(reached: RelaxationResult) -> None:
            if reached.loss != "hinge":
                raise InputError(
                    f"relaxation {name} bounds the {reached.loss} loss; an interval is of the "
                    "hinge loss, as 'lifted' and 'cutting_planes' are."
                )
            interval.prove(name, reached.lower + problem.least_cost)

        def on_round(reached: RelaxationResult) -> None:
            prove(reached)
            interval.check_time()

        result = made(interval)(problem.features, problem.feasible, problem.C, on_round=on_round)
        prove(result)
        if isinstance(result.stopped_by, KeyboardInterrupt):
            raise result.stopped_by
        for labeling in result.labelings:
            search.plane(labeling)

    return run


def cutting_planes(oracle: str) -> Callable[[Interval], Relax]:
    """conv-pSVM's relaxation, eq:convex_4, with an oracle whose cuts have a bound."""
    planes = CuttingPlanes(master="epigraph", oracle=oracle, max_cuts=MOST_CUTS, tol=1e-6)
    return lambda interval: planes.relax


def mixed_integer(interval: Interval) -> Relax:
    """The exact program by SCIP, from the best labeling that is known."""
    seconds = min(interval.time_limit - interval.seconds, LONGEST)
    return MixedInteger(seconds=max(seconds, 1.0), start=interval.labeling).relax


def _refuses_to_sweep(problem: LabelingProblem) -> str | None:
    rank = problem.features.shape[1]
    return None if rank <= 2 else f"needs at most 2 features, here are {rank}; use 'bag_moments'"


def _needs_scip(most: int) -> Callable[[LabelingProblem], str | None]:
    def refuses(problem: LabelingProblem) -> str | None:
        if find_spec("pyscipopt") is None:
            return "needs SCIP: pip install propcvx[exact]"
        if len(problem.features) <= most:
            return None
        return (
            f"takes at most {most} instances, here are {len(problem.features)}; use 'bag_moments'"
        )

    return refuses


def _refuses_to_lift(problem: LabelingProblem) -> str | None:
    order = Lifting.of(problem.feasible).span.shape[1] + problem.features.shape[1]
    most = Lifted().max_order
    if order <= most:
        return None
    return f"takes semidefinite matrices of order {most}, here is {order}; use 'bag_moments'"


def bag_moments(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """The moment bound with a copy of the weights for every bag."""
    moments = BagMoments.of(problem, interval, search, "bag_moments")
    moments.maximise(moments.root(), STAGES)


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
        "enumeration": Bound(enumeration, _refuses_to_list, finds=True),
        "directions": Bound(best_of_arcs, _refuses_directions, finds=True),
        "sweep": Bound(relaxation("sweep", cutting_planes("sweep")), _refuses_to_sweep),
        "relaxation": Bound(
            relaxation("relaxation", cutting_planes("mixed_integer")),
            _needs_scip(MOST_MIXED_INTEGER),
            automatic=False,
        ),
        "eigenvalue": Bound(
            relaxation("eigenvalue", cutting_planes("eigenvalue")), automatic=False
        ),
        "lifted": Bound(
            relaxation("lifted", lambda interval: Lifted().relax),
            _refuses_to_lift,
            automatic=False,
        ),
        "mixed_integer": Bound(
            relaxation("mixed_integer", mixed_integer),
            _needs_scip(MixedInteger().max_instances),
            automatic=False,
        ),
        "bag_moments": Bound(bag_moments, automatic=False),
        "moment_program": Bound(moment_program, _refuses_program, automatic=False),
        "branch_and_bound": Bound(branch_and_bound),
    }
)
"""Kinds of bound by name, in the order in which they are asked."""


def find_bound(kind: Any) -> tuple[str, Bound]:
    """Name and row of a kind: a name in ``BOUNDS``, a :class:`Bound`, or any relaxation.

    Raises
    ------
    InputError
        If it is none of these; the message lists the names.
    """
    if isinstance(kind, Bound):
        return name_of(kind.run), kind
    if isinstance(kind, str) and kind in BOUNDS:
        return kind, BOUNDS[kind]
    if isinstance(kind, str):
        check_choice("kinds", kind, [*BOUNDS, *RELAXATIONS])
    find_relaxation("kinds", kind)
    run = relaxation(name_of(kind), lambda interval: partial(relax, kind))
    return name_of(kind), Bound(run, automatic=False)
