r"""Oracles of the separation problem, eq:concave: labelings that violate the relaxation.

An oracle is made from the features and the feasible labelings and maps alpha to a
:class:`~propcvx.relaxation.oracles.cut.Cut`.  The ``bound`` of a cut is finite if the oracle has
proved an upper bound over all labelings.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from propcvx.relaxation.oracles.bounding import EigenvalueOracle, SemidefiniteOracle
from propcvx.relaxation.oracles.cut import Cut, Oracle, OracleFactory, check_cut, violation_value
from propcvx.relaxation.oracles.exact import (
    DirectionSweepOracle,
    ExhaustiveOracle,
    MixedIntegerOracle,
)
from propcvx.relaxation.oracles.sorting import (
    AscentOracle,
    AxesOracle,
    CoordinateOracle,
    RandomDirectionsOracle,
)

ORACLES: Mapping[str, OracleFactory] = MappingProxyType(
    {
        "coordinate": AxesOracle,
        "coordinate_features": CoordinateOracle.on_features,
        "ascent": AscentOracle,
        "random_directions": RandomDirectionsOracle,
        "several": partial(RandomDirectionsOracle, n_cuts=5),
        "eigenvalue": EigenvalueOracle,
        "semidefinite": SemidefiniteOracle,
        "exhaustive": ExhaustiveOracle,
        "sweep": DirectionSweepOracle,
        "mixed_integer": MixedIntegerOracle,
    }
)
"""Oracles by name."""

__all__ = [
    "ORACLES",
    "AscentOracle",
    "AxesOracle",
    "CoordinateOracle",
    "Cut",
    "DirectionSweepOracle",
    "EigenvalueOracle",
    "ExhaustiveOracle",
    "MixedIntegerOracle",
    "Oracle",
    "OracleFactory",
    "RandomDirectionsOracle",
    "SemidefiniteOracle",
    "check_cut",
    "violation_value",
]
