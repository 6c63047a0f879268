"""The test of class means: how often it rejects what holds, and what does not."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from small_problems import small_problem

from propcvx import Bags, ShareMetric, bag_target, class_means_test, proportions_of
from propcvx.errors import IllPosedWarning, InputError
from propcvx.estimators.class_means import ClassMeansTest, _Fit
from propcvx.estimators.metric import correlations


def drawn(seed, sizes, n_features=4, shift=0.0):
    """Two classes in bags with shares of their own; means of bags that differ within a class."""
    random, n_bags = np.random.RandomState(seed), len(sizes)
    bags, shares = np.repeat(np.arange(n_bags), sizes), random.uniform(0.05, 0.95, n_bags)
    labels = np.where(random.uniform(size=len(bags)) < shares[bags], 1, -1)
    noise = random.randn(len(bags), n_features) @ random.randn(n_features, n_features)
    X = noise + labels[:, None] * random.uniform(0.0, 2.0, n_features)
    X[:, -1] += shift * random.randn(n_bags)[bags]
    return X, bag_target(bags, proportions_of(labels, bags))


@pytest.mark.parametrize("sizes", [[8] * 20, [4, 10, 60] * 4])
def test_it_rejects_one_in_twenty_where_the_assumption_holds(sizes):
    """Of 100 problems 0 to 12 have a p-value of 5% at most, in all but one of 500 such tests."""
    rejected = sum(
        class_means_test(*drawn(seed, sizes), n_draws=39).p_value <= 0.05 for seed in range(100)
    )
    assert rejected <= 12


def fit_to_instances(fit, bags, random):
    """The fit to normal instances of the model, one by one."""
    positive = np.zeros(bags.n_instances, dtype=bool)
    counts = np.round(bags.proportions * bags.sizes).astype(int)
    for inside, count in zip(bags.members, counts, strict=True):
        positive[inside[:count]] = True
    noise = random.standard_normal((bags.n_instances, len(fit.root))) @ fit.root
    return _Fit.of(fit.class_means[np.where(positive, 0, 1)] + noise, bags)


@pytest.mark.parametrize("sizes", [[8] * 20, [4, 10, 60] * 4, [2, 2, 3, 2]])
def test_fits_that_are_drawn_by_their_moments_are_those_to_instances(sizes):
    X, y = drawn(2, sizes)
    bags, random = Bags.from_target(y), np.random.RandomState(0)
    fit = _Fit.of(X, bags)
    seen = [fit.drawn(bags, random) for _ in range(500)]
    listed = [fit_to_instances(fit, bags, random) for _ in range(500)]
    for number in (
        lambda test: test.statistics.max(),
        lambda test: test.statistics[0],
        lambda test: test.root[0, 0],
        lambda test: test.class_means[0, 1],
    ):
        assert ks_2samp(*(list(map(number, fits)) for fits in (seen, listed))).pvalue > 1e-3


def test_it_finds_the_feature_that_depends_on_the_bag():
    X, y = drawn(0, [30] * 20, shift=2.0)
    result = class_means_test(pd.DataFrame(X, columns=list("abcd")), y)
    assert result.p_value == 0.001
    assert result.broken_by == ["d"]
    assert "most of all d (20 bags)" in str(result)
    order = np.random.RandomState(1).permutation(len(y))
    other = class_means_test(X[order], y[order])
    np.testing.assert_allclose(other.statistics, result.statistics)


def test_scales_and_offsets_change_nothing():
    X, y = drawn(1, [10] * 12)
    units = np.array([1e-6, 1.0, 1e3, 1e6])
    plain, two = class_means_test(X, y), class_means_test(units * (X + 5.0), y)
    np.testing.assert_allclose(two.statistics, plain.statistics, rtol=1e-6)
    assert two.p_value == pytest.approx(plain.p_value, abs=0.02)


def test_no_feature_is_named_where_all_together_are_not_unusual():
    statistics, p_values = np.array([9.0, 1.0]), np.array([1e-3, 0.5])
    assert ClassMeansTest(0.04, statistics, p_values, "ab", 20).broken_by == ["a"]
    assert ClassMeansTest(0.06, statistics, p_values, "ab", 20).broken_by == []


@pytest.mark.parametrize(
    ("bags", "shares"), [([0, 0, 1, 1], [0.5, 1.0]), ([0, 0, 1, 1, 2, 2], [0.5] * 3)]
)
def test_what_tells_nothing_is_refused(bags, shares):
    with pytest.raises(InputError, match="y must have three bags of two instances or more"):
        class_means_test(np.eye(len(bags))[:, :2], bag_target(bags, shares))


# --- the metric -----------------------------------------------------------------------------------


def test_the_metric_is_the_correlation_of_bag_means_with_shares():
    problem = small_problem(0, sizes=(3, 5, 8, 4, 6), n_features=3)
    means, p, n = problem.bags.means_of(problem.X), problem.bags.proportions, problem.bags.sizes
    whole = np.cov(np.column_stack([means, p]).T, fweights=n)
    expected = np.abs(whole[-1, :-1]) / np.sqrt(whole.diagonal()[:-1] * whole[-1, -1])
    np.testing.assert_allclose(correlations(problem.bags, problem.X), expected)
    metric = ShareMetric(power=2.0).fit(problem.X, problem.y)
    np.testing.assert_allclose(metric.weights_ / metric.weights_[0], (expected / expected[0]) ** 2)
    assert np.mean(metric.weights_**2) == pytest.approx(1.0)
    np.testing.assert_allclose(metric.transform(problem.X), problem.X * metric.weights_)


def test_equal_shares_weigh_nothing():
    problem = small_problem(0, sizes=(4, 4))
    with pytest.warns(IllPosedWarning, match="no column goes with the shares"):
        metric = ShareMetric().fit(problem.X, bag_target(problem.y["bag"], [0.5, 0.5]))
    np.testing.assert_array_equal(metric.weights_, 1.0)
