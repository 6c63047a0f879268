"""How accurate each method is with its defaults, in random bags and in groups of their own."""

from functools import cache
from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from reproduction.report import rows_table
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from study import HERE, complete, mixed_psvm

from propcvx import (
    AlterPropSVM,
    BagKFold,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    ShareMetric,
    bag_target,
)
from propcvx.bags.targets import proportions_of
from propcvx.datasets import bags_by_cluster, load_real, random_bags
from propcvx.datasets.natural import NATURAL_SETS, natural_bags
from propcvx.datasets.toy import BaggedData

CHOSEN_ON = ("heart", "vote", "australian", "breast-w", "colic", "credit-a", "heart-c", "a1a")
HELD_OUT = ("breast-cancer", "dna-1", "dna-2", "satimage-2", "cod-rna.t")
NATURAL = (*NATURAL_SETS, "trump-2016")
KINDS = ("random 8", "random 32", "random 64", "unequal", "k-means")
FEW = ("4 bags", "8 bags")
"""Random bags of equal size; as many as the kind says are fitted to, and a fifth is held out."""
LARGE = 8000
"""Rows above which conv-pSVM and twelve starts are left out."""
MOST = 3000
"""Rows that are drawn of held-out sets."""


class ProportionMatching(ClassifierMixin, BaseEstimator):
    """Logistic regression by the likelihood of each bag's mean probability, with a ridge."""

    def fit(self, X, y):
        _, index = np.unique(y["bag"], return_inverse=True)
        sizes, share = np.bincount(index), np.empty(index.max() + 1)
        share[index] = y["proportion"]

        def loss(plane):
            p = expit(X @ plane[1:] + plane[0])
            mean = np.clip(np.bincount(index, p) / sizes, 1e-9, 1.0 - 1e-9)
            value = -sizes @ (share * np.log(mean) + (1.0 - share) * np.log(1.0 - mean))
            slope = ((1.0 - share) / (1.0 - mean) - share / mean)[index] * p * (1.0 - p)
            gradient = np.append(slope.sum(), slope @ X + plane[1:])
            return value + 0.5 * plane[1:] @ plane[1:], gradient

        self.plane_ = minimize(loss, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B").x
        return self

    def decision_function(self, X):
        return X @ self.plane_[1:] + self.plane_[0]

    def predict_proba(self, X):
        return np.column_stack(
            [expit(-self.decision_function(X)), expit(self.decision_function(X))]
        )


class SoftLabels(ProportionMatching):
    """Logistic regression in which every instance has the share of its bag as its label."""

    def fit(self, X, y):
        rows, labels = np.vstack([X, X]), np.repeat([1, -1], len(X))
        weights = np.concatenate([y["proportion"], 1.0 - y["proportion"]])
        fit = LogisticRegression(max_iter=1000).fit(rows, labels, sample_weight=weights)
        self.plane_ = np.append(fit.intercept_, fit.coef_)
        return self


class InterpolatingLoss(ProportionMatching):
    """Ecological regression with a tenth of the loss on instances (Javanmard et al. 2024).

    As each instance has the share of its bag, sum_i (w'x_i + b - p_k)^2 is the loss of the bag
    means and w'Ww, W the scatter inside bags.
    """

    def fit(self, X, y):
        _, index, sizes = np.unique(y["bag"], return_inverse=True, return_counts=True)
        means = np.stack([np.bincount(index, column) for column in X.T], axis=1) / sizes[:, None]
        centre, share = X.mean(axis=0), y["proportion"].mean()
        between, within = (means - centre)[index], X - means[index]
        scatter = between.T @ between
        ridge = 0.3 * np.square(scatter).sum() / scatter.trace() * np.eye(len(centre))
        moment = between.T @ (y["proportion"] - share)
        w = np.linalg.solve(scatter + 0.1 * within.T @ within + ridge, moment)
        self.plane_ = 4.0 * np.append(share - 0.5 - centre @ w, w)  # near 1/2 the logit of a share
        return self


METHODS = {
    "soft labels": SoftLabels(),
    "proportion matching": ProportionMatching(),
    "interpolating loss": InterpolatingLoss(),
    "EcologicalRegression": EcologicalRegression(),
    "ShareMetric, EcologicalRegression": make_pipeline(ShareMetric(), EcologicalRegression()),
    "InvCal": InvCal(),
    "MeanMap": MeanMap(),
    "AlterPropSVM": AlterPropSVM(),
    "AlterPropSVM, the SVM alone": AlterPropSVM(start_weight=0.0),
    "AlterPropSVM, C = 1, mixed starts": mixed_psvm(random_state=0),
    "ConvPropSVM": ConvPropSVM(epsilon="rounding"),
    "ShareMetric, ConvPropSVM": make_pipeline(ShareMetric(), ConvPropSVM(epsilon="rounding")),
    "EcologicalRegression, Gaussian": EcologicalRegression(kernel="rbf"),
    "AlterPropSVM, Gaussian": AlterPropSVM(kernel="rbf"),
    "told every label": LogisticRegression(C=0.1, max_iter=1000),
}
TWENTY_LINES = ("soft labels", "proportion matching", "interpolating loss")
"""What a user would write."""
ON_SETS = ("EcologicalRegression", "InvCal", "MeanMap", "AlterPropSVM", "told every label")
SLOW = ("AlterPropSVM, C = 1, mixed starts", "ConvPropSVM", "ShareMetric, ConvPropSVM")


@cache
def loaded(data, kind, draw):
    """A set in bags, standardised."""
    if kind == "natural":
        given = natural_bags(data)
        return BaggedData(given.X, np.asarray(given.labels), given.bags, given.proportions)
    X, labels = load_real(data, random_state=0, download=False)
    random = np.random.RandomState(draw)  # of the bags, too: anew from the seed, they undo this
    rows = random.permutation(len(labels))[:MOST]
    X, labels = scale(np.asarray(X)[rows]), labels[rows]
    if kind == "k-means":
        bags = bags_by_cluster(X, max(10, len(X) // 32), random)
    elif kind == "unequal":
        bags = unequal_bags(len(X), random)
    elif kind in FEW:
        bags = random_bags(labels, -(-len(X) * 4 // (5 * int(kind.split()[0]))), random)
    else:
        bags = random_bags(labels, int(kind.split()[1]), random)
    return BaggedData(X, labels, bags, proportions_of(labels, bags))


def unequal_bags(n, random):
    """Bags whose sizes have a median of 16, and of which a sixth have more than 43."""
    sizes = []
    while sum(sizes) < n:
        sizes.append(max(2, int(np.exp(random.normal(np.log(16.0), 1.0)))))
    return np.repeat(np.arange(len(sizes)), sizes)[:n][random.permutation(n)]


def divided(data, kind, draw):
    """Instances, target and labels of a set, the rows of four fifths of its bags, of the others."""
    X, labels, bags, shares = loaded(data, kind, draw)
    y, labels = bag_target(bags, shares), np.where(np.asarray(labels) > 0, 1, -1)
    n_folds = min(5, len(np.unique(bags)))
    return X, y, labels, *next(BagKFold(n_folds, random_state=draw).split(X, y))


def measure(data, kind, draw, method):
    """Of a fit to four fifths of the bags, what the labels of the others say."""
    X, y, labels, train, test = divided(data, kind, draw)
    started = process_time()
    target = labels if method == "told every label" else y
    model = clone(METHODS[method]).fit(X[train], target[train])
    seconds, scores = process_time() - started, model.decision_function(X[test])
    probabilities = np.clip(model.predict_proba(X[test])[:, 1], 1e-3, 1.0 - 1e-3)
    larger = 1 if np.mean(labels[train] > 0) > 0.5 else -1
    both = len(set(labels[test])) > 1
    yield {
        "accuracy": np.mean(np.where(scores > 0.0, 1, -1) == labels[test]),
        "auc": roc_auc_score(labels[test], scores) if both else np.nan,
        "log_loss": log_loss(labels[test], probabilities, labels=[-1, 1]),
        "larger": np.mean(labels[test] == larger),
        "seconds": seconds,
    }


def cells():
    """All sets, draw by draw, the quick methods first."""
    public = product(range(10), (*CHOSEN_ON, *HELD_OUT), (*KINDS, *FEW), METHODS)
    natural = product(range(10), NATURAL, ["natural"], METHODS)
    each = [
        {"data": data, "kind": kind, "draw": draw, "method": method}
        for draw, data, kind, method in (*natural, *public)
        if allowed(data, kind, draw, method)
    ]
    return sorted(each, key=lambda cell: cell["draw"])


def allowed(data, kind, draw, method):
    """Whether a fit takes less than some seconds; random bags are drawn three times."""
    if kind != "natural" and (draw > 2 or (data in ("a1a", "cod-rna.t") and method in SLOW[:1])):
        return False
    if kind == "natural" and (method in SLOW or "Gaussian" in method):
        return len(loaded(data, kind, 0).labels) <= (LARGE if "Gaussian" not in method else 3000)
    return True


def pages():
    """What the page shows, by the names that it uses."""
    rows = pd.read_csv(HERE / "natural.csv")
    rows = rows.assign(
        bags_are=np.select(
            [rows["kind"] == "natural", rows["kind"].isin(FEW), rows["data"].isin(HELD_OUT)],
            ["natural groups", "4 or 8 random bags", "random bags, sets held out"],
            "random bags",
        )
    )
    means, gains = means_tables(rows)
    offered = [name for name in METHODS if name not in TWENTY_LINES]
    short = means.loc[["the larger class", *offered]]
    return {
        "natural_means": rows_table(short.reset_index()),
        "natural_gains": rows_table(gains.loc[list(METHODS)].reset_index()),
        "natural_calibration": calibration_table(rows),
        "natural_sets": sets_table(rows),
    }


def means_tables(rows):
    """Accuracy and AUC of each method on four kinds of sets, and of what labels gain in AUC."""
    lines = {"the larger class": {}, **{method: {} for method in METHODS}}
    gains = {method: {} for method in METHODS}
    for kind, group in rows.groupby("bags_are", sort=False):
        accuracy, auc = (mean_of(group, column) for column in ("accuracy", "auc"))
        gain = (auc - 0.5).div(auc["told every label"] - 0.5, axis=0)
        title = f"{kind} ({group['data'].nunique()} sets)"
        larger = group.drop_duplicates(["data", "kind", "draw"])["larger"].mean()
        lines["the larger class"][title] = f"{100.0 * larger:.1f} (50)"
        for method in METHODS:
            star = "*" if accuracy[method].isna().any() else ""
            means = 100.0 * accuracy[method].mean(), 100.0 * auc[method].mean()
            lines[method][title] = "{:.1f} ({:.1f}){}".format(*means, star)
            gains[method][title] = f"{gain[method].mean():.0%}{star}"
    return (pd.DataFrame(table).T.rename_axis("method") for table in (lines, gains))


def mean_of(rows, column):
    """Means over draws, a row for each set and kind of bags, a column for each method."""
    return rows.pivot_table(index=["data", "kind"], columns="method", values=column)


def calibration_table(rows):
    """Log loss of each method on three kinds of sets, and the processor time of a fit."""
    lines = [{"method": method} for method in METHODS]
    seconds = rows.groupby("method")["seconds"].median()
    for kind, group in rows.groupby("bags_are", sort=False):
        loss = mean_of(group, "log_loss")
        for line, method in zip(lines, METHODS, strict=True):
            star = "*" if loss[method].isna().any() else ""
            line[kind] = f"{loss[method].mean():.3f}{star}"
    for line, method in zip(lines, METHODS, strict=True):
        line["seconds, median"] = f"{seconds[method]:.3f}"
    return rows_table(lines)


def sets_table(rows):
    """Accuracy of some methods, set by set."""
    shown = rows[rows["kind"].isin(["natural", "random 8", "random 64"])]
    larger = shown.groupby(["kind", "data"], sort=False)["larger"].mean()
    means = shown.groupby(["kind", "data", "method"], sort=False)["accuracy"].mean()
    wide = means.unstack("method")[list(ON_SETS)]
    wide.insert(0, "larger class", larger)
    texts = (100.0 * wide).map("{:.1f}".format).replace("nan", "-")
    texts.index = [f"{data}, {kind}" for kind, data in texts.index]
    return rows_table(texts.rename_axis("set, bags").reset_index())


def picture(path):
    """What share of the gain of labels in AUC each method has, a point for each set."""
    rows = pd.read_csv(HERE / "natural.csv")
    gain = rows.pivot_table(index=["data", "kind"], columns="method", values="auc")
    share = gain.sub(0.5).div(gain["told every label"] - 0.5, axis=0)
    names = ["EcologicalRegression", "AlterPropSVM", "InvCal", "MeanMap", "ConvPropSVM"]
    natural = share.index.get_level_values("kind") == "natural"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for ax, title, mask in zip(
        axes, ("groups of their own", "random and unequal bags"), (natural, ~natural), strict=True
    ):
        for place, name in enumerate(names):
            values = share.loc[mask, name].dropna()
            jitter = np.linspace(-0.2, 0.2, len(values))
            ax.plot(values, place + jitter, ".", alpha=0.6)
            ax.plot(values.mean(), place, "k|", markersize=18)
        ax.set(title=title, xlim=(-0.5, 1.2), xlabel="share of what labels gain in AUC")
        ax.axvline(1.0, color="0.8", zorder=0)
        ax.axvline(0.0, color="0.8", zorder=0)
    axes[0].set_yticks(range(len(names)), names)
    figure.savefig(path, bbox_inches="tight", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    complete(HERE / "natural.csv", cells(), measure)
    picture(HERE / "natural.png")
    print("\n\n".join(pages().values()))
