"""Accuracy against the share of labels that are known; see bags.md."""

from itertools import product

import numpy as np
from shown import line_grid
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC
from study import HERE, complete, labelled, lines, mixed_psvm

from propcvx import ConvPropSVM, InvCal, MeanMap, bag_target
from propcvx.datasets import proportions_of, random_bags

SETS = ("heart", "vote", "australian", "colic")
BAG_SIZE = 16
SHARES = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
SIX = ("alter-pSVM", "conv-pSVM", "alter-pSVM, no bags", "SVM", "self-training", "label spreading")
"""What the picture shows."""


def known_of(labels, share, seed):
    """Labels with 0 for those that are not known; of each class one is, if any are."""
    random = np.random.RandomState(seed)
    order = random.permutation(len(labels))
    first = [order[np.argmax(labels[order] == sign)] for sign in (1, -1)]
    order = np.concatenate([first, order[~np.isin(order, first)]])
    known = np.zeros_like(labels)
    kept = order[: max(2, round(share * len(labels)))] if share > 0.0 else order[:0]
    known[kept] = labels[kept]
    return known


def from_bags(labels, known, seed):
    """Our methods, each with the target that it is fitted to."""
    bags = random_bags(labels, BAG_SIZE, seed)
    y = bag_target(bags, proportions_of(labels, bags), labels=known)
    models = {
        "alter-pSVM": mixed_psvm(random_state=seed),
        "conv-pSVM": ConvPropSVM(1.0),
        "InvCal": InvCal(C_p=1.0),
        "MeanMap": MeanMap(lam=1e-3),
    }
    yield from ((name, model, y) for name, model in models.items())
    if known.any():
        one_bag = np.zeros(len(labels), dtype=int)
        share = np.mean(known[known != 0] > 0)
        for name, proportion in (("no bags", share), ("no proportion", None)):
            y = bag_target(one_bag, {0: proportion}, labels=known)
            yield f"alter-pSVM, {name}", mixed_psvm(random_state=seed), y


def from_labels(known):
    """What scikit-learn has, with -1 for labels that are not known."""
    codes = np.where(known == 0, -1, known > 0)
    if known.any():
        yield "self-training", SelfTrainingClassifier(LogisticRegression()), codes
        yield "label spreading", LabelSpreading(kernel="knn"), codes


def measure(split, data, share):
    """Accuracy of each method in percent on the fifth of the instances that was held out."""
    X, labels = labelled(data)
    X, X_test, labels, test = train_test_split(X, labels, test_size=0.2, random_state=split)
    known = known_of(labels.astype(int), share, split)
    for name, model, y in (*from_bags(labels, known, split), *from_labels(known)):
        right = (model.fit(X, y).predict(X_test) > 0) == (test > 0)
        yield {"method": name, "accuracy": 100.0 * np.mean(right)}
    if known.any():
        model = SVC(kernel="linear").fit(X[known != 0], known[known != 0])
        yield {"method": "SVM", "accuracy": 100.0 * np.mean(model.predict(X_test) == test)}


if __name__ == "__main__":
    names = ("split", "data", "share")
    cells = [dict(zip(names, values, strict=True)) for values in product(range(5), SETS, SHARES)]
    rows = complete(HERE / "supervision.csv", cells, measure)
    table = rows.pivot_table("accuracy", ["data", "share"], "method", sort=False)
    print(table.round(1).to_string())
    print(rows.pivot_table("accuracy", "share", "method", sort=False).round(1).to_string())
    shown = rows[rows["method"].isin(SIX)]
    by_set = shown.groupby("data", sort=False)
    panels = {data: lines(group, "method", "share", "accuracy") for data, group in by_set}
    figure = line_grid({"accuracy in percent": panels}, "share of the labels that are known")
    figure.savefig(HERE / "supervision.png", dpi=110)
