"""Accuracies of conv-pSVM before and after it has a bias; see ``convex.md``."""

from __future__ import annotations

import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from propcvx import ConvPropSVM, InvCal, bag_target
from propcvx.datasets import equal_proportion_bags, load_real, proportions_of, random_bags
from propcvx.errors import PropCVXWarning
from propcvx.estimators import printed_conv_psvm

SETS = ("a1a", "contraception", "digits", "heart", "vote", "australian", "colic", "breast-w")
CELL = ["data", "bags", "size", "drawing"]


def instances(name):
    """Features in [-1, 1], and labels; of the digits, 0 to 3 are positive."""
    if name != "digits":
        return load_real(name, download=False)
    X, digit = load_digits(return_X_y=True)
    return minmax_scale(X, (-1, 1)), np.where(digit < 4, 1.0, -1.0)


def draw(y, bags, size, seed):
    """Training instances with their bags, 800 at most, and test instances."""
    train, test = train_test_split(
        np.arange(len(y)), train_size=min(800, round(0.7 * len(y))), stratify=y, random_state=seed
    )
    if bags == "equal":
        chosen, bag = equal_proportion_bags(y[train], size, seed)
        return train[chosen], bag, test
    if bags == "few positives":
        train, test = (rare(part, y, seed) for part in (train, test))
    return train, random_bags(y[train], size, seed), test


def rare(part, y, seed):
    """The part with so many positives left that their share is 15%."""
    positives = np.random.RandomState(seed).permutation(part[y[part] > 0])
    negatives = part[y[part] < 0]
    return np.sort(np.append(negatives, positives[: round(0.15 / 0.85 * len(negatives))]))


def measure(data, bags, size, drawing):
    """Accuracy of each method on the test instances."""
    X, y = instances(data)
    train, bag, test = draw(y, bags, size, drawing)
    target = bag_target(bag, proportions_of(y[train], bag))
    by = {"solver": "mkl_interior_point"}  # the same answer as the default's, sooner
    methods = {
        "paper": printed_conv_psvm(**by),
        "conv-pSVM": ConvPropSVM(1.0, **by),
        "InvCal": InvCal(C_p=1.0),
    }
    fitted = {name: method.fit(X[train], target) for name, method in methods.items()}
    scores = {name: model.decision_function(X[test]) for name, model in fitted.items()}
    scores["sum"] = sum(
        scores[name] / unit_of_scores(fitted[name].decision_function(X[train]))
        for name in ("conv-pSVM", "InvCal")
    )
    return {name: np.mean((of > 0) == (y[test] > 0)) for name, of in scores.items()}


def unit_of_scores(scores):
    """Root mean square of scores, the unit of a method's scores in an average; 1 if all are 0."""
    return float(np.sqrt(np.mean(scores**2))) or 1.0


def main(file):
    """Measure what is not in the file yet; print the means."""
    warnings.simplefilter("ignore", PropCVXWarning)
    rows = pd.read_csv(file).to_dict("records") if file.exists() else []
    known = {tuple(row[name] for name in CELL) for row in rows}
    kinds = ("random", "equal", "few positives")
    for drawing, data, size, bags in product(range(10), SETS, (8, 32, 64), kinds):
        cell = data, bags, size, drawing
        if cell not in known:
            rows.append(dict(zip(CELL, cell, strict=True)) | measure(*cell))
            pd.DataFrame(rows).to_csv(file, index=False)
    table = pd.DataFrame(rows).drop(columns="drawing").groupby(CELL[:3]).mean()
    print((100 * table).round(1).to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
