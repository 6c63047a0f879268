"""Roundings: from M back to a labeling and its separator."""

from functools import partial

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from small_problems import small_problem, small_problems

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.bags.metrics import proportion_error
from propcvx.history import History
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation import Lifted, RelaxationResult
from propcvx.relaxation.bounds import labeling_upper_bound
from propcvx.relaxation.rounding import (
    ROUNDINGS,
    alternate_labels,
    by_bags,
    mean_labeling,
    rank_one,
)
from propcvx.solvers import Solve
from propcvx.svm.step import LabelingSVM

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

SOFT = ["rank_one", "mean"]
FEASIBLE = [name for name in ROUNDINGS if name not in SOFT]

RELAXATIONS = {
    "cutting planes": partial(CuttingPlanes, max_cuts=5, oracle="several"),
    "lifted": Lifted,
}


def relaxed(name, problem, epsilon=0.0):
    feasible = FeasibleLabelings.from_bags(problem.bags, epsilon)
    return RELAXATIONS[name]().relax(problem.X, feasible, 1.0, solve=Solve(tol=1e-7)), feasible


def value(rounded, problem):
    return LabelingSVM(problem.X, 1.0).value(rounded.labeling, rounded.weights)


# --- feasible labelings -------------------------------------------------------------------------


@pytest.mark.parametrize("name", RELAXATIONS)
@examples(5)
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
    found = labeling_upper_bound(problem.X, result.labelings, 1.0)
    assert values["best"] <= found * (1.0 + 1e-5)
    assert values["polished"] <= values["best"]


@pytest.mark.parametrize("seed", range(2))
def test_polishing_ends_at_labeling_fixed_point(seed):
    problem = small_problem(seed, sizes=(6, 6, 6), n_features=4, noise=2.0)
    feasible, svm = FeasibleLabelings.from_bags(problem.bags, 0.0), LabelingSVM(problem.X, 1.0)
    start = svm.best(feasible.best(np.random.RandomState(seed).randn(18))[None])
    end = alternate_labels(start, svm, feasible)
    assert value(end, problem) <= value(start, problem)
    scores = problem.X @ end.weights
    reached = np.maximum(0.0, 1.0 - end.labeling * scores).sum()
    assert all(
        reached <= np.maximum(0.0, 1.0 - y * scores).sum() + 1e-6 for y in feasible.enumerate()
    )


# --- soft labelings and their sign --------------------------------------------------------------


@examples(30)
@given(seed=st.integers(0, 2**32 - 1), n_labelings=st.integers(1, 6), n=st.integers(1, 9))
def test_roundings_are_eigenvector_and_mean(seed, n_labelings, n):
    random = np.random.RandomState(seed)
    labelings = random.choice((-1.0, 1.0), size=(n_labelings, n))
    mu = random.dirichlet(np.ones(n_labelings))
    M = (labelings.T * mu) @ labelings
    values = np.linalg.eigvalsh(M)
    result = RelaxationResult(0.0, 0.0, 0.0, labelings, mu, np.ones(n), labelings, History())
    labeling = rank_one(result)
    assert labeling @ labeling == pytest.approx(values[-1])
    np.testing.assert_allclose(M @ labeling, values[-1] * labeling, atol=1e-8)
    distance = np.linalg.norm(M - np.outer(labeling, labeling))
    assert distance == pytest.approx(np.linalg.norm(values[:-1]), abs=1e-7)
    assert labeling @ labelings[np.argmax(mu)] >= 0.0
    mean = [sum(mu[t] * labelings[t, i] for t in range(len(mu))) for i in range(n)]
    np.testing.assert_allclose(mean_labeling(result), mean, atol=1e-12)


@examples(10)
@given(problem=small_problems(max_size=5, max_bags=3), max_cuts=st.sampled_from([1, 4]))
def test_sign_minimizes_training_bag_error(problem, max_cuts):
    planes = CuttingPlanes(max_cuts=max_cuts)
    clf = ConvPropSVM(relaxation=planes, fit_intercept=False).fit(problem.X, problem.y)
    scores, bags = clf.decision_function(problem.X), problem.bags
    assert proportion_error(bags, scores) <= proportion_error(bags, -scores)


def test_rounding_sign_follows_scores():
    """Bag errors of both signs are equal here; the bag with more positives has larger scores."""
    bags = Bags.from_target(bag_target([0, 0, 1, 1], [0.0, 0.5]))
    feasible = FeasibleLabelings.from_bags(bags, 0.0)
    cases = [([1, -1, 2, -1], 1.0), ([-1, 1, -2, 1], -1.0), ([-1, -1, -1, 1], 1.0), ([0] * 4, 1.0)]
    for scores, sign in cases:
        assert by_bags(np.array(scores, float), feasible) == sign
