"""Units of parameters: what "scale" stands for, and equal weights of bags."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from small_problems import small_problem

from propcvx import AlterPropSVM, ConvPropSVM, InvCal, MeanMap

PROBLEM = small_problem(3, (6, 6, 6, 6), n_features=3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_units_equal_their_docstrings(kernel):
    """Mean squared distances of instances from their mean, and of the means of their bags."""
    gamma = 1.0 / (PROBLEM.X.shape[1] * PROBLEM.X.var())
    gram = rbf_kernel(PROBLEM.X, gamma=gamma) if kernel == "rbf" else PROBLEM.X @ PROBLEM.X.T
    same = PROBLEM.y["bag"][:, None] == PROBLEM.y["bag"]
    average = same / same.sum(axis=1)
    of_means = average @ gram @ average.T
    inv_cal, mean_map = (clf(kernel=kernel).fit(PROBLEM.X, PROBLEM.y) for clf in (InvCal, MeanMap))
    apart = np.trace(of_means) / len(gram) - of_means.mean()
    assert inv_cal.C_p_ == pytest.approx(0.5 / apart)
    apart = np.trace(gram) / len(gram) - gram.mean()
    assert mean_map.lam_ == pytest.approx(apart / np.sqrt(len(gram)))
    in_sum = MeanMap(kernel=kernel, likelihood="sum").fit(PROBLEM.X, PROBLEM.y)
    assert in_sum.lam_ == pytest.approx(len(gram) * mean_map.lam_)
    alter, conv = (
        clf(kernel=kernel).fit(PROBLEM.X, PROBLEM.y) for clf in (AlterPropSVM, ConvPropSVM)
    )
    assert pytest.approx(0.2 / apart) == alter.C_
    assert (alter.C_p_, conv.C_) == (10.0 * alter.C_, pytest.approx(alter.C_))
    # Of equal instances the variance is 0, or rounding errors, and no unit of anything.
    equal = np.full_like(PROBLEM.X, 0.1 if kernel == "linear" else 1.0)
    inv_cal, mean_map = (clf(kernel=kernel).fit(equal, PROBLEM.y) for clf in (InvCal, MeanMap))
    assert inv_cal.C_p_ == 1.0
    assert mean_map.lam_ == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [np.ones(4), "size", np.array([1.0, 2.0, 3.0, 4.0])], ids=str)
def test_inv_cal_bag_weights_are_relative(weights):
    times = np.full(4, 6.0) if isinstance(weights, str) else weights  # bags of six
    first, second = (
        InvCal(bag_weights=given).fit(PROBLEM.X, PROBLEM.y) for given in (weights, 10.0 * times)
    )
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-4, atol=1e-5)
    assert first.C_p_ == pytest.approx(10.0 * second.C_p_)
