"""How often intervals of groups contain the true rate where the logistic model is correct."""

from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit
from study import HERE, complete

from propcvx import (
    AggregateLogisticRegression,
    EcologicalRegression,
    bag_proportions,
    bag_target,
    group_rates,
)

RANDOM = [(50, 8, 1), (100, 8, 3), (400, 8, 3), (20, 50, 3), (100, 30, 10), (400, 8, 30)]
NATURAL = [(20, 50, 1), (50, 30, 3), (100, 20, 10), (400, 20, 30)]
UNEQUAL = [("random unequal", 100, 8, 3), ("natural unequal", 100, 20, 3)]
"""Numbers of bags, their size or its median, and columns."""
EACH = [*(("random", *of) for of in RANDOM), *(("natural", *of) for of in NATURAL), *UNEQUAL]
DESIGNS = {"{}, {} of {}, d = {}".format(*of): of for of in EACH}
METHODS = {"counts": AggregateLogisticRegression(), "line": EcologicalRegression()}
REPETITIONS = {"counts": 200, "line": 40}


def sample(design, random):
    """Instances, labels by the model with weights of norm 1.5, and bags."""
    kind, n_bags, size, d = DESIGNS[design]
    sizes = np.full(n_bags, size)
    if "unequal" in kind:
        sizes = np.maximum(1, np.exp(random.normal(np.log(size), 1.0, n_bags))).astype(int)
    bags = np.repeat(np.arange(n_bags), sizes)
    X = random.normal(size=(len(bags), d))
    if "natural" in kind:
        X = (X + random.normal(size=(n_bags, d))[bags]) / np.sqrt(2.0)
    w = random.normal(size=d)
    p = expit(X @ w * 1.5 / np.linalg.norm(w) - 0.5)
    return X, np.where(random.uniform(size=len(X)) < p, 1, -1), bags


def measure(design, repetition, method):
    """Interval and true rate of four groups of instances."""
    X, labels, bags = sample(design, np.random.RandomState(repetition))
    y = bag_target(bags, bag_proportions(labels, bags))
    model = METHODS[method].fit(X, y)
    table = group_rates(y, np.digitize(X[:, 0], [-1, 0, 1]), model, X, y_true=labels, n_draws=100)
    for group, row in table.groups.iterrows():
        interval = {"low": row["ci_low"], "high": row["ci_high"]}
        yield {"group": group, "estimate": row["estimate"], **interval, "truth": row["true"]}


def table():
    """Coverage, mean width and mean absolute error in percent, a row for each design."""
    rows = pd.read_csv(HERE / "coverage.csv")
    rows["covers"] = rows["truth"].between(rows["low"], rows["high"])
    rows["width"] = rows["high"] - rows["low"]
    rows["error"] = (rows["estimate"] - rows["truth"]).abs()
    return 100.0 * rows.pivot_table(["covers", "width", "error"], "design", "method", sort=False)


if __name__ == "__main__":
    each = [(method, k) for method, most in REPETITIONS.items() for k in range(most)]
    cells = [
        {"design": design, "repetition": k, "method": method}
        for (method, k), design in product(each, DESIGNS)
    ]
    complete(HERE / "coverage.csv", cells, measure)
    print(table().round(1).to_string())
