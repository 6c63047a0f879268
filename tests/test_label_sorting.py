"""Sorting inside bags against enumeration: any layout, ties, known labels, both losses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propcvx import bag_target, layout
from propcvx.bags import Bags
from propcvx.labelings import FeasibleLabelings, labeling_step
from propcvx.losses import HINGE, PROPORTION_LOSSES


def random_bags(random, n_instances, n_bags, known):
    """Bags in any order with proportions of some labeling, a few of its labels known."""
    index = random.integers(0, n_bags, n_instances)
    labeling = random.choice([-1, 1], n_instances)
    shown = np.where(random.random(n_instances) < 0.3, labeling, 0) if known else None
    shares = {int(k): float((labeling[index == k] > 0).mean()) for k in np.unique(index)}
    return Bags.from_target(bag_target(index, shares, shown))


def random_scores(random, shape, tied):
    scores = random.normal(size=shape) * random.choice([0.3, 1.0, 3.0])
    return np.round(scores) if tied else scores


@pytest.fixture(params=[64, 0], ids=["own widths", "shared widths"])
def any_layout(request, monkeypatch):
    monkeypatch.setattr(layout, "MAX_WIDTHS", request.param)


@pytest.mark.usefixtures("any_layout")
@pytest.mark.parametrize("loss", PROPORTION_LOSSES.values())
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_labeling_step_is_the_best_of_all_labelings(loss, known, tied):
    random = np.random.default_rng(0)
    for _ in range(20):
        bags = random_bags(random, random.integers(1, 8), random.integers(1, 4), known)
        scores = random_scores(random, bags.n_instances, tied)
        weights = random.choice([0.0, 0.5, 2.0, 50.0], bags.n_bags) * random.random(bags.n_bags)

        def objective(y):
            shares = bags.proportions_of(y) - bags.proportions  # noqa: B023
            return HINGE.of(y, scores).sum() + weights @ loss.of(shares)  # noqa: B023

        free = [(-1.0, 1.0) if label == 0 else (float(label),) for label in bags.labels]
        best = min(objective(np.array(y)) for y in product(*free))
        found = labeling_step(scores, bags, loss, weights)
        assert set(found) <= {-1.0, 1.0}
        assert objective(found) == pytest.approx(best, abs=1e-12)


@pytest.mark.usefixtures("any_layout")
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.6])
def test_best_labelings_are_feasible_and_the_best_of_all(epsilon, known, tied):
    random = np.random.default_rng(1)
    for _ in range(20):
        bags = random_bags(random, random.integers(1, 9), random.integers(1, 4), known)
        feasible = FeasibleLabelings.of(bags, epsilon)
        scores = random_scores(random, (bags.n_instances, 4), tied)
        found, every = feasible.best(scores), np.array(list(feasible.enumerate()))
        for column in range(4):
            assert found[:, column] in feasible
            assert np.array_equal(found[:, column], feasible.best(scores[:, column]))
            value = scores[:, column] @ found[:, column]
            assert value == pytest.approx((every @ scores[:, column]).max(), abs=1e-12)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    seed=st.integers(0, 2**16),
    shared=st.booleans(),
)
def test_every_instance_is_once_in_the_row_of_its_bag(sizes, seed, shared):
    random = np.random.default_rng(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = random.normal(size=(2, len(index)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "MAX_WIDTHS", 0 if shared else 64)
        parts = layout.bag_rows(index, np.array(sizes))
    back = np.zeros_like(values)
    for part in parts:
        rows = part.gather(values)
        for row, bag in enumerate(part.bags):
            assert np.array_equal(rows[:, row, : sizes[bag]], values[:, index == bag])
            assert (rows[:, row, sizes[bag] :] == -np.inf).all()
        part.scatter(rows, back)
    assert np.array_equal(back, values)


def test_similar_sizes_share_a_width_at_most_an_eighth_wider():
    sizes = np.arange(1, 3000)
    widths = layout._widths(sizes)
    assert (widths >= sizes).all()
    assert (widths <= 1.125 * sizes).all()
    assert len(np.unique(widths)) < 100
