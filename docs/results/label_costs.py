"""Are labels whose other label is proved to cost much the true ones; see label_costs.md."""

from itertools import product
from time import process_time

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from study import HERE, complete

from propcvx import certify
from propcvx.experiments.programs import sample_in_bags
from propcvx.plotting import line_grid
from propcvx.relaxation.labeling_svm import LabelingSVM

SETS = ("heart", "vote", "australian", "breast-cancer")
N, BAG_SIZE, C, MARGIN, TIME_LIMIT = 32, 8, 0.1, 0.03, 120.0
"""Of a problem; costs are proved up to the margin; seconds for a problem."""
EDGES = (0.0, 0.003, 0.01, 0.03)
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


def by_fourth(rows, by):
    """Share of right labels in each fourth of every problem, ranked by a column; ties share."""
    ranks = rows.groupby(["split", "data"])[by].transform(lambda c: (rankdata(c) - 0.5) / len(c))
    fourth = np.floor(4 * ranks).astype(int) + 1
    of = rows.right.groupby(fourth)
    return of.mean().index.to_numpy(float), of.mean().to_numpy(), of.sem().to_numpy()


def by_cost(rows):
    """Number and share of right labels of each group of proved costs."""
    group = pd.cut(rows.cost, [-np.inf, *EDGES[1:], np.inf], right=False)
    return rows.groupby(["data", group], observed=True).right.agg(["size", "mean"])


def ranking(rows, by):
    """How often a right label ranks above a wrong one of the same problem; 1/2 by chance."""
    problems = [one for _, one in rows.groupby(["split", "data"]) if one.right.nunique() == 2]
    return np.mean([roc_auc_score(one.right, one[by]) for one in problems])


if __name__ == "__main__":
    cells = [{"split": split, "data": data} for split, data in product(range(5), SETS)]
    rows = complete(HERE / "label_costs.csv", cells, measure)
    print(rows.groupby("data").status.value_counts().unstack(fill_value=0).to_string())
    print(by_cost(rows).round(3).unstack(0).to_string())
    columns = {"cost": "proved cost", "at_most": "cost found", "score": "|decision value|"}
    for by, name in columns.items():
        each = {data: round(ranking(one, by), 3) for data, one in rows.groupby("data")}
        print(f"{name}: right above wrong in {ranking(rows, by):.3f}, {each}")
    panels = {
        data: {name: by_fourth(one, by) for by, name in columns.items()}
        for data, one in [*rows.groupby("data", sort=False), ("all four", rows)]
    }
    picture = line_grid({"share of right labels": panels}, "fourth of a problem's labels, in order")
    picture.savefig(HERE / "label_costs.png", dpi=110)
