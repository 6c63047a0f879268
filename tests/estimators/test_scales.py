"""Scaled and shifted data: the answer of the problem they are equal to, or a word that it is not.

Instances s times as large with C / s^2, C_p / s^2 and lambda s^2 are the same problem, and where
there is a bias so are shifted ones; a Gaussian kernel takes gamma / s^2 in their place.
"""

import warnings

import numpy as np
import pytest
from effort import first
from sklearn.metrics.pairwise import rbf_kernel
from small_problems import small_problem

from propcvx import AlterPropSVM, ConvPropSVM, CuttingPlanes, InvCal, MeanMap
from propcvx.errors import PropCVXError, PropCVXWarning

PROBLEM = small_problem(3, (6, 6, 6, 6), n_features=3)

METHODS = {
    "mean_map": lambda C, **kernel: MeanMap(lam=1.0 / C, **kernel),
    "inv_cal": lambda C, **kernel: InvCal(C_p=C, **kernel),
    "alter": lambda C, **kernel: AlterPropSVM(
        C=C, C_p=10.0 * C, n_init=1, random_state=0, **kernel
    ),
    "conv": lambda C, **kernel: ConvPropSVM(C=C, **kernel),
    "conv, three cuts": lambda C, **kernel: ConvPropSVM(
        C=C, relaxation=CuttingPlanes(max_cuts=3), **kernel
    ),
}


def fitted(method, kernel, C, scale=1.0, offset=0.0):
    """Scores, and whether all is said to be well; None where there is an error that says not."""
    given = {"kernel": "rbf", "gamma": 0.5 / scale**2} if kernel == "rbf" else {}
    X = scale * (PROBLEM.X + offset)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = METHODS[method](C / scale**2 if kernel == "linear" else C, **given)
            scores = model.fit(X, PROBLEM.y).decision_function(X)
        except PropCVXError:
            return None, False
    assert all(issubclass(warning.category, PropCVXWarning) for warning in caught)
    return scores, not caught


@pytest.mark.parametrize("C", first(1, [1.0, 1e-6, 1e6]))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", METHODS)
def test_scaled_and_shifted_data_have_the_same_answer(method, kernel, C):
    expected, well = fitted(method, kernel, C)
    for scale, offset in [(1e-6, 0.0), (1.0, 1e3), (1e6, 1e6)]:
        scores, also_well = fitted(method, kernel, C, scale, offset)
        if well and also_well:
            size = np.abs(expected).max()
            assert np.abs(scores - expected).max() <= 1e-3 * size, f"{scale=} {offset=}"


@pytest.mark.parametrize("method", METHODS)
def test_at_ordinary_scales_nothing_is_amiss(method):
    """So that the test above cannot pass by warnings alone."""
    for scale in (1e-3, 1.0, 1e3):
        assert fitted(method, "linear", 1.0, scale)[1]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_units_are_what_their_docstrings_say(kernel):
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
def test_with_the_unit_of_inv_cal_the_weights_of_bags_count_relative_to_each_other(weights):
    times = np.full(4, 6.0) if isinstance(weights, str) else weights  # bags of six
    first, second = (
        InvCal(bag_weights=given).fit(PROBLEM.X, PROBLEM.y) for given in (weights, 10.0 * times)
    )
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-4, atol=1e-5)
    assert first.C_p_ == pytest.approx(10.0 * second.C_p_)
