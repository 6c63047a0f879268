"""The table of relaxations, and the one place that solves a relaxation and checks its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.checks import Shapes, fault_of_record, named
from propcvx.errors import InputError
from propcvx.history import History
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_crossing
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.lifted import Diffrac, Lifted
from propcvx.relaxation.mixed_integer import MixedInteger
from propcvx.relaxation.result import RelaxationResult
from propcvx.solvers import Solve

FOR_BOUNDS = Solve(tol=1e-6)
"""Where only a relaxation's bound is needed, which holds at any tolerance."""

RELAXATIONS: Mapping[str, Any] = MappingProxyType(
    {
        "cutting_planes": CuttingPlanes(),
        "lifted": Lifted(),
        "mixed_integer": MixedInteger(),
        "diffrac": Diffrac(),
    }
)
"""Relaxations by name."""


def find_relaxation(argument: str, relaxation: Any) -> Any:
    """The relaxation of that name, or the object given, if it has the method ``relax``."""
    arguments = ("features", "feasible", "C")
    return named(argument, relaxation, RELAXATIONS, "relax", arguments, ("solve", "on_round"))


def name_of(relaxation: Any) -> str:
    """The name that was given, the object's own ``name``, or that of its class."""
    if isinstance(relaxation, str):
        return relaxation
    name = getattr(relaxation, "name", None) or getattr(relaxation, "__name__", None)
    return str(name or type(relaxation).__name__)


def each_once(given: Any) -> list[Any]:
    """One name or object, or a sequence of them without repetitions."""
    several = given if isinstance(given, list | tuple) else [given]
    return list({kind if isinstance(kind, str) else id(kind): kind for kind in several}.values())


def relax(
    relaxation: Any,
    features: Array,
    feasible: FeasibleLabelings,
    C: Weight,
    on_round: Callable[[RelaxationResult], None],
    solve: Solve = FOR_BOUNDS,
) -> RelaxationResult:
    """Solve a relaxation, given by its name or as an object, and check its result.

    The other arguments are those of :meth:`propcvx.relaxation.result.Relaxation.relax`.

    Raises
    ------
    InputError
        If what it returns, or hands to ``on_round``, is not as
        :class:`~propcvx.relaxation.RelaxationResult` says; the message names the relaxation.
    """
    name, relaxation = name_of(relaxation), find_relaxation("relaxation", relaxation)

    def checked(result: Any) -> RelaxationResult:
        if fault := _fault_of(result, feasible):
            raise InputError(f"relaxation {name} returned {fault}.")
        check_crossing(f"relaxation {name}", result.lower, result.upper)
        return cast("RelaxationResult", result)

    def on_checked(reached: Any) -> None:
        on_round(checked(reached))

    return checked(relaxation.relax(features, feasible, C, solve=solve, on_round=on_checked))


def _fault_of(result: Any, feasible: FeasibleLabelings) -> str | None:
    """What is wrong with a result, and what would do; None if nothing is."""
    n = feasible.bags.n_instances
    arrays = {"alpha": (n,), "weights": (None,), "vectors": (None, n), "labelings": (None, n)}
    numbers: Shapes = {"value": (), "lower": (), "upper": (), **arrays}
    infinite = {"lower": -np.inf, "upper": np.inf}
    if fault := fault_of_record(result, RelaxationResult, numbers, infinite):
        return fault
    if len(result.weights) != len(result.vectors):
        return f"{len(result.weights)} weights of {len(result.vectors)} vectors"
    if np.min(result.weights) < 0.0:
        return f"weights down to {np.min(result.weights):.3g}; 0 is the least that does"
    if not isinstance(result.history, History) or not result.history:
        return "no history; a propcvx.history.History of at least one round would do"
    for labeling in result.labelings:
        if fault := feasible.fault_of(labeling):
            return f"a labeling that is not feasible: {fault}; feasible.best(scores) is feasible"
    return None
