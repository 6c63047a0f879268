"""How much accuracy depends on which random bags were drawn; see alternating.md."""

from itertools import product

import numpy as np
import pandas as pd
from reproduction.entries import PRINTED_REPETITIONS, printed
from reproduction.evaluation import Sample
from reproduction.methods import PAPER, cheaper, printed_method
from scipy.stats import f
from shown import line_grid
from study import HERE, complete, labelled, lines

from propcvx.bags.bags import Bags
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import random_bags


def measure(draw, deal, data, bag_size):
    """A row for each method, with the middle value of each printed grid.

    ``accuracy`` is that on the test instances of five folds over whole bags, in percent;
    ``spread`` is the standard deviation of the proportions, over all bags.  Another deal of the
    same bags has other folds, and other starts.
    """
    X, labels = labelled(data)
    sample = Sample.in_bags(X, labels, random_bags(labels, bag_size, draw))
    spread, seed = Bags.from_target(sample.y).proportions.std(), draw + 1000 * deal
    for method in (cheaper(printed_method(name, seed)) for name in PAPER):
        accuracy = 100.0 * np.mean(held_out(method, sample, seed) == labels)
        yield {"method": method.name, "spread": spread, "accuracy": accuracy}


def held_out(method, sample, seed):
    """The label of each instance, predicted from the bags of the other folds."""
    predicted = np.zeros(len(sample.labels))
    model = method.estimator.set_params(**{name: value for name, (value,) in method.grid.items()})
    for inside, outside in BagKFold(5, random_state=seed).split(sample.X, sample.y):
        model.fit(sample.X[inside], sample.y[inside])
        predicted[outside] = model.predict(sample.X[outside])
    return predicted


def summary(rows):
    """Over the draws: mean, deviation, quartiles, the worst, and what is printed.

    ``same bags`` is the deviation over deals of the same bags.  ``p`` is how probable a deviation
    over five drawings is that is no larger than the printed one, if accuracies are normal with the
    deviation over our drawings.
    """
    data, size, method = rows.name
    first = rows[rows.deal == 0].accuracy
    again = np.sqrt(rows.groupby("draw").accuracy.var().mean())
    summary = {"draws": len(first), "mean": first.mean(), "deviation": first.std()}
    summary |= {"same bags": again, "worst": first.min(), "below 50": (first < 50.0).sum()}
    summary |= {f"{share:.0%}": first.quantile(share) for share in (0.25, 0.5, 0.75)}
    paper, place = printed(), ("table-linear", data, "linear", int(size), method)
    if place in paper.index:
        mean, deviation = paper.loc[place, ["print", "print_std"]]
        p = p_value(deviation, first.std(), len(first))
        summary |= {"print": mean, "printed deviation": deviation, "p": p}
    return pd.Series(summary)


def p_value(printed, deviation, draws):
    """Probability that five drawings deviate no more than printed, by the F test."""
    return f.cdf((printed / deviation) ** 2, PRINTED_REPETITIONS - 1, draws - 1)


if __name__ == "__main__":
    keys = ("draw", "deal", "data", "bag_size")
    grid = product(range(12), range(2), ("heart", "vote"), (8, 16, 32, 64))
    cells = [dict(zip(keys, cell, strict=True)) for cell in grid]
    rows = complete(HERE / "draws.csv", cells, measure)
    print(rows.groupby(["data", "bag_size", "method"], sort=False).apply(summary).to_string())
    panels = {
        data: lines(group, "method", "bag_size", "accuracy")
        for data, group in rows[rows.deal == 0].groupby("data", sort=False)
    }
    figure = line_grid({"accuracy in percent": panels}, "bag size")
    figure.savefig(HERE / "draws.png", dpi=110)
