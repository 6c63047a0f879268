"""Roundings: feasible, never worse than what they choose from, and the same for any row order."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem, small_problems

from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.history import History
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation import Lifted, RelaxationResult
from propcvx.relaxation.bounds import labeling_upper_bound
from propcvx.relaxation.labeling_svm import LabelingSVM
from propcvx.relaxation.rounding import (
    ROUNDINGS,
    SoftRounding,
    alternated,
    by_objective,
    mean_labeling,
    rank_one,
)

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

SOFT = ["rank_one", "rank_one_by_objective", "mean"]
FEASIBLE = [name for name in ROUNDINGS if name not in SOFT]

RELAXATIONS = {
    "cutting planes": partial(CuttingPlanes, max_cuts=5, oracle="several"),
    "lifted": Lifted,
}


def relaxed(name, problem, epsilon=0.0):
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    return RELAXATIONS[name]().relax(problem.X, feasible, 1.0, tol=1e-7), feasible


def value(rounded, problem):
    return LabelingSVM(problem.X, 1.0).value(rounded.labeling, rounded.weights)


@pytest.mark.parametrize("name", RELAXATIONS)
@settings(max_examples=5)
@given(
    problem=small_problems(max_size=4, max_bags=3, max_features=3),
    epsilon=st.sampled_from([0.0, 0.3]),
)
def test_feasible_roundings_are_feasible_and_ordered(name, problem, epsilon):
    result, feasible = relaxed(name, problem, epsilon)
    values = {}
    for key in FEASIBLE:
        rounded = ROUNDINGS[key](result, problem.X, feasible, 1.0)
        assert rounded.labeling in feasible
        values[key] = value(rounded, problem)
        exact = labeling_upper_bound(problem.X, rounded.labeling, 1.0)
        assert values[key] == pytest.approx(exact, rel=1e-5)
    chosen_from = [values[key] for key in FEASIBLE if key not in ("best", "polished")]
    assert values["best"] <= min(chosen_from) * (1.0 + 1e-12)
    assert values["polished"] <= values["best"]


@pytest.mark.parametrize("seed", range(2))
def test_polishing_ends_where_no_labeling_step_improves(seed):
    problem = small_problem(seed, sizes=(6, 6, 6), n_features=4, noise=2.0)
    feasible, svm = FeasibleLabelings.of(problem.bags, 0.0), LabelingSVM(problem.X, 1.0)
    start = svm.best(feasible.best(np.random.RandomState(seed).randn(18))[None])
    end = alternated(start, svm, feasible)
    assert value(end, problem) <= value(start, problem)
    hinges = [
        np.maximum(0.0, 1.0 - y * (problem.X @ end.weights)).sum() for y in feasible.enumerate()
    ]
    reached = np.maximum(0.0, 1.0 - end.labeling * (problem.X @ end.weights)).sum()
    assert reached <= min(hinges) + 1e-6


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_soft_roundings_give_the_separator_of_alpha(name, relaxation):
    problem = small_problem(2, sizes=(5, 4, 3), n_features=3)
    result, feasible = relaxed(relaxation, problem)
    rounded = ROUNDINGS[name](result, problem.X, feasible, 1.0)
    weights = problem.X.T @ (result.alpha * rounded.labeling)
    np.testing.assert_allclose(rounded.weights, weights, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_sign_by_objective_is_that_of_the_smaller_value(seed):
    problem = small_problem(seed, sizes=(5, 4, 3), n_features=3, noise=2.0)
    result, feasible = relaxed("cutting planes", problem)

    here, turned = (
        SoftRounding(labeling, by_objective)(result, problem.X, feasible, 1.0)
        for labeling in (rank_one, lambda result: -rank_one(result))
    )
    scores = problem.X @ here.weights
    values = [labeling_upper_bound(problem.X, feasible.best(s), 1.0) for s in (scores, -scores)]
    assert values[0] <= values[1] * (1.0 + 1e-6)
    np.testing.assert_allclose(turned.weights, here.weights)


def test_the_mean_is_that_of_the_mixture():
    labelings = np.array([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    weights, alpha = np.array([0.25, 0.75]), np.ones(3)
    result = RelaxationResult(0, 0, 0, labelings, weights, alpha, labelings, History())
    np.testing.assert_array_equal(mean_labeling(result), [-0.5, 1.0, 0.5])


@pytest.mark.parametrize("name", FEASIBLE)
def test_the_upper_bound_counts_a_feasible_rounding_in(name):
    problem = small_problem(4, sizes=(4, 4), n_features=3, noise=2.0)
    planes = CuttingPlanes(oracle="exhaustive", max_cuts=3)
    clf = ConvPropSVM(rounding=name, relaxation=planes, intercept="none")
    clf.fit(problem.X, problem.y)
    svm = LabelingSVM(problem.X, 1.0)
    reached = svm.value(clf.soft_labeling_, clf.coef_[0])
    assert clf.bounds_.upper <= reached * (1.0 + 1e-9)
