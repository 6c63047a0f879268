"""Checks of single arguments, and the record of what a loop did."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from pandas import DataFrame
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propcvx import (
    AlterPropSVM,
    BagMeans,
    EcologicalRegression,
    bag_target,
    fit_means,
    proportions_of,
)
from propcvx.checks import (
    as_vector,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seconds,
    number_or_scale,
)
from propcvx.errors import InputError, UnscaledWarning
from propcvx.estimators.scaling import scaling_advice, warn_if_unscaled
from propcvx.history import History, Round, StopReason


@pytest.mark.parametrize(
    ("check", "value", "limits", "message"),
    [
        (check_number, 0, {"above": 0}, "number above 0, got 0"),
        (check_number, -1, {"least": 0}, "number at least 0, got -1"),
        (check_number, 2.0, {"above": 0, "most": 1}, "above 0 and at most 1, got 2.0"),
        *((check_number, v, {"above": 0}, "finite") for v in (np.nan, np.inf, True, "1", None)),
        (check_number, np.ones(2), {"above": 0}, "got array"),
        (check_number, 1j, {}, "got 1j"),
        *((check_count, v, {}, "whole number, at least 1") for v in (0, -1, 1.0, True, "2", None)),
        *((check_choice, v, {"choices": "ab"}, "one of .'a', 'b'.") for v in ("c", None, 1, ["a"])),
        *((check_flag, v, {}, "True or False, got") for v in (0, 1, "True", None)),
        *((number_or_scale, v, {"scale": float}, "0 or 'scale', got") for v in ("Scale", 0.0)),
        *((check_seconds, v, {}, "above 0 or infinity, got") for v in (0.0, -np.inf, "inf")),
    ],
)
def test_wrong_values_are_refused_by_name(check, value, limits, message):
    with pytest.raises(InputError, match=f"^name must be .*{message}"):
        check("name", value, **limits)


def test_right_values_come_back_as_plain_ones():
    for value in (1, 0.5, np.float32(0.5), np.int64(1)):
        checked = check_number("C", value, above=0, most=1)
        assert (checked, type(checked)) == (value, float)
    assert check_count("n", np.int64(3)) == 3
    assert check_choice("which", "b", ("a", "b")) == "b"
    assert check_flag("bias", np.True_) is True


@pytest.mark.parametrize("values", [[[1.0]], 1.0, ["a"], [1, [2]], [1.0, np.nan], None, [1j]])
def test_what_is_no_vector(values):
    assert as_vector(values) is None
    assert as_vector([1, True]).tolist() == [1.0, 1.0]


def test_a_history_is_a_table_and_goes_to_other_processes():
    history = History([Round(3.0, "osqp", "optimal", 0.1, n_flips=4)] * 2, StopReason.CONVERGED)
    assert DataFrame(history)["n_flips"].tolist() == [4, 4]
    copied = pickle.loads(pickle.dumps(history))
    assert (copied, copied.stop_reason) == (history, StopReason.CONVERGED)
    assert all(reason.advice for reason in StopReason)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize(
    ("scales", "narrowest", "widest"),
    [((1, 1e4), "2", "2e+04"), ((1e-4, 1), "0.0002", "2"), ((1e6, 1e6), "2e+06", "2e+06")],
)
def test_columns_of_unlike_ranges_are_to_be_scaled(scales, narrowest, widest, as_given):
    X = as_given(np.array([[-1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]) * scales)
    assert f"from {narrowest} to {widest}; scale them first" in scaling_advice(X)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_columns_of_like_ranges_are_left_alone(as_given):
    X = np.array([[0.0, 7.0, 0.1], [300.0, 7.0, 0.9]])
    assert scaling_advice(as_given(X)) == ""
    assert scaling_advice(as_given(np.full((3, 2), 1e9))) == ""


@pytest.mark.parametrize("method", [EcologicalRegression(), AlterPropSVM(kernel="rbf")])
def test_columns_of_very_different_ranges_are_told_once_and_scaled_ones_are_not(method):
    random = np.random.RandomState(0)
    bags = np.repeat(np.arange(10), 8)
    labels = np.where(random.normal(size=80) + 0.3 * (bags - 4.5) > 0, 1, -1)
    X = np.column_stack([random.uniform(18, 90, size=80), labels + random.normal(size=80)])
    X[:, 1] = X[:, 1] > 0
    y = bag_target(bags, proportions_of(labels, bags))
    with pytest.warns(UnscaledWarning, match=r"ranges from 1 to 7\d.*, so that the widest decide"):
        method.fit(X, y)
    table = BagMeans(X[:10] * [10.0, 0.1], list(np.linspace(0.1, 0.9, 10)), sizes=[8] * 10)
    with pytest.warns(UnscaledWarning, match="decide"):
        fit_means(EcologicalRegression(), table)
    make_pipeline(StandardScaler(), method).fit(X, y)
    EcologicalRegression().fit(sp.csr_array(X), y)
    centred = StandardScaler().fit_transform(random.normal(size=(80, 9)))
    warn_if_unscaled(centred * 0.5 ** np.arange(9))  # as principal components
