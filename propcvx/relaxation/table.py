"""The table of relaxations, and the one place that asks a relaxation and checks what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.checks import named
from propcvx.errors import InputError
from propcvx.history import History
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.bounds import check_crossing
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.diffrac import Diffrac, FrankWolfe
from propcvx.relaxation.entropic import Entropic
from propcvx.relaxation.lifted import Lifted
from propcvx.relaxation.mixed_integer import ContinuousLabels, MixedInteger
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.solvers import SolverNames

Array = NDArray[np.float64]

BUILT_IN: Mapping[str, Any] = {
    "cutting_planes": CuttingPlanes(),
    "lifted": Lifted(),
    "mixed_integer": MixedInteger(),
    "continuous_labels": ContinuousLabels(),
    "entropic": Entropic(),
    "diffrac": Diffrac(),
    "frank_wolfe": FrankWolfe(),
}
"""Those of the package itself."""

RELAXATIONS: dict[str, Any] = dict(BUILT_IN)
"""Relaxations by name; :func:`register_relaxation` adds one."""


def register_relaxation(name: str, relaxation: Any) -> None:
    """Add a relaxation to the table, or replace the one of that name.

    Every ``relaxation=`` and ``kinds=`` then takes the name.
    """
    RELAXATIONS[name] = find_relaxation("relaxation", relaxation)


def find_relaxation(argument: str, relaxation: Any) -> Any:
    """The relaxation of that name, or the object given, if it has the method ``relax``."""
    if isinstance(relaxation, type):
        raise InputError(
            f"{argument} must be a name or an object, got the class {relaxation.__name__}; "
            f"{relaxation.__name__}(...) is an object."
        )
    return named(argument, relaxation, RELAXATIONS, "relax")


def name_of(relaxation: Any) -> str:
    """The name that was given, the object's own ``name``, or that of its class."""
    if isinstance(relaxation, str):
        return relaxation
    own = getattr(relaxation, "name", None) or getattr(relaxation, "__name__", None)
    return str(own or type(relaxation).__name__)


def portable_relaxation(relaxation: Any) -> Any:
    """The relaxation, as a process that has only the package's own can find it."""
    if not isinstance(relaxation, str):
        return relaxation
    found = RELAXATIONS.get(relaxation, relaxation)
    return relaxation if found is BUILT_IN.get(relaxation) else found


def relax(
    relaxation: Any,
    features: Array,
    feasible: FeasibleLabelings,
    C: float,
    *,
    solver: SolverNames = "auto",
    tol: float = 1e-8,
    options: Mapping[str, Any] = NO_OPTIONS,
    on_round: Callable[[RelaxationResult], None] = lambda reached: None,
) -> RelaxationResult:
    """Ask a relaxation, given by its name or as an object.

    The other arguments are those of :meth:`propcvx.relaxation.Lifted.relax`.

    Raises
    ------
    InputError
        If what it returns, or hands to ``on_round``, is not as
        :class:`~propcvx.relaxation.RelaxationResult` says; the message names the relaxation.
    """
    row, name = find_relaxation("relaxation", relaxation), name_of(relaxation)

    def check_round(reached: RelaxationResult) -> None:
        on_round(checked(name, reached, feasible))

    result = row.relax(
        features, feasible, C, solver=solver, tol=tol, options=options, on_round=check_round
    )
    return checked(name, result, feasible)


def checked(name: str, result: Any, feasible: FeasibleLabelings) -> RelaxationResult:
    """What a relaxation returned, if it can be used."""
    if not isinstance(result, RelaxationResult):
        raise InputError(
            f"relaxation {name} returned a {type(result).__name__}; its method 'relax' has to "
            "return a propcvx.relaxation.RelaxationResult."
        )
    if fault := _fault_of(result, feasible):
        raise InputError(f"relaxation {name} returned {fault}.")
    check_crossing(f"relaxation {name}", result.lower, result.upper)
    return result


def _fault_of(result: RelaxationResult, feasible: FeasibleLabelings) -> str | None:
    n, count = feasible.bags.n_instances, len(np.atleast_1d(result.weights))
    for field, shape, infinite in (
        ("value", (), None),
        ("lower", (), -np.inf),
        ("upper", (), np.inf),
        ("alpha", (n,), None),
        ("weights", (count,), None),
        ("vectors", (count, n), None),
        ("labelings", (max(len(np.atleast_2d(result.labelings)), 1), n), None),
    ):
        if fault := _fault_of_numbers(getattr(result, field), shape, infinite):
            return f"{field} = {fault}"
    if np.min(result.weights) < 0.0:
        return f"weights down to {np.min(result.weights):.3g}; 0 is the least that does"
    faults = (feasible.fault_of(labeling) for labeling in result.labelings)
    if fault := next(filter(None, faults), None):
        return f"a labeling that is not feasible: {fault}; feasible.best(scores) is feasible"
    if not isinstance(result.history, History) or not len(result.history):
        return "no history; a propcvx.history.History of at least one round would do"
    return None


def _fault_of_numbers(value: Any, shape: tuple[int, ...], infinite: float | None) -> str | None:
    """What a number or an array is, where it is not finite numbers of a shape, and what would do.

    ``infinite`` is the infinity that is allowed.
    """
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return f"{value!r}; it has to be {_wanted(shape)}"
    if numbers.shape != shape or not numbers.size:
        return f"an array of shape {numbers.shape}; it has to be {_wanted(shape)}"
    wrong = numbers[~np.isfinite(numbers) & (numbers != infinite)]
    return f"{wrong[0]}; it has to be {_wanted(shape)} that is finite" if wrong.size else None


def _wanted(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a number"
