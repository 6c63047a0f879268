"""More than two classes: targets, and fits."""

import pickle

import numpy as np
import pandas as pd
import pytest
from methods import each_method
from sklearn.base import clone

from propcvx import (
    AggregateLogisticRegression,
    EcologicalRegression,
    InvCal,
    bag_error,
    bag_proportions,
    bag_target,
    binary_target,
)
from propcvx.bags.targets import classes_of, is_bag_target
from propcvx.errors import IllPosedWarning, InputError

ROWS = {"a": {"x": 0.5, "y": 0.5, "z": 0.0}, "b": {"x": 0.0, "y": 0.0, "z": 1.0}}


def class_problem(seed, sizes=(4, 3, 5, 4)):
    """X, a bag target from a table, and the names of the true classes."""
    random = np.random.RandomState(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    codes = np.append(np.arange(3), random.randint(3, size=len(index)))
    codes = random.permutation(codes[: len(index)])
    X = 2.0 * random.randn(3, 3)[codes] + 0.7 * random.randn(len(index), 3)
    names = np.array(["oak", "ash", "elm"])[codes]
    return X, bag_target(index, bag_proportions(names, index)), names


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "classes"),
    [
        (ROWS, None),
        (pd.DataFrame(ROWS).T, None),
        (pd.DataFrame(ROWS).T[["z", "x", "y"]].iloc[::-1], None),
        ([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], ["x", "y", "z"]),
        (np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]), ["z", "y", "x"]),
    ],
)
def test_every_form_of_table_gives_same_target(table, classes):
    y = bag_target(["b", "a", "a"], table, ["z", None, "y"], classes=classes)
    assert y["proportion"].tolist() == [[0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    assert y["label"].tolist() == [3, 0, 2]
    assert binary_target(y, "z")["label"].tolist() == [1, 0, -1]
    assert y["bag"].tolist() == [1, 0, 0]
    assert y["size"].tolist() == [1, 2, 2]
    for kept in (y, y[[2, 0]], pickle.loads(pickle.dumps(y))):
        assert is_bag_target(kept)
        assert kept.dtype.metadata == {"ids": ("a", "b"), "classes": ("x", "y", "z")}


def test_more_than_two_classes_have_no_probabilities():
    X, y, _ = class_problem(0)
    with pytest.raises(AttributeError) as failure:
        InvCal().fit(X, y).predict_proba(X)
    assert "two classes" in str(failure.value.__cause__)


def test_columns_without_names_are_numbered():
    y = bag_target([0, 0, 1], [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert classes_of(y).tolist() == [0, 1, 2]
    assert binary_target(y, 1)["proportion"].tolist() == [0.0, 0.0, 1.0]
    assert classes_of(y.astype(y.dtype.descr)).tolist() == [0, 1, 2], "no metadata"


# --- the estimators ---------------------------------------------------------------------------


@each_method("second_moments")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_fitted_shapes_and_predictions_follow_scores(method, kernel):
    X, y, names = class_problem(0, sizes=(5,) * 8)
    given = X @ X.T if kernel == "precomputed" else X
    clf = clone(method).set_params(kernel=kernel).fit(given, y)
    weights = clf.coef_ if kernel == "linear" else clf.dual_coef_
    assert weights.shape == (3, 3 if kernel == "linear" else 40)
    assert clf.intercept_.shape == (3,)
    assert clf.classes_.tolist() == ["ash", "elm", "oak"]
    scores = clf.decision_function(given)
    assert scores.shape == (40, 3)
    predicted = clf.predict(given)
    np.testing.assert_array_equal(predicted, clf.classes_[scores.argmax(axis=1)])
    assert clf.score(given, names) == np.mean(predicted == names) > 0.6
    shares = clf.predict_proportions(given, y)
    truth = bag_proportions(names, y["bag"])
    errors = [
        0.5 * sum(abs(shares[bag][name] - row[name]) for name in row) for bag, row in truth.items()
    ]
    assert bag_error(y, predicted) == pytest.approx(np.mean(errors)) == -clf.score(given, y)
    assert set(clf.transduction_) <= set(clf.classes_)


@each_method("second_moments", "aggregate")
def test_each_class_is_fitted_against_rest(method):
    X, y, _ = class_problem(1, sizes=(5,) * 6)
    if isinstance(method, EcologicalRegression):  # all classes have one strength
        method = clone(method).set_params(ridge=0.3)
    clf = clone(method).fit(X, y)
    binary = [clone(method).fit(X, binary_target(y, name)) for name in clf.classes_]
    for column, first in enumerate(binary):
        np.testing.assert_allclose(clf.coef_[column], first.coef_[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(
            clf.intercept_[column], first.intercept_[0], rtol=1e-3, atol=1e-3
        )


def test_counts_of_classes_need_direct_solver_and_different_proportions():
    X, y, _ = class_problem(0)
    with pytest.raises(InputError, match="solver must be 'auto' with several classes"):
        AggregateLogisticRegression(solver="clarabel").fit(X, y)
    with pytest.warns(IllPosedWarning, match="all bags have the same proportion, so"):
        model = AggregateLogisticRegression().fit(X, bag_target(y["bag"], np.full((4, 3), 1 / 3)))
    assert not model.coef_.any()


def test_bag_error_with_three_classes_equals_half_l1_distance():
    y = bag_target(["a", "a", "b"], ROWS)
    assert bag_error(y, ["x", "y", "z"]) == 0.0
    assert bag_error(y, ["x", "x", "z"]) == 0.25
    assert bag_error(y, ["x", "x", "z"], bag_weights="size") == pytest.approx(1 / 3)
