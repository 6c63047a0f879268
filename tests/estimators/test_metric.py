"""ProportionScaler: columns weighted by what the shares say of them."""

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import ProportionScaler, bag_target
from propcvx.errors import IllPosedWarning
from propcvx.estimators.proportion_scaler import correlations


def test_scaler_equals_correlation_of_bag_means():
    problem = small_problem(0, sizes=(3, 5, 8, 4, 6), n_features=3)
    means, p, n = problem.bags.means_of(problem.X), problem.bags.proportions, problem.bags.sizes
    whole = np.cov(np.column_stack([means, p]).T, fweights=n)
    expected = np.abs(whole[-1, :-1]) / np.sqrt(whole.diagonal()[:-1] * whole[-1, -1])
    np.testing.assert_allclose(correlations(problem.bags, problem.X), expected)
    metric = ProportionScaler(power=2.0).fit(problem.X, problem.y)
    np.testing.assert_allclose(metric.weights_ / metric.weights_[0], (expected / expected[0]) ** 2)
    assert np.mean(metric.weights_**2) == pytest.approx(1.0)
    np.testing.assert_allclose(metric.transform(problem.X), problem.X * metric.weights_)


def test_scaler_weights_are_one_for_equal_proportions():
    problem = small_problem(0, sizes=(4, 4))
    with pytest.warns(IllPosedWarning, match="no column is correlated with proportions"):
        metric = ProportionScaler().fit(problem.X, bag_target(problem.y["bag"], [0.5, 0.5]))
    np.testing.assert_array_equal(metric.weights_, 1.0)
