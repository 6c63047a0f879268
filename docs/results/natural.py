"""How accurate each method is with its defaults, in random bags and in groups of their own.

The rows of three baselines in the file were measured by this script of commit dd6c1688.
"""

from functools import cache
from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from study import HERE, complete, mixed_psvm

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    BagKFold,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    ProportionScaler,
    bag_target,
)
from propcvx.bags.targets import bag_proportions
from propcvx.datasets import bags_by_cluster, load_real, random_bags
from propcvx.datasets.bag_generators import BaggedData
from propcvx.datasets.real import NATURAL_SETS, natural_bags

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
LABELS, MAJORITY, CONVEX = "fully supervised", "majority class", "ConvPropSVM"
CONSTANT = "constant probability"
BEFORE = {"init": "ecological", "init_weight": 0.4}
"""Parameters of the rows of AlterPropSVM with a Gaussian kernel: its former default."""

METHODS = {
    "AggregateLogisticRegression": AggregateLogisticRegression(),
    "EcologicalRegression": EcologicalRegression(),
    "ProportionScaler, EcologicalRegression": make_pipeline(
        ProportionScaler(), EcologicalRegression()
    ),
    "InvCal": InvCal(),
    "MeanMap": MeanMap(),
    "AlterPropSVM": AlterPropSVM(),
    "AlterPropSVM, the SVM alone": AlterPropSVM(init="ecological", init_weight=0.0),
    "AlterPropSVM, C = 1, mixed starts": mixed_psvm(random_state=0),
    "ConvPropSVM": ConvPropSVM(epsilon="rounding"),
    "ProportionScaler, ConvPropSVM": make_pipeline(
        ProportionScaler(), ConvPropSVM(epsilon="rounding")
    ),
    "EcologicalRegression, Gaussian": EcologicalRegression(kernel="rbf"),
    "AlterPropSVM, Gaussian": AlterPropSVM(kernel="rbf", **BEFORE),
    LABELS: LogisticRegression(C=0.1, max_iter=1000),
    CONSTANT: LogisticRegression(C=1e-12),
}
OMITTED = ("Gaussian", "mixed", "ConvPropSVM", "alone", "constant")
EVERYWHERE = [name for name in METHODS if not any(word in name for word in OMITTED)]
"""Methods that are run on every set, and are shown."""
ON_SETS = ["AggregateLogisticRegression", "EcologicalRegression", "InvCal", "MeanMap"]
ON_SETS += ["AlterPropSVM", LABELS]
SHORT = [MAJORITY, "EcologicalRegression", "AggregateLogisticRegression", "InvCal", "MeanMap"]
SHORT += ["AlterPropSVM", CONVEX, LABELS]
"""Rows of the page that recommends a method."""
SLOW = ("AlterPropSVM, C = 1, mixed starts", "ConvPropSVM", "ProportionScaler, ConvPropSVM")


@cache
def loaded(data, kind, draw):
    """A set in bags, standardized."""
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
    return BaggedData(X, labels, bags, bag_proportions(labels, bags))


def unequal_bags(n, random):
    """Bags whose sizes have a median of 16, and of which a sixth have more than 43."""
    sizes = []
    while sum(sizes) < n:
        sizes.append(max(2, int(np.exp(random.normal(np.log(16.0), 1.0)))))
    return np.repeat(np.arange(len(sizes)), sizes)[:n][random.permutation(n)]


def measure(data, kind, draw, method):
    """Measure a fit to four fifths of the bags by the labels of the others."""
    X, labels, bags, proportions = loaded(data, kind, draw)
    y, labels = bag_target(bags, proportions), np.where(np.asarray(labels) > 0, 1, -1)
    n_folds = min(5, len(np.unique(bags)))
    train, test = next(BagKFold(n_folds, random_state=draw).split(X, y))
    started = process_time()
    target = labels if method in (LABELS, CONSTANT) else y
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
    """All sets, repetition by repetition."""
    public = product(range(10), (*CHOSEN_ON, *HELD_OUT), (*KINDS, *FEW), METHODS)
    natural = product(range(10), NATURAL, ["natural"], METHODS)
    each = [
        {"data": data, "kind": kind, "draw": draw, "method": method}
        for draw, data, kind, method in (*natural, *public)
        if allowed(data, kind, draw, method)
    ]
    return sorted(each, key=lambda cell: cell["draw"])


def allowed(data, kind, draw, method):
    """Whether a fit takes less than some seconds; random bags have three assignments."""
    if kind != "natural" and (draw > 2 or (data in ("a1a", "cod-rna.t") and method in SLOW[:1])):
        return False
    if kind == "natural" and (method in SLOW or "Gaussian" in method):
        return len(loaded(data, kind, 0).labels) <= (LARGE if "Gaussian" not in method else 3000)
    return True


