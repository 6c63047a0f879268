"""Answers do not depend on which class is called positive: with p -> 1 - p all labels change."""

import cvxpy as cp
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
    RandomStart,
    bag_target,
    certify,
)
from propcvx.errors import InfeasibleLabelingError
from propcvx.labelings.losses import ProportionLoss

TOO_MANY = ProportionLoss(
    "too many", lambda gap: np.maximum(gap, -0.1 * gap), lambda gap: cp.maximum(gap, -0.1 * gap)
)
TOO_FEW = ProportionLoss(
    "too few", lambda gap: np.maximum(-gap, 0.1 * gap), lambda gap: cp.maximum(-gap, 0.1 * gap)
)

METHODS = {
    "mean_map": lambda start: MeanMap(bag_weights="size", fit_intercept=False),
    "inv_cal": lambda start: InvCal(epsilon=0.05),
    "alter": lambda start: AlterPropSVM(init=LabelingStart(start)),
    "alter, swaps": lambda start: AlterPropSVM(init=LabelingStart(start), polish="swaps"),
    "alter, squared": lambda start: AlterPropSVM(init="conv", proportion_loss="squared"),
    "alter, random, hops": lambda start: AlterPropSVM(
        C=0.3, C_p=0.5, init=RandomStart(annealing=False), polish="hops", random_state=0
    ),
    "alter, from a labeling": lambda start: AlterPropSVM(
        init=[RandomStart(annealing=False), LabelingStart(start, annealing=False)],
        random_state=0,
    ),
    "conv, three cuts": lambda start: ConvPropSVM(relaxation=CuttingPlanes(max_cuts=3)),
    "conv, exhaustive": lambda start: ConvPropSVM(
        intercept="constant", relaxation=CuttingPlanes(max_cuts=2, oracle="exhaustive")
    ),
}


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**31 - 1), known=st.booleans())
@settings(max_examples=2)
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
    if len(set(shares)) == 1:
        return  # with all of them 1/2, both are one problem
    assert two.objective_ == one.objective_
    np.testing.assert_array_equal(two.labeling_, -one.labeling_)
    np.testing.assert_array_equal(
        two.decision_function(problem.X), -one.decision_function(problem.X)
    )
    if isinstance(one, ConvPropSVM):
        np.testing.assert_array_equal(two.soft_labeling_, -one.soft_labeling_)
        np.testing.assert_array_equal(two.relaxation_.labelings, -one.relaxation_.labelings)
    if isinstance(one, MeanMap):
        np.testing.assert_array_equal(two.class_means_, one.class_means_[::-1])


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_is_of_the_positives_as_they_came(seed):
    """Shares that no count has, and a loss that is not symmetric."""
    problem = small_problem(seed, (3, 4, 5, 6), n_features=3)
    bags, start = problem.y["bag"], LabelingStart(problem.labels)
    shares = np.random.RandomState(seed).uniform(size=4)
    one = AlterPropSVM(init=start, proportion_loss=TOO_MANY, C_p=0.5)
    two = AlterPropSVM(init=LabelingStart(-problem.labels), proportion_loss=TOO_FEW, C_p=0.5)
    one.fit(problem.X, bag_target(bags, shares))
    two.fit(problem.X, bag_target(bags, 1.0 - shares))
    np.testing.assert_array_equal(
        two.decision_function(problem.X), -one.decision_function(problem.X)
    )
    sizes = np.bincount(bags)
    gaps = np.bincount(bags, one.labeling_ > 0) / sizes - shares
    hinge = np.maximum(0.0, 1.0 - one.labeling_ * one.decision_function(problem.X)).sum()
    value = 0.5 * np.square(one.coef_).sum() + hinge + 0.5 * sizes @ TOO_MANY.of(gaps)
    assert one.objective_ == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("C_p", [None, 1.0])
def test_exchanged_classes_are_certified_alike(C_p):
    problem = small_problem(1, (3, 4))
    bags, shares = problem.y["bag"], problem.bags.proportions
    one = certify(problem.X, problem.y, C=0.1, C_p=C_p, loss=TOO_MANY)
    two = certify(problem.X, bag_target(bags, 1.0 - shares), C=0.1, C_p=C_p, loss=TOO_FEW)
    assert one.upper == two.upper
    np.testing.assert_array_equal(two.labeling, -one.labeling)


def test_a_message_speaks_of_the_classes_as_they_came():
    y = bag_target(np.repeat(["north", "south"], 10), {"north": 0.63, "south": 1.0})
    with pytest.raises(InfeasibleLabelingError, match=r"0\.63 \* 10 = 6\.3 .* nearest 6/10"):
        ConvPropSVM().fit(np.random.RandomState(0).randn(20, 2), y)
