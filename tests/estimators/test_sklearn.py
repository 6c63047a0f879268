"""Saved models, calibrated probabilities, and labels of any kind, as scikit-learn asks for them."""

import pickle
from itertools import product

import numpy as np
import pytest
from methods import each_method
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from small_problems import small_problem

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    ConvPropSVM,
    EcologicalRegression,
    bag_target,
)
from propcvx.errors import IllPosedWarning
from propcvx.estimators.calibration import Calibration

PROBLEM = small_problem(0, sizes=(2, 4, 7) * 5, n_features=3, noise=0.7)
X, Y, LABELS = PROBLEM.X, PROBLEM.y, PROBLEM.labels


# --- parameters and copies --------------------------------------------------------------------


@each_method()
def test_saved_linear_models_hold_no_training_data(method):
    """They grow by some numbers per instance, its label above all, not by its features."""
    small, large = (small_problem(0, sizes=(10,) * n, n_features=40) for n in (4, 20))
    sizes = [len(pickle.dumps(clone(method).fit(each.X, each.y))) for each in (small, large)]
    assert sizes[1] - sizes[0] < (large.X.nbytes - small.X.nbytes) / 4


# --- probabilities calibrated by bags ---------------------------------------------------------

each_kernel = pytest.mark.parametrize("kernel", ["linear", "rbf"])


def scored_bags(seed, sizes):
    """Scores that rise with the chance to be positive, and bags whose shares come from it."""
    random = np.random.RandomState(seed)
    index = np.repeat(np.arange(len(sizes)), sizes)
    scores = random.randn(len(sizes))[index] + random.randn(len(index))
    chances = 1.0 / (1.0 + np.exp(-random.choice([0.3, 2.0, 20.0]) * scores - random.randn()))
    positive = random.rand(len(index)) < chances
    return Calibration(scores, index, np.bincount(index, positive) / np.bincount(index))


def deviances(calibration, curves):
    """Of each curve, as the documentation has it."""
    scores, index, p = calibration.scores, calibration.index, calibration.proportions
    n = np.bincount(index)
    high, low = (n @ p + 1) / (n @ p + 2), 1 / (n @ (1 - p) + 2)
    shares, in_bag = p * high + (1 - p) * low, index[:, None] == np.arange(len(p))
    z = np.outer(curves[:, 0], scores) + curves[:, 1:]
    up, down = (1.0 / (1.0 + np.exp(-np.clip(t, -700, 700))) @ in_bag / n for t in (z, -z))
    return -(shares * np.log(up) + (1 - shares) * np.log(down)) @ n


