"""Methods on bags that all have the same share; see methods.md."""

from itertools import product

import numpy as np
import pandas as pd
from reproduction.evaluation import Sample
from reproduction.report import rows_table
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from study import HERE, complete, seconds_used

from propcvx import AlterPropSVM, Bags, ConvPropSVM, SecondMoments
from propcvx.bags.metrics import least_error_bias
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import equal_proportion_bags, load_real

LARGE = "cod-rna.t"
SETS = ("dna-1", "a1a", "vote", "satimage-2", "australian", "breast-w", "heart")
FURTHER = ("dna-2", "satimage-4", "credit-a", "heart-c", "colic")
"""Sets that the default number of components was not chosen on."""
SIZES = (8, 32)

METHODS = {
    "second moments": lambda split: SecondMoments(),
    "second moments, all components": lambda split: SecondMoments(n_components=None),
    "conv-pSVM": lambda split: ConvPropSVM(1.0, epsilon="rounding"),
    "alter-pSVM": lambda split: AlterPropSVM(random_state=split),
    "all labels": lambda split: LinearDiscriminantAnalysis(),
}


def measure(split, data, bag_size, method):
    """Accuracy in percent on the first of five folds, with the sign that is better there."""
    X, labels = load_real(data, random_state=0, download=False)
    chosen, bags = equal_proportion_bags(labels, bag_size, split)
    sample = Sample.in_bags(X[chosen], labels[chosen], bags)
    inside, outside = next(BagKFold(random_state=split).split(sample.X, sample.y))
    train, test = sample.take(inside), sample.take(outside)
    model, start = METHODS[method](split), seconds_used()
    told = method == "all labels"
    model.fit(train.X, train.labels if told else train.y)
    seconds = seconds_used() - start
    right = other = 100.0 * np.mean(model.predict(test.X) == test.labels)
    if not told:
        scores = -model.decision_function(train.X)
        bias = least_error_bias(scores, Bags.from_target(train.y))
        predicted = np.where(bias - model.decision_function(test.X) > 0.0, 1, -1)
        other = 100.0 * np.mean(predicted == test.labels)
    yield {
        "accuracy": max(right, other),
        "right_sign": right >= other,
        "share": np.mean(train.labels > 0),
        "bags": len(np.unique(train.y["bag"])),
        "seconds": seconds,
    }


def cells():
    """Those of the page; the large set has fewer drawings and no fit of alter-pSVM."""
    grid = [*product(range(5), (*SETS, *FURTHER), SIZES, METHODS)]
    grid += [*product(range(2), [LARGE], SIZES, [*list(METHODS)[:3], "all labels"])]
    names = ("split", "data", "bag_size", "method")
    return [dict(zip(names, values, strict=True)) for values in grid]


def pages():
    """What the page shows, by the names that it uses."""
    rows = pd.read_csv(HERE / "equal_shares.csv")
    return {"equal_shares": accuracies_table(rows), "equal_shares_signs": signs_table(rows)}


def accuracies_table(rows):
    """Mean accuracy of each method by bag size and set."""
    wide = rows.pivot_table(
        "accuracy", ["bag_size", "data", "bags"], "method", sort=False, aggfunc="mean"
    )
    texts = wide[list(METHODS)].map("{:.1f}".format).replace("nan", "")
    return rows_table(texts.reset_index().rename(columns={"bag_size": "bags of"}))


def signs_table(rows):
    """How often the sign is right that the skewness tells, by the share of all bags."""
    of = rows[rows["method"] == "second moments"]
    half = np.abs(of["share"] - 0.5) < 0.01
    return rows_table(
        {"share": name, "fits": len(group), "right sign": f"{group['right_sign'].mean():.0%}"}
        for name, group in (("one half", of[half]), ("another", of[~half]))
    )


if __name__ == "__main__":
    complete(HERE / "equal_shares.csv", cells(), measure)
    for table in pages().values():
        print(table)
