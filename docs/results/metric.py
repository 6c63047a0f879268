"""Methods on columns that the shares weight, and what more cuts and a kernel do there."""

import numpy as np
import pandas as pd
from natural import CHOSEN_ON, divided
from reproduction.report import rows_table
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from study import HERE, complete

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    CuttingPlanes,
    EcologicalRegression,
    ShareMetric,
)

KINDS = ("random 8", "random 32", "random 64", "unequal")
METHODS = {
    f"{name}{kernel_name}": make(kernel)
    for kernel, kernel_name in (("linear", ""), ("rbf", ", Gaussian"))
    for name, make in {
        "EcologicalRegression": lambda kernel: EcologicalRegression(kernel=kernel),
        "AlterPropSVM": lambda kernel: AlterPropSVM(kernel=kernel),
        **{
            f"ConvPropSVM, cuts: {cuts}": lambda kernel, cuts=cuts: ConvPropSVM(
                1.0, "rounding", kernel=kernel, relaxation=CuttingPlanes(max_cuts=cuts)
            )
            for cuts in (1, 3, 10)
        },
    }.items()
    if kernel == "linear" or name != "ConvPropSVM, cuts: 10"
}


def measure(data, kind, draw, method, metric):
    """Accuracy and AUC on a fifth of the bags."""
    X, y, labels, train, test = divided(data, kind, draw)
    model = clone(METHODS[method])
    model = make_pipeline(ShareMetric(), model) if metric else model
    scores = model.fit(X[train], y[train]).decision_function(X[test])
    yield {
        "accuracy": np.mean((scores > 0.0) == (labels[test] > 0)),
        "auc": roc_auc_score(labels[test], scores) if len(set(labels[test])) > 1 else np.nan,
    }


def cells():
    """Two draws of bags of the sets but the largest."""
    return [
        {"data": data, "kind": kind, "draw": draw, "method": method, "metric": metric}
        for draw in range(2)
        for data in CHOSEN_ON[:-1]
        for kind in KINDS
        for method in METHODS
        for metric in (False, True)
    ]


def pages():
    """Mean accuracy as it is, and after ShareMetric."""
    rows = pd.read_csv(HERE / "metric.csv")
    means = 100.0 * rows.groupby(["method", "metric", "kind"], sort=False)["accuracy"].mean()
    lines = [
        {"method": method}
        | {
            kind: f"{means[method, False, kind]:.1f}, {means[method, True, kind]:.1f}"
            for kind in KINDS
        }
        for method in METHODS
    ]
    return {"metric": rows_table(lines)}


if __name__ == "__main__":
    complete(HERE / "metric.csv", cells(), measure)
    print(pages()["metric"])
