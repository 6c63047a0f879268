"""The generators: what they promise, for every seed, and what breaks on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propcvx import AlterPropSVM, ConvPropSVM, InvCal, MeanMap, bag_target
from propcvx.bags import Bags
from propcvx.datasets import make_two_bags, proportions_of, random_bags
from propcvx.errors import InputError


@given(seed=st.integers(0, 2**32 - 1), n_fifths=st.integers(1, 30))
def test_two_bags_are_separable_and_their_means_mislead(seed, n_fifths):
    X, labels, bags, proportions = make_two_bags(5 * n_fifths, random_state=seed)
    assert np.bincount(bags).tolist() == [5 * n_fifths] * 2
    assert proportions == {0: 0.6, 1: 0.4}
    heights = X.sum(axis=1) / np.sqrt(2.0)
    assert (-labels * heights >= 0.15 - 1e-12).all()
    assert heights[bags == 0].mean() > 0.0 > heights[bags == 1].mean()


def test_two_bags_come_back_with_their_seed():
    first, again, other = (make_two_bags(random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("seed", range(10))
def test_means_get_everything_wrong_and_psvm_everything_right(seed):
    data = make_two_bags(random_state=seed)
    y = bag_target(data.bags, data.proportions)
    for method in (MeanMap(), InvCal()):
        assert method.fit(data.X, y).score(data.X, data.labels) == 0.0
    for method in (AlterPropSVM(random_state=seed), ConvPropSVM()):
        assert method.fit(data.X, y).score(data.X, data.labels) == 1.0


@pytest.mark.parametrize("n_per_bag", [0, 12, 2.5])
def test_a_bag_that_has_no_fifths_is_refused(n_per_bag):
    with pytest.raises(InputError, match="n_per_bag"):
        make_two_bags(n_per_bag)


@given(n_instances=st.integers(1, 100), bag_size=st.integers(1, 120), seed=st.integers(0, 99))
def test_random_bags_are_full_but_the_last(n_instances, bag_size, seed):
    bags = random_bags(np.ones(n_instances), bag_size, seed)
    sizes = np.bincount(bags)
    assert sizes.sum() == n_instances
    assert (sizes[:-1] == bag_size).all()
    assert 1 <= sizes[-1] <= bag_size


def test_random_bags_are_shuffled_reproducibly():
    labels = np.ones(64)
    first, again, other = (random_bags(labels, 8, seed).tolist() for seed in (0, 0, 1))
    assert first == again != other
    assert first != sorted(first)


def test_random_bags_want_a_size():
    with pytest.raises(InputError, match="bag_size"):
        random_bags([1, -1], 0)


def test_proportions_are_those_a_bag_target_takes():
    random = np.random.default_rng(0)
    labels = random.choice([-1, 1], 50)
    names = np.array(["north", "south", "east"])[random_bags(labels, 20, 0)]
    proportions = proportions_of(labels, names)
    bags = Bags.from_target(bag_target(names, proportions, labels))
    assert np.array_equal(bags.proportions_of(labels), bags.proportions)
    assert proportions == proportions_of(labels > 0, names.tolist())


def test_proportions_want_a_bag_for_every_label():
    with pytest.raises(InputError, match="3 instances, got 2"):
        proportions_of([1, 1, -1], [0, 0])
