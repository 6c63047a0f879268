"""InvCal from a table of bag means, beside its fit to the instances."""

import re
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from small_problems import small_problem

from propcvx import (
    BagMeans,
    EcologicalRegression,
    InvCal,
    MeanMap,
    bag_target,
    fit_means,
    proportions_of,
)
from propcvx.errors import InputError


def table_of(problem, order=slice(None)):
    """The means of a problem's bags by pandas, their ids as words."""
    rows = pd.DataFrame(problem.X).groupby(problem.y["bag"])
    shares = pd.Series(proportions_of(problem.labels, problem.y["bag"]))
    names = [f"bag {k:03d}" for k in range(len(shares))]
    columns = rows.mean().to_numpy(), shares.to_numpy(), rows.size().to_numpy(), np.array(names)
    means, proportions, sizes, ids = (column[order] for column in columns)
    return BagMeans(means, proportions, sizes, ids.tolist())


INV_CALS = (
    {},
    {"C_p": 1e-6},
    {"C_p": 1e3},
    {"bag_weights": "size"},
    {"scaled_epsilon": True, "epsilon": "sampling"},
    {"bag_weights": np.arange(1.0, 31.0), "epsilon": np.linspace(0.0, 0.5, 30)},
)


@pytest.mark.parametrize(
    "method",
    [*(InvCal(solver_tol=1e-12, **given) for given in INV_CALS), EcologicalRegression()],
)
def test_the_fit_to_the_means_is_the_fit_to_the_instances(method):
    problem = small_problem(0, sizes=range(1, 31), n_features=3)
    by_rows = clone(method).fit(problem.X, problem.y)
    shuffled = np.random.default_rng(1).permutation(30)
    by_means = fit_means(method, table_of(problem, shuffled))
    if isinstance(getattr(method, "bag_weights", None), np.ndarray):  # in the order of sorted ids
        assert table_of(problem, shuffled).names != sorted(table_of(problem).names)
    assert by_means.coef_ == pytest.approx(by_rows.coef_, rel=1e-10, abs=1e-12)
    assert by_means.intercept_ == pytest.approx(by_rows.intercept_, rel=1e-10, abs=1e-10)
    assert by_means.objective_ == pytest.approx(by_rows.objective_, rel=1e-10, abs=1e-12)
    assert (by_means.predict(problem.X) == by_rows.predict(problem.X)).all()
    assert not hasattr(by_means, "labeling_")
    assert hasattr(by_means, "predict_proba") == isinstance(method, EcologicalRegression)


def test_a_bag_without_a_share_does_not_count():
    table = table_of(small_problem(2, sizes=[4] * 10))
    shares = [*table.proportions[:-1], None]
    without = BagMeans(table.means[:-1], table.proportions[:-1], table.sizes[:-1])
    known, all_bags = (
        fit_means(InvCal(), without),
        fit_means(InvCal(), BagMeans(table.means, shares, table.sizes)),
    )
    assert all_bags.coef_ == pytest.approx(known.coef_, rel=1e-12)


@pytest.mark.parametrize("method", [InvCal(solver_tol=1e-12), EcologicalRegression()])
def test_joined_tables_are_one_table_with_the_bags_of_all(method):
    problem = small_problem(1, sizes=[4] * 10, n_features=3)
    first, second = table_of(problem), table_of(small_problem(2, sizes=[5] * 8, n_features=3))
    joined = BagMeans.concat([first, second])
    columns = ([*a, *b] for a, b in zip(*map(columns_of, (first, second)), strict=True))
    by_hand = fit_means(clone(method), BagMeans(*columns))
    fitted = fit_means(clone(method), joined)
    assert joined.names[10] == (1, "bag 000")
    assert fitted.coef_ == pytest.approx(by_hand.coef_, rel=1e-12)
    with pytest.raises(InputError, match=r"one bag id for each instance.*BagMeans\.concat"):
        bag_target([[0, 0, 1], [0, 1, 1]], [[0.5, 1.0], [0.5, 0.5]])


def columns_of(table):
    return table.means, table.proportions, table.sizes


@pytest.mark.parametrize("keyed", [dict, pd.Series])
def test_shares_and_sizes_may_be_keyed_by_bag(keyed):
    means, ids = [[0.0], [1.0], [3.0]], ["b", "c", "a"]
    listed = BagMeans(means, [0.1, 0.2, 0.7], [10, 20, 30], ids)
    shares, sizes = {"a": 0.7, "b": 0.1, "c": 0.2, "d": 0.9}, {"c": 20, "b": 10, "a": 30}
    named = BagMeans(means, keyed(shares), keyed(sizes), ids)
    for name in ("proportions", "sizes"):
        np.testing.assert_array_equal(getattr(named.bags, name), getattr(listed.bags, name))


