"""Fits on ugly data: no crash but our own errors, no non-finite output, guarantees hold."""

import warnings
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from methods import METHODS, each_method
from sklearn.base import clone

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    MeanMap,
    SecondMoments,
    bag_target,
)
from propcvx.bags.bags import Bags
from propcvx.errors import PropCVXError, PropCVXWarning
from propcvx.estimators import BagClassifier
from propcvx.labelings.feasible import FeasibleLabelings

COLUMNS = {
    "normal": lambda random, n: random.normal(size=n),
    "huge": lambda random, n: 1e8 * random.normal(size=n),
    "tiny": lambda random, n: 1e-8 * random.normal(size=n),
    "constant": lambda random, n: np.full(n, 7.0),
    "constant, rounded": lambda random, n: np.full(n, 0.1),
    "zero": lambda random, n: np.zeros(n),
    "binary": lambda random, n: random.choice((0.0, 1.0), size=n),
    "shifted": lambda random, n: 1e4 + random.normal(size=n),
    "duplicated": lambda random, n: np.repeat(random.normal(size=(n + 3) // 4), 4)[:n],
}


@st.composite
def bagged_data(draw):
    """X, a bag target: any columns, bags from one instance to all of them."""
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    sizes = draw(st.lists(st.sampled_from((1, 1, 2, 3, 12)), min_size=1, max_size=5))
    sizes[0] += sum(sizes) < 2
    n, bags = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    X = np.column_stack([COLUMNS[kind](random, n) for kind in draw(columns)])
    labels = np.where(random.rand(n) < draw(st.sampled_from((0.0, 0.3, 0.5, 1.0))), 1, -1)
    shares = np.bincount(bags, weights=labels > 0) / np.bincount(bags)
    return X, bag_target(bags, shares)


columns = st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4)
weights = st.floats(-8, 8).map(lambda exponent: 10.0**exponent)
kernels = st.sampled_from(("linear", "rbf", "exponential"))
tolerances = st.sampled_from((0.0, 0.1))
cutting = st.builds(CuttingPlanes, max_cuts=st.sampled_from((1, 3)))
intercepts = st.sampled_from(("center", "constant", "none"))
one_start = {"n_init": st.just(1), "random_state": st.just(0)}

classifiers = st.one_of(
    st.builds(MeanMap, lam=weights, kernel=kernels),
    st.builds(InvCal, C_p=weights, epsilon=tolerances, kernel=kernels),
    st.builds(SecondMoments, n_components=st.sampled_from(("auto", None)), kernel=kernels),
    st.builds(AlterPropSVM, C=weights, C_p=weights, kernel=kernels, **one_start),
    st.builds(
        ConvPropSVM,
        C=weights,
        epsilon=tolerances,
        relaxation=cutting,
        intercept=intercepts,
        kernel=kernels,
    ),
)
"""Any of five, with any weights."""


defaults = st.builds(
    lambda method, kernel: clone(method).set_params(kernel=kernel),
    st.sampled_from(list(METHODS.values())),
    kernels,
)


def check_fit(classifier: BagClassifier, X: np.ndarray, y: np.ndarray, *, refused: Any) -> None:
    """Fit once and hold the result to what the method guarantees; some errors are allowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PropCVXWarning)
        try:
            classifier.fit(X, y)
        except refused:
            return
        scores = classifier.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(classifier.objective_)
    assert set(np.unique(classifier.transduction_)) <= {-1.0, 1.0}
    if isinstance(classifier, ConvPropSVM):
        assert classifier.transduction_ in FeasibleLabelings.from_bags(
            Bags.from_target(y), classifier.epsilon
        )


SETTINGS = {"suppress_health_check": list(HealthCheck), "deadline": None}


@pytest.mark.parametrize(("strategy", "refused"), [(classifiers, PropCVXError), (defaults, ())])
@settings(examples(30), **SETTINGS)
@given(data=st.data())
def test_fits_to_degenerate_data_are_finite(strategy, refused, data):
    check_fit(data.draw(strategy), *data.draw(bagged_data()), refused=refused)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3.0])
@each_method()
def test_instances_that_are_all_alike_have_one_label(method, value):
    y = bag_target([0] * 7 + [1] * 5, [3 / 7, 0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PropCVXWarning)
        model = clone(method).fit(np.full((12, 3), value), y)
    assert set(model.predict(np.full((12, 3), value))) == {-1}
