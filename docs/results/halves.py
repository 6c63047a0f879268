"""Errors of estimated rates of groups: halves of the instances, by the median of a column."""

import numpy as np
import pandas as pd
from natural import CHOSEN_ON, HELD_OUT, METHODS, NATURAL, loaded
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import scale
from study import HERE, complete

from propcvx import Bags, EcologicalRegression, bag_target, group_rates

MODELS = (
    "AggregateLogisticRegression",
    "EcologicalRegression",
    "ProportionScaler, EcologicalRegression",
    "InvCal",
    "MeanMap",
    "AlterPropSVM",
)
ALONE = "EcologicalRegression, that column alone"
WITH_INTERVAL = "AggregateLogisticRegression", "EcologicalRegression", ALONE
"""Whose intervals are counted; those of others take a fit for each resample."""
NONE = "no difference"
WAYS = ("share of the bag", "Goodman's regression", ALONE, *MODELS)
MOST_COLUMNS = 12
KINDS = ("natural bags", "random bags, sets held out", "random bags")


def goodman(group, y):
    """Rates of both groups by a regression of the proportions on the group's part of each bag."""
    bags = Bags.from_target(y)
    line = LinearRegression().fit(
        bags.means_of(group[:, None].astype(float)), bags.proportions, bags.sizes
    )
    return np.clip(line.predict([[0.0], [1.0]]), 0.0, 1.0)


def measure(data, kind, draw, method):
    """Of the differences between those above a column's median and the others, over columns."""
    X, labels, bags, proportions = loaded(data, kind, draw)
    y, positive = bag_target(bags, proportions), np.asarray(labels) > 0
    halves = np.asarray(X) > np.median(X, axis=0)
    parts = halves.mean(axis=0)
    columns = np.flatnonzero((parts > 0.1) & (parts < 0.9))[:MOST_COLUMNS]
    model = clone(METHODS[method]).fit(X, y) if method in MODELS else None
    truths, estimates, held, widths = [], [], [], []
    for column in columns:
        group = halves[:, column]
        if method == "share of the bag":
            rates = [y["proportion"][group == half].mean() for half in (False, True)]
        elif method == "Goodman's regression":
            rates = goodman(group, y)
        else:
            if method == ALONE:
                X = scale(group[:, None])
                model = EcologicalRegression().fit(X, y)
            n_draws = 100 * (method in WITH_INTERVAL)
            table = group_rates(y, group, model, X, y_true=labels, n_draws=n_draws).groups
            rates = table["estimate"].to_numpy()
            if n_draws:
                held += list((table.ci_low <= table["true"]) & (table["true"] <= table.ci_high))
                widths += list(100.0 * (table.ci_high - table.ci_low))
        truths.append(100.0 * (positive[group].mean() - positive[~group].mean()))
        estimates.append(100.0 * (rates[1] - rates[0]))
    truth, estimate = np.array(truths), np.array(estimates)
    yield {
        "error": np.mean((estimate - truth) ** 2),
        "product": np.mean(estimate * truth),
        "square": np.mean(truth**2),
        "held": np.mean(held) if held else np.nan,
        "width": np.mean(widths) if widths else np.nan,
    }


def cells():
    """Sets and ways; random bags have two assignments."""
    problems = [(data, "natural", 0) for data in NATURAL] + [
        (data, kind, draw)
        for draw in range(2)
        for data in (*CHOSEN_ON, *HELD_OUT)
        for kind in ("random 8", "random 32", "unequal")
    ]
    return [
        {"data": data, "kind": kind, "draw": draw, "method": method}
        for data, kind, draw in problems
        for method in WAYS
    ]


def pages():
    """Root mean squared errors in points, and the slope of estimates on true differences."""
    rows = pd.read_csv(HERE / "halves.csv")
    none = rows[rows["method"] == WAYS[0]].assign(method=NONE, product=0.0)
    rows = pd.concat([none.assign(error=none["square"]), rows])
    kinds = [rows["kind"] == "natural", rows["data"].isin(HELD_OUT)]
    rows["bags are"] = np.select(kinds, KINDS[:2], KINDS[2])
    groups = rows.groupby(["bags are", "method"])
    sums = groups[["product", "square"]].sum()
    slopes = (sums["product"] / sums["square"]).map(" ({:.2f})".format)
    by_set = np.sqrt(rows.groupby(["bags are", "method", "data"])["error"].mean())
    errors = by_set.groupby(["bags are", "method"]).mean().map("{:.1f}".format)
    counts = rows.groupby("bags are", sort=False)["data"].nunique()
    table = (errors + slopes).unstack("bags are").loc[[NONE, *WAYS], counts.index]
    table.columns = [f"{kind} ({count} sets)" for kind, count in counts.items()]
    table = table.rename(index={"share of the bag": "proportion of the bag"})
    return {"halves": rows_table(table.rename_axis("estimate").reset_index())}


if __name__ == "__main__":
    rows = complete(HERE / "halves.csv", cells(), measure).dropna(subset="held")
    print(pages()["halves"])
    kinds = rows["kind"] == "natural", rows["data"].isin(HELD_OUT)
    print(rows.groupby(["method", *kinds])["held"].mean())
