"""What is compared: every relaxation, Algorithm 2 with several oracles, and every bound.

A kind is a function of a :class:`Question` that says what it :class:`Reached`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from cvxpy import OPTIMAL
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from propcvx.bounds import BOUNDS, OutOfTimeError
from propcvx.estimators import ConvPropSVM, certify
from propcvx.history import History, StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation import CuttingPlanes, RelaxationResult
from propcvx.relaxation.oracles import SemidefiniteOracle
from propcvx.relaxation.table import BUILT_IN, TOL, name_of, relax
from propcvx.targets import bag_target

Array = NDArray[np.float64]

MOST_CUTS = 200
"""Labelings of Algorithm 2, where it is run on."""


@dataclass(frozen=True, eq=False)
class Question:
    """The problem that all kinds are asked, eq:convex_1 without bias.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,)
    C : float
    epsilon : float or "rounding"
    features : mapping
        ``kernel``, ``gamma``, ``degree``, ``coef0``, ``intercept`` of :class:`ConvPropSVM`.
    time_limit : float
        Seconds for each kind.
    tol : float
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None
    """

    X: Any
    y: NDArray[np.void]
    C: float
    epsilon: float | str
    features: Mapping[str, Any]
    time_limit: float
    tol: float
    random_state: Any

    def separator(self, labeling: Array) -> ConvPropSVM:
        """The labeling's own SVM: with every label known, all relaxations are."""
        known = bag_target(np.arange(len(labeling)), (labeling > 0).astype(float))
        model = ConvPropSVM(self.C, bias="none", rounding="best_cut", **self.features)
        model.fit(self.X, known)
        return model


@dataclass(frozen=True, eq=False)
class Reached:
    """What a kind has to say.

    Attributes
    ----------
    loss : str
        The loss that ``value`` and the bounds of ``history`` are of.
    value : float
        What the relaxation reached, or the best bound.
    lower : float
        No labeling has a smaller hinge value; minus infinity where that is not proved.
    labeling : array of shape (n_instances,)
        The best one met, from -1 and +1.
    history : list of (float, float)
        When the lower bound rose, in seconds of processor time, and to what.
    reason : StopReason
    cuts, rounds, nodes : int or None
        None where there is no such thing.
    """

    loss: str
    value: float
    lower: float
    labeling: Array
    history: list[tuple[float, float]]
    reason: StopReason
    cuts: int | None = None
    rounds: int | None = None
    nodes: int | None = None


Kind = Callable[[Question], Reached]


def by_tolerance(seconds: float) -> dict[str, Any]:
    """Options of a relaxation of one's own."""
    return {"solver_tol": TOL}


def not_held(seconds: float) -> dict[str, Any]:
    """Options of one that looks at the time between its rounds, or never."""
    return {}


def certified(question: Question, *, kinds: Iterable[Any]) -> Reached:
    """What ``certify`` has with those bounds; with none, its search alone."""
    seen: list[tuple[float, float]] = []
    began = process_time()
    result = certify(
        question.X,
        question.y,
        question.C,
        epsilon=question.epsilon,
        kinds=list(kinds),
        time_limit=question.time_limit,
        tol=question.tol,
        random_state=question.random_state,
        on_event=lambda event: seen.append((process_time() - began, event.lower)),
        **question.features,
    )
    return Reached(
        "hinge",
        result.lower,
        result.lower,
        result.labeling,
        _rises(seen),
        result.stop_reason,
        nodes=len(result.nodes) or None,
    )


def relaxed(
    question: Question,
    *,
    relaxation: Any,
    options: Callable[[float], dict[str, Any]] = not_held,
) -> Reached:
    """What :class:`propcvx.ConvPropSVM` has with that relaxation and the rounding ``"best"``."""
    timed = Timed(clone(relaxation, safe=False), question.time_limit)
    model = ConvPropSVM(
        question.C, question.epsilon, relaxation=timed, rounding="best", **question.features
    )
    model.set_params(**options(question.time_limit))
    result = model.fit(question.X, question.y).relaxation_
    hinge = result.loss == "hinge"
    return Reached(
        result.loss,
        result.value,
        result.lower if hinge else -np.inf,
        np.where(model.soft_labeling_ > 0, 1.0, -1.0),
        timed.rises_ if hinge else [],
        result.history.stop_reason,
        cuts=result.history[-1].n_cuts,
        rounds=len(result.history),
    )


