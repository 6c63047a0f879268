"""The ridge of `AggregateLogisticRegression`: fixed, or chosen by held-out bags."""

from itertools import product

import numpy as np
from counts import CHOSEN_ON, CONFIRMED_ON, KINDS, loaded
from natural import NATURAL
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from study import HERE, complete

from propcvx import AggregateLogisticRegression, BagKFold, bag_proportions, bag_target
from propcvx import neg_bag_deviance_scorer as scorer

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0)
DEFAULT = AggregateLogisticRegression().ridge


def measure(data, kind, draw):
    """Accuracy and log loss in a fifth of the bags, with the others' choice and each ridge."""
    X, labels, bags = loaded(data, kind, draw, "standard")
    y = bag_target(bags, bag_proportions(labels, bags))
    train, test = next(BagKFold(min(5, len(set(bags))), random_state=draw).split(X, y))
    folds = BagKFold(min(5, len(set(bags[train]))), random_state=0)
    grid = {"ridge": RIDGES}
    search = GridSearchCV(AggregateLogisticRegression(), grid, scoring=scorer, cv=folds)
    chosen = search.fit(X[train], y[train]).best_params_["ridge"]
    for method, ridge in [("held out", chosen), *((str(ridge), ridge) for ridge in RIDGES)]:
        model = AggregateLogisticRegression(ridge).fit(X[train], y[train])
        scores = model.decision_function(X[test])
        p = np.clip(expit(scores), 1e-3, 1.0 - 1e-3)
        accuracy = np.mean(np.where(scores > 0.0, 1, -1) == labels[test])
        loss = log_loss(labels[test], p, labels=[-1, 1])
        yield {"method": method, "ridge": ridge, "accuracy": accuracy, "log_loss": loss}


if __name__ == "__main__":
    public = product((*CHOSEN_ON, *CONFIRMED_ON), KINDS, range(2))
    cells = [*public, *product(NATURAL, ["natural"], range(2))]
    rows = complete(
        HERE / "strength.csv",
        [dict(zip(("data", "kind", "draw"), cell, strict=True)) for cell in cells],
        measure,
    )
    print(rows.groupby([rows["kind"] == "natural", "method"])[["accuracy", "log_loss"]].mean())
    table = rows.groupby(["data", "kind", "method"])["accuracy"].mean().unstack()
    gain = table["held out"] - table[str(DEFAULT)]
    print(gain.groupby("kind").agg(["mean", "median"]), (gain > 0).sum(), (gain < 0).sum())
