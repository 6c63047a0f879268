"""MeanMap and the Laplacian mean map in bags of three kinds; see methods.md."""

from itertools import product

import numpy as np
from reproduction.evaluation import Sample
from study import HERE, complete

from propcvx import LaplacianMeanMap, MeanMap
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import (
    bags_by_cluster,
    bags_by_feature,
    load_contraception,
    load_real,
    random_bags,
)

SETS = ("heart", "vote", "australian", "colic", "dna-1", "satimage-2")
FURTHER = ("heart-c", "breast-w", "credit-a", "dna-2", "satimage-4", "a1a")
"""Sets that the default was not chosen on."""
SIZE = 32
SMOOTHNESS = (0.0001, 0.001, 0.01, 0.1, 1.0)


def by_attribute(X, labels, split):
    """Neighbours along the attribute that is correlated most with the label."""
    spread = np.where(X.std(axis=0) > 0.0, X.std(axis=0), np.inf)
    related = np.abs((X - X.mean(axis=0)).T @ (labels - labels.mean())) / spread
    return bags_by_feature(X[:, np.argmax(related)], SIZE, split)


BAGS = {
    "random": lambda X, labels, split: random_bags(labels, SIZE, split),
    "attribute": by_attribute,
    "clusters": lambda X, labels, split: bags_by_cluster(X, len(labels) // SIZE, split),
}


def measure(split, data, bags):
    """Accuracy in percent of each method on the first of five folds."""
    X, labels = load_real(data, random_state=0, download=False)
    if bags == "districts":
        index = load_contraception(download=False).bags
    else:
        index = BAGS[bags](X, labels, split)
    sample = Sample.in_bags(X, labels, index)
    inside, outside = next(BagKFold(random_state=split).split(sample.X, sample.y))
    train, test = sample.take(inside), sample.take(outside)
    methods = {"MeanMap": MeanMap(lam=1.0)}
    methods |= {
        f"Laplacian, {gamma:g}": LaplacianMeanMap(lam=1.0, smoothness=gamma) for gamma in SMOOTHNESS
    }
    for name, model in methods.items():
        predicted = model.fit(train.X, train.y).predict(test.X)
        yield {"method": name, "accuracy": 100.0 * np.mean(predicted == test.labels)}


if __name__ == "__main__":
    cells = [
        {"split": split, "data": data, "bags": bags}
        for split, data, bags in product(range(5), SETS + FURTHER, BAGS)
    ]
    cells += [{"split": split, "data": "contraception", "bags": "districts"} for split in range(5)]
    rows = complete(HERE / "class_means.csv", cells, measure)
    table = rows.pivot_table("accuracy", ["bags", "data"], "method", sort=False)
    print(table.round(1).to_string())
    rows["chosen on"] = ~rows["data"].isin(FURTHER)
    table = rows.pivot_table("accuracy", ["chosen on", "bags"], "method", sort=False)
    print(table.round(1).to_string())
