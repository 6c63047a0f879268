"""Splitting by bags, and the error on bags."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propcvx import BagKFold, Bags, InvCal, bag_error, bag_target
from propcvx.bags.metrics import (
    bag_correlation,
    bag_deviance,
    bag_r2_score,
    bag_r2_scorer,
    neg_bag_deviance_scorer,
    neg_bag_error_scorer,
    neg_size_weighted_bag_error_scorer,
)
from propcvx.bags.model_selection import BagShuffleSplit, RepeatedBagKFold, deal_bags
from propcvx.errors import FewBagsWarning, InputError, SplitBagWarning

# Few bags are enough to test what a splitter does; that it warns of them has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.FewBagsWarning")

SIZES = st.lists(st.integers(1, 9), min_size=2, max_size=12)


def target(sizes, seed=0):
    """Shuffled bags of some sizes, with random proportions."""
    random = np.random.RandomState(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return bag_target(index, random.uniform(size=len(sizes)))


def check_split(y, train, test):
    """Both halves are whole bags, and all instances are in one of them; the bags held out."""
    assert sorted([*train, *test]) == list(range(len(y)))
    for half in (train, test):
        assert Bags.from_target(y[half]).is_complete.all()
    return set(y["bag"][test])


@given(SIZES, st.data(), st.integers(0, 1000))
def test_folds_hold_out_every_bag_once_and_whole(sizes, data, seed):
    n_splits, y = data.draw(st.integers(2, len(sizes))), target(sizes, seed)
    splits = list(BagKFold(n_splits, random_state=seed).split(y, y))
    assert len(splits) == n_splits
    held_out = [bag for split in splits for bag in check_split(y, *split)]
    assert sorted(held_out) == list(range(len(sizes)))


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_repeated_folds_differ_between_repetitions(n_repeats):
    y = target([2] * 10)
    splitter = RepeatedBagKFold(5, n_repeats=n_repeats, random_state=0)
    tests = [test for _, test in splitter.split(y, y)]
    assert len(tests) == splitter.get_n_splits() == 5 * n_repeats
    rounds = np.reshape(tests, (n_repeats, 20))
    assert (np.sort(rounds) == np.arange(20)).all()
    assert len(np.unique(rounds, axis=0)) == n_repeats
    np.testing.assert_array_equal([test for _, test in splitter.split(y, y)], tests)


@given(SIZES, st.floats(0.01, 1.0), st.integers(0, 1000))
def test_shuffled_splits_hold_out_fraction_of_whole_bags(sizes, test_size, seed):
    y = target(sizes, seed)
    splitter = BagShuffleSplit(3, test_size=test_size, random_state=seed)
    splits = list(splitter.split(y, y))
    assert len(splits) == splitter.get_n_splits() == 3
    wanted = np.clip(test_size * len(sizes), 1, len(sizes) - 1)
    for split in splits:
        assert abs(len(check_split(y, *split)) - wanted) <= 0.5


@given(SIZES, st.floats(0.01, 1.0), st.integers(0, 1000))
def test_shuffled_splits_have_proportions_on_both_sides(sizes, test_size, seed):
    y = target([2, 2, *sizes], seed)
    y["proportion"][y["bag"] > 1] = np.nan
    for split in BagShuffleSplit(3, test_size=test_size, random_state=seed).split(y, y):
        assert all(np.isfinite(y["proportion"][part]).any() for part in split)


@pytest.mark.parametrize(
    ("few", "enough"),
    [
        (BagKFold(7), BagKFold(6)),
        (RepeatedBagKFold(12), RepeatedBagKFold(2)),
        (BagShuffleSplit(test_size=0.1), BagShuffleSplit(test_size=0.5)),
    ],
)
def test_split_with_one_held_out_bag_warns(few, enough):
    y = target([2] * 12)
    with pytest.warns(FewBagsWarning, match=r"holds out 1 of the 12 bags, .* fewer splits"):
        list(few.split(y, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewBagsWarning)
        list(enough.split(y, y))
        next(few.split(np.ones(200), np.ones(200)))


@given(SIZES, st.data(), st.integers(0, 1000))
def test_folds_are_as_equal_as_bags_allow(sizes, data, seed):
    """Greedy, larger bags first: two folds differ by less than two of the smallest bags."""
    n_splits = data.draw(st.integers(2, len(sizes)))
    folds, _ = deal_bags(np.array(sizes), n_splits, seed)
    filled = np.bincount(folds, weights=sizes, minlength=n_splits)
    smallest = [np.array(sizes)[folds == fold].min() for fold in range(n_splits)]
    assert (filled - np.multiply(2, smallest) < filled.min()).all()


def test_folds_of_unequal_bags_differ_between_seeds():
    """States and districts: by their sizes alone, every repetition would be the same folds."""
    sizes = np.random.default_rng(0).permutation(np.arange(20, 71))
    folds = {deal_bags(sizes, 5, seed)[0].tobytes() for seed in range(20)}
    assert len(folds) == 20
    y = target(sizes)
    tests = RepeatedBagKFold(5, n_repeats=4, random_state=0).split(y, y)
    assert len({test.tobytes() for _, test in tests}) == 20
    for seed in range(20):
        filled = np.bincount(deal_bags(sizes, 5, seed)[0], weights=sizes)
        assert np.ptp(filled) < 0.15 * filled.mean()


@pytest.mark.parametrize("seed", range(10))
def test_each_fold_has_bag_with_proportion(seed):
    y = target([2] * 12)
    known, unknown = y.copy(), y.copy()
    known["proportion"][y["bag"] < 8] = np.nan
    unknown["proportion"] = np.nan
    splitter = BagKFold(4, random_state=seed)
    tests = [test for _, test in splitter.split(y, known)]
    assert [len(np.unique(y["bag"][test][y["bag"][test] >= 8])) for test in tests] == [1] * 4
    assert [len(test) for test in tests] == [6] * 4
    for plain, same in zip(splitter.split(y, y), splitter.split(y, unknown), strict=True):
        np.testing.assert_array_equal(plain[1], same[1])


@pytest.mark.parametrize("splitter", [BagKFold, BagShuffleSplit, RepeatedBagKFold])
def test_training_bags_are_in_random_order(splitter):
    """The prefixes of a learning curve do not depend on the names of the bags."""
    y = target([3] * 12)

    def bags(seed):
        (train, _), *_ = splitter(2, random_state=seed).split(y, y)
        return list(dict.fromkeys(y["bag"][train]))

    first, second = bags(0), bags(1)
    assert first == bags(0) == bags(np.random.RandomState(0)) != sorted(first)
    shared = set(first) & set(second)
    assert [bag for bag in first if bag in shared] != [bag for bag in second if bag in shared]


@pytest.mark.parametrize("splitter", [BagKFold, BagShuffleSplit, RepeatedBagKFold])
def test_training_prefix_splits_at_most_one_bag(splitter):
    y = target([2, 4, 7] * 5)
    for train, _ in splitter(2, random_state=0).split(y, y):
        for stop in range(1, len(train) + 1):
            prefix = y[train[:stop]]
            _, first, present = np.unique(prefix["bag"], return_index=True, return_counts=True)
            assert (present != prefix["size"][first]).sum() <= 1


def test_labels_equal_singleton_bags():
    y = np.array([-1, 1, 1, -1, 1, 1])
    tests = [test for _, test in BagKFold(3, random_state=0).split(y, y)]
    assert np.shape(tests) == (3, 2)
    assert sorted(np.ravel(tests)) == list(range(6))


# The error on bags


def test_bag_error_takes_booleans_zeros_and_split_bag():
    y = bag_target([0, 0, 0, 0, 1], [0.5, 1.0])
    assert bag_error(y, [True, True, False, False, True]) == 0.0
    assert bag_error(y, [0, 0, 0, 0, 0]) == pytest.approx((0.5 + 1.0) / 2), "0 is not positive"
    with pytest.warns(SplitBagWarning):
        bag_error(y[1:], [1, 1, -1, 1])


@given(SIZES, st.integers(0, 1000))
def test_bag_error_is_mean_over_bags_or_instances(sizes, seed):
    y = target(sizes, seed)
    predicted = np.random.RandomState(seed).choice((-1, 1), size=len(y))
    inside = [y["bag"] == bag for bag in range(len(sizes))]
    gaps = [abs(np.mean(predicted[k] > 0) - y["proportion"][k][0]) for k in inside]
    assert bag_error(y, predicted) == pytest.approx(np.mean(gaps))
    by_size = bag_error(y, predicted, bag_weights="size")
    assert by_size == pytest.approx(np.dot(gaps, sizes) / sum(sizes))


# What probabilities explain


@given(SIZES, st.integers(0, 1000))
def test_bag_r2_and_deviance_equal_formulas_weighted_by_size(sizes, seed):
    y = target(sizes, seed)
    probabilities = np.random.RandomState(seed).uniform(size=len(y))
    inside = [y["bag"] == bag for bag in range(len(sizes))]
    p = np.array([y["proportion"][k][0] for k in inside])
    q = np.array([probabilities[k].mean() for k in inside])
    mean = np.dot(sizes, p) / sum(sizes)
    expected = 1 - np.dot(sizes, (p - q) ** 2) / np.dot(sizes, (p - mean) ** 2)
    assert bag_r2_score(y, probabilities) == pytest.approx(expected)
    assert bag_r2_score(y, p[y["bag"]]) == pytest.approx(1.0)
    assert bag_r2_score(y, np.full(len(y), mean)) == pytest.approx(0.0)
    assert [bag_correlation(y, np.full(len(y), c)) for c in (0.1, 0.3, 0.7)] == [0.0] * 3
    each = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert bag_deviance(y, probabilities) == pytest.approx(2 * np.dot(sizes, each) / sum(sizes))
    assert bag_deviance(y, p[y["bag"]]) == pytest.approx(0.0, abs=1e-12)


def test_equal_proportions_have_deviance_without_r2():
    y = bag_target([0, 0, 1, 1], [0.5, 0.5])
    assert bag_deviance(y, np.full(4, 0.5)) == 0.0
    with pytest.raises(InputError, match=r"two different proportions at least; got 2 of 0\.5"):
        bag_r2_score(y, np.full(4, 0.5))


def test_two_class_table_has_r2_of_positives():
    shares, positive = [0.25, 0.75], np.array([0.2, 0.4, 0.9, 0.7])
    table = pd.DataFrame({"no": [0.75, 0.25], "yes": shares})
    both = bag_target([0, 0, 1, 1], table), np.column_stack([1 - positive, positive])
    plain = bag_target([0, 0, 1, 1], shares), positive
    for score in (bag_r2_score, bag_deviance):
        assert score(*both) == pytest.approx(score(*plain))
        assert score(both[0], positive) == score(*both)
    X = np.array([[0.0], [1.0], [3.0], [2.0]])
    model = InvCal().fit(X, both[0])
    expected = bag_r2_score(both[0], model.predict_proba(X))
    assert bag_r2_scorer(model, X, both[0]) == pytest.approx(expected)
    deviance = bag_deviance(both[0], model.predict_proba(X))
    assert neg_bag_deviance_scorer(model, X, both[0]) == pytest.approx(-deviance)
    y = bag_target([0, 1, 1, 1], shares)
    model.fit(X, y)
    for scorer, name in (
        (neg_bag_error_scorer, "uniform"),
        (neg_size_weighted_bag_error_scorer, "size"),
    ):
        assert scorer(model, X, y) == -bag_error(y, model.predict(X), bag_weights=name)
