"""alter-pSVM with every pair of losses, on held-out bags; see methods.md."""

from itertools import product

from reproduction.evaluation import Sample
from study import HERE, REAL, complete, judged, labelled, mixed_psvm

from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import random_bags
from propcvx.labelings.losses import INSTANCE_LOSSES, PROPORTION_LOSSES

BAG_SIZES = (8, 32)
N_INIT = 3
FURTHER = ("heart-c", "colic", "credit-a", "breast-w")
"""Sets on which the hinge and the logistic loss are compared once more."""


def measure(split, data, bag_size, instance_loss, proportion_loss):
    """Accuracy in percent and bag error on the first of five folds, and seconds of the fit."""
    X, labels = labelled(data)
    sample = Sample.in_bags(X, labels, random_bags(labels, bag_size, split))
    inside, outside = next(BagKFold(random_state=split).split(sample.X, sample.y))
    train, test = sample.take(inside), sample.take(outside)
    losses = {"instance_loss": instance_loss, "proportion_loss": proportion_loss}
    model = mixed_psvm(n_init=N_INIT, random_state=split, **losses)
    yield judged(model, train.X, train.y, test.X, test.y, test.labels)


if __name__ == "__main__":
    names = ("split", "data", "bag_size", "instance_loss", "proportion_loss")
    grid = [*product(range(3), REAL, BAG_SIZES, INSTANCE_LOSSES, PROPORTION_LOSSES)]
    grid += product(range(3), FURTHER, BAG_SIZES, ("hinge", "logistic"), ("absolute",))
    cells = [dict(zip(names, values, strict=True)) for values in grid]
    rows = complete(HERE / "losses.csv", cells, measure)
    for column in ("accuracy", "seconds"):
        pairs = rows[rows["data"].isin(REAL)]
        table = pairs.pivot_table(column, "instance_loss", "proportion_loss", sort=False)
        print(f"{column}\n{table.round(1).to_string()}")
    absolute = rows[rows["proportion_loss"] == "absolute"]
    by_set = absolute.pivot_table("accuracy", ["data", "bag_size"], "instance_loss", sort=False)
    print(by_set.round(1).to_string())
