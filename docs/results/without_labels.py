"""Which check without labels tells good fits from bad ones, and good methods from worse."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from reproduction.report import rows_table
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
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
from propcvx.bags.targets import proportions_of
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
    """A set in bags, standardised."""
    if kind == "natural":
        return natural_bags(data)
    X, labels = load_real(data, download=False)
    X = scale(X)
    if kind == "k-means":
        bags = bags_by_cluster(X, max(10, len(X) // 32), draw)
    else:
        bags = random_bags(labels, int(kind.split()[1]), draw)
    return BaggedData(X, labels, bags, proportions_of(labels, bags))


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
        "poor": check.poor,
        "certain": bag_error(y[train], predicted[train], by_size=True)
        > 1.0 - check.majority + 1e-9,
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
    """What the page shows, by the names that it uses."""
    rows = pd.read_csv(HERE / "without_labels.csv")
    rows = rows.assign(
        bad=rows["right"] < rows["larger"] - BAD,
        bags_are=np.where(rows["kind"] == "natural", "natural", "random, k-means"),
        sets=np.where(rows["data"].isin(CHOSEN_ON), "chosen on", "others"),
        margin=rows["expected"] - rows["majority"],
    )
    return {
        "without_labels_named": named_table(rows),
        "without_labels_areas": areas_table(rows),
        "without_labels_order": order_table(rows),
        "without_labels_sets": sets_table(rows),
    }


def named_table(rows):
    """How many good fits are called bad, and how many bad ones are named."""
    lines = []
    for (kind, sets), group in rows.groupby(["bags_are", "sets"]):
        good, bad = group[~group["bad"]], group[group["bad"]]
        line = {"bags": kind, "sets": sets, "good fits": len(good), "bad fits": len(bad)}
        for name, column in (("check_fit", "poor"), ("warning of the fit", "certain")):
            line |= {
                f"good, {name}": f"{good[column].mean():.1%}",
                f"bad, {name}": f"{bad[column].mean():.0%}",
            }
        lines.append(line)
    return rows_table(lines)


CRITERIA = {
    "bag error, bags of the fit": ("error", -1),
    "explained, bags of the fit": ("fitted", 1),
    "expected share above the larger class": ("margin", 1),
    "bag error, held-out bags": ("held_out_error", -1),
    "explained, held-out bags": ("explained", 1),
    "correlation, held-out bags": ("correlation", 1),
    "deviance, held-out bags": ("deviance", -1),
}
"""Columns, and whether more is better."""


def areas_table(rows):
    """Area under the curve of each criterion for telling bad fits from good ones."""
    groups = list(rows.groupby("bags_are"))
    return rows_table(
        {"": name}
        | {
            kind: f"{roc_auc_score(~group['bad'], finite(sign * group[column])):.2f}"
            for kind, group in groups
        }
        for name, (column, sign) in CRITERIA.items()
    )


def order_table(rows):
    """How each criterion orders the methods, and how accurate the one that it chooses is."""
    lines = []
    for kind, group in rows.groupby("bags_are"):
        tasks = [task for _, task in group.groupby(["data", "kind", "draw"]) if len(task) > 2]
        whole = [task.set_index("method")["right_test"] for task in tasks]
        single = pd.DataFrame(whole).dropna(axis=1).mean()
        for name, (column, sign) in CRITERIA.items():
            values = [finite(sign * task[column]) for task in tasks]
            orders = [
                spearmanr(value, task["right_test"])[0]
                for value, task in zip(values, tasks, strict=True)
            ]
            chosen = [
                task["right_test"].iloc[value.argmax()]
                for value, task in zip(values, tasks, strict=True)
            ]
            lines.append(
                {
                    "bags": kind,
                    "criterion": name,
                    "rank correlation": f"{np.nanmean(orders):+.2f}",
                    "right, chosen by it": f"{np.mean(chosen):.1%}",
                    "best single method": f"{single.max():.1%} {single.idxmax()}",
                }
            )
    return rows_table(lines)


def sets_table(rows):
    """Accuracy on held-out bags of methods with a linear kernel, set by set."""
    shown = rows[rows["kind"].isin(["natural", "random 8", "random 64"])]
    larger = shown.groupby(["kind", "data"], sort=False)["larger"].mean()
    means = shown.groupby(["kind", "data", "method"], sort=False)["right_test"].mean()
    wide = means.unstack("method")[list(METHODS)[:4]]
    wide.insert(0, "larger class", larger)
    texts = (100.0 * wide).map("{:.1f}".format).replace("nan", "-")
    return rows_table(texts.rename_axis(["bags", "set"]).reset_index())


def finite(values):
    """A share of 0 that was expected otherwise has an infinite deviance."""
    return np.clip(values.to_numpy(), -1e9, 1e9)


if __name__ == "__main__":
    complete(HERE / "without_labels.csv", cells(), measure)
    print("\n\n".join(pages().values()))
