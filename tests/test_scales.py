"""Scaled and shifted data: the answer of the problem they are equal to, or a word that it is not.

Instances s times as large with C / s^2, C_p / s^2 and lambda s^2 are the same problem, and where
there is a bias so are shifted ones; a Gaussian kernel takes gamma / s^2 in their place.
"""

import warnings

import numpy as np
import pytest
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


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
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


def test_where_offsets_are_large_the_kernel_keeps_its_digits():
    near, far = (fitted("conv", "rbf", 1.0, offset=offset)[0] for offset in (0.0, 1e6))
    np.testing.assert_allclose(far, near, rtol=0.0, atol=1e-7 * np.abs(near).max())


@pytest.mark.parametrize("C", [1.0, 1e2, 1e6, 1e10])
def test_two_cuts_are_solved_for_any_c(C):
    """Without a warning up to 1e6; beyond, with an answer and its bounds all the same."""
    model = ConvPropSVM(C=C, relaxation=CuttingPlanes(max_cuts=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error" if C < 1e7 else "ignore")
        model.fit(PROBLEM.X, PROBLEM.y)
    assert model.objective_ == pytest.approx(model.relaxation_.upper, rel=1e-5 if C < 1e7 else 0.1)
