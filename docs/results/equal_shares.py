"""Methods on bags that all have the same proportion; see bags.md."""

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

SETS = ("dna-1", "a1a", "vote", "satimage-2", "australian", "breast-w", "heart")
FURTHER = ("dna-2", "satimage-4", "credit-a", "heart-c", "colic")
"""Sets that the default number of components was not chosen on."""

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
    correct = other = 100.0 * np.mean(model.predict(test.X) == test.labels)
    if not told:
        scores = -model.decision_function(train.X)
        bias = least_error_bias(scores, Bags.from_target(train.y))
        predicted = np.where(bias - model.decision_function(test.X) > 0.0, 1, -1)
        other = 100.0 * np.mean(predicted == test.labels)
    yield {
        "accuracy": max(correct, other),
        "right_sign": correct >= other,
        "share": np.mean(train.labels > 0),
        "bags": len(np.unique(train.y["bag"])),
        "seconds": seconds,
    }


def pages():
    """Mean accuracy of each method by bag size and set, by the name that the page uses."""
    rows = pd.read_csv(HERE / "equal_shares.csv")
    majority = rows.drop_duplicates(["bag_size", "data", "split"]).assign(method="majority class")
    share = majority["share"]
    rows = pd.concat([rows, majority.assign(accuracy=100.0 * np.maximum(share, 1.0 - share))])
    wide = rows.pivot_table("accuracy", ["bag_size", "data", "bags"], "method", sort=False)
    shown = ["majority class", *(name for name in METHODS if "components" not in name)]
    texts = wide[shown].map("{:.1f}".format).replace("nan", "")
    return {"equal_shares": rows_table(texts.reset_index().rename(columns={"bag_size": "bags of"}))}


if __name__ == "__main__":
    # The large set has fewer repetitions and no fit of alter-pSVM.
    grid = [*product(range(5), (*SETS, *FURTHER), (8, 32), METHODS)]
    grid += product(
        range(2), ["cod-rna.t"], (8, 32), [name for name in METHODS if "alter" not in name]
    )
    names = ("split", "data", "bag_size", "method")
    cells = [dict(zip(names, values, strict=True)) for values in grid]
    rows = complete(HERE / "equal_shares.csv", cells, measure)
    print(pages()["equal_shares"])
    signs = rows[rows["method"] == "second moments"]
    one_half = (signs["share"] - 0.5).abs() < 0.01
    print(signs.groupby(one_half.rename("one half"))["right_sign"].agg(["size", "mean"]))
