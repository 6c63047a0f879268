"""Labels known inside bags, for the methods that see means alone: bags of one, and the rest."""

import numpy as np
import pytest
from sklearn.base import clone
from small_problems import small_problem

from propcvx import AggregateLogisticRegression, Bags, InvCal, MeanMap, bag_target
from propcvx.errors import SplitBagWarning

METHODS = [MeanMap(), InvCal(epsilon=0.05, solver_tol=1e-9), AggregateLogisticRegression()]


def written_out(y):
    """The target in which every label that is known is a bag of its own, by hand."""
    ids, shares = [], {}
    for row, (bag, label) in enumerate(zip(y["bag"], y["label"], strict=True)):
        ids.append((1, row) if label else (0, int(bag)))
        shares[ids[-1]] = float(label > 0)
    for bag in np.unique(y["bag"][y["label"] == 0]):
        inside = y[y["bag"] == bag]
        unknown = np.sum(inside["label"] == 0)
        positive = inside["proportion"][0] * len(inside) - np.sum(inside["label"] > 0)
        shares[0, int(bag)] = min(max(positive / unknown, 0.0), 1.0)
    return bag_target(ids, shares), ids


def test_rest_of_split_bag_has_proportion():
    y = bag_target([0] * 8, [0.25], [1, 1, 0, 0, 0, 0, 0, 0])
    with pytest.warns(SplitBagWarning):
        isolated = Bags.from_target(y[:4]).isolate_known_labels()
    assert isolated.proportions.tolist() == [0.0, 1.0, 1.0], "clipped: 1 of 4 less 2"
    assert isolated.is_complete.tolist() == [False, True, True]


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize(("seed", "kernel"), [(0, "linear"), (1, "rbf")])
@pytest.mark.parametrize("weights", ["uniform", "size", "given"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_fit_with_known_labels_equals_bags_by_hand(method, weights, kernel, seed):
    problem = small_problem(seed, (4, 5, 6), known=0.3, n_features=3)
    assert (problem.y["label"] != 0).any()
    by_hand, ids = written_out(problem.y)
    first = clone(method).set_params(kernel=kernel)
    other = clone(first)
    if "bag_weights" in first.get_params():
        given = {0: 1.0, 1: 3.0, 2: 5.0} if weights == "given" else dict.fromkeys(range(3), 1.0)
        of_ids = {bag: 0.0 for bag in ids}
        for row, bag in enumerate(ids):
            of_ids[bag] += given[problem.y["bag"][row]] / problem.bags.sizes[problem.y["bag"][row]]
        first.set_params(bag_weights=given if weights == "given" else weights)
        other.set_params(bag_weights="size" if weights == "size" else of_ids)
    first, other = first.fit(problem.X, problem.y), other.fit(problem.X, by_hand)
    assert first.objective_ == pytest.approx(other.objective_, rel=1e-7)
    scores = other.decision_function(problem.X)  # up to the square root of the solver's gap
    assert first.decision_function(problem.X) == pytest.approx(scores, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("size", [3, 7, 10, 49, 1000])
def test_rest_of_bag_without_positives_has_proportion_zero(size):
    """Not the rounding error of a share, which an epsilon for sampling would take seriously."""
    for positives in range(1, size - 1, max(1, size // 20)):
        known = np.repeat([1, -1, 0], [positives, 1, size - positives - 1])
        for labels, share in ((known, positives / size), (-known, 1.0 - positives / size)):
            bags = Bags.from_target(bag_target(np.zeros(size, int), [share], labels=labels))
            rest = bags.round_proportions().isolate_known_labels().proportions[0]
            assert rest == float(labels[0] < 0)
