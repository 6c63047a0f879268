"""Shares of two groups of voters from totals, by several methods; the rows are in groups.csv."""

import json
import os
import subprocess
from functools import cache
from itertools import product

import numpy as np
from reproduction.other_methods import GoodmanRegression
from study import HERE, complete

from propcvx import Bags, InvCal, MeanMap, bag_target, group_shares, proportions_of
from propcvx.datasets import load_ballots, random_bags
from propcvx.labelings.feasible import FeasibleLabelings

BALLOTS = 6400
"""How many ballots are in bags."""

BAGS = ("boxes", "places")
"""Random boxes of 128; or ballots of one district and day with equal votes in two contests."""

RESAMPLES, LEVEL = 40, 0.9

PLACES = ("cd", "voteday", "v_SOL", "v_TAX")

PYEI = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from pyei.two_by_two import TwoByTwoEI
group, votes, sizes, seed = json.load(sys.stdin)
model = TwoByTwoEI("king99_pareto_modification", pareto_scale=15, pareto_shape=2)
model.fit(np.array(group), np.array(votes), np.array(sizes), draws=400, tune=400, chains=2,
          cores=1, progressbar=False, random_seed=seed, target_accept=0.9)
prefs = model.sampled_voting_prefs
ends = [np.quantile(one, [0.05, 0.95]).tolist() for one in prefs]
print(json.dumps([[float(np.mean(one)), *end] for one, end in zip(prefs, ends)]))
"""
"""Run by the Python that PROPCVX_PYEI names, which has PyEI 1.1.4 and PyMC 5."""


@cache
def ballots(*by):
    """All ballots, in bags by these columns."""
    return load_ballots(by, download=False)


@cache
def sample(draw, bags):
    """Features, labels, bags and the group of some ballots: whose vote for the Senate was 1."""
    data, senate = ballots(*PLACES), ballots("v_USS")
    chosen = np.random.RandomState(draw).permutation(len(data.labels))[:BALLOTS]
    labels, group = data.labels[chosen], senate.bags[chosen] == 1
    if bags == "places":
        return data.X[chosen], labels, data.bags[chosen], group
    return ballots("cd").X[chosen], labels, random_bags(labels, 128, draw), group


def resampled_goodman(design, y, draw):
    """Rates of Goodman's regression, and their quantiles over bags drawn with replacement."""
    random, index = np.random.RandomState(draw), Bags.from_target(y).members

    def rates(rows, ids):
        shares = [float(y["proportion"][inside[0]]) for inside in rows]
        model = GoodmanRegression().fit(design[np.concatenate(rows)], bag_target(ids, shares))
        return model.decision_function(np.eye(2)) + 0.5

    def fit(chosen):
        rows = [index[bag] for bag in chosen]
        return rates(rows, np.repeat(np.arange(len(rows)), list(map(len, rows))))

    each = [fit(random.randint(len(index), size=len(index))) for _ in range(200)]
    ends = np.quantile(each, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.column_stack([fit(np.arange(len(index))), *ends])


def py_ei(group, y, draw):
    """Mean and 90% credible interval of both groups by the 2 x 2 model of PyEI."""
    bags = Bags.from_target(y)
    shares = bags.proportions_of(np.where(group, 1, -1))
    margin = np.clip(shares, 1e-3, 1 - 1e-3)  # as PyEI divides by them
    given = [margin.tolist(), bags.proportions.tolist(), bags.sizes.tolist(), draw]
    done = subprocess.run(
        [os.environ["PROPCVX_PYEI"], "-c", PYEI],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    of_group, of_rest = json.loads(done.stdout.strip().splitlines()[-1])
    return np.array([of_rest, of_group])


def labeled(X, y):
    """The labeling that fits the scores of InvCal best among those with the totals."""
    scores = InvCal(C_p=1.0, epsilon=0.1).fit(X, y).decision_function(X)
    return FeasibleLabelings.of(Bags.from_target(y), 0.0).best(scores)


def measure(draw, bags, method):
    """Estimate, interval, bounds and truth of both groups, and what holds of the cells."""
    X, labels, index, group = sample(draw, bags)
    y = bag_target(index, proportions_of(labels, index))
    n_resamples = RESAMPLES if method == "MeanMap" else 0
    model = {
        "MeanMap": lambda: MeanMap(lam=1.0).fit(X, y),
        "InvCal": lambda: InvCal(C_p=1.0, epsilon=0.1).fit(X, y),
        "labels of InvCal": lambda: labeled(X, y),
    }.get(method, lambda: None)()
    shares = group_shares(
        y, group, model, X, truth=labels, n_resamples=n_resamples, level=LEVEL, random_state=draw
    )
    table, cells = shares.groups, shares.cells
    if method in ("Goodman", "PyEI"):
        design = np.column_stack([~group, group]).astype(float)
        interval = (
            resampled_goodman(design, y, draw) if method == "Goodman" else py_ei(group, y, draw)
        )
        table[["estimate", "low", "high"]] = interval
    inside = (cells.least <= cells.truth + 1e-12) & (cells.truth <= cells.most + 1e-12)
    for name, row in table.iterrows():
        ends = {end: row.get(end, np.nan) for end in ("estimate", "low", "high")}
        yield {
            "group": "senator 1" if name else "others",
            "n_bags": len(np.unique(index)),
            **ends,
            **row[["least", "most", "truth"]],
            "cells": len(cells),
            "cells_inside": int(inside.sum()),
        }


METHODS = ("Goodman", "MeanMap", "InvCal", "labels of InvCal")


def summary(rows):
    """Errors in points, counts of covered truths and mean widths, by bags and method."""
    error = 100 * (rows.estimate - rows.truth)
    covered = (rows.low <= rows.truth) & (rows.truth <= rows.high)
    marks = rows.assign(
        error=error,
        squared=error**2,
        covered=covered.where(rows.low.notna()),
        width=100 * (rows.high - rows.low),
        outside=(rows.estimate < rows.least) | (rows.estimate > rows.most),
    )
    groups = marks.groupby(["bags", "group", "method"], sort=False)
    table = groups.agg(
        draws=("draw", "size"),
        bias=("error", "mean"),
        rms=("squared", lambda drawn: np.sqrt(drawn.mean())),
        covered=("covered", lambda drawn: drawn.sum(min_count=1)),
        width=("width", "mean"),
        outside=("outside", "sum"),
    )
    return table


if __name__ == "__main__":
    draws = range(10)
    cells = [
        {"draw": draw, "bags": bags, "method": method}
        for draw, bags, method in product(draws, BAGS, METHODS)
    ]
    if "PROPCVX_PYEI" in os.environ:
        cells += [
            {"draw": draw, "bags": bags, "method": "PyEI"} for draw, bags in product(range(3), BAGS)
        ]
    rows = complete(HERE / "groups.csv", cells, measure)
    print(summary(rows).round(2).to_string())
    drawn = rows.drop_duplicates(["draw", "bags"])
    print(f"true shares inside the bounds: {drawn.cells_inside.sum()} of {drawn.cells.sum()} cells")
    print(drawn.groupby("bags")[["n_bags", "least", "most"]].mean().round(3))
