"""Answers depend on the data alone: neither on the order of rows nor on the names of bags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    LabelingStart,
    LaplacianMeanMap,
    MeanMap,
    bag_target,
)
from propcvx.bags.ordering import in_canonical_order

METHODS = {
    "mean_map": MeanMap(),
    "laplacian_mean_map": LaplacianMeanMap(smoothness=0.1),
    "inv_cal": InvCal(epsilon=0.05),
    "alter, mixed": AlterPropSVM(n_init=1, random_state=0),
    "alter, hops": AlterPropSVM(
        init="random", n_init=2, annealing=False, polish="hops", random_state=0
    ),
    "conv": ConvPropSVM(relaxation=CuttingPlanes(max_cuts=3, oracle="coordinate_features")),
    "conv, constant": ConvPropSVM(
        intercept="constant", relaxation=CuttingPlanes(max_cuts=2, oracle="exhaustive")
    ),
}

KERNELS = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "precomputed": {"kernel": "precomputed"},
}


def in_two_orders(seed, *, discrete):
    """A problem, and the same with its rows permuted and its bags called something else."""
    problem = small_problem(seed, (4, 4, 6, 6), n_features=3)
    X = np.round(problem.X) if discrete else problem.X
    random = np.random.RandomState(seed)
    order, names = random.permutation(len(X)), random.permutation(4)
    bags, shares = problem.y["bag"], problem.bags.proportions
    renamed = bag_target(names[bags[order]], {names[k]: shares[k] for k in range(4)})
    return (X, bag_target(bags, shares)), (X[order], renamed), order


def check_permuted(one, two, order, X, y):
    """Two has the objective and the labels of one, with equal rows of a bag exchanged or not."""
    assert one.objective_ == two.objective_
    labelings = one.labeling_, two.labeling_[np.argsort(order)]
    by_row = [labels[np.lexsort((labels, *X.T, y["bag"]))] for labels in labelings]
    assert np.array_equal(*by_row)


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**31 - 1), discrete=st.booleans())
@settings(max_examples=1)
def test_permuted_rows_and_renamed_bags_give_the_permuted_answer(method, kernel, seed, discrete):
    (X, y), (permuted, renamed), order = in_two_orders(seed, discrete=discrete)
    new = np.random.RandomState(seed).normal(size=(5, 3))
    other = new
    if kernel == "precomputed":
        gram = X @ X.T
        new, X, permuted = gram[:5], gram, gram[np.ix_(order, order)]
        other = new[:, order]
    model = clone(METHODS[method]).set_params(**KERNELS[kernel])
    one, two = clone(model).fit(X, y), model.fit(permuted, renamed)
    check_permuted(one, two, order, X, y)
    scores = one.decision_function(new)
    assert two.decision_function(other) == pytest.approx(scores, rel=1e-9, abs=1e-9)
    assert one.decision_function(X)[order] == pytest.approx(
        two.decision_function(permuted), rel=1e-9, abs=1e-9
    )


@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=3)
def test_a_given_start_is_permuted_with_its_rows(seed):
    (X, y), (permuted, renamed), order = in_two_orders(seed, discrete=True)
    labels = np.random.RandomState(seed).choice([-1.0, 1.0], len(X))
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    weights_renamed = np.empty(4)
    weights_renamed[renamed["bag"]] = weights[y["bag"][order]]
    one = AlterPropSVM(init=LabelingStart(labels), bag_weights=weights)
    two = AlterPropSVM(init=LabelingStart(labels[order]), bag_weights=weights_renamed)
    check_permuted(one.fit(X, y), two.fit(permuted, renamed), order, X, y)


@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=20)
def test_the_canonical_order_is_one_order(seed):
    (X, y), (permuted, renamed), _ = in_two_orders(seed, discrete=True)
    one = in_canonical_order(Bags.from_target(y), X)
    two = in_canonical_order(Bags.from_target(renamed), permuted)
    assert np.array_equal(X[one.rows], permuted[two.rows])
    assert np.array_equal(one.index, two.index)
    assert np.array_equal(one.proportions, two.proportions)
    assert np.array_equal(np.sort(one.rows), np.arange(len(X)))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_kept_of_instances_is_in_the_order_of_the_rows(method):
    """The second half of the rows is far from the first, and has other labels."""
    random = np.random.RandomState(0)
    labels = np.repeat([-1, 1], 12)
    X = random.normal(size=(24, 2)) + 10 * labels[:, None]
    bags = np.tile([0, 1, 1, 2, 2, 2], 4)
    shares = np.bincount(bags, labels > 0) / np.bincount(bags)
    shares[0], X[bags == 0] = 0.0, -np.abs(X[bags == 0])  # so that the proportions differ
    model = METHODS[method].fit(X, bag_target(bags, shares))
    assert np.mean(np.sign(model.decision_function(X)) == model.labeling_) > 0.8
