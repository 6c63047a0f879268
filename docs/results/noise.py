"""Accuracy on held-out bags against noise in the proportions; see bags.md."""

from itertools import product

import numpy as np
import pandas as pd
from reproduction.evaluation import Sample
from reproduction.report import rows_table
from sklearn.base import clone
from study import HERE, REAL, complete, judged, labeled, mixed_psvm

from propcvx import ConvPropSVM, InvCal, MeanMap, bag_target
from propcvx.bags.model_selection import BagKFold
from propcvx.labelings.losses import epsilon_insensitive

BAG_SIZES = (8, 32)
SPREAD = 4.0
"""Proportions of populations have a beta distribution with parameters of this sum."""

ALTER = mixed_psvm(n_init=3, random_state=0)
METHODS = {
    "MeanMap": MeanMap(lam=1.0),
    "InvCal": InvCal(C_p=1.0),
    "alter absolute": clone(ALTER).set_params(proportion_loss="absolute"),
    "alter squared": clone(ALTER).set_params(proportion_loss="squared"),
    "alter sampling": clone(ALTER).set_params(proportion_loss=epsilon_insensitive("sampling")),
    "conv rounding": ConvPropSVM(1.0, epsilon="rounding"),
    "conv sampling": ConvPropSVM(1.0, epsilon="sampling"),
}


def as_counted(labels, populations, random):
    """The proportions as they are: no noise."""
    return labels.mean(axis=1)


def of_populations(labels, populations, random):
    """The proportions of the populations that the bags are samples of."""
    return populations


def with_normal(deviation):
    """Shares with a normal error, cut to [0, 1]."""
    return lambda labels, populations, random: np.clip(
        labels.mean(axis=1) + deviation * random.normal(size=len(labels)), 0.0, 1.0
    )


def with_label_errors(rate):
    """Shares of labels of which each is wrong with this probability."""
    return lambda labels, populations, random: np.mean(
        labels != (random.uniform(size=labels.shape) < rate), axis=1
    )


NOISE = {
    "none": as_counted,
    "sampling": of_populations,
    "normal 0.05": with_normal(0.05),
    "normal 0.1": with_normal(0.1),
    "normal 0.2": with_normal(0.2),
    "label errors 10%": with_label_errors(0.1),
}


def bags_of_populations(labels, size, random):
    """Bags drawn from populations with proportions of their own, until one class is used up.

    Returns the rows of each bag, shape (n_bags, size), and the proportions of the populations.
    """
    left = [list(random.permutation(np.flatnonzero(labels == sign))) for sign in (-1, 1)]
    mean, bags, proportions = np.mean(labels > 0), [], []
    while True:
        p = random.beta(SPREAD * mean, SPREAD * (1.0 - mean))
        count = random.binomial(size, p)
        if count > len(left[1]) or size - count > len(left[0]):
            return np.array(bags), np.array(proportions)
        bags.append([left[1].pop() for _ in range(count)])
        bags[-1] += [left[0].pop() for _ in range(size - count)]
        proportions.append(p)


def measure(split, data, bag_size, noise, method):
    """Accuracy in percent, bag error by the true proportions, and seconds, on one of five folds.

    The bags and the fold depend on neither the noise nor the method.
    """
    X, labels = labeled(data)
    rows, populations = bags_of_populations(labels, bag_size, np.random.RandomState(split))
    positive, index = labels[rows] > 0, np.repeat(np.arange(len(rows)), bag_size)
    given = NOISE[noise](positive, populations, np.random.RandomState(split + 1000))
    sample = Sample.in_bags(X[rows.ravel()], labels[rows.ravel()], index)
    inside, outside = next(BagKFold(random_state=split).split(sample.X, sample.y))
    test, noisy = sample.take(outside), bag_target(index, given)
    fitted_to = sample.X[inside], noisy[inside]
    yield judged(clone(METHODS[method]), *fitted_to, test.X, test.y, test.labels)


def pages():
    """Mean accuracy by noise and method, by the name that the page uses."""
    rows = pd.read_csv(HERE / "noise.csv")
    table = rows.pivot_table("accuracy", "noise", "method", sort=False).map("{:.1f}".format)
    table.columns = table.columns.str.replace("alter", "alter-pSVM,").str.replace(
        "conv", "conv-pSVM,"
    )
    return {"noise": rows_table(table.rename_axis("error").reset_index())}


if __name__ == "__main__":
    names = ("split", "data", "bag_size", "noise", "method")
    grid = product(range(3), REAL, BAG_SIZES, NOISE, METHODS)
    cells = [dict(zip(names, values, strict=True)) for values in grid]
    complete(HERE / "noise.csv", cells, measure)
    print(pages()["noise"])
