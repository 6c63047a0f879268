"""Bag targets: every kind of id and proportions, slices, and targets that were changed."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from propcvx import Bags, bag_target
from propcvx.bags.targets import BAG_DTYPE, bag_proportions, is_bag_target
from propcvx.errors import InputError, SolverError, SplitBagWarning

IDS = {
    "strings": ["b", "a", "b", "c"],
    "integers": [7, -3, 7, 1000],
    "tuples": [(1, "x"), (0, "y"), (1, "x"), (1, "z")],
    "floats": [0.5, 0.25, 0.5, 3.0],
    "array": np.array([20, 10, 20, 30]),
    "series": pd.Series(["b", "a", "b", "c"], index=[3, 2, 1, 0]),
    "categories": pd.Series(["b", "a", "b", "c"]).astype("category"),
    "letters": "babc",
}
"""The second bag in sorted order has two instances, the others have one."""


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_proportions_in_order_of_sorted_ids(ids):
    y = bag_target(ids, [0.0, 0.5, 1.0])
    assert y.dtype == BAG_DTYPE
    assert y["bag"].tolist() == [1, 0, 1, 2]
    assert y["proportion"].tolist() == [0.5, 0.0, 0.5, 1.0]
    assert y["size"].tolist() == [2, 1, 2, 1]
    assert y["label"].tolist() == [0, 0, 0, 0]


def test_bag_ids_in_column_without_dtype_names():
    """The dtype of a Series of polars has no names."""

    class Column(list):
        dtype = SimpleNamespace()

    assert bag_proportions([1, -1, 1], Column("aab")) == {"a": 0.5, "b": 1.0}


def test_ids_that_cannot_be_sorted_need_dict():
    ids = ["a", 1, (2, 3), "a"]
    with pytest.raises(InputError, match=r"cannot be sorted.*Pass a dict keyed by bag id"):
        bag_target(ids, [0.5, 0.0, 1.0])
    y = bag_target(ids, {1: 0.0, (2, 3): 1.0, "a": 0.5})
    assert y["proportion"].tolist() == [0.5, 0.0, 1.0, 0.5]
    assert len(np.unique(y["bag"])) == 3


@given(st.data())
def test_target_round_trip_keeps_bags_and_proportions(data):
    ids = data.draw(st.lists(st.integers(-50, 50), min_size=1, max_size=20))
    names = sorted(set(ids))
    shares = {name: data.draw(st.floats(0, 1)) for name in names}
    y = bag_target(ids, shares)
    assert y["proportion"].tolist() == [shares[name] for name in ids]
    assert y["size"].tolist() == [ids.count(name) for name in ids]
    bags = Bags.from_target(y)
    assert bags.proportions.tolist() == [shares[name] for name in names]
    assert bags.sizes.tolist() == [ids.count(name) for name in names]
    assert [names[k] for k in bags.index] == ids
    assert bags.is_complete.all()
    assert (bags.n_bags, bags.n_instances) == (len(names), len(ids))
    random = np.random.RandomState(0)
    features, labeling = random.randn(len(ids), 2), random.choice((-1.0, 1.0), size=len(ids))
    means = bags.means_of(features)
    for k, name in enumerate(names):
        inside = np.array(ids) == name
        np.testing.assert_array_equal(bags.membership.toarray()[k], inside)
        np.testing.assert_allclose(means[k], features[inside].mean(axis=0), atol=1e-12)
        assert bags.proportions_of(labeling)[k] == pytest.approx((labeling[inside] > 0).mean())


# Slices


@pytest.mark.parametrize(
    "take",
    [lambda y, rows: Bags.from_target(y[rows]), lambda y, rows: Bags.from_target(y).take(rows)],
    ids=["target", "bags"],
)
def test_slices_keep_sizes_and_proportions_of_whole_bags(take):
    y = bag_target("abbacc", [0.5, 1.0, 0.0], [0, 1, 0, -1, 0, 0])
    part = take(y, np.array([5, 4, 0, 3]))
    assert part.index.tolist() == [1, 1, 0, 0]
    assert part.proportions.tolist() == [0.5, 0.0]
    assert part.labels.tolist() == [0, 0, 0, -1]
    assert part.sizes.tolist() == [2, 2]
    assert part.is_complete.all()


def test_split_bags_warn_and_name_bag_splitter():
    y = bag_target(["a", "a", "a", "b", "b"], [1 / 3, 0.5])
    text = r"1 of 2 bags lack rows \(the first is bag 'a', with 2 of its 3 .*BagKFold"
    with pytest.warns(SplitBagWarning, match=text):
        bags = Bags.from_target(y[1:])
    assert bags.is_complete.tolist() == [False, True]
    assert bags.proportions.tolist() == [1 / 3, 0.5]
    assert [count.tolist() for count in bags.count_range()] == [[1, 1], [1, 1]], "the nearest count"


@pytest.mark.parametrize("size", [3_000_000, 5_000_000, 10**9])
def test_proportion_in_large_bag_gives_exact_count(size):
    counts = np.random.RandomState(0).randint(size, size=1000).astype(float)
    each = np.full(1000, float(size))
    bags = Bags.from_rows(np.arange(1000), counts / size, each, each).round_proportions()
    assert all((ends == counts).all() for ends in bags.count_range())


def test_concatenated_targets_warn_or_raise():
    """Their ids are lost, and the first bags of both have become one."""
    first, second, other = (
        bag_target([name] * 4, [p]) for name, p in (("a", 0.5), ("b", 0.5), ("c", 1.0))
    )
    with pytest.warns(
        SplitBagWarning, match=r"1 of 1 bags have too many rows .* 8 for its 4 .* make one"
    ):
        Bags.from_target(np.concatenate([first, second]))
    with pytest.raises(InputError, match=r"several in bag 0.* make one with bag_target"):
        Bags.from_target(np.concatenate([first, other]))


@given(st.integers(2, 300), st.data())
def test_rounded_proportion_has_cost_zero_at_its_count(size, data):
    positives = data.draw(st.integers(0, size))
    bags = Bags.from_target(bag_target(np.zeros(size), [positives / size]))
    rounded = bags.round_proportions()
    gaps = [rounded.gaps(np.array([count]))[0] for count in range(size + 1)]
    assert gaps[positives] == 0.0
    assert np.count_nonzero(gaps) == size


@pytest.mark.parametrize(
    "way",
    [
        lambda y: y[::-1],
        lambda y: np.concatenate([y[:2], y[2:]]),
        lambda y: pickle.loads(pickle.dumps(y)),
        lambda y: train_test_split(np.zeros(6), y, shuffle=False, test_size=1)[2],
    ],
)
def test_messages_after_slicing_name_user_bag_ids(way):
    """The first bag is cut by one of them, which does not make a proportion of 2 feasible."""
    y = way(bag_target(["x", "x", "x", ("y", 1), ("y", 1), ("y", 1)], {"x": 0.5, ("y", 1): 0.5}))
    assert is_bag_target(y)
    y["proportion"] = 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SplitBagWarning)
        with pytest.raises(InputError, match=r"got 2.0 for bag ('x'|\('y', 1\));"):
            Bags.from_target(y)


def test_ids_in_array_are_plain_numbers():
    ids = np.array([7, -3, 7, 2**62], dtype=np.int64)
    shares = bag_proportions([1, 1, -1, -1], ids)
    assert shares == bag_proportions([True, True, False, False], ids)
    assert shares == {-3: 1.0, 7: 0.5, 2**62: 0.0}
    assert all(type(bag) is int for bag in shares)
    assert bag_target(ids, shares).dtype.metadata == {"ids": (-3, 7, 2**62)}


def test_solver_error_survives_worker_process():
    error = pickle.loads(pickle.dumps(SolverError("no answer", "osqp", "infeasible")))
    assert (str(error), error.solver, error.status) == ("no answer", "osqp", "infeasible")