@pytest.mark.parametrize("sizes", [(1,) * 30, (2, 3) * 6, (8,) * 7, (64,) * 3, (5, 40)], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_calibration_curve_minimizes_deviance(seed, sizes):
    calibration = scored_bags(seed, sizes)
    slope, offset = calibration.curve
    steps = np.array(list(product((0.99, 1.0, 1.01), (-0.01, 0.0, 0.01))))
    near = steps * [slope, 1.0] + [0.0, offset]
    slopes, offsets = (0.0, *np.geomspace(1e-3, 1e3, 25)), np.linspace(-4.0, 4.0, 33)
    grid = np.array([(a, b * max(1.0, a)) for a, b in product(slopes, offsets)])
    curves = np.vstack([near, grid])
    curves = curves[curves[:, 0] <= calibration.steepest]
    reached = deviances(calibration, np.array([calibration.curve]))
    assert 0.0 <= slope <= calibration.steepest
    assert reached <= deviances(calibration, curves).min() + 1e-8


def test_calibration_slope_has_normal_class_limit():
    """It is reached if labels decide the scores, and no bound if scores decide the labels."""
    random, index = np.random.RandomState(0), np.repeat(np.arange(60), 100)
    shares = random.uniform(0.1, 0.9, size=60)
    positive = random.uniform(size=6000) < shares[index]
    scores = 3.0 * positive + 2.0 * random.normal(size=6000)
    calibration = Calibration(scores, index, np.bincount(index, positive) / 100)
    assert calibration.curve[0] == pytest.approx(calibration.steepest)
    assert calibration.steepest == pytest.approx(3.0 / 4.0, rel=0.1)
    assert np.isinf(scored_bags(0, (1,) * 30).steepest)
    scores = random.normal(size=60)[index] + random.normal(size=6000)
    positive = random.uniform(size=6000) < 1.0 / (1.0 + np.exp(-scores / 2.0))
    calibration = Calibration(scores, index, np.bincount(index, positive) / 100)
    assert calibration.curve[0] == pytest.approx(0.5, rel=0.1)
    assert calibration.steepest > 1.0


@each_kernel
@each_method("ecological", "aggregate")  # which have probabilities of their own
def test_calibration_of_singleton_bags_equals_platt(method, kernel):
    target = bag_target(np.arange(len(LABELS)), (LABELS > 0).astype(float))
    clf = clone(method).set_params(kernel=kernel).fit(X, target)
    platt = CalibratedClassifierCV(FrozenEstimator(clf), method="sigmoid", ensemble=False)
    expected = platt.fit(X, LABELS).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_swapped_classes_and_other_units_of_scores_change_nothing(scale, shift):
    first = scored_bags(0, (3, 5, 9) * 4)
    other = Calibration(scale * (shift - first.scores), first.index, 1.0 - first.proportions)
    np.testing.assert_allclose(
        other.probabilities(other.scores)[:, ::-1], first.probabilities(first.scores), atol=1e-6
    )


FALLING = np.array([5.0, 4.0, 4.5, 6.0, -1.0, 0.0, 1.0, -3.0])
EQUAL = 1.0 + 1e-16 * np.arange(30.0)


@pytest.mark.parametrize(
    ("scores", "shares", "expected"),
    [
        *((FALLING, [share, share], share) for share in (0.5, 0.25, 1.0)),
        (FALLING, [0.0, 1.0], 0.5),
        *((score * EQUAL, [0.3, 0.1 + 0.2, 0.9], 0.5) for score in (0.0, 0.1, -1e9)),
    ],
)
def test_undetermined_slope_gives_proportion_and_warns(scores, shares, expected):
    index = np.repeat(np.arange(len(shares)), len(scores) // len(shares))
    calibration = Calibration(scores, index, np.array(shares))
    with pytest.warns(IllPosedWarning, match="do not identify"):
        probabilities = calibration.probabilities(scores)[:, 1]
    assert calibration.curve[0] == np.ptp(probabilities) == 0.0
    np.testing.assert_allclose(probabilities, expected, atol=0.11)


# --- labels and labelings ---------------------------------------------------------------------

PAIRS = {"words": ["no", "yes"], "both negative": [-7, -3]}


@each_method()
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_two_labels_of_any_kind_are_kept(method, pair):
    pair = np.asarray(pair)
    given = pair[(LABELS > 0).astype(int)]
    clf, twin = clone(method).fit(X, given), clone(method).fit(X, LABELS)
    assert hasattr(clf, "predict_proba") == isinstance(
        clf, AggregateLogisticRegression | EcologicalRegression
    )
    np.testing.assert_array_equal(clf.classes_, pair)
    assert clf.classes_.dtype == pair.dtype
    positive = clf.decision_function(X) > 0
    np.testing.assert_array_equal(clf.predict(X), pair[positive.astype(int)])
    np.testing.assert_array_equal(clf.decision_function(X), twin.decision_function(X))
    assert clf.score(X, given) == twin.score(X, LABELS) > 0.8
    sees_instances = isinstance(method, AlterPropSVM | ConvPropSVM)
    np.testing.assert_array_equal(clf.transduction_, given if sees_instances else clf.predict(X))