class Timed(BaseEstimator):
    """A relaxation that ends after a round once the time is over, with what it has.

    Parameters
    ----------
    relaxation : object
        With the method ``relax``.
    time_limit : float
        Seconds.
    """

    def __init__(self, relaxation: Any, time_limit: float) -> None:
        self.relaxation = relaxation
        self.time_limit = time_limit

    @property
    def name(self) -> str:
        """That of the relaxation."""
        return name_of(self.relaxation)

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: float,
        *,
        on_round: Callable[[RelaxationResult], None],
        **how: Any,
    ) -> RelaxationResult:
        """Relax; ``on_round``, whose work is not the relaxation's, is not called."""
        clock = _Clock(self.time_limit)
        try:
            result = relax(self.relaxation, features, feasible, C, on_round=clock, **how)
        except (OutOfTimeError, KeyboardInterrupt) as end:
            if clock.last is None:
                raise
            late = isinstance(end, OutOfTimeError)
            result = _ended(clock.last, StopReason.OUT_OF_TIME if late else StopReason.of(end))
        if result.history[-1].status != OPTIMAL and clock.seconds >= self.time_limit:
            result = _ended(result, StopReason.OUT_OF_TIME)
        self.rises_ = _rises([*clock.seen, (clock.processor, result.lower)])
        return replace(result, stopped_by=None)


@dataclass
class _Clock:
    """Sees the rounds, and ends them."""

    time_limit: float
    started: float = field(default_factory=perf_counter)
    began: float = field(default_factory=process_time)
    seen: list[tuple[float, float]] = field(default_factory=list)
    last: RelaxationResult | None = None

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    @property
    def processor(self) -> float:
        return process_time() - self.began

    def __call__(self, reached: RelaxationResult) -> None:
        self.last = reached
        self.seen.append((self.processor, reached.lower))
        if self.seconds > self.time_limit and reached.history.stop_reason is None:
            raise OutOfTimeError


def _ended(result: RelaxationResult, reason: StopReason) -> RelaxationResult:
    return replace(result, history=History(result.history.rounds, reason))


def _rises(seen: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Times at which a lower bound was better than before."""
    rises: list[tuple[float, float]] = []
    for seconds, lower in seen:
        if np.isfinite(lower) and (not rises or lower > rises[-1][1]):
            rises.append((float(seconds), float(lower)))
    return rises


# --- the table --------------------------------------------------------------------------------


def _by_scs(seconds: float) -> dict[str, Any]:
    """A bound from its multipliers holds at any accuracy, so a low one does."""
    options = {"time_limit_secs": float(seconds)}
    return {"solver": "scs", "solver_tol": 1e-4, "solver_options": options}


def _by_scip(seconds: float) -> dict[str, Any]:
    return {"relaxation__relaxation__seconds": float(seconds)}


HELD: Mapping[str, Callable[[float], dict[str, Any]]] = MappingProxyType(
    {"lifted": _by_scs, "diffrac": _by_scs, "mixed_integer": _by_scip}
)
"""How those that solve one long program are held to a time; others look at it between rounds."""

CUTTING: Mapping[str, Any] = MappingProxyType(
    {
        **{name: name for name in ("coordinate", "ascent", "random_directions", "several")},
        "eigenvalue": "eigenvalue",
        "semidefinite": partial(SemidefiniteOracle, tol=1e-4),
        "exhaustive": "exhaustive",
        "sweep": "sweep",
    }
)
"""Oracles with which Algorithm 2 is run on."""


def _table() -> dict[str, Kind]:
    relaxations = {
        **BUILT_IN,
        **{
            f"cutting_planes:{name}": CuttingPlanes(
                master="epigraph", oracle=oracle, max_cuts=MOST_CUTS
            )
            for name, oracle in CUTTING.items()
        },
    }
    table: dict[str, Kind] = {"search": partial(certified, kinds=())}
    for name, relaxation in relaxations.items():
        options = HELD.get(name, not_held)
        table[name] = partial(relaxed, relaxation=relaxation, options=options)
    table.update((name, partial(certified, kinds=(name,))) for name in BOUNDS)
    return table


KINDS: Mapping[str, Kind] = MappingProxyType(_table())
"""Kinds by name: ``"search"``, which proves nothing, relaxations, and bounds."""
