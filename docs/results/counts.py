"""What the likelihood of counts gains, alone and averaged with alter-pSVM, and its strength."""

from itertools import product

import numpy as np
import pandas as pd
from natural import NATURAL
from reproduction.report import rows_table
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import minmax_scale, scale
from study import HERE, complete

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    BagKFold,
    Bags,
    EcologicalRegression,
    bag_proportions,
    bag_target,
)
from propcvx.datasets import bags_by_cluster, bags_by_feature, load_real, random_bags
from propcvx.datasets.real import natural_bags
from propcvx.estimators.calibration import Calibration

CHOSEN_ON = ("heart", "australian", "colic", "heart-c", "a1a", "dna-1")
CONFIRMED_ON = ("vote", "breast-w", "credit-a", "dna-2", "satimage-2", "cod-rna.t")
KINDS = ("8 bags", "k-means", "quantiles", "random 32", "random 8")
MOST = 1000
"""Rows that are drawn of a set; of natural bags twice as many."""
RIDGES = {"1/28": 1 / 28, "1/14": 1 / 14, "0.1": 0.1, "1/7": 1 / 7, "2/7": 2 / 7}
WEIGHTS = (0.4, 0.5, 0.6)
BEFORE = "line and svm, 0.4"
SHOWN = {
    "line": "`EcologicalRegression()`",
    "counts, 0.1": "`AggregateLogisticRegression()`",
    "svm": '`AlterPropSVM(init="ecological", init_weight=0.0)`',
    BEFORE: '`AlterPropSVM(init="ecological", init_weight=0.4)`',
    "svm from counts": "`AlterPropSVM(init_weight=0.0)`",
    "counts and svm from counts, 0.5": "`AlterPropSVM()`",
}


def bags_of(X, labels, kind, random):
    """The bags of a kind; of 10 random bags 8 are fitted to."""
    if kind == "k-means":
        return bags_by_cluster(X, max(10, len(X) // 32), random)
    if kind == "quantiles":
        return bags_by_feature(X[:, random.randint(X.shape[1])], 32, random)
    return random_bags(labels, len(X) // 10 if kind == "8 bags" else int(kind.split()[1]), random)


def loaded(data, kind, draw, scaling):
    """Some rows of a set, scaled, in bags."""
    random = np.random.RandomState(draw)
    if kind == "natural":
        given = natural_bags(data, download=False)
        rows = random.permutation(len(given.labels))[: 2 * MOST]
        return scale(given.X[rows]), np.where(given.labels[rows] > 0, 1, -1), given.bags[rows]
    X, labels = load_real(data, random_state=0, download=False)
    rows = random.permutation(len(labels))[:MOST]
    X = (scale if scaling == "standard" else minmax_scale)(np.asarray(X)[rows])
    X = 2.0 * X - 1.0 if scaling == "minmax" else X
    return X, labels[rows], bags_of(X, labels[rows], kind, random)


def measure(data, kind, draw, scaling):
    """Of fits to four fifths of the bags, what the labels of the others say."""
    X, labels, bags = loaded(data, kind, draw, scaling)
    y = bag_target(bags, bag_proportions(labels, bags))
    n_folds = min(5, len(np.unique(bags)))
    train, test = next(BagKFold(n_folds, random_state=draw).split(X, y))
    truth, both = labels[test], len(set(labels[test])) > 1
    for method, (scores, p) in judged(X, y, train, test).items():
        p = np.clip(p, 1e-3, 1.0 - 1e-3)
        yield {
            "method": method,
            "accuracy": np.mean(np.where(scores > 0.0, 1, -1) == truth),
            "auc": roc_auc_score(truth, scores) if both else np.nan,
            "log_loss": log_loss(truth, p, labels=[-1, 1]),
        }


def judged(X, y, train, test):
    """Scores and probabilities of test instances by each method."""

    def fitted(model):
        model.fit(X[train], y[train])
        return model.decision_function(X)

    def calibrated(scores):
        curve = Calibration.from_bags(scores[train], Bags.from_target(y[train]))
        return scores[test], curve.probabilities(scores[test])[:, 1]

    def mean(scores, others, weight):
        scores, others = (each / np.sqrt(np.mean(each[train] ** 2)) for each in (scores, others))
        return calibrated((1.0 - weight) * scores + weight * others)

    line = EcologicalRegression().fit(X[train], y[train])
    ends = {"line": (line.decision_function(X[test]), line.predict_proba(X[test])[:, 1])}
    alone = fitted(AlterPropSVM(init="ecological", init_weight=0.0))
    ends["svm"] = calibrated(alone)
    ends["line and svm, 0.4"] = mean(alone, fitted(EcologicalRegression(ridge=0.3)), 0.4)
    s2 = X[train].var(axis=0).sum()
    for name, ridge in (RIDGES | {"3 / s^2": 3.0 / s2}).items():
        scores = fitted(AggregateLogisticRegression(ridge))
        ends[f"counts, {name}"] = scores[test], expit(scores[test])
    counts = AggregateLogisticRegression(0.1)
    scores, started = fitted(counts), fitted(AlterPropSVM(init=counts, init_weight=0.0))
    ends["svm from counts"] = calibrated(started)
    for weight in WEIGHTS:
        ends[f"counts and svm, {weight}"] = mean(alone, scores, weight)
        ends[f"counts and svm from counts, {weight}"] = mean(started, scores, weight)
    return ends


def cells():
    """All sets, repetition by repetition."""
    names = ("data", "kind", "draw", "scaling")
    public = product((*CHOSEN_ON, *CONFIRMED_ON), KINDS, range(6), ["standard", "minmax"])
    natural = product(NATURAL, ["natural"], range(6), ["standard"])
    each = [dict(zip(names, cell, strict=True)) for cell in (*public, *natural)]
    return sorted(each, key=lambda cell: cell["draw"])


def pages():
    """What the page shows: means over sets and scalings, in percent but for the log loss."""
    rows = pd.read_csv(HERE / "counts.csv")
    rows = rows[rows["method"].isin(SHOWN)].replace({"method": SHOWN})
    kinds = [rows["kind"] == "natural", rows["data"].isin(CHOSEN_ON)]
    rows["part"] = np.select(kinds, ["natural", "chosen on"], "confirmed on")
    keys = ["method", "part", "data", "kind", "scaling"]
    cells = rows.groupby(keys, sort=False)[["accuracy", "auc", "log_loss"]].mean()
    accuracy = (100.0 * cells["accuracy"]).round(6).unstack("method", sort=False)
    made = accuracy.drop("natural", level="part")
    others = cells.drop("natural", level="part").groupby("method", sort=False).mean()
    texts = made.groupby("kind").mean().T.join(accuracy.groupby("part", sort=False).mean().T)
    texts = texts.assign(median=made.median(), AUC=100.0 * others["auc"]).map("{:.1f}".format)
    texts["log loss"] = others["log_loss"].map("{:.3f}".format)
    first = made[SHOWN[BEFORE]]
    texts["wins"] = [f"{(made[k] > first).sum()} : {(made[k] < first).sum()}" for k in texts.index]
    return {"counts": rows_table(texts.rename_axis("method").reset_index())}


if __name__ == "__main__":
    complete(HERE / "counts.csv", cells(), measure)
    print(pages()["counts"])
