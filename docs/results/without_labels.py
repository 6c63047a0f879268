"""Which check without labels tells good fits from bad ones, and good methods from worse."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.preprocessing import scale
from study import HERE, complete, mixed_psvm

from propcvx import (
    AlterPropSVM,
    BagKFold,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    bag_error,
    bag_target,
)
from propcvx.bags.metrics import bag_correlation, bag_deviance, bag_r2_score
from propcvx.bags.targets import bag_proportions
from propcvx.datasets import bags_by_cluster, load_real, random_bags
from propcvx.datasets.natural import NATURAL_SETS, natural_bags
from propcvx.datasets.toy import BaggedData
from propcvx.estimators import FitCheck

PUBLIC = ("heart", "vote", "australian", "breast-w", "colic", "credit-a", "heart-c", "a1a")
NATURAL = (*NATURAL_SETS, "trump-2016")
KINDS = ("random 8", "random 32", "random 64", "k-means")
METHODS = {
    "MeanMap": MeanMap(),
    "InvCal": InvCal(),
    "conv-pSVM": ConvPropSVM(1.0),
    "alter-pSVM": mixed_psvm(init="inv_cal", random_state=0),
    "alter-pSVM, random starts": mixed_psvm(init="random", n_init=3, random_state=0),
    "MeanMap, Gaussian": MeanMap(kernel="rbf"),
    "InvCal, Gaussian": InvCal(kernel="rbf"),
    "conv-pSVM, Gaussian": ConvPropSVM(1.0, kernel="rbf"),
    "EcologicalRegression()": EcologicalRegression(),
    "AlterPropSVM()": AlterPropSVM(random_state=0),
}
CHOSEN_ON = (*PUBLIC[:4], "Contraception", "Benefits", "guPrenat", "egsingle")
"""Sets on which the rule of ``check_fit`` was chosen."""
BAD = 0.02
"""A fit is bad whose accuracy is below the larger class by more."""
LARGE = ("VietNamI", "MplsStops", "trump-2016", "lending_club")


@cache
def loaded(data, kind, draw):
    """A set in bags, standardized."""
    if kind == "natural":
        return natural_bags(data)
    X, labels = load_real(data, download=False)
    X = scale(X)
    if kind == "k-means":
        bags = bags_by_cluster(X, max(10, len(X) // 32), draw)
    else:
        bags = random_bags(labels, int(kind.split()[1]), draw)
    return BaggedData(X, labels, bags, bag_proportions(labels, bags))


def measure(data, kind, draw, method):
    """Of a fit to four fifths of the bags, what is seen without labels and what labels say."""
    X, labels, bags, shares = loaded(data, kind, draw)
    y = bag_target(bags, shares)
    train, test = next(BagKFold(5, random_state=draw).split(X, y))
    model = clone(METHODS[method]).fit(X[train], y[train])
    predicted = model.predict(X)
    larger = 1 if np.mean(labels[train] > 0) > 0.5 else -1
    probabilities = model.predict_proba(X[train])[:, 1]
    held_out, held_out_probabilities = out_of_fold(model, X[train], y[train], draw)
    check = FitCheck(
        expected=expected_share(predicted[train], probabilities),
        majority=np.mean(labels[train] == larger),
        correlation=bag_correlation(y[train], held_out_probabilities),
        explained=bag_r2_score(y[train], held_out_probabilities),
        n_bags=len(np.unique(y["bag"][train])),
        smaller=np.mean(predicted[train] != larger),
    )
    yield {
        "right": np.mean(predicted == labels),
        "larger": np.mean(labels == larger),
        "right_test": np.mean(predicted[test] == labels[test]),
        **vars(check),
        "poor": check.is_poor,
        "certain": bag_error(y[train], predicted[train], by_size=True)
        > 1.0 - check.majority_accuracy + 1e-9,
        "error": bag_error(y[train], predicted[train]),
        "fitted": bag_r2_score(y[train], probabilities),
        "held_out_error": bag_error(y[train], held_out),
        "deviance": bag_deviance(y[train], held_out_probabilities),
    }


def expected_share(labels, probabilities):
    """What share of labels is right if the probabilities are."""
    return np.mean(np.where(labels > 0, probabilities, 1.0 - probabilities))


def out_of_fold(model, X, y, draw):
    """Labels and probabilities of instances by fits to the bags of the other folds."""
    labels, probabilities = np.empty(len(y)), np.empty(len(y))
    folds = BagKFold(min(5, len(np.unique(y["bag"]))), random_state=draw + 100)
    for inside, outside in folds.split(X, y):
        fitted = clone(model).fit(X[inside], y[inside])
        labels[outside] = fitted.predict(X[outside])
        probabilities[outside] = fitted.predict_proba(X[outside])[:, 1]
    return labels, probabilities


def cells():
    """The sets in random bags, in clusters, and in bags of their own."""
    public = product(range(5), PUBLIC, KINDS, METHODS)
    natural = product(range(5), NATURAL, ["natural"], METHODS)
    each = [
        {"data": data, "kind": kind, "draw": draw, "method": method}
        for draw, data, kind, method in (*public, *natural)
        if allowed(data, method)
    ]
    slow = ("alter-pSVM", "alter-pSVM, random starts", "MeanMap, Gaussian")
    return sorted(each, key=lambda cell: (cell["draw"], cell["method"] in slow))


def allowed(data, method):
    """Whether a fit takes less than some seconds."""
    if "Gaussian" in method:
        return data in (*PUBLIC[:-1], "Contraception", "guPrenat", "bdf")
    if "alter" in method.lower():
        return data in (*PUBLIC, "Contraception", "guPrenat", "bdf", "Benefits")
    return "conv" not in method or data not in LARGE


def pages():
    """How many good fits are called bad, and how many bad ones are named, as the page shows it."""
    lines = []
    for (kind, sets), group in judged().groupby(["bags are", "sets"]):
        good, bad = group[~group["bad"]], group[group["bad"]]
        line = {"bags": kind, "sets": sets, "good fits": len(good), "bad fits": len(bad)}
        for name, column in (("check_fit", "poor"), ("warning of the fit", "certain")):
            line[f"good, {name}"] = f"{good[column].mean():.1%}"
            line[f"bad, {name}"] = f"{bad[column].mean():.0%}"
        lines.append(line)
    return {"without_labels_named": rows_table(lines)}


def judged():
    """The rows of the file, with what labels say of each fit."""
    rows = pd.read_csv(HERE / "without_labels.csv")
    return rows.assign(
        **{"bags are": np.where(rows["kind"] == "natural", "natural", "random, k-means")},
        bad=rows["right"] < rows["larger"] - BAD,
        sets=np.where(rows["data"].isin(CHOSEN_ON), "chosen on", "others"),
        margin=rows["expected"] - rows["majority"],
    )


CRITERIA = {
    "error": "bag error, bags of the fit",
    "fitted": "explained, bags of the fit",
    "margin": "expected share above the larger class",
    "held_out_error": "bag error, held-out bags",
    "explained": "explained, held-out bags",
    "correlation": "correlation, held-out bags",
    "deviance": "deviance, held-out bags",
}
ERRORS = ["error", "held_out_error", "deviance"]


def orders(rows):
    """Mean rank correlation of each criterion with accuracy, over the methods of a problem."""
    rows = rows.assign(**-rows[ERRORS])
    problems = rows.groupby(["bags are", "data", "kind", "draw"])
    ranks = problems[[*CRITERIA, "right_test"]].corr("spearman")["right_test"]
    means = ranks.drop("right_test", level=-1).groupby(level=["bags are", -1]).mean()
    return means.unstack("bags are").loc[[*CRITERIA]].rename(CRITERIA)


if __name__ == "__main__":
    complete(HERE / "without_labels.csv", cells(), measure)
    print(pages()["without_labels_named"])
    print(orders(judged()).round(2))
