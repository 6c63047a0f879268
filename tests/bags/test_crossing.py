"""Bags that cross: against listing every labeling, in every order, and what they cannot do."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_labelings import arrays, bags_in_groupings, every_labeling, step_values
from sklearn.base import clone

from propcvx import (
    AlterPropSVM,
    BagKFold,
    Bags,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    LabelingStart,
    MeanMap,
    bag_error,
    bag_target,
    certify,
    proportions_of,
)
from propcvx.bags.bags import WITH_CROSSING
from propcvx.errors import CutBagWarning, IllPosedWarning, InfeasibleLabelingError, InputError
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES, constraint, epsilon_insensitive
from propcvx.relaxation.oracles import ORACLES

LOSSES = [*PROPORTION_LOSSES.values(), constraint(0.2), epsilon_insensitive(0.2)]


def two_groupings(seed, n=24, sizes=(6, 4), *, discrete=False):
    """Two noisy classes in two random partitions."""
    random = np.random.RandomState(seed)
    labels = random.choice([-1, 1], n)
    X = random.normal(size=(n, 3)) + labels[:, None]
    bags = [random.permutation(n) // size for size in sizes]
    return np.round(X) if discrete else X, labels, bags


def target(bags, labels, *known):
    return bag_target(bags, [proportions_of(labels, ids) for ids in bags], *known)


# The target


def test_a_target_has_the_bags_of_every_grouping():
    shares = [{"b": 0.5, "a": 1.0}, [0.5, 1.0]]
    y = bag_target([["a", "b", "b"], np.array([2, 2, 1])], shares, labels=[1, 0, 0])
    assert y["bag"].tolist() == [[0, 3], [1, 3], [1, 2]]
    assert y["proportion"].tolist() == [[1.0, 1.0], [0.5, 1.0], [0.5, 0.5]]
    assert y["size"].tolist() == [[1, 2], [2, 2], [2, 1]]
    bags = Bags.from_target(y)
    assert bags.crossing
    assert bags.membership.toarray().tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0]]
    assert bags.proportions.tolist() == [1.0, 0.5, 0.5, 1.0]
    assert bags.sizes.tolist() == [1, 2, 1, 2]
    assert [bags.name(k) for k in range(4)] == ["'a'", "'b'", "1", "2"]
    assert proportions_of([1, -1, 1], y) == {"a": 1.0, "b": 0.5, 1: 1.0, 2: 0.5}


def test_one_grouping_is_the_target_without_groupings():
    first, plain = bag_target([[0, 0, 1]], [[0.5, 1.0]]), bag_target([0, 0, 1], [0.5, 1.0])
    assert first.dtype == plain.dtype
    assert np.array_equal(first, plain)


def test_an_id_in_two_groupings_is_told_apart_by_the_number_of_the_grouping():
    y = bag_target([[0, 0, 1], [0, 1, 1]], [[0.5, 1.0], [1.0, 0.5]])
    shares = {(0, 0): 0.5, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 0.5}
    assert proportions_of([1, -1, 1], y) == shares


@pytest.mark.parametrize(
    ("bags", "proportions", "says"),
    [
        ([[0, 1], [0, 1]], [0.5, 0.5], r"one bag id for each instance, got \[0, 1\]"),
        ([[0, 1], [0, 1]], {0: 0.5}, "2 groupings"),
        ([[0, 1], [0, 1]], [[0.5, 0.5]], "2 groupings"),
        ([[0, 1], [0, 1, 1]], [[0.5, 0.5], [0.5, 0.5]], r"\[2, 3\] instances"),
    ],
)
def test_groupings_that_do_not_fit_are_refused(bags, proportions, says):
    with pytest.raises(InputError, match=says):
        bag_target(bags, proportions)


def test_names_of_columns_are_refused_where_there_is_no_table():
    with pytest.raises(InputError, match="classes names the columns"):
        bag_target([[0, 1], [0, 0]], [[0.0, 1.0], [0.5]], classes=["x", "y"])


def test_a_slice_warns_once_of_the_bags_of_all_groupings():
    y = bag_target([[0, 0, 1, 1], [0, 1, 0, 1]], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.warns(CutBagWarning) as warned:
        Bags.from_target(y[:2])
    assert [str(each.message)[:21] for each in warned] == ["2 of 3 bags lack rows"]


@given(bags_in_groupings(), st.data())
def test_some_instances_have_the_bags_that_are_left(bags, data):
    chosen = data.draw(st.permutations(range(bags.n_instances)))
    chosen = np.array(chosen[: data.draw(st.integers(1, len(chosen)))])
    left = bags.take(chosen)
    dense = bags.membership.toarray()[:, chosen]
    kept = dense.any(axis=1)
    assert np.array_equal(left.membership.toarray(), dense[kept])
    assert np.array_equal(left.sizes, dense[kept].sum(axis=1))
    assert np.array_equal(left.whole, (left.sizes == bags.sizes[kept]) & bags.whole[kept])


# Counts that can be had at once, beside tests/labelings/test_labelings.py


@given(bags_in_groupings(), st.sampled_from([0.0, 0.1, "sampling"]), st.data())
@settings(max_examples=100)
def test_of_bags_that_were_cut_the_epsilon_that_is_named_is_enough(bags, epsilon, data):
    """Whatever is known of their instances."""
    left = data.draw(st.permutations(range(bags.n_instances)))[: data.draw(st.integers(1, 7))]
    known = data.draw(arrays(st.sampled_from((-1, 0, 1)), len(left)))
    bags = replace(bags.take(np.array(left)), labels=known)
    try:
        bags.count_range(epsilon)
    except InfeasibleLabelingError as failure:
        bags.count_range(float(str(failure).split("an epsilon of ")[1].split()[0]))


def test_three_groupings_without_whole_vertices_are_solved_by_integers():
    """Every two of four instances share a bag: the best fractional labels are one half."""
    bags = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    read = Bags.from_target(bag_target(bags, [[0.5, 0.5]] * 3))
    weights, scores = np.ones(read.n_bags), np.array([0.1, 0.2, -0.1, 0.05])
    loss = PROPORTION_LOSSES["absolute"]
    rows, counts = every_labeling(read)
    values = step_values(rows, counts, scores, read, loss, weights)
    labeling = best_labeling(scores, read, loss, weights)
    assert values[(rows == labeling).all(axis=1)][0] == pytest.approx(values.min(), rel=1e-12)
    with pytest.raises(InfeasibleLabelingError, match="crossing bags"):
        read.count_range(0.0)


# Errors of proportions


def test_bag_error_is_the_mean_over_the_bags_of_all_groupings():
    y = bag_target([[0, 0, 1, 1], [2, 3, 3, 3]], [[0.5, 1.0], [1.0, 2 / 3]])
    assert bag_error(y, [1, -1, 1, 1]) == 0.0
    assert bag_error(y, [-1, 1, 1, 1]) == pytest.approx((1 + 1 / 3) / 4)


# The methods


@pytest.mark.parametrize("model", [InvCal(C_p=2.0), MeanMap()])
def test_the_same_grouping_twice_says_nothing_new_to_bag_means(model):
    """Where bags weigh half as much, so that the sum over both groupings is that of one."""
    X, labels, (bags, _) = two_groupings(3)
    first, twice = clone(model).fit(X, target([bags], labels)), clone(model)
    if isinstance(model, InvCal):
        twice.set_params(C_p=model.C_p / 2)
    twice.fit(X, target([bags, bags], labels))
    assert twice.decision_function(X) == pytest.approx(
        first.decision_function(X), rel=1e-4, abs=1e-4
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name} {loss.epsilon}")
def test_the_same_grouping_twice_has_labels_as_good_as_one_sort(loss):
    for seed in range(10):
        X, labels, (bags, _) = two_groupings(seed, n=200, sizes=(17, 1))
        first, second = (
            Bags.from_target(target(groupings, labels)) for groupings in ([bags], [bags, bags])
        )
        weights = np.random.RandomState(seed).uniform(0.0, 5.0, first.n_bags)
        labelings = (
            best_labeling(X[:, 0], first, loss, weights),
            best_labeling(X[:, 0], second, loss, np.tile(weights / 2, 2)),
        )
        sorted_, joint = (
            HINGE.of(labeling, X[:, 0]).sum() + loss.total(first, weights, labeling)
            for labeling in labelings
        )
        assert joint == pytest.approx(sorted_, rel=1e-12)


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e6])
def test_alter_keeps_known_labels_and_ends_where_no_labeling_is_better(C):
    X, labels, bags = two_groupings(5, n=10, sizes=(5, 2))
    known = np.where(np.arange(10) % 4 == 0, labels, 0)
    y = target(bags, labels, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # with so small a C, w is nearly 0
        model = AlterPropSVM(C, 10.0 * C, n_init=2, random_state=0).fit(X, y)
    assert (model.labeling_[known != 0] == known[known != 0]).all()
    read, scores = Bags.from_target(y), model.decision_function(X)
    rows, counts = every_labeling(read)
    loss, weights = PROPORTION_LOSSES["absolute"], model.C_p * read.sizes / C
    values = step_values(rows, counts, scores, read, loss, weights)
    reached = values[(rows == model.labeling_).all(axis=1)][0]
    assert reached <= values.min() + 2e-4 * max(1.0, model.objective_ / C)


def test_alter_finds_the_best_objective_of_all_labelings():
    """From every labeling, on a problem of six instances."""
    X, labels, bags = two_groupings(1, n=6, sizes=(3, 2))
    y = target(bags, labels)
    rows, _ = every_labeling(Bags.from_target(y))
    starts = [LabelingStart(row, annealing=False) for row in rows]
    every = AlterPropSVM(init=starts).fit(X, y)
    few = AlterPropSVM(random_state=0).fit(X, y)
    assert few.objective_ == pytest.approx(every.start_objectives_.min(), rel=1e-4)


def test_a_fold_is_of_whole_bags_of_the_first_grouping():
    X, labels, bags = two_groupings(4)
    y = target(bags, labels)
    for train, test in BagKFold(2, random_state=0).split(X, y):
        assert not set(bags[0][train]) & set(bags[0][test])
    with pytest.warns(CutBagWarning):
        model = ConvPropSVM(epsilon=0.1).fit(X[train], y[train])
    with pytest.warns(CutBagWarning):
        assert 0.0 <= -model.score(X[test], y[test]) <= 1.0


# What they cannot do

REFUSED = {
    "certify": lambda X, y: certify(X, y),
    "lifted": ConvPropSVM(relaxation="lifted").fit,
    "diffrac": ConvPropSVM(relaxation="diffrac").fit,
    **{
        name: ConvPropSVM(relaxation=CuttingPlanes(oracle=name)).fit
        for name in ("eigenvalue", "semidefinite", "exhaustive", "sweep")
    },
    **{
        name: lambda X, y, name=name: getattr(Bags.from_target(y), name)
        for name in ("index", "members", "by_size", "free")
    },
    "enumerate": lambda X, y: next(FeasibleLabelings.of(Bags.from_target(y), 0.0).enumerate()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_a_partition_says_so(what):
    X, labels, bags = two_groupings(0)
    with pytest.raises(InputError, match=r"needs bags that do not cross.*take crossing bags"):
        REFUSED[what](X[:, :2], target(bags, labels))


def test_every_other_oracle_takes_crossing_bags():
    X, labels, bags = two_groupings(0, n=12, sizes=(6, 4))
    y = target(bags, labels)
    for name in set(ORACLES) - set(REFUSED):
        assert f"'{name}'" in WITH_CROSSING
        planes = CuttingPlanes(oracle=name, max_cuts=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ConvPropSVM(relaxation=planes).fit(X, y)
        assert bag_error(y, model.labeling_) == 0.0
        ids = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
        assert sorted(model.predict_proportions(X, y)) == ids


def test_shares_that_cross_impossibly_name_the_bags():
    """All of the first grouping's positives are in a bag that has none in the second."""
    y = bag_target([["a", "a", "b", "b"], ["c", "c", "d", "d"]], [[1.0, 0.0], [0.0, 1.0]])
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(InfeasibleLabelingError, match=r"bag '[abcd]'.*epsilon of 0\.5"):
        ConvPropSVM().fit(X, y)
    ConvPropSVM(epsilon=0.5).fit(X, y)
    ConvPropSVM(epsilon="rounding").fit(X, y)


