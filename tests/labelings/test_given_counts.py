"""Labels given the counts of bags, against a list of all labelings."""

import numpy as np
import pytest
from effort import first
from scipy.special import expit
from scipy.stats import binom
from small_problems import all_labelings

from propcvx import Bags, bag_proportions, bag_target
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.given_counts import GivenCounts


def posed(seed, spread):
    """Up to ten instances in bags, probabilities of theirs, and all labelings that are feasible."""
    random = np.random.RandomState(seed)
    n = random.randint(1, 11)
    bags = np.unique(random.randint(random.randint(1, 4), size=n), return_inverse=True)[1]
    labels, p = random.choice([-1, 1], n), expit(spread * random.normal(size=n) - random.normal())
    shares = bag_proportions(labels, bags)
    if seed % 3 == 1:
        shares = {bag: share if random.uniform() < 0.6 else None for bag, share in shares.items()}
    known = labels * (random.uniform(size=n) < 0.3 * (seed % 2))
    feasible = FeasibleLabelings.from_bags(
        Bags.from_target(bag_target(bags, shares, known)), 0.3 * (seed % 5 == 2)
    )
    return p, feasible, all_labelings(feasible) > 0


def chances(p, feasible, every):
    """Of each labeling, given that it is one of these."""
    free = feasible.bags.labels == 0
    logs = np.where(every, np.log(p), np.log1p(-p))[:, free].sum(axis=1)
    each = np.exp(logs - logs.max())
    return each / each.sum()


@pytest.mark.parametrize("spread", [0.0, 0.5, 5.0, 20.0])
@pytest.mark.parametrize("seed", range(30))
def test_expected_labels_equal_enumeration(seed, spread):
    p, feasible, every = posed(seed, spread)
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    expected = chances(p, feasible, every) @ every
    np.testing.assert_allclose(
        GivenCounts.from_probabilities(p, feasible).means(), expected, atol=1e-10
    )


@pytest.mark.parametrize("seed", first(2, range(8)))
def test_labelings_are_drawn_as_often_as_they_are_likely(seed):
    p, feasible, every = posed(seed, 1.0)
    given, random = GivenCounts.from_probabilities(p, feasible), np.random.RandomState(0)
    drawn = np.array([given.draw(random) for _ in range(2000)])
    numbers = (drawn[:, None] == every).all(axis=2).sum(axis=0)
    assert numbers.sum() == 2000
    likely = chances(p, feasible, every)
    unlikely = 1e-3 / len(every)  # one case in a thousand is beyond these
    assert (numbers >= binom.ppf(unlikely, 2000, likely)).all()
    assert (numbers <= binom.isf(unlikely, 2000, likely)).all()


@pytest.mark.parametrize("size", [100, 3000])
def test_expected_labels_of_unequal_bags_have_their_counts(size):
    random = np.random.RandomState(0)
    bags = np.repeat(np.arange(5), [size, 1, 2, size // 2, 33])
    p = expit(2.0 * random.normal(size=len(bags)))
    labels = np.where(random.uniform(size=len(bags)) < p, 1, -1)
    feasible = FeasibleLabelings.from_bags(
        Bags.from_target(bag_target(bags, bag_proportions(labels, bags))), 0.0
    )
    given = GivenCounts.from_probabilities(p, feasible)
    np.testing.assert_allclose(np.bincount(bags, given.means()), feasible.lower, atol=1e-9)
    assert np.abs(given.means() - given.probabilities)[:size].max() < 1.0 / size
    drawn = given.draw(random)
    np.testing.assert_array_equal(np.bincount(bags, drawn), feasible.lower)


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("spread", [0.5, 5.0, 50.0])
def test_means_in_large_bag_equal_recursion(spread, epsilon):
    random, n = np.random.RandomState(0), 600
    p = np.clip(expit(spread * random.normal(size=n)), 1e-12, 1.0 - 1e-12)
    bag = Bags.from_target(bag_target(np.zeros(n), [0.4]))
    feasible = FeasibleLabelings.from_bags(bag, epsilon)
    possible = np.arange(feasible.lower[0], feasible.upper[0] + 1)
    logs, means = GivenCounts.from_probabilities(p, feasible).log_probabilities_and_means()
    counts = np.ones(1)
    for chance in p:
        counts = np.convolve(counts, [1.0 - chance, chance])
    np.testing.assert_allclose(np.exp(logs), counts[possible].sum(), rtol=1e-9)
    for i in random.choice(n, 8, replace=False):
        others = np.ones(1)
        for chance in np.delete(p, i):
            others = np.convolve(others, [1.0 - chance, chance])
        positive, negative = (
            chance * others[np.intersect1d(possible - label, np.arange(n))].sum()
            for label, chance in ((1, p[i]), (0, 1.0 - p[i]))
        )
        assert means[i] == pytest.approx(positive / (positive + negative), abs=1e-10)