def pages():
    """What the page shows, by the names that it uses."""
    rows = pd.read_csv(HERE / "natural.csv")
    kinds = [rows["kind"] == "natural", rows["kind"].isin(FEW), rows["data"].isin(HELD_OUT)]
    names = ["natural bags", "4 or 8 random bags", "held-out sets, random or clustered"]
    rows["bags are"] = np.select(kinds, names, "random or clustered bags")
    accuracy, auc = (by_set(rows, column) for column in ("accuracy", "auc"))
    loss = by_set(rows, "log_loss", [CONSTANT, *EVERYWHERE])
    common = accuracy[EVERYWHERE].dropna().index  # problems on which every method was run
    accuracy, auc, loss = (each.reindex(common) for each in (accuracy, auc, loss))
    rows = rows.set_index(common.names).loc[common].reset_index()
    alone = rows.drop_duplicates(["data", "kind", "draw"]).groupby("bags are", sort=False)
    larger = (100.0 * alone["larger"].mean()).map("{:.1f} (50)".format)
    counts = rows.groupby("bags are", sort=False)["data"].nunique()
    titles = {kind: f"{kind} ({count} sets)" for kind, count in counts.items()}
    means = with_stars(*scores(accuracy, auc))
    means = pd.concat([larger.to_frame(MAJORITY).T, means])
    seconds = rows.groupby("method")["seconds"].median().map("{:.3f}".format)
    losses = with_stars(loss, "{:.3f}".format).assign(**{"seconds, median": seconds})
    convex = (by_set(rows, column, [CONVEX]).reindex(common) for column in ("accuracy", "auc"))
    short = pd.concat([means, with_stars(*scores(*convex))]).loc[SHORT]
    return {
        "natural_means": as_table(means.rename(columns=titles)),
        "natural_short": as_table(with_bold(short).rename(columns=titles)),
        "natural_calibration": as_table(losses),
        "natural_sets": sets_table(rows),
    }


def by_set(rows, column, methods=EVERYWHERE):
    """Means over repetitions, a row for each set and kind of bags, a column for each method."""
    wide = rows.pivot_table(column, ["bags are", "data", "kind"], "method", sort=False)
    return wide[methods]


def gained(auc):
    """Fraction of the gain in AUC of full supervision that each method has."""
    return (auc - 0.5).div(auc[LABELS] - 0.5, axis=0)


def scores(accuracy, auc):
    """Arguments of `with_stars` for accuracies in percent with the AUC in brackets."""
    return accuracy, lambda mean: f"{100.0 * mean:.1f}", auc


def with_stars(values, text, beside=None):
    """Means over sets, methods by kinds of bags; a star marks those of which some are missing."""
    groups = values.groupby("bags are", sort=False)
    texts = groups.mean().map(text)
    if beside is not None:
        texts += beside.groupby("bags are", sort=False).mean().map(lambda m: f" ({100.0 * m:.1f})")
    absent = values.isna().groupby("bags are", sort=False).any()
    return (texts + absent.replace({True: "*", False: ""})).T


def with_bold(texts):
    """Print the largest accuracy of a column in bold, except for full supervision."""
    values = texts.map(lambda text: float(text.split()[0])).drop(index=LABELS)
    best = values.eq(values.max()).reindex(texts.index, fill_value=False)
    return texts.where(~best, "**" + texts + "**")


def as_table(texts):
    """A frame of texts, a row for each method."""
    return rows_table(texts.rename_axis("method").reset_index())


def sets_table(rows):
    """Accuracy of some methods, set by set."""
    shown = rows[rows["kind"].isin(["natural", "random 8", "random 64"])]
    groups = shown.groupby(["kind", "data"], sort=False)
    wide = shown.pivot_table("accuracy", ["kind", "data"], "method", sort=False)[ON_SETS]
    wide.insert(0, MAJORITY, groups["larger"].mean())
    texts = (100.0 * wide).map("{:.1f}".format).replace("nan", "-")
    texts.index = [f"{data}, {kind}" for kind, data in texts.index]
    return rows_table(texts.rename_axis("set, bags").reset_index())


def picture():
    """Fraction of the gain in AUC of full supervision, a point for each set."""
    rows = pd.read_csv(HERE / "natural.csv").assign(**{"bags are": ""})
    fractions = gained(by_set(rows, "auc"))
    names = ON_SETS[:-1]
    natural = fractions.index.get_level_values("kind") == "natural"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    panels = {"natural bags": natural, "random and clustered bags": ~natural}
    for ax, (title, mask) in zip(axes, panels.items(), strict=True):
        for place, name in enumerate(names):
            values = fractions.loc[mask, name].dropna()
            jitter = np.linspace(-0.2, 0.2, len(values))
            ax.plot(values, place + jitter, ".", alpha=0.6)
            ax.plot(values.mean(), place, "k|", markersize=18)
        ax.set(
            title=title, xlim=(-0.05, 1.2), xlabel="fraction of the gain in AUC of full supervision"
        )
        for end in (0.0, 1.0):
            ax.axvline(end, color="0.8", zorder=0)
    axes[0].set_yticks(range(len(names)), names)
    return figure


if __name__ == "__main__":
    complete(HERE / "natural.csv", cells(), measure)
    picture().savefig(HERE / "natural.png", bbox_inches="tight", dpi=120)
    print("\n\n".join(pages().values()))
