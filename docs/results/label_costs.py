"""Are labels whose other label is proved to cost much the true ones; see truth.md."""

from itertools import product
from time import process_time

import numpy as np
from scipy.stats import rankdata
from shown import line_grid
from sklearn.metrics import roc_auc_score
from study import HERE, complete, line

from propcvx import certify
from propcvx.laboratory.programs import sample_in_bags
from propcvx.svm.step import LabelingSVM

SETS = ("heart", "vote", "australian", "breast-cancer")
N, BAG_SIZE, C, MARGIN, TIME_LIMIT = 24, 8, 0.1, 0.2, 1e4
"""Of a problem; costs are proved up to the margin; seconds for a problem."""
EDGES = (0.01, 0.05, 0.1, 0.2)
"""Costs at which labels are divided into groups."""


def measure(split, data):
    """A row for each label of the best labeling: its cost, and its distance from the SVM's plane.

    ``at_most`` is the cost for the best labeling found with the other label; ``score`` is the
    |decision value| of the best labeling's SVM.
    """
    sample = sample_in_bags(data, N, BAG_SIZE, split)
    start = process_time()
    result = certify(sample.X, sample.y, C, labels=MARGIN, time_limit=TIME_LIMIT)
    seconds = process_time() - start
    X = sample.X - sample.X.mean(axis=0)
    scores = np.abs(X @ LabelingSVM(X, C).weights(result.labeling))
    for i, label in enumerate(result.labeling):
        yield {
            "status": result.label_status[i],
            "cost": result.label_costs[i],
            "at_most": result.label_costs_at_most[i],
            "score": scores[i],
            "right": int(label == sample.labels[i]),
            "optimal": int(result.proved_optimal),
            "problem_seconds": seconds,
            "label_seconds": result.label_seconds[i],
        }


def groups(rows):
    """The group of each label's proved cost, 1 for the smallest costs."""
    return np.digitize(rows.cost, EDGES) + 1


def fourths(rows, by):
    """The fourth of its problem that each label is in, ranked by a column; equal ones share it."""
    ranks = rows.groupby(["split", "data"])[by].transform(lambda c: (rankdata(c) - 0.5) / len(c))
    return np.floor(4 * ranks).astype(int) + 1


def curve(rows, group):
    """Share of right labels in each group: mean over the problems, and its standard error."""
    rows = rows.assign(group=group)
    each = rows.groupby(["split", "data", "group"], as_index=False).right.mean()
    return line(each, "group", "right")


def ranking(rows, by):
    """How often a right label ranks above a wrong one of the same problem; 1/2 by chance."""
    problems = [part for _, part in rows.groupby(["split", "data"]) if part.right.nunique() == 2]
    return np.mean([roc_auc_score(part.right, part[by]) for part in problems] or [np.nan])


if __name__ == "__main__":
    cells = [{"split": split, "data": data} for split, data in product(range(5), SETS)]
    rows = complete(HERE / "label_costs.csv", cells, measure)
    rows = rows[np.isfinite(rows.cost)]  # the others are told by their bags
    print(rows.groupby("data").status.value_counts().unstack(fill_value=0).to_string())
    table = rows.groupby(["data", groups(rows)]).right.agg(["size", "mean"])
    print(table.round(2).unstack(0).to_string())
    columns = {"cost": "proved cost", "at_most": "cost found", "score": "|decision value|"}
    for by, name in columns.items():
        each = {data: round(ranking(part, by), 3) for data, part in rows.groupby("data")}
        print(f"{name}: right above wrong in {ranking(rows, by):.3f}, {each}")
    parts = dict([*rows.groupby("data", sort=False), ("all four", rows)])
    panels = {
        "share of right labels\nby proved cost": {
            data: {columns["cost"]: curve(part, groups(part))} for data, part in parts.items()
        },
        "share of right labels\nby rank in the problem": {
            data: {name: curve(part, fourths(part, by)) for by, name in columns.items()}
            for data, part in parts.items()
        },
    }
    picture = line_grid(panels, "group of labels, 1 has the least")
    picture.savefig(HERE / "label_costs.png", dpi=110)
