"""Tables of bag means: their columns, keys, and how other tools make them."""

import numpy as np
import pandas as pd
import pytest

from propcvx import BagMeans
from propcvx.errors import InputError


@pytest.mark.parametrize("keyed", [dict, pd.Series])
def test_bags_without_ids_are_keyed_by_row_number(keyed):
    table = BagMeans([[0.0], [1.0]], keyed({1: 0.8, 0: 0.2}), keyed({1: 20, 0: 10}))
    assert table.bags.proportions.tolist() == [0.2, 0.8]
    assert table.bags.sizes.tolist() == [10, 20]


@pytest.mark.parametrize("keyed", [dict, pd.Series])
def test_proportions_and_sizes_may_be_keyed_by_bag(keyed):
    means, ids = [[0.0], [1.0], [3.0]], ["b", "c", "a"]
    listed = BagMeans(means, [0.1, 0.2, 0.7], [10, 20, 30], ids)
    shares, sizes = {"a": 0.7, "b": 0.1, "c": 0.2, "d": 0.9}, {"c": 20, "b": 10, "a": 30}
    named = BagMeans(means, keyed(shares), keyed(sizes), ids)
    for name in ("proportions", "sizes"):
        np.testing.assert_array_equal(getattr(named.bags, name), getattr(listed.bags, name))


def test_numeric_index_names_bags():
    means, shares = [[0.0], [1.0], [2.0]], pd.Series({1: 0.8, 2: 0.5, 3: 0.2})
    assert hasattr(shares.index, "step"), "pandas makes a RangeIndex of these keys"
    table = BagMeans(means, shares, [10] * 3, ids=[3, 2, 1])
    assert table.bags.proportions.tolist() == [0.2, 0.5, 0.8]
    with pytest.raises(InputError, match=r"must name every bag of ids; missing: .'1'"):
        BagMeans(means, shares, [10] * 3, ids=["1", "2", "3"])
    rows = pd.DataFrame({"bag": ["c", "a", "b"], "x": [2.0, 0.0, 1.0]})
    with pytest.raises(InputError, match="ids must have its rows in the order of means"):
        BagMeans(rows.sort_values("x")[["x"]], [0.1, 0.5, 0.9], [9] * 3, rows["bag"])


@pytest.mark.parametrize("index", [None, [7, 8, 9], [1, 2, 0]])
def test_table_columns_follow_row_order(index):
    columns = {"x": [0.0, 1.0, 3.0], "share": [0.1, 0.2, 0.7], "size": [10, 20, 30]}
    rows = pd.DataFrame({"bag": [2, 0, 1], **columns}, index=index)
    table = BagMeans(rows[["x"]], rows["share"], rows["size"], rows["bag"])
    assert table.bags.proportions.tolist() == columns["share"]
    assert table.bags.sizes.tolist() == columns["size"]
