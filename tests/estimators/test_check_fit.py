"""What the shares of bags tell about a fit, without labels."""

import re
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propcvx import BagKFold, ConvPropSVM, InvCal, MeanMap, bag_proportions, bag_target, check_fit
from propcvx.bags.metrics import bag_r2_score
from propcvx.datasets import random_bags
from propcvx.estimators import FitCheck
from propcvx.estimators.fit_check import predicted


def drawn(seed, *, signal=1.0, size=10, share=0.4):
    """Two Gaussian classes in random bags; the column that varies most says nothing."""
    random = np.random.RandomState(seed)
    labels = np.where(random.uniform(size=400) < share, 1, -1)
    X = np.column_stack([signal * labels + random.normal(size=400), 4 * random.normal(size=400)])
    bags = random_bags(labels, size, random_state=seed)
    return X, labels, bag_target(bags, bag_proportions(labels, bags))


def test_good_fits_are_not_suspected_and_what_is_expected_is_near_the_truth():
    for seed in range(6):
        X, labels, y = drawn(seed, signal=1.5)
        check = check_fit(InvCal(), X, y, random_state=0)
        right = np.mean(InvCal().fit(X, y).predict(X) == labels)
        assert not check.is_poor
        assert abs(check.expected_accuracy - right) < 0.1
        assert check.majority_accuracy == pytest.approx(
            max(np.mean(labels > 0), np.mean(labels < 0))
        )
        assert re.match(r"Nothing speaks against this fit\.\n\d+% of the labels", str(check))


def test_it_is_computed_from_fits_to_all_bags_and_to_those_of_other_folds():
    X, _, y = drawn(0)
    model = make_pipeline(StandardScaler(), MeanMap())
    check = check_fit(model, X, y, random_state=3)
    held_out = np.empty(len(y))
    for inside, outside in BagKFold(5, random_state=3).split(X, y):
        held_out[outside] = model.fit(X[inside], y[inside]).predict_proba(X[outside])[:, 1]
    assert check.r2 == bag_r2_score(y, held_out)
    index = y["bag"]
    shares, means = (np.bincount(index, v) / 10 for v in (y["proportion"], held_out))
    assert check.correlation == pytest.approx(np.corrcoef(shares, means)[0, 1])
    probabilities = model.fit(X, y).predict_proba(X)[:, 1]
    labels = model.predict(X) > 0
    assert check.expected_accuracy == np.mean(np.where(labels, probabilities, 1 - probabilities))
    assert (check.n_bags, check.minority_fraction) == (40, np.mean(labels))


def test_a_gram_matrix_is_cut_in_both_directions():
    X, _, y = drawn(0)
    by_gram = check_fit(InvCal(kernel="precomputed"), linear_kernel(X), y, random_state=0)
    assert by_gram.r2 == pytest.approx(check_fit(InvCal(), X, y, random_state=0).r2)


def test_few_bags_equal_shares_and_one_class_are_said():
    X, _, y = drawn(0, size=50)
    assert "but 8 bags tell little" in str(check_fit(InvCal(), X, y, random_state=0))
    few = bag_target(y["bag"], [0.3, 0.4, 0.5] + 5 * [None])
    assert check_fit(InvCal(), X, few, random_state=0).n_bags == 3
    equal = bag_target(y["bag"], np.full(8, 0.4))
    with patch("propcvx.estimators.fit_check.predicted", wraps=predicted) as fits:
        check = check_fit(ConvPropSVM(), X, equal, random_state=0)
    assert fits.call_count == 1
    assert np.isnan(check.r2)
    assert "explained" not in str(check)
    check = check_fit(InvCal(C_p=1e-9), X, y)
    assert str(check).startswith("100% of the instances get the label of the larger class")
    assert (check.minority_fraction, check.is_poor) == (0.0, False)


@pytest.mark.parametrize("n_bags", [19, 20, 100])
@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.04, 0.06, 0.1, 0.2, 1.0, np.nan])
def test_a_correlation_speaks_against_a_fit_below_half_a_standard_error(correlation, n_bags):
    check = FitCheck(0.8, 0.6, correlation, 0.0, n_bags, minority_fraction=0.3)
    with np.errstate(divide="ignore"):
        z = np.arctanh(correlation) * np.sqrt(n_bags - 3)
    assert check.is_poor == (n_bags >= 20 and bool(z < 0.5))
    few = n_bags < 20
    assert ("for this fit, and 19 bags tell little" in str(check)) == (few and bool(z < 0.5))
    assert ("against this fit, but 19 bags tell" in str(check)) == (few and not z < 0.5)
    assert ("this fit, and little for it." in str(check)) == (not few and bool(0.5 <= z < 1.64))