def test_an_index_of_numbers_names_bags_unless_it_numbers_the_rows():
    means, shares = [[0.0], [1.0], [2.0]], pd.Series({1: 0.8, 2: 0.5, 3: 0.2})
    assert hasattr(shares.index, "step"), "pandas makes a RangeIndex of these keys"
    table = BagMeans(means, shares, [10] * 3, ids=[3, 2, 1])
    assert table.bags.proportions.tolist() == [0.2, 0.5, 0.8]
    with pytest.raises(InputError, match=r"must name every bag of ids, got none of .'1'"):
        BagMeans(means, shares, [10] * 3, ids=["1", "2", "3"])
    rows = pd.DataFrame({"bag": ["c", "a", "b"], "x": [2.0, 0.0, 1.0]})
    with pytest.raises(InputError, match="ids must have its rows in the order of means"):
        BagMeans(rows.sort_values("x")[["x"]], [0.1, 0.5, 0.9], [9] * 3, rows["bag"])


@pytest.mark.parametrize("index", [None, [7, 8, 9], [1, 2, 0]])
def test_columns_of_a_table_are_in_the_order_of_its_rows(index):
    columns = {"x": [0.0, 1.0, 3.0], "share": [0.1, 0.2, 0.7], "size": [10, 20, 30]}
    rows = pd.DataFrame({"bag": [2, 0, 1], **columns}, index=index)
    table = BagMeans(rows[["x"]], rows["share"], rows["size"], rows["bag"])
    assert table.bags.proportions.tolist() == columns["share"]
    assert table.bags.sizes.tolist() == columns["size"]


def by_pandas(line, rows):
    return eval(line, {"rows": rows}).reset_index()


def by_polars(line, rows):
    polars = pytest.importorskip("polars")
    return eval(line, {"rows": polars.from_pandas(rows), "pl": polars}).to_pandas()


def by_duckdb(line, rows):
    return eval(line, {"duckdb": pytest.importorskip("duckdb"), "rows": rows}).df()


def by_sqlite(line, rows):
    with sqlite3.connect(":memory:") as base:
        rows.to_sql("rows", base, index=False)
        return pd.DataFrame(base.execute(line))


@pytest.mark.parametrize(
    ("name", "run"),
    [("pandas", by_pandas), ("Polars", by_polars), ("DuckDB", by_duckdb), ("SQL", by_sqlite)],
)
def test_the_lines_of_the_page_make_the_table(name, run):
    page = Path(__file__).resolve().parents[2] / "docs" / "large_data.md"
    lines = dict(re.findall(r"^\| (\w+) \| `(.*)` \|$", page.read_text(), re.MULTILINE))
    problem = small_problem(3, sizes=[6] * 8)
    shares = proportions_of(problem.labels, problem.y["bag"])
    rows = pd.DataFrame(problem.X, columns=["x", "z"]).assign(
        bag=problem.y["bag"], share=pd.Series(problem.y["bag"]).map(shares)
    )
    ids, x, z, proportions, sizes = run(lines[name], rows).to_numpy().T
    table = BagMeans(np.column_stack([x, z]), proportions, sizes, ids.tolist())
    expected = InvCal().fit(problem.X, problem.y).coef_
    assert fit_means(InvCal(), table).coef_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([[0.0], [1.0]], [0.5, 1.0], [3]), "sizes must be the number of instances of each"),
        (([[0.0], [1.0]], [0.5, 1.0], [3, 0]), "whole numbers of at least 1"),
        (([[0.0], [1.0]], [0.5], [3, 3]), "proportions must have one entry"),
        (([[0.0], [1.0]], [0.5, 1.0], [3, 3], ["a", "a"]), "ids must name each bag once"),
        (([[0.0], [1.0]], {"a": 0.5, "b": 1.0}, [3, 3]), r"the keys \['a', 'b'\]; ids="),
        (([[0.0], [1.0]], [0.5, 1.0], {"a": 3, "b": 3}), r"the keys \['a', 'b'\]; ids="),
        (([[0.0], [1.0]], {"a": 0.5}, [3, 3], ["a", "b"]), r"got none of \['b'\]"),
    ],
)
def test_a_table_that_does_not_fit_together(columns, message):
    with pytest.raises(InputError, match=message):
        BagMeans(*columns)


def test_what_fit_means_refuses():
    table = BagMeans([[0.0], [1.0]], [0.5, 1.5], [3, 3])
    with pytest.raises(InputError, match=r"proportions must be numbers in \[0, 1\]"):
        fit_means(InvCal(), table)
    with pytest.raises(InputError, match="kernel must be 'linear'"):
        fit_means(InvCal(kernel="rbf"), BagMeans([[0.0], [1.0]], [0.5, 0.7], [3, 3]))
    with pytest.raises(InputError, match="MeanMap needs the instances"):
        fit_means(MeanMap(), BagMeans([[0.0], [1.0]], [0.5, 0.7], [3, 3]))
