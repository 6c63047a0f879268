"""Rates of groups that no column of X defines, and columns that are constant within bags."""

import numpy as np
import pandas as pd
from natural import CHOSEN_ON, HELD_OUT, NATURAL, loaded
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale
from study import HERE, complete

from propcvx import (
    AggregateLogisticRegression,
    BagKFold,
    EcologicalRegression,
    bag_proportions,
    bag_target,
    check_fit,
    group_rates,
)
from propcvx.datasets.real import NATURAL_SETS, read_natural_set

METHODS = {
    "AggregateLogisticRegression": AggregateLogisticRegression(),
    "EcologicalRegression": EcologicalRegression(),
}
MOST_COLUMNS = 6
MOST_ROWS = 4000
"""Of larger sets that many rows in whole bags, drawn at random, or 20 bags."""
COLUMNS = ("all columns", "without the column", "with an indicator in its place")
LEVELS = ("without", "with")
OF_BAGS = {
    "bdf": "schoolSES denomina avg.IQ.ver.cen satiprin natitest meetings currmeet aritdiff",
    "egsingle": "size lowinc mobility",
    "guPrenat": "pcInd81 ssDist toilet",
}
"""Columns that have one value in each bag; bdf's percmino is not among them: it gives the label."""


def rates(X, y, labels, columns, method, way):
    """Compare the estimated rate of both halves of each column with the true one."""
    halves = np.asarray(X) > np.median(X, axis=0)
    parts = halves.mean(axis=0)
    for column in [k for k in columns if 0.1 < parts[k] < 0.9][:MOST_COLUMNS]:
        group = halves[:, column]
        seen = X if way == COLUMNS[0] else np.delete(X, column, axis=1)
        if way == COLUMNS[2]:
            seen = np.column_stack([seen, scale(group.astype(float))])
        model = clone(METHODS[method]).fit(seen, y)
        table = group_rates(y, group, model, seen, y_true=labels, n_draws=60).groups
        yield {
            "column": column,
            "error": 100.0 * np.abs(table["estimate"] - table["true"]).mean(),
            "covers": table["true"].between(table["ci_low"], table["ci_high"]).mean(),
        }


def measure_rates(data, kind, method, columns):
    """Estimates and intervals of groups, with a fit for each column."""
    X, labels, bags, _ = loaded(data, kind, 0)
    order = np.random.RandomState(0).permutation(np.unique(bags))
    sizes = pd.Series(bags).value_counts()[order].cumsum()
    rows = np.isin(bags, order[: max(20, np.searchsorted(sizes, MOST_ROWS))])
    X, labels, bags = scale(np.asarray(X)[rows]), np.asarray(labels)[rows], bags[rows]
    y = bag_target(bags, bag_proportions(labels, bags))
    yield from rates(X, y, labels, range(X.shape[1]), method, columns)


def measure_levels(data, repetition, method, columns):
    """Accuracy and AUC on held-out bags, and R^2, with or without the columns of bags."""
    row, of_bags = NATURAL_SETS[data], OF_BAGS[data].split()
    left_out = {*row.left_out.split()}
    left_out = left_out | {*of_bags} if columns == "without" else left_out - {*of_bags}
    X, labels, bags, proportions = read_natural_set(row._replace(left_out=" ".join(left_out)))
    y, labels = bag_target(bags, proportions), np.asarray(labels)
    train, test = next(BagKFold(5, random_state=repetition).split(X, y))
    model = clone(METHODS[method]).fit(X[train], y[train])
    r2 = check_fit(model, X[train], y[train], random_state=repetition).r2
    auc = roc_auc_score(labels[test], model.decision_function(X[test]))
    accuracy = 100.0 * np.mean(model.predict(X[test]) == labels[test])
    yield {"r2": r2, "accuracy": accuracy, "auc": auc}


def rate_cells():
    """Natural bags, and random bags of 32."""
    problems = [(data, "natural") for data in NATURAL]
    problems += [(data, "random 32") for data in (*CHOSEN_ON, *HELD_OUT)]
    return [
        {"data": data, "kind": kind, "method": method, "columns": columns}
        for data, kind in problems
        for method in METHODS
        for columns in COLUMNS
    ]


def level_cells():
    """Ten divisions of the three sets that have such columns."""
    return [
        {"data": data, "repetition": k, "method": method, "columns": columns}
        for data in OF_BAGS
        for k in range(10)
        for method in METHODS
        for columns in LEVELS
    ]


def coverage_and_error():
    """Coverage and error of groups with and without their column."""
    rows = pd.read_csv(HERE / "columns_rates.csv")
    rows["bags"] = np.where(rows["kind"] == "natural", "natural", "random")
    by_set = rows.groupby(["method", "columns", "bags", "data"], sort=False)[["covers", "error"]]
    return by_set.mean().groupby(["method", "columns", "bags"], sort=False).mean().unstack("bags")


def pages():
    """Fits with and without columns of bags, of the sets on which they differ."""
    levels = pd.read_csv(HERE / "columns_levels.csv")
    fits = levels.groupby(["data", "method", "columns"], sort=False)[["r2", "accuracy", "auc"]]
    formats = {"r2": "{:.2f}", "accuracy": "{:.1f}", "auc": "{:.2f}"}
    means = fits.mean().drop("bdf", level="data")
    texts = means.apply(lambda column: column.map(formats[column.name].format))
    shown = texts.rename(columns={"r2": "R^2", "auc": "AUC"}).reset_index()
    return {"columns_of_bags": rows_table(shown)}


if __name__ == "__main__":
    complete(HERE / "columns_levels.csv", level_cells(), measure_levels)
    complete(HERE / "columns_rates.csv", rate_cells(), measure_rates)
    print(coverage_and_error().round(3).to_string(), pages()["columns_of_bags"], sep="\n\n")
