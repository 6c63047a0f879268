"""A certified interval around the best labeling's value, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds.interval import Event, NodeRecord
from propcvx.history import StopReason
from propcvx.relaxation.bounds import Bounds


@dataclass(frozen=True)
class CertifiedInterval(Bounds):
    """Where the best labeling's value is.

    Attributes
    ----------
    lower, upper : float
        It is between them; ``upper`` is reached by ``labeling``.  Rounding is counted in.
    proved_optimal : bool
        Whether the gap is at most the tolerance that was asked for.  That is about the program, not
        about the truth: wrong labelings often have a smaller objective than the true one.
    labeling : array of shape (n_instances,)
        The best labeling met, from -1 and +1.
    history : tuple of Event
        Every improvement of the interval: when, and by which kind of bound.
    nodes : tuple of NodeRecord
        The tree of branch and bound, nodes in the order in which they were done with.
    stop_reason : StopReason
        Why it stopped; ``stop_reason.advice`` says what to try.
    seconds : float
        Wall time.
    failures : dict of str to str
        Kinds of bound that failed, and their errors; what they had proved before counts.
    """

    proved_optimal: bool
    labeling: NDArray[np.float64]
    history: tuple[Event, ...]
    nodes: tuple[NodeRecord, ...]
    stop_reason: StopReason
    seconds: float
    failures: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The interval, the kinds of bound that improved it, and advice."""
        verdict = "proved optimal" if self.proved_optimal else "not proved optimal"
        lines = [
            f"The best labeling's value is between {self.lower:.6g} and {self.upper:.6g}.",
            f"Gap {self.gap:.3%}: {verdict}, after {self.seconds:.1f} s, as "
            f"{self.stop_reason.value}.",
        ]
        best: dict[str, float] = {}
        for event in self.history:
            if event.lower > max(best.values(), default=-np.inf):
                best[event.kind] = event.lower
        width = max(map(len, best), default=0)
        lines += [f"  {kind:<{width}}  lower bound {lower:.6g}" for kind, lower in best.items()]
        lines += [f"  {kind} failed: {error}" for kind, error in self.failures.items()]
        if not self.proved_optimal:
            lines.append(f"Advice: {self.stop_reason.advice}.")
        return "\n".join(lines)
