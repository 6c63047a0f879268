"""The generators: what they promise, for every seed, and what breaks on them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propcvx.datasets import (
    bag_proportions,
    bags_by_feature,
    equal_proportion_bags,
    make_two_bags,
    random_bags,
)
from propcvx.errors import InputError


@given(seed=st.integers(0, 2**32 - 1), n_fifths=st.integers(1, 30))
def test_two_bags_are_separable_and_their_means_mislead(seed, n_fifths):
    X, labels, bags, proportions = make_two_bags(5 * n_fifths, random_state=seed)
    assert np.bincount(bags).tolist() == [5 * n_fifths] * 2
    assert proportions == {0: 0.6, 1: 0.4}
    heights = X.sum(axis=1) / np.sqrt(2.0)
    assert (-labels * heights >= 0.15 - 1e-12).all()
    assert heights[bags == 0].mean() > 0.0 > heights[bags == 1].mean()
    assert np.array_equal(make_two_bags(5 * n_fifths, random_state=seed).X, X)
    assert not np.array_equal(make_two_bags(5 * n_fifths, random_state=seed ^ 1).X, X)


@given(n_instances=st.integers(1, 100), bag_size=st.integers(1, 120), seed=st.integers(0, 99))
def test_random_bags_are_full_but_last(n_instances, bag_size, seed):
    bags = random_bags(np.ones(n_instances), bag_size, seed)
    sizes = np.bincount(bags)
    assert sizes.sum() == n_instances
    assert (sizes[:-1] == bag_size).all()
    assert 1 <= sizes[-1] <= bag_size
    assert np.array_equal(random_bags(["name"] * n_instances, bag_size, seed), bags)
    first, other = (random_bags(np.ones(64), 8, each).tolist() for each in (seed, seed + 1))
    assert sorted(first) == sorted(other) != first != other


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 9))
def test_bags_by_feature_are_intervals_of_it(n, bag_size, seed):
    values = np.random.RandomState(seed).randint(0, 6, size=n)
    bags = bags_by_feature(values, bag_size, seed)
    spans = [(values[bags == k].min(), values[bags == k].max()) for k in range(bags.max() + 1)]
    assert all(low >= high for (_, high), (low, _) in pairwise(spans))
    assert np.bincount(bags)[:-1].tolist() == [bag_size] * bags.max()


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 9), st.integers(0, 9))
def test_equal_proportion_bags_have_distinct_instances_and_one_count(n, m, bag_size, seed):
    labels = np.repeat([1, -1], [n, m])
    count = round(n / (n + m) * bag_size)
    if count > n or bag_size - count > m:
        with pytest.raises(InputError, match="must fill one bag"):
            equal_proportion_bags(labels, bag_size, seed)
        return
    chosen, bags = equal_proportion_bags(labels, bag_size, seed)
    assert len(set(chosen)) == len(chosen)
    assert set(np.bincount(bags, labels[chosen] > 0)) == {count}


def test_equal_proportion_bags_are_as_many_as_classes_allow():
    labels = np.random.RandomState(0).permutation(np.repeat([1, -1], [168, 267]))
    chosen, bags = equal_proportion_bags(labels, 8, random_state=0)
    assert set(bag_proportions(labels[chosen], bags).values()) == {3 / 8}
    assert bags.max() + 1 == min(168 // 3, 267 // 5)
