"""Answers do not depend on which class is called positive: with p -> 1 - p all labels change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    LabelingStart,
    MeanMap,
    MethodStart,
    bag_target,
)

METHODS = {
    "mean_map": lambda start: MeanMap(),
    "mean_map, by size": lambda start: MeanMap(bag_weights="size", fit_intercept=False),
    "inv_cal": lambda start: InvCal(epsilon=0.05),
    "alter": lambda start: AlterPropSVM(init=LabelingStart(start)),
    "alter, swaps": lambda start: AlterPropSVM(init=LabelingStart(start), polish="swaps"),
    "alter, no annealing": lambda start: AlterPropSVM(
        init=LabelingStart(start, annealing=False), proportion_loss="squared"
    ),
    "alter, inv_cal": lambda start: AlterPropSVM(init=MethodStart("inv_cal")),
    "conv": lambda start: ConvPropSVM(),
    "conv, three cuts": lambda start: ConvPropSVM(relaxation=CuttingPlanes(max_cuts=3)),
    "conv, exhaustive": lambda start: ConvPropSVM(
        intercept="constant", relaxation=CuttingPlanes(max_cuts=2, oracle="exhaustive")
    ),
}


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**31 - 1), known=st.booleans())
@settings(max_examples=3)
def test_swapped_classes_give_the_mirrored_answer(method, kernel, seed, known):
    problem = small_problem(seed, (3, 4, 5, 6), n_features=3)
    bags, shares = problem.y["bag"], problem.bags.proportions
    given_labels = np.zeros(len(bags))
    if known and not {"mean_map", "inv_cal"} & set(method.split(", ")):
        given_labels[:3] = problem.labels[:3]
    start = np.random.RandomState(seed).choice([-1.0, 1.0], len(bags))
    one, two = (
        METHODS[method](sign * start)
        .set_params(kernel=kernel)
        .fit(problem.X, bag_target(bags, proportions, sign * given_labels))
        for sign, proportions in ((1.0, shares), (-1.0, 1.0 - shares))
    )
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-5)
    np.testing.assert_array_equal(two.labeling_, -one.labeling_)
    scores = one.decision_function(problem.X)
    np.testing.assert_allclose(
        two.decision_function(problem.X), -scores, rtol=0.0, atol=1e-3 * np.abs(scores).max()
    )
