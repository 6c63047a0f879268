"""Labelings: sorting against the boolean programs and against listing every labeling."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from propcvx import Bags, bag_target
from propcvx.errors import InfeasibleLabelingError, InputError
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling, random_labeling
from propcvx.labelings.losses import HINGE, INSTANCE_LOSSES, PROPORTION_LOSSES
from propcvx.programs import labeling_step as labeling_program
from propcvx.programs import linear_separation
from propcvx.solvers import solve

LOSSES = st.sampled_from(list(PROPORTION_LOSSES.values()))
WEIGHTS = st.sampled_from([0.0, 1e-3, 0.5, 1.0, 4.0, 1e3, 1e9]) | st.floats(0, 20)
SCORES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]) | st.floats(-5, 5)
"""Many equal ones, among them the corners of the hinge."""

EPSILONS = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]) | st.floats(0, 1)


def arrays(entries, size):
    return st.lists(entries, min_size=size, max_size=size).map(np.array)


@st.composite
def bags_of_few(draw, max_bags=3, max_size=4, most=9):
    """Shuffled bags, some labels known, proportions within half an instance of a count."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_bags))
    index = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    assume(len(index) <= most)
    truth = draw(arrays(st.sampled_from((-1, 1)), len(index)))
    known = draw(arrays(st.sampled_from((0, 0, 1)), len(index)))
    off = draw(arrays(st.sampled_from((0.0, 0.0, 0.4, -0.4, 0.5)), len(sizes)))
    counts = np.bincount(index, weights=truth > 0)
    shares = np.clip((counts + off) / sizes, 0.0, 1.0)
    return Bags.from_target(bag_target(index, shares, truth * known))


@st.composite
def bags_and_scores(draw, columns=(), **options):
    bags = draw(bags_of_few(**options))
    shape = (bags.n_instances, *columns)
    return bags, draw(arrays(SCORES, int(np.prod(shape)))).reshape(shape)


@st.composite
def labeling_steps(draw):
    """The arguments of ``best_labeling``, by name."""
    bags, scores = draw(bags_and_scores())
    weights = draw(arrays(WEIGHTS, bags.n_bags))
    return {"scores": scores, "bags": bags, "loss": draw(LOSSES), "weights": weights}


def all_labelings(bags):
    """Every vector of -1 and +1 that agrees with the labels that are known."""
    every = np.array(list(product((-1.0, 1.0), repeat=bags.n_instances)))
    known = bags.labels != 0
    return every[(every[:, known] == bags.labels[known]).all(axis=1)]


def shares_of(bags, rows):
    """Share of positives of labelings, one per row: shape (n_labelings, n_bags)."""
    return np.array([(rows[:, bags.index == k] > 0).mean(axis=1) for k in range(bags.n_bags)]).T


def step_cost(scores, bags, loss, weights, rows, instance_loss=HINGE):
    """The objective of eq:solving_y for labelings, one per row."""
    counts = np.rint(shares_of(bags, rows) * bags.sizes).astype(int)
    costs = loss.costs(bags, weights)
    of_bags = np.array([[cost[m] for cost, m in zip(costs, row, strict=True)] for row in counts])
    return instance_loss.of(rows, scores).sum(axis=1) + of_bags.sum(axis=1)


def feasible_or_nearest(bags, epsilon):
    try:
        return FeasibleLabelings.of(bags, epsilon)
    except InfeasibleLabelingError:
        return FeasibleLabelings.nearest(bags)


# The labeling step of alter-pSVM


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", INSTANCE_LOSSES)
@given(labeling_steps())
@settings(max_examples=50)
def test_labeling_step_is_the_best_of_all_labelings(name, weighted, step):
    bags = step["bags"]
    heavy = np.random.RandomState(0).uniform(0.1, 3.0, bags.n_instances)
    step["instance_loss"] = replace(INSTANCE_LOSSES[name], weights=heavy if weighted else 1.0)
    labeling = best_labeling(**step)
    assert set(np.unique(labeling)) <= {-1.0, 1.0}
    assert (labeling == bags.labels)[bags.labels != 0].all()
    reached = step_cost(**step, rows=labeling[None])[0]
    least = step_cost(**step, rows=all_labelings(bags)).min()
    assert reached == pytest.approx(least, rel=1e-12, abs=1e-12)


@given(bags_and_scores(max_bags=5, max_size=8, most=25), st.floats(0, 50), st.floats(0, 0.4))
def test_sorting_solves_the_boolean_programs(problem, weight, epsilon):
    (bags, scores), loss = problem, PROPORTION_LOSSES["absolute"]
    weights = weight * np.linspace(0.5, 1.5, bags.n_bags)
    program = labeling_program(bags, loss).set(
        loss_positive=HINGE.of(1.0, scores),
        loss_negative=HINGE.of(-1.0, scores),
        weights=weights,
    )
    labeling = best_labeling(scores, bags, loss, weights)
    reached = step_cost(scores, bags, loss, weights, labeling[None])[0]
    assert solve(program, "highs").value == pytest.approx(reached, rel=1e-6, abs=1e-6)
    feasible = feasible_or_nearest(bags, epsilon)
    value = feasible.best(scores) @ scores
    separation = linear_separation(feasible).set(scores=scores)
    assert solve(separation, "highs").value == pytest.approx(value, abs=1e-6)


