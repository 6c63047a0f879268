"""What is known of the best labeling's value so far: nothing proved is ever forgotten.

A proof that a labeling's value contradicts is a :class:`~propcvx.errors.CrossedBoundsError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from propcvx.relaxation.bounds import check_crossing, gap_between

Array = NDArray[np.float64]


class OutOfTimeError(Exception):
    """The time limit is over."""


@dataclass(frozen=True)
class Event:
    """One improvement of the interval.

    Attributes
    ----------
    seconds : float
        Since the start.
    kind : str
        Who improved it.
    lower, upper : float
        The interval from then on.
    """

    seconds: float
    kind: str
    lower: float
    upper: float


@dataclass(frozen=True)
class NodeRecord:
    """What became of one node of the branch-and-bound tree.

    Attributes
    ----------
    index, parent : int
        Its number in the order of their making, and its parent's; the root's parent is -1.
    depth : int
    lower : float
        No labeling of the node is better.
    status : str
        ``"open"``, ``"branched"``, ``"closed"``, or ``"stalled"`` where a single labeling's value
        could not be settled to the tolerance.
    sizes : tuple of int
        Labelings that are left of each piece.
    seconds : float
        Since the start.
    """

    index: int
    parent: int
    depth: int
    lower: float
    status: str
    sizes: tuple[int, ...]
    seconds: float


@dataclass(eq=False)
class Interval:
    """The interval while it closes.

    Attributes
    ----------
    tol : float
        Relative gap at which it counts as closed.
    time_limit : float
        Seconds; infinity for none.
    on_event, on_node : callable
        Told of every improvement, and of every node that is done with.
    safe : callable
        What holds for the Gram matrix of a lower bound that holds for its factor.
    """

    tol: float
    time_limit: float = np.inf
    on_event: Callable[[Event], None] = lambda event: None
    on_node: Callable[[NodeRecord], None] = lambda node: None
    safe: Callable[[float], float] = lambda lower: lower
    lower: float = -np.inf
    upper: float = np.inf
    labeling: Array | None = None
    prover: str = ""
    events: list[Event] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.started

    @property
    def gap(self) -> float:
        """``(upper - lower) / upper``; 0 means that nothing is between them."""
        return gap_between(self.lower, self.upper)

    @property
    def closed(self) -> bool:
        """Whether the labeling is proved optimal to the tolerance."""
        return self.gap <= self.tol

    @property
    def goal(self) -> float:
        """A lower bound that closes it, with half of the tolerance to spare."""
        return self.upper * (1.0 - 0.5 * self.tol)

    def prove(self, kind: str, lower: float) -> None:
        """A valid lower bound of the problem as its features pose it."""
        lower = self.safe(lower)
        check_crossing(f"kind of bound {kind!r}", lower, self.upper)
        if lower > self.lower:
            self.lower, self.prover = min(float(lower), self.upper), kind
            self._note(kind)

    def offer(self, kind: str, labeling: Array, upper: float) -> None:
        """A labeling and what its value is at most."""
        if upper < self.upper:
            check_crossing(f"kind of bound {self.prover!r}", self.lower, upper)
            self.upper, self.labeling = float(upper), labeling
            self.lower = min(self.lower, self.upper)
            self._note(kind)

    def check_time(self) -> None:
        """Raise :class:`OutOfTimeError` once the time is over."""
        if self.seconds > self.time_limit:
            raise OutOfTimeError

    def record(self, node: NodeRecord) -> None:
        """Keep a node's record."""
        self.nodes.append(node)
        self.on_node(node)

    def _note(self, kind: str) -> None:
        event = Event(self.seconds, kind, self.lower, self.upper)
        self.events.append(event)
        self.on_event(event)
