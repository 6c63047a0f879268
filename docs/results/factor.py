"""Accuracy of the support vector machines by the factor f in C = f / s^2; see defaults.md."""

from itertools import product

import numpy as np
import pandas as pd
from counts import CHOSEN_ON, CONFIRMED_ON, KINDS, divided, parts_of
from natural import NATURAL
from study import HERE, complete

from propcvx import AlterPropSVM, ConvPropSVM

METHODS = {"AlterPropSVM": AlterPropSVM, "ConvPropSVM": ConvPropSVM}
FACTORS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def measure(data, kind, method):
    """Accuracy in percent on a held-out fifth of the bags, for each factor."""
    X, labels, y, train, test = divided(data, kind, 0, "standard")
    unit = X[train].var(axis=0).sum()
    for factor in FACTORS:
        fit = METHODS[method](C=factor / unit).fit(X[train], y[train])
        yield {"factor": factor, "accuracy": 100.0 * np.mean(fit.predict(X[test]) == labels[test])}


def means():
    """Mean accuracy of each method and factor, on the sets chosen on, checked on, and natural."""
    rows = pd.read_csv(HERE / "factor.csv")
    rows["part"] = parts_of(rows)
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
