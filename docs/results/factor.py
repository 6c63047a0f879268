"""Accuracy of the support vector machines by the factor f in C = f / s^2; see defaults.md."""

from itertools import product

import numpy as np
import pandas as pd
from counts import CHOSEN_ON, CONFIRMED_ON, KINDS, loaded
from natural import NATURAL
from study import HERE, complete

from propcvx import AlterPropSVM, BagKFold, ConvPropSVM, bag_proportions, bag_target

METHODS = {"AlterPropSVM": AlterPropSVM, "ConvPropSVM": ConvPropSVM}
FACTORS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def measure(data, kind, method):
    """Accuracy in percent on a held-out fifth of the bags, for each factor."""
    X, labels, bags = loaded(data, kind, 0, "standard")
    y = bag_target(bags, bag_proportions(labels, bags))
    n_folds = min(5, len(np.unique(bags)))
    train, test = next(BagKFold(n_folds, random_state=0).split(X, y))
    unit = X[train].var(axis=0).sum()
    for factor in FACTORS:
        fit = METHODS[method](C=factor / unit).fit(X[train], y[train])
        yield {"factor": factor, "accuracy": 100.0 * np.mean(fit.predict(X[test]) == labels[test])}


def means():
    """Mean accuracy of each method and factor, on the sets chosen on, checked on, and natural."""
    rows = pd.read_csv(HERE / "factor.csv")
    parts = [rows["kind"] == "natural", rows["data"].isin(CHOSEN_ON)]
    rows["part"] = np.select(parts, ["natural", "chosen on"], "checked on")
    keys = ["method", "part", "data", "factor"]
    of_sets = rows.groupby(keys)["accuracy"].mean()
    return of_sets.groupby(["method", "part", "factor"]).mean().unstack().round(1)


if __name__ == "__main__":
    grid = [*product((*CHOSEN_ON, *CONFIRMED_ON), KINDS), *product(NATURAL, ["natural"])]
    cells = [
        dict(zip(("data", "kind", "method"), (*place, method), strict=True))
        for place, method in product(grid, METHODS)
    ]
    complete(HERE / "factor.csv", cells, measure)
    print(means())
