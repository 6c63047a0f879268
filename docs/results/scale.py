"""What InvCal's C_p and MeanMap's lam have to be, in units of the data; see methods.md."""

from itertools import product

import numpy as np
import pandas as pd
from reproduction import Cell, Protocol
from reproduction.report import rows_table
from reproduction.tasks import task_of
from study import HERE, complete

from propcvx import InvCal, MeanMap, fit_grid

CHOSEN_ON = ("heart", "vote", "australian", "colic")
CONFIRMED_ON = ("dna-1", "satimage-2", "credit-a", "a1a")
LARGE = ("cod-rna.t",)
OWN = ("contraception", "guatemala-prenatal", "trump-2016", "ballots-groups")
KINDS = {"chosen on": CHOSEN_ON, "confirmed on": CONFIRMED_ON, "large": LARGE, "own bags": OWN}

METHODS = {"InvCal": (InvCal, "C_p", 2.0), "MeanMap": (MeanMap, "lam", 1.0)}
"""Of each method the class, the parameter, and what its default is multiplied by to be a unit."""
FIXED = (0.1, 1.0, 10.0)
"""The values of the paper's grids."""
IN_UNITS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0)
UNITS = [f"{factor} units" for factor in IN_UNITS]
REPETITIONS = 3


def measure(data, kernel, bag_size):
    """Mean accuracy in percent on the first of five folds, for each value, fixed or in units."""
    accuracies = {}
    protocol = Protocol().with_options(bags="random" if bag_size else "own")
    for repetition in range(REPETITIONS):
        task = task_of(Cell(data, kernel, bag_size, "InvCal", repetition, 0, protocol))
        for name, (method, parameter, times) in METHODS.items():
            fitted = method(kernel=kernel).fit(task.train.X, task.train.y)
            unit = times * getattr(fitted, f"{parameter}_")
            values = [*FIXED, *(factor * unit for factor in IN_UNITS)]
            names = [*map(str, FIXED), *UNITS]
            models = fit_grid(
                method(kernel=kernel), task.train.X, task.train.y, {parameter: values}
            )
            for value, model in zip(names, models, strict=True):
                correct = 100.0 * np.mean(model.predict(task.test.X) == task.test.labels)
                accuracies.setdefault((name, value), []).append(correct)
    for (name, value), of_repetitions in accuracies.items():
        yield {"method": name, "value": value, "accuracy": np.mean(of_repetitions)}


def table(rows):
    """Mean accuracy by method, kind of set and kernel, a column for each value."""
    kinds = {data: kind for kind, sets in KINDS.items() for data in sets}
    rows = rows.assign(sets=pd.Categorical(rows["data"].map(kinds), KINDS))
    by = ["method", "sets", "kernel"]
    groups = rows.groupby([*by, "value"], observed=True)["accuracy"]
    means = groups.mean().unstack("value")[[*map(str, FIXED), *UNITS]]
    best = rows.groupby([*by, "data", "bag_size"], observed=True)["accuracy"].max()
    best = best.groupby(by, observed=True).mean()
    return rows_table(means.assign(best=best).round(1).astype(str).reset_index())


if __name__ == "__main__":
    both = ("linear", "rbf")
    grid = [*product(CHOSEN_ON, both, (2, 8, 32, 64))]
    grid += [
        *product(CONFIRMED_ON[:3], both, (4, 16, 64)),
        *product(["a1a"], both[:1], (4, 16, 64)),
    ]
    grid += [*product(LARGE, both[:1], (2048, 8192)), *product(OWN, both[:1], [0])]
    cells = [dict(zip(("data", "kernel", "bag_size"), values, strict=True)) for values in grid]
    print(table(complete(HERE / "scale.csv", cells, measure)))
