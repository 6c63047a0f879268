"""Labelings against listing every labeling, and against the boolean programs."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from listed_labelings import (
    TIES,
    arrays,
    bags_apart,
    bags_of_all_kinds,
    every_labeling,
    scores_of,
    step_values,
)

from propcvx import Bags, bag_target
from propcvx.errors import InfeasibleLabelingError
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling, random_labeling
from propcvx.labelings.losses import (
    HINGE,
    INSTANCE_LOSSES,
    PROPORTION_LOSSES,
    InstanceLoss,
    ProportionLoss,
    constraint,
    epsilon_insensitive,
)
from propcvx.programs import counted_labeling, labeling_step, linear_separation
from propcvx.solvers import solve

WEIGHTS = st.sampled_from([0.0, 1e-6, 1e-3, 0.5, 1.0, 10.0, 1e3, 1e6])
EPSILONS = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]) | st.floats(0, 1)
OF_EACH_BAG = st.sampled_from([0.0, 0.1, 0.3, 1.0])
RISING = InstanceLoss(
    "rising",
    lambda margins: np.where(margins < 1, 1 - margins, 2 * (margins - 1)),
    lambda margins: cp.maximum(1 - margins, 2 * (margins - 1)),
)
"""A loss that grows with large margins, so that gains do not rise with the score."""

WITHOUT_LIMIT = {
    "absolute": np.abs,
    "squared": np.square,
    "epsilon_insensitive": lambda gaps: np.maximum(0.0, np.abs(gaps) - 0.05),
    "too many": lambda gaps: np.maximum(gaps, -0.1 * gaps),
}
LOSSES = PROPORTION_LOSSES | {
    "too many": ProportionLoss(
        "too many", WITHOUT_LIMIT["too many"], lambda gaps: cp.maximum(gaps, -0.1 * gaps)
    )
}
"""With one that is not symmetric."""


def posed(name, bags, draw):
    """A loss, the loss of each gap by hand, and the largest gap that is allowed."""
    if name in WITHOUT_LIMIT:
        return LOSSES[name], WITHOUT_LIMIT[name], np.inf
    widths = draw(arrays(OF_EACH_BAG, bags.n_bags))
    if name == "constraint of each bag":
        return constraint(widths), np.zeros_like, widths
    if name == "sampling":
        p = bags.proportions
        widths = np.minimum(1.959963984540054 * np.sqrt(p * (1.0 - p) / bags.sizes), 1.0)
    loss = epsilon_insensitive("sampling" if name == "sampling" else widths)
    return loss, lambda gaps: np.maximum(0.0, np.abs(gaps) - widths), np.inf


def within(bags, counts, epsilon):
    """Whether the counts of labelings are within a tolerance of the proportions that are known."""
    gaps = np.abs(counts / bags.sizes - bags.proportions)
    return ((gaps <= epsilon + 1e-6 / bags.sizes) | ~bags.has_proportion).all(axis=1)


# The labeling step of alter-pSVM


@pytest.mark.parametrize(
    "name", [*WITHOUT_LIMIT, "epsilon of each bag", "sampling", "constraint of each bag"]
)
@given(bags_of_all_kinds, st.data())
@examples(40)
def test_labeling_step_is_best_of_all_labelings(name, bags, data):
    scores = scores_of(data.draw, bags.n_instances)
    weights = data.draw(arrays(WEIGHTS, bags.n_bags))
    heavy = np.random.RandomState(0).uniform(0.1, 3.0, bags.n_instances)
    instance_loss = data.draw(st.sampled_from([*INSTANCE_LOSSES.values(), RISING]))
    instance_loss = replace(instance_loss, weights=data.draw(st.sampled_from([1.0, heavy])))
    loss, of_gaps, largest = posed(name, bags, data.draw)
    rows, counts = every_labeling(bags)
    allowed = within(bags, counts, largest)
    assume(allowed.any())
    gaps = np.where(bags.has_proportion, counts / bags.sizes - bags.proportions, 0.0)
    of_bags = np.where(allowed, np.where(bags.has_proportion, of_gaps(gaps), 0.0) @ weights, np.inf)
    values = instance_loss.evaluate(rows, scores).sum(axis=1) + of_bags
    ties = data.draw(st.none() | arrays(st.sampled_from((-1.0, 1.0)), bags.n_instances))
    labeling = best_labeling(scores, bags, loss, weights, instance_loss=instance_loss, ties=ties)
    (place,) = np.flatnonzero((rows == labeling).all(axis=1))
    assert values[place] <= values.min() + 1e-12 * max(1e-9, abs(values.min()))
    rounding = 1e-15 * max(1.0, weights.max())  # of a gap that is 0: 1e-16, times the weight
    for k in (0, -1, place):
        expected = pytest.approx(of_bags[k], rel=1e-9, abs=rounding)
        assert loss.total(bags, weights, rows[k]) == expected
        costs = sum(cost[m] for cost, m in zip(loss.costs(bags, weights), counts[k], strict=True))
        assert costs == expected


@given(st.data())
@examples(50)
def test_equal_labelings_are_ordered_by_ties(data):
    """Sums of these scores and weights are exact; of counts as good the smallest is taken."""
    bags = data.draw(bags_apart())
    scores = data.draw(arrays(st.sampled_from(TIES), bags.n_instances))
    ties = data.draw(arrays(st.sampled_from((-1.0, 1.0, 3.0)), bags.n_instances))
    loss, weights = PROPORTION_LOSSES["constraint"], np.zeros(bags.n_bags)
    rows, counts = every_labeling(bags)
    values = step_values(rows, counts, scores, bags, loss, weights)
    best = values == values.min()
    best = rows[best & (counts == counts[best].min(axis=0)).all(axis=1)]
    labeling = best_labeling(scores, bags, loss, weights, ties=ties)
    assert labeling @ ties == (best @ ties).max()


@pytest.mark.parametrize("n", [5, 7, 10, 64])
@pytest.mark.parametrize("gain", [0.25, 0.3, 1.0])
def test_equal_counts_take_smallest(n, gain):
    """Each positive up to the proportion costs what it gains, but for the last bit."""
    counts = np.arange(n + 1)
    bags = Bags.from_target(bag_target(np.repeat(counts, n), counts / n))
    scores, weights = np.full(bags.n_instances, -gain / 2), np.full(bags.n_bags, n * gain)
    labeling = best_labeling(scores, bags, PROPORTION_LOSSES["absolute"], weights)
    np.testing.assert_array_equal(labeling, -1.0)


@pytest.mark.parametrize(
    ("name", "solver"),
    [("absolute", "highs"), ("constraint of each bag", "highs"), ("squared", "scip")],
)
@given(bags_of_all_kinds, st.data())
@examples(12)
def test_programs_have_values_of_best_labelings(name, solver, bags, data):
    loss, _, largest = posed(name, bags, data.draw)
    _, counts = every_labeling(bags)
    assume(within(bags, counts, largest).any())
    scores = data.draw(arrays(st.floats(-5, 5), bags.n_instances))
    weights = np.linspace(0.5, 9.0, bags.n_bags)
    labeling = best_labeling(scores, bags, loss, weights)
    value = HINGE.evaluate(labeling, scores).sum() + loss.total(bags, weights, labeling)
    boolean = labeling_step(bags, loss).set(
        loss_positive=HINGE.evaluate(1.0, scores),
        loss_negative=HINGE.evaluate(-1.0, scores),
        weights=weights,
    )
    assert solve(boolean, solver, residuals=False).value == pytest.approx(value, rel=1e-6, abs=1e-6)
    feasible = FeasibleLabelings.from_loss(loss, bags)
    separation = linear_separation(feasible).set(scores=scores)
    best = feasible.best(scores) @ scores
    assert solve(separation, "highs").value == pytest.approx(best, abs=1e-6)
    costs = [np.nan_to_num(cost, posinf=0.0) for cost in loss.costs(bags, weights)]
    linear = counted_labeling(feasible).set(
        gains=HINGE.reduction(scores), costs=np.concatenate([np.diff(cost) for cost in costs])
    )
    constant = HINGE.evaluate(-1.0, scores).sum() + sum(cost[0] for cost in costs)
    least = solve(linear, "highs").value + constant
    assert least <= value + 1e-6 * max(1.0, value)


# Feasible labelings


@given(bags_of_all_kinds, EPSILONS | st.just("each"), st.data())
@examples(100)
def test_feasible_labelings_are_within_epsilon(bags, epsilon, data):
    if epsilon == "each":
        epsilon = data.draw(arrays(OF_EACH_BAG, bags.n_bags))
    rows, counts = every_labeling(bags)
    allowed = within(bags, counts, epsilon)
    try:
        feasible = FeasibleLabelings.from_bags(bags, epsilon)
    except InfeasibleLabelingError:
        assert not allowed.any()
        return
    assert [row in feasible for row in rows] == allowed.tolist()
    assert {tuple(row) for row in feasible.enumerate()} == set(map(tuple, rows[allowed]))
    assert len(list(feasible.enumerate())) == allowed.sum()


@given(bags_of_all_kinds, EPSILONS | st.just("rounding"), st.data())
@examples(60)
def test_best_labeling_of_each_column_equals_enumeration(bags, epsilon, data):
    rows, counts = every_labeling(bags)
    try:
        feasible = FeasibleLabelings.from_bags(bags, epsilon)
    except InfeasibleLabelingError:
        assume(False)
    scores = np.column_stack([scores_of(data.draw, bags.n_instances) for _ in range(2)])
    inside = ((counts >= feasible.lower) & (counts <= feasible.upper)).all(axis=1)
    for labeling, column in zip(feasible.best(scores).T, scores.T, strict=True):
        assert labeling in feasible
        best, slack = (rows[inside] @ column).max(), 1e-12 * np.abs(column).sum()
        assert labeling @ column >= best - slack
        assert feasible.best(column) @ column >= best - slack


@given(bags_apart())
def test_nearest_counts_have_smallest_epsilon(bags):
    rows, counts = every_labeling(bags)
    gaps = np.abs(counts - bags.proportions * bags.sizes)
    excess = (gaps - gaps.min(axis=0)).max(axis=1)
    other = replace(bags, proportions=1 - bags.proportions, labels=-bags.labels)
    nearest, turned = (
        {tuple(sign * row) for row in FeasibleLabelings.nearest(both).enumerate()}
        for sign, both in ((1, bags), (-1, other))
    )
    assert turned == nearest
    assert nearest >= {tuple(row) for row in rows[excess <= 1e-9]}
    assert nearest <= {tuple(row) for row in rows[excess <= 3e-6]}, "3 times the slack of counts"


# Integer counts


def test_count_range_has_integers():
    """Every count of a bag of every size, for epsilon of exactly j instances."""
    for size in range(1, 129):
        counts = np.arange(size + 1)
        bags = Bags.from_target(bag_target(np.repeat(counts, size), counts / size))
        for j in {0, 1, min(2, size), min(3, size), size // 3, size // 2, size - 1, size}:
            lower, upper = bags.count_range(j / size)
            np.testing.assert_array_equal(lower, np.maximum(counts - j, 0))
            np.testing.assert_array_equal(upper, np.minimum(counts + j, size))


@pytest.mark.filterwarnings("ignore::propcvx.errors.SplitBagWarning")
def test_known_labels_of_split_bag_may_exclude_every_count():
    half = bag_target([0, 0, 0, 0], [0.5], [1, 1, 0, 0])[:2]
    bags = Bags.from_target(half)
    text = r"= 1 positives, nearest 2/2\). Known labels contradict the nearest counts"
    with pytest.raises(InfeasibleLabelingError, match=text):
        bags.count_range(0.0)
    assert [count.tolist() for count in bags.count_range(0.5)] == [[2], [2]]
    assert FeasibleLabelings.nearest(bags).lower.tolist() == [2]


# Random labelings


def test_random_labelings_are_uniform_seeded_and_keep_known_labels():
    labels = np.where(np.arange(2000) % 4 == 0, 1, 0)
    bags = Bags.from_target(bag_target(np.zeros(2000, dtype=int), [0.6], labels))
    first, again = (random_labeling(bags, np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first[labels == 1] == 1).all()
    free = first[labels == 0]
    assert set(free) == {-1.0, 1.0}
    assert abs(free.mean()) < 4 / np.sqrt(len(free))
    assert (first != random_labeling(bags, np.random.RandomState(6))).any()