# Feasible labelings


@given(bags_of_few(), EPSILONS)
@settings(max_examples=100)
def test_the_feasible_labelings_are_those_within_epsilon(bags, epsilon):
    rows = all_labelings(bags)
    slack = 1e-6 / bags.sizes
    within = (np.abs(shares_of(bags, rows) - bags.proportions) <= epsilon + slack).all(axis=1)
    try:
        feasible = FeasibleLabelings.of(bags, epsilon)
    except InfeasibleLabelingError:
        assert not within.any()
        return
    assert [row in feasible for row in rows] == within.tolist()
    listed = np.array(list(feasible.enumerate()))
    assert len(listed) == within.sum()
    assert {tuple(row) for row in listed} == {tuple(row) for row in rows[within]}


@given(bags_of_few())
def test_nearest_is_feasible_for_the_smallest_epsilon_whichever_class_is_positive(bags):
    rows = all_labelings(bags)
    gaps = bags.sizes * np.abs(shares_of(bags, rows) - bags.proportions)
    excess = (gaps - gaps.min(axis=0)).max(axis=1)
    other = replace(bags, proportions=1 - bags.proportions, labels=-bags.labels)
    found, turned = (
        {tuple(sign * row) for row in FeasibleLabelings.nearest(one).enumerate()}
        for sign, one in ((1, bags), (-1, other))
    )
    assert turned == found
    assert found >= {tuple(row) for row in rows[excess <= 1e-9]}
    assert found <= {tuple(row) for row in rows[excess <= 3e-6]}, "3 times the slack of counts"


# The separation problem along one dimension


@given(bags_and_scores(columns=(3,)), EPSILONS)
@settings(max_examples=100)
def test_best_is_the_best_of_all_in_every_column(problem, epsilon):
    bags, scores = problem
    feasible = feasible_or_nearest(bags, epsilon)
    labeling, rows = feasible.best(scores), np.array(list(feasible.enumerate()))
    assert labeling.shape == scores.shape
    for column, found in zip(scores.T, labeling.T, strict=True):
        assert found in feasible
        assert found @ column == pytest.approx((rows @ column).max(), abs=1e-12)
        assert feasible.best(column) @ column == pytest.approx(found @ column, abs=1e-12)


@pytest.mark.parametrize("sizes", [(1,) * 50, (300, 1, 2, 77), (64,) * 20])
def test_many_bags_at_once_are_the_bags_one_by_one(sizes):
    random = np.random.RandomState(0)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    labels = random.choice((-1, 1), size=len(index))
    shares = np.bincount(index, weights=labels > 0) / sizes
    known = labels * (random.uniform(size=len(index)) < 0.2)
    bags = Bags.from_target(bag_target(index, shares, known))
    scores, weights = np.round(random.randn(len(index)), 1), random.uniform(0, 90, len(sizes))
    loss = PROPORTION_LOSSES["squared"]
    step, best = best_labeling(scores, bags, loss, weights), FeasibleLabelings.of(bags, 0.1)
    together = best.best(scores)
    for k, inside in enumerate(bags.members):
        alone, part = bags.take(inside), scores[inside]
        np.testing.assert_array_equal(step[inside], best_labeling(part, alone, loss, weights[[k]]))
        np.testing.assert_array_equal(together[inside], FeasibleLabelings.of(alone, 0.1).best(part))


# Integer counts