def test_groupings_of_other_people_are_told_from_rounded_shares():
    """Two of eight are positive by one grouping and all by the other, so bags of 4 miss by two."""
    groupings = [np.repeat([0, 1], 4), np.tile([0, 1], 4)]
    bags = Bags.from_target(bag_target(groupings, [[0.25, 0.25], [1.0, 1.0]]))
    with pytest.warns(IllPosedWarning, match=r"as if .* other people\. Each .* by 2 positives"):
        assert [ends.tolist() for ends in bags.count_range("rounding")] == [
            [0, 0, 2, 2],
            [3, 3, 4, 4],
        ]
    with pytest.raises(InfeasibleLabelingError, match=r"as if they were of other people\."):
        bags.count_range(0.25)


def test_known_labels_are_bags_of_one_and_their_bags_the_rest():
    groupings = [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
    y = bag_target(groupings, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], [1, 0, 0, 0, 0, -1])
    apart = Bags.from_target(y).with_known_apart()
    assert apart.membership.toarray().tolist() == [
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 1, 0, 1, 0],
        [0, 1, 0, 1, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1],
    ]
    assert apart.proportions == pytest.approx([0.5, 0.5, 0.0, 1.0, 1.0, 0.0])
    assert [apart.name(bag) for bag in (4, 5)] == ["(0, 0)", "(0, 1)"]
