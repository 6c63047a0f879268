"""What conv-pSVM would reach if true labels chose between it and its mirror image; convex.md."""

from itertools import product

import numpy as np
from reproduction.cells import Cell as Fold
from reproduction.entries import PRINTED_REPETITIONS, printed
from reproduction.evaluation import bag_errors, choose, fit_each, inner_splits
from reproduction.experiments import TABLE_DATA
from reproduction.protocol import Protocol
from reproduction.tasks import task_of
from shown import line_grid
from study import HERE, complete, lines

BAG_SIZES = (8, 16, 32, 64)
PROTOCOL = Protocol().with_options(intercepts="center", cuts=1)
"""Centred data and one cut; C and epsilon are tuned as printed."""
RULES = ("bags", "labels")
"""Who tells the sign: the proportions of the training bags, or the labels of their instances."""


def measure(repetition, data, bag_size):
    """A row for each rule: accuracy in percent over the test instances of all folds."""
    folds = [
        Fold(data, "linear", bag_size, "conv-pSVM", repetition, k, PROTOCOL)
        for k in range(PROTOCOL.folds)
    ]
    right = np.concatenate([right_ones(fold) for fold in folds], axis=1)
    for rule, row in zip(RULES, right, strict=True):
        yield {"sign": rule, "accuracy": 100.0 * row.mean()}


def right_ones(fold):
    """For each rule, which test instances the classifier that is chosen labels right."""
    task = task_of(fold)
    n_splits, random = PROTOCOL.inner_folds, fold.random(f"inner folds {fold.fold}")
    splits = inner_splits(fold.configured, task.train, n_splits, random)
    errors = sum(errors_of(fold, *map(task.train.take, split)) for split in splits)
    test = list(predictions(fold, task.train, task.test))
    chosen = [choose(row, PROTOCOL.ties) for row in np.transpose(errors)]
    return np.array([test[k][rule] == task.test.labels for rule, k in enumerate(chosen)])


def errors_of(fold, train, test):
    """Bag error of each combination of the grid, a row, by each rule, a column."""
    return np.array(
        [
            [bag_errors(test.y, labels).sum() for labels in by_rule]
            for by_rule in predictions(fold, train, test)
        ]
    )


def predictions(fold, train, test):
    """For each combination of the grid, the labels of test instances by each rule.

    By the second they are turned round where most training instances would be labelled wrong.
    """
    for model in fit_each(fold.configured, train.X, train.y):
        labels = model.predict(test.X)
        is_mirrored = np.mean(model.predict(train.X) == train.labels) < 0.5
        yield [labels, -labels if is_mirrored else labels]


def in_print(data):
    """What Table 2 has, against the bag size."""
    place = {"experiment": "table-linear", "data": data, "method": "conv-pSVM"}
    table = printed().xs(tuple(place.values()), level=tuple(place)).reset_index()
    table = table[table["bag_size"].isin(BAG_SIZES)]
    table["error"] = table["print_std"] / PRINTED_REPETITIONS**0.5
    return tuple(table[["bag_size", "print", "error"]].to_numpy().T)


if __name__ == "__main__":
    keys = ("repetition", "data", "bag_size")
    cells = [dict(zip(keys, c, strict=True)) for c in product(range(5), TABLE_DATA, BAG_SIZES)]
    rows = complete(HERE / "signs.csv", cells, measure)
    by = ["data", "bag_size", "sign"]
    table = rows.groupby(by, sort=False).accuracy.agg(["count", "mean", "std"]).unstack()
    print(table.to_string())
    panels = {
        data: {
            **lines(group.assign(sign="sign by " + group.sign), "sign", "bag_size", "accuracy"),
            "print": in_print(data),
        }
        for data, group in rows[rows.data.isin(TABLE_DATA[:4])].groupby("data", sort=False)
    }
    figure = line_grid({"accuracy in percent": panels}, "bag size")
    figure.savefig(HERE / "signs.png", dpi=110)
