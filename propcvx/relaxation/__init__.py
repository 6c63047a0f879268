"""Convex relaxations of proportion-SVM: Algorithm 2, conv-pSVM, and what can be swapped in it.

A relaxation is an object with the method ::

    relax(features, feasible, C, *, solver, tol, options, on_round) -> RelaxationResult

as :class:`CuttingPlanes` has it; centring, rounding, sign and bounds are the same for all.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.diffrac import Diffrac, FrankWolfe, SquareLossResult
from propcvx.relaxation.entropic import Entropic
from propcvx.relaxation.lifted import Lifted
from propcvx.relaxation.mixed_integer import ContinuousLabels, MixedInteger
from propcvx.relaxation.result import RelaxationResult

RELAXATIONS: Mapping[str, Any] = MappingProxyType(
    {
        "cutting_planes": CuttingPlanes(),
        "lifted": Lifted(),
        "mixed_integer": MixedInteger(),
        "continuous_labels": ContinuousLabels(),
        "entropic": Entropic(),
        "diffrac": Diffrac(),
        "frank_wolfe": FrankWolfe(),
    }
)
"""Relaxations by name."""

__all__ = [
    "RELAXATIONS",
    "ContinuousLabels",
    "CuttingPlanes",
    "Diffrac",
    "Entropic",
    "FrankWolfe",
    "Lifted",
    "MixedInteger",
    "RelaxationResult",
    "SquareLossResult",
]
