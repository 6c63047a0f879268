"""Methods for several classes on dna and satimage in bags; the rows are in many_classes.csv."""

from functools import partial
from itertools import product

import numpy as np
from reproduction.other_methods import fit_llp_learn
from sklearn.svm import LinearSVC
from study import HERE, complete, judged, mixed_psvm

from propcvx import (
    ConvPropSVM,
    InvCal,
    MeanMap,
    RandomStart,
    bag_target,
    class_proportions_of,
    one_class_target,
)
from propcvx.bags.bags import Bags
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import load_real, random_bags

SETS = ("dna", "satimage")
BAG_SIZES = (8, 32)
STARTS = [RandomStart(3), InvCal(C_p=1.0)]
TRAINING = {"lr": 1e-3, "n_epochs": 30}
LLP_LEARN = {
    "DLLP": {},
    "LLPVAT": {"xi": 1e-6, "eps": 6.0, "ip": 1},
    "MixBag": {"consistency": "none", "choice": "uniform", "confidence_interval": 0.005},
}
"""Methods of llp-learn that run, and their parameters that have no default there."""


class OneVersusRest:
    """A method of two classes for each class; the largest decision value tells."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y):
        self.classes_ = np.array(y.dtype.metadata["classes"])
        targets = [one_class_target(y, name) for name in self.classes_]
        self.models = [self.make().fit(X, target) for target in targets]
        return self

    def predict(self, X):
        scores = np.array([model.decision_function(X) for model in self.models])
        return self.classes_[scores.argmax(axis=0)]


class LLPLearnNetwork:
    """A multilayer perceptron that llp-learn trains, by a class of ``llp_learn.dllp`` and so on."""

    def __init__(self, name, options, random_state):
        self.parameters = {"name": name, "options": options, "random_state": random_state}

    def fit(self, X, y):
        self.classes_ = np.array(y.dtype.metadata["classes"])
        bags = Bags.from_target(y, table=True)
        self.layers = fit_llp_learn(self.parameters, X.astype(np.float32), bags)
        return self

    def predict(self, X):
        for weights, biases in self.layers[:-1]:
            X = np.maximum(X @ weights.T + biases, 0.0)
        weights, biases = self.layers[-1]
        return self.classes_[np.argmax(X @ weights.T + biases, axis=1)]


METHODS = {
    "alter-pSVM, one-versus-rest": lambda split: OneVersusRest(
        lambda: mixed_psvm(init=STARTS, random_state=split)
    ),
    "conv-pSVM, one-versus-rest": lambda split: ConvPropSVM(1.0, epsilon="rounding"),
    "InvCal, one-versus-rest": lambda split: InvCal(C_p=1.0),
    "MeanMap, one-versus-rest": lambda split: MeanMap(lam=0.01),
}
METHODS |= {
    f"llp-learn {name}": partial(LLPLearnNetwork, name, TRAINING | settings)
    for name, settings in LLP_LEARN.items()
}


def measure(split, data, bag_size, method):
    """Accuracy in percent and bag error on the first of five folds, and seconds of the fit."""
    X, labels = load_real(data, download=False)
    bags = random_bags(labels, bag_size, split)
    y = bag_target(bags, class_proportions_of(labels, bags))
    train, test = next(BagKFold(random_state=split).split(X, y))
    if method == "LinearSVC, all labels":
        model, target = LinearSVC(random_state=split, max_iter=20000), labels
    else:
        model, target = METHODS[method](split), y
    yield judged(model, X[train], target[train], X[test], y[test], labels[test])


if __name__ == "__main__":
    names = ("split", "data", "bag_size", "method")
    grid = product(range(5), SETS, BAG_SIZES, [*METHODS, "LinearSVC, all labels"])
    cells = [dict(zip(names, values, strict=True)) for values in grid]
    rows = complete(HERE / "many_classes.csv", cells, measure)
    by = rows.groupby(["data", "bag_size", "method"], sort=False)
    print(by[["accuracy", "bag_error", "seconds"]].agg(["mean", "std"]).round(3).to_string())
