"""Sorting inside bags against enumeration: any layout, ties, known labels, both losses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propcvx import bag_target, labelings, layout
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


@pytest.fixture(params=["one block", "many blocks", "shared widths"])
def any_layout(request, monkeypatch):
    if request.param != "one block":
        monkeypatch.setattr(layout, "SLOTS", 3)
        monkeypatch.setattr(labelings, "CHUNK", 2)
    if request.param == "shared widths":
        monkeypatch.setattr(layout, "MAX_WIDTHS", 0)


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


@pytest.mark.parametrize("bag_of_run", [[0, 1, 2, 3, 4], [2, 0, 1, 0, 2]])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_runs_of_a_bag_are_labeled_as_the_same_bags_in_any_order(
    bag_of_run, known, tied, monkeypatch
):
    monkeypatch.setattr(layout, "MIN_RUN", 4)
    monkeypatch.setattr(labelings, "CHUNK", 10)
    random = np.random.default_rng(2)
    index = np.repeat(bag_of_run, 4)
    labels = random.choice([-1, 1], len(index))
    shares = np.bincount(index, weights=labels > 0) / np.bincount(index)
    shown = np.where(random.random(len(index)) < 0.3, labels, 0) * known
    scores = random_scores(random, (len(index), 3), tied)
    position = np.empty_like(index)  # of each instance, in an order that keeps that of every bag
    mixed = random.permutation(index)
    position[np.argsort(index, kind="stable")] = np.argsort(mixed, kind="stable")
    instance = np.argsort(position)
    runs = Bags.from_target(bag_target(index, shares, shown))
    other = Bags.from_target(bag_target(mixed, shares, shown[instance]))
    assert [layout.Layout.of(bags).run for bags in (runs, other)] == [4, 1]
    for epsilon in (0.0, 0.3):
        found = FeasibleLabelings.of(runs, epsilon).best(scores)
        expected = FeasibleLabelings.of(other, epsilon).best(scores[instance])
        assert np.array_equal(found[instance], expected)
    weights = 3.0 * random.random(runs.n_bags)
    for loss in PROPORTION_LOSSES.values():
        for column in scores.T:
            found = labeling_step(column, runs, loss, weights)
            expected = labeling_step(column[instance], other, loss, weights)
            assert np.array_equal(found[instance], expected)


@given(
    bags=st.lists(st.integers(0, 2), min_size=1, max_size=6),
    length=st.integers(1, 6),
    least=st.integers(1, 8),
)
def test_runs_are_the_longest(bags, length, least):
    index = np.repeat(bags, length)
    longest = max(
        n
        for n in range(1, len(index) + 1)
        if len(index) % n == 0 and (index.reshape(-1, n) == index[::n, None]).all()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "MIN_RUN", least)
        assert layout.run_of(index) == (longest if longest >= least else 1)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    seed=st.integers(0, 2**16),
    slots=st.integers(1, 64),
    shared=st.booleans(),
)
def test_a_layout_has_every_instance_once_and_sorts_every_bag(sizes, seed, slots, shared):
    random = np.random.default_rng(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = random.normal(size=(2, len(index)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "SLOTS", slots)
        patch.setattr(layout, "MAX_WIDTHS", 0 if shared else 64)
        blocks = layout.blocks_of(index, np.array(sizes))
    seen = []
    for block in blocks:
        ascending = block.sort(block.gather(values))
        for row, bag in enumerate(np.arange(len(sizes))[block.bags]):
            mine = np.sort(values[:, index == bag], axis=1)
            assert np.array_equal(
                ascending[:, block.ends[row] - sizes[bag] : block.ends[row]], mine
            )
            seen.append(bag)
        top = block.ranked(ascending, np.ones((2, len(block.ends)), int))
        assert np.array_equal(top, ascending[:, block.ends - 1])
    assert sorted(seen) == list(range(len(sizes)))


def test_bags_in_order_are_not_copied_by_an_index():
    blocks = layout.blocks_of(np.repeat(np.arange(4), 100), np.full(4, 100))
    assert [block.members for block in blocks] == [slice(0, 400)]
    assert [block.rows for block in blocks] == [((4, 100),)]


def test_similar_sizes_share_a_width_at_most_an_eighth_wider():
    sizes = np.arange(1, 3000)
    widths = layout._widths(sizes)
    assert (widths >= sizes).all()
    assert (widths <= 1.125 * sizes).all()
    assert len(np.unique(widths)) < 100
