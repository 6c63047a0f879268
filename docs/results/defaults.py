"""Where each start of alter-pSVM ends, for several C and C_p: see docs/results/alternating.md.

python docs/results/defaults.py measure FILE [DATA]    adds the rows that FILE does not have
python docs/results/defaults.py report FILE            prints the tables
"""

import itertools
import sys
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import minmax_scale
from study import mixed_psvm

from propcvx import (
    ConvPropSVM,
    InvCal,
    MethodStart,
    RandomStart,
    bag_target,
    fit_grid,
    proportions_of,
)
from propcvx.datasets import load_contraception, load_real, random_bags

CHOOSING = ("heart", "vote", "colic")
CONFIRMING = ("a1a", "breast-cancer", "diagnostic", "digits-3-8", "contraception")
SIZES, KERNELS, DRAWS, MOST = (4, 16, 64), ("linear", "rbf"), 4, 400
WEIGHTS = {
    "bag": [(1.0, 10.0), (1.0, 100.0)],
    "size": [(0.1, 1.0), (1.0, 10.0)],
}
METHODS = {"conv": ConvPropSVM(1.0), "InvCal": InvCal(C_p=1.0), "InvCal 1000": InvCal(C_p=1e3)}


def load(name, folder):
    """Instances, labels, and bags where the set has its own."""
    if name == "digits-3-8":
        X, codes = load_digits(return_X_y=True)
        kept = np.isin(codes, (3, 8))
        return minmax_scale(X[kept], (-1, 1)), np.where(codes[kept] == 3, 1, -1), None
    if name == "diagnostic":
        X, codes = load_breast_cancer(return_X_y=True)
        return minmax_scale(X, (-1, 1)), np.where(codes == 0, 1, -1), None
    if name == "contraception":
        data = load_contraception(data_home=folder)
        return data.X, data.labels, np.asarray(data.bags)
    X, labels = load_real(name, data_home=folder, random_state=0)
    return X, labels, None


def split(labels, places, size, draw):
    """Training instances, the others, and the bags of the former: a fifth is held out."""
    random = np.random.RandomState(draw)
    if places is not None:
        ids = random.permutation(np.unique(places))
        train = np.flatnonzero(np.isin(places, ids[len(ids) // 5 :][:20]))
        return train, np.setdiff1d(np.arange(len(places)), train), places[train]
    order = random.permutation(len(labels))
    train, test = np.split(order, [min(MOST, len(order) * 4 // 5)])
    return train, test, random_bags(labels[train], size, random_state=draw)


def cells():
    """Draw after draw, so that every set has some."""
    for draw, name, size, kernel in itertools.product(
        range(DRAWS), CHOOSING + CONFIRMING, SIZES, KERNELS
    ):
        if name != "contraception" or (size == SIZES[0] and kernel == "linear"):
            yield name, 0 if name == "contraception" else size, kernel, draw


def measure(name, size, kernel, draw, folder):
    """A row for every start."""
    X, labels, places = load(name, folder)
    train, test, bags = split(labels, places, size, draw)
    y = bag_target(bags, proportions_of(labels[train], bags))
    starts = {
        f"random {seed}": {"init": [RandomStart()], "random_state": [seed]} for seed in range(10)
    }
    for label, method in METHODS.items():
        starts[label] = {"init": [MethodStart(method, annealing=False)]}
    plan = [
        (label, {"bag_weights": [unit], "C": [C], "C_p": [C_p], **start})
        for unit, pairs in WEIGHTS.items()
        for C, C_p in pairs
        for label, start in starts.items()
    ]
    started = process_time()
    models = fit_grid(mixed_psvm(kernel=kernel), X[train], y, [grid for _, grid in plan])
    for (label, _), model in zip(plan, models, strict=True):
        seconds, started = process_time() - started, process_time()
        yield {
            "set": name, "size": size, "kernel": kernel, "draw": draw,
            "unit": model.bag_weights, "C": model.C, "C_p": model.C_p, "start": label,
            "objective": model.objective_, "accuracy": model.score(X[test], labels[test]),
            "bag_error": -model.score(X[train], y), "seconds": round(seconds, 4),
        }  # fmt: skip


def complete(file, folder):
    """Add what is missing."""
    keys = ["set", "size", "kernel", "draw"]
    done = set()
    if Path(file).exists():
        done = set(pd.read_csv(file)[keys].itertuples(index=False, name=None))
    for cell in cells():
        if cell not in done:
            rows = pd.DataFrame(measure(*cell, folder))
            rows.to_csv(file, mode="a", header=not Path(file).exists(), index=False)


INITS = {
    "10 random (printed)": ["random"],
    "the same, conv-pSVM and InvCal": ["random", "conv", "InvCal"],
    "5 random, conv-pSVM and InvCal": [*(f"random {k}" for k in range(5)), "conv", "InvCal"],
    "3 random": [f"random {k}" for k in (3, 4, 5)],
    "3 random, conv-pSVM and InvCal": [*(f"random {k}" for k in (3, 4, 5)), "conv", "InvCal"],
    "conv-pSVM and InvCal": ["conv", "InvCal"],
}
CELL = ["set", "size", "kernel", "draw", "unit", "C", "C_p"]


def chosen(rows, starts):
    """Of each fit the start with the smallest objective."""
    kept = rows[
        [any(f"{name} ".startswith(f"{start} ") for start in starts) for name in rows["start"]]
    ]
    kept = kept[kept["start"] != "InvCal 1000"]
    best = kept.loc[kept.groupby(CELL)["objective"].idxmin()].set_index(CELL)
    return best.assign(seconds=kept.groupby(CELL)["seconds"].sum())


def report(file):
    """Mean accuracies in percent, and how often a smaller objective was known."""
    rows = pd.read_csv(file)
    least = rows.groupby(CELL)["objective"].min()
    for title, sets in (("Choosing", CHOOSING), ("Confirming", CONFIRMING)):
        inside = rows[rows["set"].isin(sets)]
        table = {}
        for name, starts in INITS.items():
            ends = chosen(inside, starts)
            ends["missed"] = ends["objective"] > 1.001 * least.loc[ends.index]
            table[name] = ends.reset_index()
        ends = pd.concat(table, names=["starts"]).reset_index("starts")
        ends[["accuracy", "missed"]] *= 100.0
        print(f"\n{title}: {', '.join(sets)}\n")
        by = ["kernel", "unit", "C", "C_p"]
        default = ends[ends["starts"] == list(INITS)[1]]
        print(default.pivot_table("accuracy", by, "size", margins=True).round(1).to_markdown())
        new = ends[(ends["unit"] == "size") & (ends["C"] == 1.0)]
        columns = ["accuracy", "missed", "seconds"]
        print(new.groupby(["kernel", "starts"], sort=False)[columns].mean().round(2).to_markdown())
        print(new.groupby(["set", "kernel", "size"])["draw"].nunique().groupby("set").sum())


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        complete(sys.argv[2], *(sys.argv[3:] or [None]))
    else:
        report(sys.argv[2])
