"""Real bags: voters in their states and births in their communities; see methods.md."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from reproduction.evaluation import Sample
from reproduction.other_methods import GoodmanRegression
from shown import markdown_table
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from study import HERE, complete, mixed_psvm

from propcvx import ConvPropSVM, InvCal, MeanMap
from propcvx.datasets import TRUMP_FEATURES, load_guatemala_prenatal, load_trump_2016

LOADERS = {"trump-2016": load_trump_2016, "guatemala-prenatal": load_guatemala_prenatal}
DATA = (*LOADERS, "trump-2016 without party")
METHODS = {
    "majority": DummyClassifier,
    "ecological regression": GoodmanRegression,
    "MeanMap": MeanMap,
    "InvCal": InvCal,
    "conv-pSVM": ConvPropSVM,
    "alter-pSVM": lambda: mixed_psvm(random_state=0),
    "all labels": LogisticRegression,
}
"""All with their default parameters; nothing is chosen."""
LABELED = ("majority", "all labels")
PARTY = "pid7na"
ALL = "everybody"
YES_NO = {
    "born again": ("bornagain", "yes"),
    "not born again": ("bornagain", "no"),
    "college": ("collegeed", "yes"),
    "no college": ("collegeed", "no"),
}
RACES = ("White", "Black", "Hispanic", "Asian")
GROUPS = (*RACES, "other race", *YES_NO)


@cache
def loaded(data):
    """A set, without the party of the voters where its name says so."""
    name, _, left_out = data.partition(" without ")
    X, labels, bags, _ = LOADERS[name](download=False)
    kept = [k for k in range(X.shape[1]) if left_out != "party" or TRUMP_FEATURES[k] != PARTY]
    return Sample.in_bags(X[:, kept], labels, bags), groups_of(X) if "trump" in name else {}


def groups_of(X):
    """Groups of voters, as masks: by race, by whether they are born again, by education."""
    column = dict(zip(TRUMP_FEATURES, X.T > 0.0, strict=True))
    races = {race: column[race] for race in RACES}
    other = ~np.any(list(races.values()), axis=0)
    answers = {name: column[of] == (answer == "yes") for name, (of, answer) in YES_NO.items()}
    return {**races, "other race": other, **answers}


def measure(draw, fold, data, method):
    """Of everybody and each group of a test fold: how many, right, positive, predicted so."""
    sample, groups = loaded(data)
    folds = GroupKFold(5, shuffle=True, random_state=draw)
    inside, outside = list(folds.split(sample.X, groups=sample.y["bag"]))[fold]
    train = sample.take(inside)
    model = METHODS[method]()
    model.fit(train.X, train.labels if method in LABELED else train.y)
    predicted, truth = model.predict(sample.X[outside]), sample.labels[outside]
    for name, mask in {ALL: np.ones(len(truth), bool), **groups}.items():
        of = mask[outside] if name in groups else mask
        yield {
            "group": name,
            "instances": of.sum(),
            "right": (predicted[of] == truth[of]).sum(),
            "positive": (truth[of] > 0).sum(),
            "predicted": (predicted[of] > 0).sum(),
        }


def counted(rows, by):
    """The sums over folds, as percentages of the instances, for each draw."""
    sums = rows.groupby([*by, "draw"], sort=False)[["instances", "right", "positive", "predicted"]]
    sums = sums.sum()
    return 100.0 * sums[["right", "positive", "predicted"]].div(sums["instances"], axis=0)


def accuracies_table(rows):
    """Accuracy of each method on bags that it has not seen: mean and deviation over the draws."""
    right_votes = counted(rows[rows["group"] == ALL], ["method", "data"])["right"]
    table = (
        right_votes.groupby(level=[0, 1], sort=False).agg(["mean", "std", "size"]).unstack("data")
    )
    names = [name for name in DATA if name in set(rows["data"])]
    return markdown_table(
        ["", *names],
        ([method, *(_accuracy(row, name) for name in names)] for method, row in table.iterrows()),
    )


def _accuracy(row, name):
    mean, deviation, draws = (row[(part, name)] for part in ("mean", "std", "size"))
    if np.isnan(mean):
        return "-"
    return f"{mean:.1f} ({deviation:.1f})" if draws > 1 else f"{mean:.1f}"


def groups_table(rows, methods=("ecological regression", "MeanMap", "InvCal", "all labels")):
    """Share of each group that voted for Trump, and that each method says."""
    shares = group_shares(rows)
    methods = [method for method in methods if method in shares]
    return markdown_table(
        ["group", "voters", "truth", *methods],
        (
            [name, f"{size:,}", *(f"{shares[column][name]:.0f}" for column in ("truth", *methods))]
            for name, size in group_sizes(rows).items()
        ),
    )


def group_sizes(rows):
    """Voters of each group."""
    of = rows[(rows["data"] == "trump-2016") & (rows["method"] == "InvCal") & (rows["draw"] == 0)]
    return of.groupby("group", sort=False)["instances"].sum()[[ALL, *GROUPS]]


def group_shares(rows):
    """Per cent of each group, in truth and by each method, means over the draws."""
    of = counted(rows[rows["data"] == "trump-2016"], ["method", "group"])
    shares = of.groupby(level=[0, 1], sort=False).mean()
    return {
        "truth": shares.loc["InvCal"]["positive"],
        **{method: shares.loc[method]["predicted"] for method in shares.index.unique("method")},
    }


def pages():
    """What the page shows, by the names that it uses."""
    rows = complete_draws(pd.read_csv(HERE / "real_bags.csv"))
    return {
        "real_bags_accuracies": accuracies_table(rows),
        "real_bags_groups": groups_table(rows),
    }


def complete_draws(rows):
    """The rows of draws of which all five folds are done."""
    folds = rows.groupby(["data", "method", "draw"])["fold"].transform("nunique")
    return rows[folds == 5]


def picture(rows):
    """What goes in, the states' shares, and what comes out: shares of groups beside the truth."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.4))
    states = sorted(100.0 * p for p in load_trump_2016(download=False).proportions.values())
    left.barh(range(len(states)), states, color="0.65")
    left.set(
        title="in: the shares of 51 states", xlabel="Trump, per cent", yticks=[], xlim=(0, 100)
    )
    shares, places = group_shares(rows), range(len(GROUPS), 0, -1)
    right.hlines(
        places, *([shares[column][g] for g in GROUPS] for column in ("truth", "InvCal")), "0.7"
    )
    for name, marker, label in (("truth", "o", "truth"), ("InvCal", "D", "InvCal")):
        values = [shares[name][group] for group in GROUPS]
        right.plot(values, places, marker, label=label, color={"o": "0.2", "D": "C1"}[marker])
    right.set(title="out: each voter's vote, counted by group", xlabel="Trump, per cent")
    right.set(yticks=places, yticklabels=GROUPS, xlim=(0, 100))
    right.legend(loc="lower right", frameon=False)
    return figure


def cells():
    """Quick ones first: a fold of the voters takes conv-pSVM seconds, and alter-pSVM minutes."""
    grid = product(METHODS, DATA, range(3), range(5))
    each = [
        {"draw": draw, "fold": fold, "data": data, "method": method}
        for method, data, draw, fold in grid
    ]
    slow = ("conv-pSVM", "alter-pSVM")
    return sorted(
        each, key=lambda cell: (cell["method"] in slow) * (1 + cell["data"].startswith("trump"))
    )


if __name__ == "__main__":
    complete(HERE / "real_bags.csv", cells(), measure)
    print("\n\n".join(pages().values()))
    rows = pd.read_csv(HERE / "real_bags.csv")
    picture(rows).savefig(HERE / "real_bags.png", dpi=110)