@pytest.mark.parametrize("size", range(1, 129))
def test_counts_are_integers(size):
    """Every count of a bag, for epsilon of exactly j instances."""
    counts = np.arange(size + 1)
    bags = Bags.from_target(bag_target(np.repeat(counts, size), counts / size))
    for j in {0, 1, min(2, size), min(3, size), size // 3, size // 2, size - 1, size}:
        lower, upper = bags.count_range(j / size)
        np.testing.assert_array_equal(lower, np.maximum(counts - j, 0))
        np.testing.assert_array_equal(upper, np.minimum(counts + j, size))


@given(st.integers(1, 200), st.floats(0, 1))
def test_the_error_names_an_epsilon_and_a_proportion_that_do(size, share):
    bags = Bags.from_target(bag_target(np.zeros(size, dtype=int), [share]))
    try:
        bags.count_range(0.0)
    except InfeasibleLabelingError as error:
        (named, wanted), *_ = re.findall(r"nearest (\S+)\).* epsilon of (\S+) ", str(error))
        lower, upper = bags.count_range(float(wanted))
        assert named in {f"{count}/{size}" for count in range(lower[0], upper[0] + 1)}
        with pytest.raises(InfeasibleLabelingError):
            bags.count_range(max(0.0, 0.99 * float(wanted) - 2e-6 / size))
    else:
        assert share * size == pytest.approx(round(share * size), abs=1e-6)


def test_one_error_names_all_infeasible_bags_and_the_epsilon_that_suffices():
    """Bags of three, one positive in each, whose proportions were written with two decimals."""
    ids = np.repeat([f"ward {k}" for k in range(8)], 3)[::-1]
    bags = Bags.from_target(bag_target(ids, dict.fromkeys(ids, 0.33) | {"ward 1": 0.4}))
    with pytest.raises(InfeasibleLabelingError) as raised:
        bags.count_range(0.0)
    message = str(raised.value)
    assert "of 8 of 8 bags within epsilon=0: bag 'ward 0' (p * n = 0.33 * 3 = 0.99" in message
    assert message.count("'ward") == 5
    assert "nearest 1/3) and 3 more. For all of them an epsilon of 0.06667 suffices" in message
    for counts in (bags.count_range(0.06667), bags.count_range("rounding")):
        np.testing.assert_array_equal(counts, 1)


@pytest.mark.filterwarnings("ignore::propcvx.errors.CutBagWarning")
def test_known_labels_of_a_cut_bag_may_exclude_every_count():
    half = bag_target([0, 0, 0, 0], [0.5], [1, 1, 0, 0])[:2]
    bags = Bags.from_target(half)
    text = r"= 1 positives, nearest 2/2\). For all of them an epsilon of 0.5 suffices"
    with pytest.raises(InfeasibleLabelingError, match=text):
        bags.count_range(0.0)
    assert [count.tolist() for count in bags.count_range(0.5)] == [[2], [2]]
    assert FeasibleLabelings.nearest(bags).lower.tolist() == [2]


# Random labelings


def test_random_labelings_are_fair_seeded_and_keep_what_is_known():
    labels = np.where(np.arange(2000) % 4 == 0, 1, 0)
    bags = Bags.from_target(bag_target(np.zeros(2000, dtype=int), [0.6], labels))
    first, again = (random_labeling(bags, np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first[labels == 1] == 1).all()
    free = first[labels == 0]
    assert set(free) == {-1.0, 1.0}
    assert abs(free.mean()) < 4 / np.sqrt(len(free))
    assert (first != random_labeling(bags, np.random.RandomState(6))).any()


def test_the_limit_of_listing_is_the_one_documented(monkeypatch):
    bags = Bags.from_target(bag_target([0, 0, 0, 0], [0.5]))
    monkeypatch.setattr("propcvx.labelings.feasible.MAX_ENUMERATED", 6)
    assert len(list(FeasibleLabelings.of(bags, 0.0).enumerate())) == 6
    monkeypatch.setattr("propcvx.labelings.feasible.MAX_ENUMERATED", 5)
    with pytest.raises(InputError, match="6 feasible"):
        list(FeasibleLabelings.of(bags, 0.0).enumerate())


# The order of the rows


def permutations(n):
    return st.permutations(range(n)).map(np.array)


@given(labeling_steps(), st.data())
@settings(max_examples=100)
def test_other_rows_and_names_of_bags_give_the_same_labels(step, data):
    """Ties are broken as given; where the rows stay, also as they are by default."""
    scores, bags, loss, weights = step.values()
    rows, order = np.arange(bags.n_instances), data.draw(permutations(bags.n_instances))
    old = data.draw(permutations(bags.n_bags))  # the old index of each bag
    given = data.draw(permutations(bags.n_instances)).astype(float)
    signs = random_labeling(bags, np.random.RandomState(0))
    for kept, ties in ((order, given), (rows, signs), (rows, None)):
        permuted = scores[kept], bags.take(kept, old), loss, weights[old]
        again = best_labeling(*permuted, ties=None if ties is None else ties[kept])
        np.testing.assert_array_equal(again, best_labeling(**step, ties=ties)[kept])
    here, there = (FeasibleLabelings.nearest(one) for one in (bags, bags.take(rows, old)))
    np.testing.assert_array_equal(there.best(scores), here.best(scores))
    listed = {tuple(labeling) for labeling in here.enumerate()}
    assert listed == {tuple(labeling) for labeling in there.enumerate()}


@given(bags_of_few(), LOSSES)
def test_equal_scores_keep_their_labels_where_the_counts_allow(bags, loss):
    before = random_labeling(bags, np.random.RandomState(0))
    scores, weights = np.zeros(bags.n_instances), np.full(bags.n_bags, 10.0)
    after = best_labeling(scores, bags, loss, weights, ties=before)
    for bag in range(bags.n_bags):
        changes = (after - before)[bags.index == bag]
        assert (changes >= 0).all() or (changes <= 0).all(), "flips in one direction only"
