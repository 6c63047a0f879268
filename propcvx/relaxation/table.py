"""The table of relaxations, and the one place that asks a relaxation and checks what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.checks import named
from propcvx.errors import InputError
from propcvx.history import History
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.bounds import check_crossing
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.diffrac import Diffrac
from propcvx.relaxation.lifted import Lifted
from propcvx.relaxation.mixed_integer import ContinuousLabels, MixedInteger
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.solvers import SolverNames

Array = NDArray[np.float64]

TOL = 1e-6
"""A solver's tolerance where a relaxation is asked for its bound, which holds at any."""

BUILT_IN: Mapping[str, Any] = {
    "cutting_planes": CuttingPlanes(),
    "lifted": Lifted(),
    "mixed_integer": MixedInteger(),
    "continuous_labels": ContinuousLabels(),
    "diffrac": Diffrac(),
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


def each_once(given: Any) -> list[Any]:
    """One name or object, or a sequence of them without repetitions."""
    several = given if isinstance(given, list | tuple) else [given]
    found: list[Any] = []
    for one in several:
        if not any(one is other or (isinstance(one, str) and one == other) for other in found):
            found.append(one)
    return found


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
    tol: float = TOL,
    options: Mapping[str, Any] = NO_OPTIONS,
    on_round: Callable[[RelaxationResult], None] = lambda reached: None,
) -> RelaxationResult:
    """Ask a relaxation, given by its name or as an object.

    The other arguments are those of :meth:`propcvx.relaxation.result.Relaxation.relax`.

    Raises
    ------
    InputError
        If what it returns, or hands to ``on_round``, is not as
        :class:`~propcvx.relaxation.RelaxationResult` says; the message names the relaxation.
    """
    row, check = find_relaxation("relaxation", relaxation), Check(name_of(relaxation), feasible)

    def check_round(reached: RelaxationResult) -> None:
        on_round(check(reached))

    return check(
        row.relax(
            features, feasible, C, solver=solver, tol=tol, options=options, on_round=check_round
        )
    )


@dataclass(frozen=True)
class Check:
    """Checks what a relaxation returns, every labeling once.

    Attributes
    ----------
    name : str
        The relaxation's, for messages.
    feasible : FeasibleLabelings
    known : set of bytes
        Labelings that are feasible.
    """

    name: str
    feasible: FeasibleLabelings
    known: set[bytes] = field(default_factory=set)

    def __call__(self, result: Any) -> RelaxationResult:
        """The result, if it can be used."""
        if not isinstance(result, RelaxationResult):
            raise InputError(
                f"relaxation {self.name} returned a {type(result).__name__}; its method 'relax' "
                "has to return a propcvx.relaxation.RelaxationResult."
            )
        if fault := self._fault_of(result):
            raise InputError(f"relaxation {self.name} returned {fault}.")
        check_crossing(f"relaxation {self.name}", result.lower, result.upper)
        return result

    def _fault_of(self, result: RelaxationResult) -> str | None:
        n = self.feasible.bags.n_instances
        for name, shape, infinite in (
            ("value", (), None),
            ("lower", (), -np.inf),
            ("upper", (), np.inf),
            ("alpha", (n,), None),
            ("weights", (None,), None),
            ("vectors", (None, n), None),
            ("labelings", (None, n), None),
        ):
            if fault := _fault_of_numbers(getattr(result, name), shape, infinite):
                return f"{name} = {fault}"
        if len(result.weights) != len(result.vectors):
            return f"{len(result.weights)} weights of {len(result.vectors)} vectors"
        if np.min(result.weights) < 0.0:
            return f"weights down to {np.min(result.weights):.3g}; 0 is the least that does"
        if not isinstance(result.history, History) or not len(result.history):
            return "no history; a propcvx.history.History of at least one round would do"
        return self._fault_of_labelings(result.labelings)

    def _fault_of_labelings(self, labelings: Array) -> str | None:
        for labeling in labelings:
            if labeling.tobytes() not in self.known:
                if fault := self.feasible.fault_of(labeling):
                    return (
                        f"a labeling that is not feasible: {fault}; "
                        "feasible.best(scores) is feasible"
                    )
                self.known.add(labeling.tobytes())
        return None


def _fault_of_numbers(
    value: Any, shape: tuple[int | None, ...], infinite: float | None
) -> str | None:
    """What a number or an array is, where it is not finite numbers of a shape, and what would do.

    None in the shape is any number but 0; ``infinite`` is the infinity that is allowed.
    """
    wanted = f"an array of shape {shape}".replace("None", "any") if shape else "a number"
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return f"{value!r}; it has to be {wanted}"
    if shape and not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}; it has to be {wanted}"
    fits = len(numbers.shape) == len(shape) and all(
        have == (want or have) for have, want in zip(numbers.shape, shape, strict=True)
    )
    if not fits or not numbers.size:
        return f"an array of shape {numbers.shape}; it has to be {wanted}"
    wrong = numbers[~np.isfinite(numbers) & (numbers != infinite)]
    return f"{wrong[0]}; it has to be {wanted} that is finite" if wrong.size else None
