"""The table of relaxations, and the function that solves a relaxation and checks its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.checks import Shapes, check_fields, resolve
from propcvx.errors import InputError
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_consistent
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.lifted import Diffrac, Lifted
from propcvx.relaxation.mixed_integer import MixedInteger
from propcvx.relaxation.result import RelaxationResult
from propcvx.solvers import Solve

FOR_BOUNDS = Solve(tol=1e-6)
"""Tolerance if only a relaxation's bound is needed, which holds at any tolerance."""

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
    """Return the relaxation of a name, or the object itself if it has the method ``relax``."""
    return resolve(argument, relaxation, RELAXATIONS, "relax")


def name_of(relaxation: Any) -> str:
    """Return the name itself, the object's own ``name``, or the name of its class."""
    if isinstance(relaxation, str):
        return relaxation
    name = getattr(relaxation, "name", None) or getattr(relaxation, "__name__", None)
    return str(name or type(relaxation).__name__)


def each_once(given: Any) -> list[Any]:
    """Convert a name, an object, or a sequence of them to a list without repetitions."""
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
    """Solve a relaxation, by name or as an object, and check its result.

    The other arguments are those of :meth:`propcvx.relaxation.result.Relaxation.relax`.

    Raises
    ------
    InputError
        If its result, or the argument of ``on_round``, is no valid
        :class:`~propcvx.relaxation.RelaxationResult`; the message names the relaxation.
    """
    name, relaxation = name_of(relaxation), find_relaxation("relaxation", relaxation)

    def on_checked(reached: RelaxationResult) -> None:
        _check(name, reached, feasible)
        on_round(reached)

    result = relaxation.relax(features, feasible, C, solve=solve, on_round=on_checked)
    _check(name, result, feasible)
    return cast("RelaxationResult", result)


def _check(name: str, result: RelaxationResult, feasible: FeasibleLabelings) -> None:
    """Raise unless the result's numbers and labelings are consistent."""
    n, source = feasible.bags.n_instances, f"relaxation {name}"
    numbers: Shapes = {"value": (), "lower": (), "upper": (), "alpha": (n,)}
    vectors: Shapes = {"weights": result.vectors.shape[:1], "vectors": (None, n)}
    check_fields(source, result, {**numbers, **vectors}, {"lower": -np.inf, "upper": np.inf})
    check_consistent(source, result.lower, result.upper)
    if np.min(result.weights) < 0.0 or not result.history:
        raise InputError(
            f"{source} must return weights >= 0 and a history of at least one round; got "
            f"{result.weights!r:.200} and {len(result.history)} rounds."
        )
    for labeling in result.labelings:
        if fault := feasible.fault_of(labeling):
            raise InputError(f"{source} returned a labeling that is not feasible: {fault}.")
