"""Certified bounds on the best labeling's value, and proofs that a labeling is the best one.

A kind of bound is a row of ``BOUNDS``; all work on one :class:`Interval` that only ever shrinks.
"""

from propcvx.bounds.interval import Event, Interval, NodeRecord, OutOfTimeError
from propcvx.bounds.kinds import BOUNDS, Bound, find_bound
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.result import CertifiedInterval
from propcvx.bounds.swap_search import SwapSearch

__all__ = [
    "BOUNDS",
    "Bound",
    "CertifiedInterval",
    "Event",
    "Interval",
    "LabelingProblem",
    "NodeRecord",
    "OutOfTimeError",
    "SwapSearch",
    "find_bound",
]
