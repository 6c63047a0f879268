"""The estimators, for tests of what they have in common."""

import pytest

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    SecondMoments,
)

METHODS = {
    "mean_map": MeanMap(),
    "inv_cal": InvCal(),
    "ecological": EcologicalRegression(),
    "second_moments": SecondMoments(),
    "aggregate": AggregateLogisticRegression(),
    "alter": AlterPropSVM(n_init=1, random_state=0),
    "conv": ConvPropSVM(solver_tol=1e-10),
}


def each_method(*left_out, **others):
    """A test of each of them, but for some, and of others."""
    methods = {name: METHODS[name] for name in METHODS if name not in left_out} | others
    return pytest.mark.parametrize("method", methods.values(), ids=methods)
