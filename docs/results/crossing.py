"""One grouping against two that cross, on instances held out; the rows are in crossing.csv."""

from functools import cache
from itertools import product
from time import process_time

import numpy as np
from study import HERE, complete, labelled, mixed_psvm

from propcvx import ConvPropSVM, InvCal, MeanMap, bag_target, proportions_of
from propcvx.bags.metrics import bag_error
from propcvx.datasets import load_ballots, random_bags

METHODS = {
    "alter-pSVM": mixed_psvm(n_init=3),
    "conv-pSVM": ConvPropSVM(1.0),
    "InvCal": InvCal(C_p=1.0),
    "MeanMap": MeanMap(lam=1.0),
}

SECOND = ("none", "random", "feature")
"""What the second grouping is: there is none, a random partition, or the values of a feature."""

FEATURES = {"heart": 2, "australian": 4}
"""The categorical feature of the second grouping, which no method sees."""

FIRST = {
    "heart": ("random 16", "random 64"),
    "australian": ("random 16", "random 64"),
    "ballots": ("district and day",),
}
"""The first grouping: random bags of so many instances, or of ballots where and when they came."""

BALLOTS = 1000
"""How many of the ballots are in bags; as many others are held out."""


@cache
def sample(data, split):
    """Features, labels and the hidden feature of the instances in bags, then of those held out."""
    random = np.random.RandomState(split)
    if data == "ballots":
        of_place, of_contest = (
            load_ballots(by, download=False) for by in (("cd", "voteday"), ("v_USS",))
        )
        X = load_ballots(("cd", "voteday", "v_USS"), download=False).X
        drawn = random.permutation(len(X))[: 2 * BALLOTS]
        parts = X, of_place.labels, of_contest.bags, of_place.bags
        return tuple(np.split(part[drawn], 2) for part in parts)
    X, labels = labelled(data)
    hidden, order = X[:, FEATURES[data]], random.permutation(len(X))
    parts = np.delete(X, FEATURES[data], axis=1), labels, hidden
    return tuple(np.split(part[order], [4 * len(X) // 5]) for part in parts)


def groupings(split, first, second, labels, hidden, place=None):
    """The bags of the instances: one grouping or two, or the second by a feature alone."""
    if first == "none":
        return [hidden]
    size = int(first.split()[1]) if place is None else len(labels) // len(np.unique(place))
    ids = random_bags(labels, size, split) if place is None else place
    others = {
        "none": [],
        "random": [random_bags(labels, size, split + 1000)],
        "feature": [hidden],
    }
    return [ids, *others[second]]


def measure(split, data, first, second, method):
    """Accuracy in percent on instances held out, bag error on those in bags, seconds of the fit."""
    (X, new), (labels, truth), (hidden, _), *place = sample(data, split)
    bags = groupings(split, first, second, labels, hidden, *(ids for ids, _ in place))
    y = bag_target(bags, [proportions_of(labels, ids) for ids in bags])
    model, start = METHODS[method], process_time()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=split)
    model.fit(X, y)
    yield {
        "bags": sum(len(np.unique(ids)) for ids in bags),
        "accuracy": 100.0 * np.mean(model.predict(new) == truth),
        "bag_error": bag_error(y, model.predict(X)),
        "seconds": process_time() - start,
    }


if __name__ == "__main__":
    names = ("split", "data", "first", "second", "method")
    cells = [
        dict(zip(names, (split, data, *pair, method), strict=True))
        for data in FIRST
        for split, pair, method in product(
            range(3), [*product(FIRST[data], SECOND), ("none", "feature")], METHODS
        )
    ]
    rows = complete(HERE / "crossing.csv", cells, measure)
    means = rows.groupby(["data", "first", "method", "second"], sort=False)["accuracy"].mean()
    print(means.unstack().round(1).to_string())
    both = rows[rows["first"] != "none"].pivot_table("accuracy", [*names[:3], "method"], "second")
    alone = rows[rows["first"] == "none"].set_index(["split", "data", "method"])["accuracy"]
    gains = {
        "random over one": both["random"] - both["none"],
        "feature over one": both["feature"] - both["none"],
        "feature over the feature alone": both["feature"].sub(alone),
    }
    for name, gain in gains.items():
        of = gain.groupby("method")
        print(f"{name}\n{of.agg(['mean', 'median', 'sem', 'min', 'max']).round(1).to_string()}")
        print(f"better {(gain > 0).sum()}, worse {(gain < 0).sum()}, of {len(gain)}")
