"""What check_fit says of fits, and what labels say: in random bags, clusters, groups, and noise."""

from dataclasses import fields
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.preprocessing import scale
from study import HERE, complete

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    bag_target,
    check_fit,
)
from propcvx.bags.targets import bag_proportions
from propcvx.datasets import bags_by_cluster, load_real, random_bags
from propcvx.datasets.bag_generators import BaggedData
from propcvx.datasets.real import NATURAL_SETS, natural_bags
from propcvx.estimators import FitCheck

PUBLIC = ("heart", "vote", "australian", "breast-w", "colic", "credit-a", "heart-c", "a1a")
NATURAL = (*NATURAL_SETS, "trump-2016")
KINDS = ("random 8", "random 32", "k-means", "8 bags")
NOISE = ("noise, 1 column", "noise, 3 columns", "noise, 10 columns", "noise, 20 columns")
METHODS = {
    "AggregateLogisticRegression": AggregateLogisticRegression(),
    "EcologicalRegression": EcologicalRegression(),
    "MeanMap": MeanMap(),
    "InvCal": InvCal(),
    "AlterPropSVM": AlterPropSVM(random_state=0),
}
CHOSEN_ON = (*PUBLIC[:4], "Contraception", "Benefits", "guPrenat", "egsingle", *NOISE[:2])
"""Sets on which the rule for poor fits was chosen."""
BAD = 0.02
"""A fit is bad whose accuracy is below that of the majority class by more."""
MOST = 3000
"""Rows that are drawn of larger sets."""


@cache
def loaded(data, kind, draw):
    """A set in bags, standardized."""
    random = np.random.RandomState(draw)
    if data in NOISE:
        X = random.normal(size=(2000, int(data.split()[1])))
        labels, bags = np.where(random.uniform(size=2000) < 0.63, 1, -1), np.arange(2000) // 40
        return BaggedData(X, labels, bags, bag_proportions(labels, bags))
    if kind == "natural":
        X, labels, bags, _ = natural_bags(data)
        ids, index, sizes = np.unique(bags, return_inverse=True, return_counts=True)
        order = random.permutation(len(ids))
        few = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), MOST)))]
        X, labels, bags = (
            X[np.isin(index, few)],
            labels[np.isin(index, few)],
            bags[np.isin(index, few)],
        )
        return BaggedData(X, labels, bags, bag_proportions(labels, bags))
    X, labels = load_real(data, download=False)
    X = scale(X)
    if kind == "k-means":
        bags = bags_by_cluster(X, max(10, len(X) // 32), draw)
    else:
        size = -(-len(X) // 8) if kind == "8 bags" else int(kind.split()[1])
        bags = random_bags(labels, size, draw)
    return BaggedData(X, labels, bags, bag_proportions(labels, bags))


def measure(data, kind, draw, method):
    """Accuracy of a fit on its own instances, and its check."""
    X, labels, bags, proportions = loaded(data, kind, draw)
    y = bag_target(bags, proportions)
    model = clone(METHODS[method]).fit(X, y)
    check = check_fit(model, X, y, random_state=draw)
    yield {"accuracy": np.mean((model.predict(X) > 0) == (labels > 0)), **vars(check)}


def cells():
    """Each set in each kind of bags, by each method."""
    places = [*product(PUBLIC, KINDS), *product(NATURAL, ["natural"]), *product(NOISE, ["noise"])]
    return [
        {"data": data, "kind": kind, "draw": draw, "method": method}
        for draw, (data, kind), method in product(range(3), places, METHODS)
        if kind != "natural" or draw == 0
    ]


def check_of(row):
    """The check of a row."""
    return FitCheck(**{field.name: row[field.name] for field in fields(FitCheck) if field.compare})


def judged():
    """The rows of the file, with what the check and labels say of each fit."""
    rows = pd.read_csv(HERE / "check_fit.csv")
    expected = rows["expected_accuracy"]
    return rows.assign(
        bad=rows["accuracy"] < rows["majority_accuracy"] - BAD,
        poor=[check_of(row).is_poor for row in rows.to_dict("records")],
        error=(expected - rows["accuracy"]).abs(),
        sets=np.where(rows["data"].isin(CHOSEN_ON), "chosen on", "others"),
        bags=rows["kind"].replace(dict.fromkeys(KINDS[:2] + KINDS[3:], "random")),
    )


def pages():
    """Errors of the expected accuracy, and how many fits are called poor, as the page shows it."""
    lines = []
    for bags, group in judged().groupby("bags"):
        bad, by_method = group["bad"], 100 * group.groupby("method")["error"].mean()
        lines.append(
            {
                "bags": bags,
                "fits": len(group),
                "mean error": "{mean:.1f} ({min:.1f} to {max:.1f})".format(**by_method.describe()),
                "bad, advised against": f"{(bad & group['poor']).sum()} of {bad.sum()}",
                "good, advised against": f"{(~bad & group['poor']).sum()} of {(~bad).sum()}",
            }
        )
    return {"check_fit_errors": rows_table(lines)}


if __name__ == "__main__":
    complete(HERE / "check_fit.csv", cells(), measure)
    print(pages()["check_fit_errors"])
