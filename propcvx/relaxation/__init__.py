"""Convex relaxations of proportion-SVM: Algorithm 2, conv-pSVM, and its replaceable parts.

A relaxation is an object with the method ::

    relax(features, feasible, C, *, solve, on_round) -> RelaxationResult

which :class:`~propcvx.relaxation.cutting_planes.CuttingPlanes` inherits from
:class:`~propcvx.relaxation.result.Relaxation`.  Centering, rounding, sign and bounds are the same
for all relaxations.
"""

from propcvx.relaxation.bounds import labeling_upper_bound, relaxation_lower_bound
from propcvx.relaxation.comparison import RELAXATIONS, compare_relaxations
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.lifted import Diffrac, Lifted, SquareLossResult
from propcvx.relaxation.mixed_integer import MixedInteger
from propcvx.relaxation.result import Relaxation, RelaxationResult

__all__ = [
    "RELAXATIONS",
    "CuttingPlanes",
    "Diffrac",
    "Lifted",
    "MixedInteger",
    "Relaxation",
    "RelaxationResult",
    "SquareLossResult",
    "compare_relaxations",
    "labeling_upper_bound",
    "relaxation_lower_bound",
]
