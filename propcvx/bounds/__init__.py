"""Certified bounds on the optimal value over labelings.

Bounds are entries of ``BOUNDS``; all work on one :class:`~propcvx.bounds.interval.Interval` that
only shrinks.
"""

from propcvx.bounds.branch_and_bound import MomentBound
from propcvx.bounds.certify import certify
from propcvx.bounds.interval import CertifiedInterval, Event, Interval, NodeRecord, OutOfTimeError
from propcvx.bounds.swap_search import SwapSearch
from propcvx.bounds.table import BOUNDS, Bound, find_bounds
from propcvx.svm.problem import LabelingProblem

__all__ = [
    "BOUNDS",
    "Bound",
    "CertifiedInterval",
    "Event",
    "Interval",
    "LabelingProblem",
    "MomentBound",
    "NodeRecord",
    "OutOfTimeError",
    "SwapSearch",
    "certify",
    "find_bounds",
]
