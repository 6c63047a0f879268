"""Checks of single arguments, and the record of what a loop did."""

import numpy as np
import pytest
import scipy.sparse as sp

from propcvx.checks import (
    as_vector,
    check_choice,
    check_count,
    check_flag,
    check_number,
)
from propcvx.errors import InputError
from propcvx.estimators.training import scaling_advice
from propcvx.history import History, Round, StopReason


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_in_range(value):
    assert check_number("C", value, above=0, most=1) == float(value)
    assert type(check_number("C", value)) is float


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (0, {"above": 0}, "C must be a finite number above 0, got 0"),
        (-1, {"least": 0}, "C must be a finite number at least 0, got -1"),
        (2.0, {"above": 0, "most": 1}, "C must be a finite number above 0 and at most 1, got 2.0"),
        (np.nan, {"above": 0}, "got nan"),
        (np.inf, {"above": 0}, "got inf"),
        (True, {"above": 0}, "got True"),
        ("1", {"above": 0}, "got '1'"),
        (None, {"above": 0}, "got None"),
        (np.ones(2), {"above": 0}, "got array"),
        (1j, {}, "got 1j"),
    ],
)
def test_numbers_that_are_refused(value, limits, message):
    with pytest.raises(InputError, match=message):
        check_number("C", value, **limits)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", None])
def test_counts_that_are_refused(value):
    with pytest.raises(InputError, match=r"n must be a whole number, at least 1, got"):
        check_count("n", value)
    assert check_count("n", np.int64(3)) == 3


@pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
def test_choices_that_are_refused(value):
    with pytest.raises(InputError, match=r"which must be one of \['a', 'b'\], got"):
        check_choice("which", value, ("a", "b"))
    assert check_choice("which", "b", ("a", "b")) == "b"


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_flags_that_are_refused(value):
    with pytest.raises(InputError, match="bias must be True or False, got"):
        check_flag("bias", value)
    assert check_flag("bias", np.True_) is True


@pytest.mark.parametrize("values", [[[1.0]], 1.0, ["a"], [1, [2]], [1.0, np.nan], None, [1j]])
def test_what_is_no_vector(values):
    assert as_vector(values) is None
    assert as_vector([1, True]).tolist() == [1.0, 1.0]


def test_history_is_a_list_of_rounds():
    history = History()
    assert (len(history), history.stop_reason) == (0, None)
    for objective in (3.0, 2.0):
        history.append(Round(objective, "osqp", "optimal", 0.1, n_flips=4))
    assert history.objectives == [3.0, 2.0]
    assert [record.objective for record in history] == [3.0, 2.0]
    assert history[1].objective == 2.0
    assert [row["n_flips"] for row in history.as_dicts()] == [4, 4]


@pytest.mark.parametrize("reason", StopReason)
def test_every_reason_to_stop_has_advice(reason):
    assert reason.advice
    assert reason.value != reason.advice


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
