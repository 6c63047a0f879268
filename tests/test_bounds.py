"""Certified bounds: valid for every alpha and every labeling, whatever a solver says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import all_labelings, small_problem, small_problems, svm_value

from propcvx.errors import CrossedBoundsError
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.bounds import Bounds, labeling_upper_bound, relaxation_lower_bound
from propcvx.relaxation.labeling_svm import LabelingSVM
from propcvx.relaxation.oracles import ExhaustiveOracle


@settings(max_examples=10)
@given(
    problem=small_problems(max_size=3, max_bags=2, max_features=3),
    epsilon=st.sampled_from([0.0, 0.4]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_lower_bound_holds_for_every_alpha(problem, epsilon, C, seed):
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    oracle = ExhaustiveOracle(problem.X, feasible)
    best = min(svm_value(problem.X, labeling, C) for labeling in feasible.enumerate())
    random = np.random.RandomState(seed)
    for scale in (0.01, 0.1, 1.0, 3.0):
        alpha = scale * C * random.uniform(-0.2, 1.0, size=len(problem.X))
        assert relaxation_lower_bound(alpha, oracle, C) <= best + 1e-7 * max(1.0, best)


def test_alpha_is_brought_into_its_box_and_multiplied_by_what_is_best():
    problem = small_problem(1, sizes=(3, 3))
    oracle = ExhaustiveOracle(problem.X, FeasibleLabelings.of(problem.bags, 0.0))
    inside = np.array([0.0, 0.2, 0.5, 0.1, 0.0, 0.3])
    outside = np.array([-5.0, 0.2, 9.0, 0.1, 0.0, 0.3])
    bound = relaxation_lower_bound(inside, oracle, 0.5)
    violation = 0.5 * np.square((all_labelings(oracle.feasible) * inside) @ problem.X).sum(axis=1)
    multiples = np.linspace(0, 1, 100_001)
    by_hand = (multiples * inside.sum() - multiples**2 * violation.max()).max()
    assert bound == pytest.approx(by_hand, rel=1e-6)
    assert bound == relaxation_lower_bound(outside, oracle, 0.5) > 0.0
    assert relaxation_lower_bound(np.zeros(6), oracle, 0.5) == 0.0


@settings(max_examples=12)
@given(problem=small_problems(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_upper_bound_is_the_svm_value_and_never_below(problem, C):
    labeling = problem.labels.astype(float)
    value, bound = svm_value(problem.X, labeling, C), labeling_upper_bound(problem.X, labeling, C)
    assert bound >= value - 1e-7 * max(1.0, value)
    assert bound == pytest.approx(value, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("error", [1e-4, 0.1, 10.0])
def test_an_error_of_the_solver_makes_the_upper_bound_larger_never_wrong(error, monkeypatch):
    problem, exact = small_problem(4, sizes=(6, 6), noise=2.0), LabelingSVM.alpha
    labeling, random = problem.labels.astype(float), np.random.RandomState(0)
    value = svm_value(problem.X, labeling, 1.0)
    monkeypatch.setattr(
        LabelingSVM, "alpha", lambda svm, y: exact(svm, y) + error * random.randn(12)
    )
    assert value - 1e-8 <= labeling_upper_bound(problem.X, labeling, 1.0) <= 12.0


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [
        *((1.0, 4.0, 0.75), (1e-9, 4e-9, 0.75), (2.0, 2.0, 0.0), (2.0 + 1e-9, 2.0, 0.0)),
        *((0, 0, 0), (-np.inf, 3.0, np.inf), (0.0, np.inf, np.inf)),
    ],
)
def test_gap_is_relative_to_the_upper_bound_at_every_scale(lower, upper, gap):
    assert Bounds(lower, upper).gap == pytest.approx(gap)


@pytest.mark.parametrize(
    ("lower", "upper"), [(1000.0, 0.87), (1e-3 + 1e-8, 1e-3), (np.nan, 1.0), (0.0, np.nan), (1, 0)]
)
def test_crossed_bounds_are_no_proof(lower, upper):
    with pytest.raises(CrossedBoundsError, match=r"the lower bound .* is above the upper bound"):
        Bounds(lower, upper)
