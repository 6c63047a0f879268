"""The bias of conv-pSVM: of least bag error, by brute force; the answers that it is there for."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from listed_labelings import SCALES, TIES, arrays, bags_of_all_kinds

from propcvx import ConvPropSVM, bag_target
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import least_error_bias, proportion_error
from propcvx.datasets import bag_proportions, random_bags

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")


def errors_of_all(scores, bags):
    """Bag errors with each bias between two scores, and beyond all of them."""
    ends = np.concatenate([[-np.inf], np.unique(scores), [np.inf]])
    between = 0.5 * (np.maximum(ends[:-1], -1e9) + np.minimum(ends[1:], 1e9))
    return [proportion_error(bags, scores - threshold) for threshold in between]


@given(bags_of_all_kinds, st.data())
@examples(150)
def test_bias_has_least_bag_error(bags, data):
    values = st.sampled_from(TIES) | st.integers(-1000, 1000)
    scores = data.draw(SCALES) * data.draw(arrays(values, bags.n_instances))
    bias = least_error_bias(scores, bags)
    order = np.array(data.draw(st.permutations(range(bags.n_instances))))
    moved = bags.take(order, np.arange(bags.n_bags)[::-1])
    assert least_error_bias(scores[order], moved) == pytest.approx(bias, rel=1e-12)
    least = min(errors_of_all(scores, bags))  # without any share NaN
    # 0 stands for two biases that are equally near: about a score of 0, or, of scores far below the
    # margin of 1, that margin above and below all of them
    if bias != 0.0 or (scores.all() and np.abs(scores).max() > 1e-6):
        assert proportion_error(bags, scores + bias) == pytest.approx(least, abs=1e-12, nan_ok=True)


def test_bias_of_equal_errors_is_nearest_to_zero():
    pure = Bags.from_target(bag_target([0, 0, 1, 1], [0.0, 1.0]))
    assert least_error_bias(1e-9 * np.array([-2.0, 1.0, -2.0, -2.0]), pure) == 0.0
    one_bag = Bags.from_target(bag_target([0, 0, 0, 1, 1, 1], [1 / 3, 1 / 3]))
    assert least_error_bias(np.array([5.0, 1.0, -1.0, 7.0, 3.0, -2.0]), one_bag) == -4.0
    half_of_one = Bags.from_target(bag_target([0, 1, 1, 2], [0.5, 0.5, 0.5]))
    assert least_error_bias(np.array([9.0, 2.0, -3.0, -8.0]), half_of_one) == 0.5
    assert (
        least_error_bias(np.array([-4.0, -4.0]), Bags.from_target(bag_target([0, 0], [1.0]))) == 5.0
    )


def separable(share, seed=0, n=300):
    random = np.random.RandomState(seed)
    y = np.where(np.arange(n) < round(share * n), 1.0, -1.0)
    X = random.randn(n, 5)
    X[:, 0] += 3.0 * y
    bags = random_bags(y, 10, seed)
    return X, y, bag_target(bags, bag_proportions(y, bags))


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf"}], ids=str)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
def test_separable_instances_are_classified_at_any_proportion(share, parameters):
    X, y, target = separable(share)
    assert ConvPropSVM(**parameters).fit(X, target).score(X, y) >= 0.95


def test_zero_bias_hyperplane_passes_through_mean():
    X, _, target = separable(0.9)
    paper = ConvPropSVM(fit_intercept=False).fit(X, target)
    assert paper.decision_function(X).mean() == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match=r"fit_intercept must be True or False; got 'bags'"):
        ConvPropSVM(fit_intercept="bags").fit(X, target)
