"""``check_fit``: what proportions of bags alone show of a fit."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import linregress
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propcvx import (
    BagKFold,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    bag_proportions,
    bag_target,
    check_fit,
)
from propcvx.bags.metrics import bag_r2_score
from propcvx.datasets import random_bags
from propcvx.estimators import FitCheck
from propcvx.estimators.fit_check import predict_held_out


def drawn(seed, *, signal=1.0, size=10, share=0.4):
    """Two Gaussian classes in random bags; the column that varies most says nothing."""
    random = np.random.RandomState(seed)
    labels = np.where(random.uniform(size=400) < share, 1, -1)
    X = np.column_stack([signal * labels + random.normal(size=400), 4 * random.normal(size=400)])
    bags = random_bags(labels, size, random_state=seed)
    return X, labels, bag_target(bags, bag_proportions(labels, bags))


def test_expected_accuracy_of_good_fits_is_near_accuracy():
    for seed in range(6):
        X, labels, y = drawn(seed, signal=1.5)
        check = check_fit(InvCal(), X, y, random_state=0)
        accuracy = np.mean(InvCal().fit(X, y).predict(X) == labels)
        assert not check.is_poor
        assert abs(check.expected_accuracy - accuracy) < 0.1
        assert check.majority_accuracy == pytest.approx(
            max(np.mean(labels > 0), np.mean(labels < 0))
        )
        assert str(check).startswith(f"Expected accuracy {check.expected_accuracy:.0%} (always ")


@pytest.mark.parametrize("n_columns", [3, 10, 20])
def test_expected_accuracy_of_noise_equals_majority(n_columns):
    """Without the slope it is up to 0.2 too large."""
    errors = []
    for seed in range(6):
        random = np.random.RandomState(seed)
        X, labels = random.normal(size=(2000, n_columns)), random.uniform(size=2000) < 0.63
        bags = np.arange(2000) // 40
        y = bag_target(bags, bag_proportions(labels, bags))
        model = EcologicalRegression().fit(X, y)
        check = check_fit(model, X, y, random_state=0)
        errors.append(check.expected_accuracy - np.mean((model.predict(X) > 0) == labels))
    assert abs(np.mean(errors)) < 0.05


def test_check_fit_uses_all_and_held_out_bags():
    X, _, y = drawn(0)
    model = make_pipeline(StandardScaler(), MeanMap())
    check = check_fit(model, X, y, random_state=3)
    held_out = np.empty(len(y))
    for train, test in BagKFold(5, random_state=3).split(X, y):
        held_out[test] = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert check.r2 == bag_r2_score(y, held_out)
    index = y["bag"]
    proportions, means = (np.bincount(index, v) / 10 for v in (y["proportion"], held_out))
    assert check.correlation == pytest.approx(np.corrcoef(proportions, means)[0, 1])
    line = linregress(means, proportions)
    assert (check.slope, check.slope_error) == pytest.approx((line.slope, line.stderr))
    factor = np.clip((4.0 + line.slope / line.stderr**2) / (4.0 + line.stderr**-2), 0.0, 1.0)
    probabilities = model.fit(X, y).predict_proba(X)[:, 1]
    shrunk = probabilities.mean() + factor * (probabilities - probabilities.mean())
    labels = model.predict(X) > 0
    assert check.expected_accuracy == pytest.approx(np.mean(np.where(labels, shrunk, 1 - shrunk)))
    assert (check.n_bags, check.minority_fraction) == (40, np.mean(labels))


def test_gram_matrix_is_indexed_in_both_directions():
    X, _, y = drawn(0)
    by_gram = check_fit(InvCal(kernel="precomputed"), linear_kernel(X), y, random_state=0)
    assert by_gram.r2 == pytest.approx(check_fit(InvCal(), X, y, random_state=0).r2)


def test_equal_proportions_or_one_predicted_class_give_no_evidence():
    X, _, y = drawn(0, size=50)
    few = bag_target(y["bag"], [0.3, 0.4, 0.5] + 5 * [None])
    assert check_fit(InvCal(), X, few, random_state=0).n_bags == 3
    equal = bag_target(y["bag"], np.full(8, 0.4))
    with patch("propcvx.estimators.fit_check.predict_held_out", wraps=predict_held_out) as fits:
        check = check_fit(ConvPropSVM(), X, equal, random_state=0)
    assert fits.call_count == 1
    assert np.isnan(check.r2)
    assert "give no evidence" in str(check)
    check = check_fit(InvCal(C_p=1e-9), X, y)
    assert (check.minority_fraction, check.is_poor) == (0.0, False)


def test_reversed_proportions_are_reported():
    X, _, y = drawn(0, signal=1.5)
    assert not check_fit(InvCal(), X, y, random_state=0).is_reversed
    check = FitCheck(0.6, 0.6, -0.4, -1.0, -0.9, 0.3, 50, 0.3)
    assert check.is_reversed
    assert "check that each proportion belongs to its bag" in str(check)
    assert not replace(check, n_bags=15).is_reversed
    assert not replace(check, n_bags=2, correlation=-1.0).is_reversed  # two points are on a line


@pytest.mark.parametrize(("expected", "fraction", "poor"), [(0.7, 0.3, False), (0.5, 0.3, True)])
def test_is_poor_compares_with_majority_class(expected, fraction, poor):
    check = FitCheck(expected, 0.6, 0.1, 0.0, 0.5, 0.2, 30, fraction)
    assert check.is_poor == poor
    assert ("Do not use these labels" in str(check)) == poor
    few = replace(check, n_bags=19)
    assert not few.is_poor
    assert "19 bags are too few for a verdict" in str(few)
