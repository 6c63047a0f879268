"""The interval around the optimal value over labelings: its current state and its result.

The interval only shrinks.  A labeling's value below a lower bound raises an
:class:`~propcvx.errors.InconsistentBoundsError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from tqdm import tqdm

from propcvx.arrays import Array
from propcvx.history import StopReason
from propcvx.relaxation.bounds import Bounds, check_consistent, gap_between


class OutOfTimeError(Exception):
    """Exception at the time limit of a certificate."""


@dataclass(frozen=True)
class Event:
    """Improvement of a certified interval.

    Attributes
    ----------
    seconds : float
        Since the start.
    bound : str
        The bound, or the search, that improved it.
    lower, upper : float
        The interval from then on.
    """

    seconds: float
    bound: str
    lower: float
    upper: float


@dataclass(frozen=True)
class NodeRecord:
    """Outcome of a node of the branch-and-bound tree.

    A block is a bag, several bags merged, or a part of a large bag.  At a node each block has a set
    of possible labelings.

    Attributes
    ----------
    index, parent : int
        Nodes are numbered in the order in which they are made; the root's parent is -1.
    depth : int
        Number of branches above the node; 0 for the root.
    lower : float
        A lower bound on the values of the labelings of the node.
    status : str
        ``"branched"`` into two children, ``"closed"`` by its bound, ``"listed"`` if one block is
        left, so that the value of each of its labelings is known, or ``"open"`` if it was not
        needed any more.
    sizes : tuple of int
        Number of possible labelings of each block.
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
    """Interval around the optimal value that bounds and searches narrow: the state of ``certify``.

    Attributes
    ----------
    tol : float
        Relative gap at which it counts as closed.
    time_limit : float
        Seconds; infinity for none.
    callback : callable
        Called with every improvement.
    gram_lower : callable
        Turns a lower bound for the factor of a Gram matrix into one for the Gram matrix itself.
    progress : tqdm
        Counter of finished nodes; by default hidden.
    lower, upper : float
        The bounds so far.
    labeling : array of shape (n_instances,) or None
        The best labeling so far.
    prover : str
        Name of the bound that proved ``lower``.
    events : list of Event
        Every improvement so far.
    nodes : list of NodeRecord
        The finished nodes of branch and bound.
    started : float
        Start on the clock ``time.perf_counter``.
    """

    tol: float
    time_limit: float = np.inf
    callback: Callable[[Event], None] = lambda event: None
    gram_lower: Callable[[float], float] = lambda lower: lower
    progress: tqdm = field(default_factory=lambda: tqdm(disable=True), repr=False)
    lower: float = -np.inf
    upper: float = np.inf
    labeling: Array | None = None
    prover: str = ""
    events: list[Event] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self.started

    @property
    def gap(self) -> float:
        """Relative gap ``(upper - lower) / upper``."""
        return gap_between(self.lower, self.upper)

    @property
    def closed(self) -> bool:
        """Whether the labeling is proved optimal to the tolerance."""
        return self.gap <= self.tol

    @property
    def goal(self) -> float:
        """A lower bound that closes the interval, with half of the tolerance to spare."""
        return self.upper * (1.0 - 0.5 * self.tol)

    def prove(self, bound: str, lower: float) -> None:
        """Report a lower bound, computed with ``problem.features``, and the name of the bound.

        It is kept if it is larger than the present one.
        """
        lower = self.gram_lower(lower)
        check_consistent(f"bound {bound!r}", lower, self.upper)
        if lower > self.lower:
            self.lower, self.prover = min(float(lower), self.upper), bound
            self._note(bound)

    def offer(self, bound: str, labeling: Array, upper: float) -> None:
        """Report a labeling with an upper bound on its value, and their source; kept if lower."""
        if upper < self.upper:
            check_consistent(f"bound {self.prover!r}", self.lower, upper)
            self.upper, self.labeling = float(upper), labeling
            self.lower = min(self.lower, self.upper)
            self._note(bound)

    def check_time(self) -> None:
        """Raise :class:`OutOfTimeError` at the time limit."""
        if self.seconds > self.time_limit:
            raise OutOfTimeError

    def record(self, node: NodeRecord) -> None:
        """Store the record of a node."""
        self.nodes.append(node)
        self.progress.update()

    def _note(self, bound: str) -> None:
        event = Event(self.seconds, bound, self.lower, self.upper)
        self.events.append(event)
        self.progress.set_postfix(lower=event.lower, upper=event.upper)
        self.callback(event)


@dataclass(frozen=True)
class CertifiedInterval(Bounds):
    """Result of :func:`propcvx.certify`: an interval around the optimal value over labelings.

    Attributes
    ----------
    lower, upper : float
        Bounds on the optimal value, with rounding errors included; ``labeling`` has the value
        ``upper``.
    is_optimal : bool
        Whether the relative gap, (upper - lower) / upper, is at most ``tol``.  This concerns the
        program, not accuracy: incorrect labelings often have a smaller objective value than the
        true labeling.
    labeling : array of shape (n_instances,)
        The best labeling that is known, from -1 and +1.
    history : tuple of Event
        Every improvement of the interval: when, and by which bound.
    nodes : tuple of NodeRecord
        The nodes of the branch-and-bound tree, in the order in which they were finished.
    stop_reason : StopReason
        Why it stopped; ``stop_reason.advice`` is what to try.
    seconds : float
        Wall time.
    failures : dict of str to str
        Bounds that failed, and their errors; what they had proved before still counts.
    """

    is_optimal: bool
    labeling: Array
    history: tuple[Event, ...]
    nodes: tuple[NodeRecord, ...]
    stop_reason: StopReason
    seconds: float
    failures: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Format the interval, the bounds that improved it, and advice."""
        verdict = "proved optimal" if self.is_optimal else "not proved optimal"
        reason = self.stop_reason.value
        lines = [
            f"The best labeling's value is between {self.lower:.6g} and {self.upper:.6g}.",
            f"Gap {self.gap:.3%}: {verdict}, after {self.seconds:.1f} s, as {reason}.",
        ]
        best: dict[str, float] = {}
        for event in self.history:
            if event.lower > max(best.values(), default=-np.inf):
                best[event.bound] = event.lower
        width = max(map(len, best), default=0)
        lines += [f"  {bound:<{width}}  lower bound {lower:.6g}" for bound, lower in best.items()]
        lines += [f"  {bound} failed: {error}" for bound, error in self.failures.items()]
        if not self.is_optimal:
            lines.append(f"Advice: {self.stop_reason.advice}.")
        return "\n".join(lines)
