"""Fresh drawings of bags, by the protocol of the tables with other seeds.

``python docs/drawings.py FILE`` writes ``docs/results/drawings.csv`` anew, of the results of

    propcvx reproduce table-linear --set seed=1 --data heart,vote,australian --bag-sizes 32,64
        --methods MeanMap,InvCal,conv-pSVM --results FILE

with seeds from 1 on: each draws bags, folds and random labelings five times.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from report_tables import all_entries

from propcvx.experiments.reproduce import Protocol, Selection, Store, plan
from propcvx.experiments.reproduce.entries import Entry, entries_of, grouped
from propcvx.experiments.tables import markdown_table, parameter_text, spread_text

FILE = Path(__file__).with_name("results") / "drawings.csv"
DATA = ["heart", "vote", "australian"]
SIZES = [32, 64]
METHODS = ["MeanMap", "InvCal", "conv-pSVM"]
SEEDS = range(1, 5)
STUDY = FILE.with_name("draws.csv")
FIXED: dict[str, dict[str, Any]] = {
    "MeanMap": {"lam": 1.0, "likelihood": "mean"},
    "InvCal": {"C_p": 1.0, "epsilon": 0.01},
    "alter-pSVM": {"C": 1.0, "C_p": 10.0},
    "conv-pSVM": {
        "C": 1.0,
        "epsilon": 0.01,
        "intercept": "center",
        "relaxation__max_cuts": 1,
    },
}
"""Parameters of the study of draws, as combinations of the tables' grids have them."""

PLACE = ["bag_size", "method", "data"]


def write(results: Path) -> None:
    """The drawings of which all sets, sizes and methods are done, a row for each of them."""
    rows = Store(results, read_only=True).rows()
    frame = pd.DataFrame([row for seed in SEEDS for row in _of_seed(seed, rows)])
    counts = frame.groupby(["seed", "repetition"])["method"].transform("size")
    whole = frame[counts == len(DATA) * len(SIZES) * len(METHODS)]
    whole.to_csv(FILE, index=False, float_format="%.4f", lineterminator="\n")


def _of_seed(seed: int, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    protocol = Protocol().with_options(seed=seed)
    for repetition in range(5):
        chosen = Selection(DATA, None, SIZES, METHODS, [repetition])
        for entry in entries_of("table-linear", plan("table-linear", protocol, chosen), rows):
            if entry.accuracies:
                yield {"seed": seed, "repetition": repetition, **_described(entry)}


def _described(entry: Entry) -> dict[str, Any]:
    return {
        **{name: getattr(entry, name) for name in PLACE},
        "accuracy": entry.mean,
        "chosen_by_test": float(np.mean(entry.for_all_folds_by_test)),
    }


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    fresh = pd.read_csv(FILE)
    return {
        "results_causes": fixed_causes_table(pd.read_csv(STUDY)),
        "results_drawings": causes_table(fresh),
        "drawings": str(len(fresh[["seed", "repetition"]].drop_duplicates())),
    }


def fixed_causes_table(study: pd.DataFrame) -> str:
    """With the fixed parameters of the study of draws: on the tables' drawings, and on its own.

    Means over heart and vote, linear kernel, bags of 32 and 64.
    """
    study = study[(study["deal"] == 0) & study["bag_size"].isin(SIZES)]
    entries = [
        entry
        for entry in all_entries("table-linear")
        if entry.data in set(study["data"]) and entry.bag_size in SIZES
    ]
    rows = []
    for method, group in grouped(entries, lambda entry: entry.method).items():
        name = parameter_text(FIXED[method])
        theirs = float(np.mean([e.paper.accuracy for e in group if e.paper]))
        ours = float(np.mean([e.mean for e in group]))
        fixed = float(np.mean([e.combinations[name] for e in group]))
        fresh = study[study["method"] == method]["accuracy"].mean()
        parts = [ours - fixed, fixed - fresh, fresh - theirs]
        means = [f"{mean:.1f}" for mean in (theirs, ours, fixed, fresh)]
        rows.append([method, *means, *(f"{part:+.1f}" for part in parts)])
    head = ["method", "print", "tables", "fixed, the tables' drawings", "fixed, twelve others"]
    return markdown_table([*head, "selection", "drawing", "rest"], rows)


def causes_table(fresh: pd.DataFrame) -> str:
    """What of the difference to print is the drawing, what the selection, and what is left.

    Means over the data sets; the deviation is that of the sets' mean over the drawings.
    """
    stored = {(e.bag_size, e.method, e.data): e for e in all_entries("table-linear")}
    head = ["bags of", "method", "print", "tables", "fresh", "fresh, chosen by test"]
    rows = []
    for (size, method), group in fresh.groupby(PLACE[:2], sort=False):
        entries = [stored[size, method, data] for data in DATA]
        theirs = float(np.mean([e.paper.accuracy for e in entries if e.paper]))
        ours = float(np.mean([e.mean for e in entries]))
        each = group.groupby(["seed", "repetition"])["accuracy"].mean()
        mean, best = each.mean(), group["chosen_by_test"].mean()
        parts = [ours - mean, mean - best, best - theirs]
        means = [f"{theirs:.1f}", f"{ours:.1f}", spread_text(mean, each.std()), f"{best:.1f}"]
        rows.append([str(size), method, *means, *(f"{part:+.1f}" for part in parts)])
    return markdown_table([*head, "drawing", "selection", "rest"], rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
