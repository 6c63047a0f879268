"""Answers depend on neither the order of rows nor names of bags, but for rounding and ties."""

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    CuttingPlanes,
    EcologicalRegression,
    InvCal,
    MeanMap,
    SecondMoments,
    bag_proportions,
    bag_target,
)

METHODS = {
    "mean_map": MeanMap(bag_weights="size", solver_tol=1e-14),  # the scores have half the digits
    "inv_cal": InvCal(solver_tol=1e-9),
    "ecological": EcologicalRegression(),
    "second_moments": SecondMoments(n_components=2),
    "alter": AlterPropSVM(),
    "alter, conv": AlterPropSVM(init="conv", proportion_loss="epsilon_insensitive"),
    "conv": ConvPropSVM(relaxation=CuttingPlanes(max_cuts=3, oracle="coordinate_features")),
    "conv, constant": ConvPropSVM(
        intercept="constant", relaxation=CuttingPlanes(max_cuts=2, oracle="exhaustive")
    ),
}


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_other_rows_names_and_classes_give_same_scores(method, exchanged, seed):
    problem, random = small_problem(seed, (3, 4, 6, 7), n_features=3), np.random.RandomState(seed)
    order, names, sign = random.permutation(20), random.permutation(9), 1 - 2 * exchanged
    ids = names[problem.y["bag"][order]]
    known = np.where(np.arange(20) % 4 == 0, problem.labels, 0)
    labels = sign * problem.labels[order]
    y = bag_target(problem.y["bag"], bag_proportions(problem.labels, problem.y["bag"]), known)
    moved = bag_target(ids, bag_proportions(labels, ids), sign * known[order])
    first = METHODS[method].fit(problem.X, y)
    scores, labeling = first.decision_function(problem.X), first.transduction_
    second = METHODS[method].fit(problem.X[order], moved)
    again = sign * second.decision_function(problem.X)
    np.testing.assert_allclose(again, scores, rtol=0.0, atol=1e-6 * np.abs(scores).max())
    np.testing.assert_array_equal(sign * second.transduction_, labeling[order])


@pytest.mark.parametrize("method", ["alter", "alter, conv", "conv"])
def test_sorted_rows_give_no_evidence_about_equal_instances(method):
    """The column is noise and mostly 0, and positives come first, or last."""
    random = np.random.RandomState(0)
    bags, labels = np.arange(240) % 6, np.where(np.arange(240) < 120, 1, -1)
    X = (random.uniform(size=(240, 1)) < 0.1).astype(float)
    for sign in (1, -1):
        y = bag_target(bags, dict.fromkeys(range(6), 0.5))
        fitted = METHODS[method].fit(X, y)
        assert np.mean(fitted.transduction_ == sign * labels) < 0.6
        assert fitted.score(X, sign * labels) < 0.6
