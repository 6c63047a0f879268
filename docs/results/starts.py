"""What Algorithm 1 reaches from several starts, and from the true labels; see alternating.md.

The rows with "hops" are of a local search after Algorithm 1, ``polish="hops"``, which has left.
"""

import numpy as np
from reproduction.evaluation import Sample, Task
from shown import line_grid
from study import HERE, complete, labeled, line

from propcvx.bags.metrics import bag_error
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import random_bags
from propcvx.estimators import (
    AggregateLogisticRegression,
    InvCal,
    paper_alter_psvm,
    paper_conv_psvm,
)

BAG_SIZES = {"heart": (8, 16, 32, 64), "vote": (8, 16, 32, 64), "cod-rna.t": (2048, 4096, 8192)}
TRUE = "true labels"
"""The row that the others are compared with: the SVM of the true labeling, and its objective."""
DEFAULT = "AggregateLogisticRegression"
DRAWN = ("from true labels", "random, annealed", "InvCal", "conv-pSVM", DEFAULT)


def walks(labels, seed):
    """Algorithm 1 from each start; ``TRUE`` stays where it is."""
    at_once = {"annealing": False}
    settings = {
        TRUE: {"init": labels, "max_iter": 1, **at_once},
        "from true labels": {"init": labels, **at_once},
        "random, annealed": {"init": "random"},
        "random": {"init": "random", **at_once},
        "InvCal, annealed": {"init": InvCal(C_p=1e3)},
        "InvCal": {"init": InvCal(C_p=1e3), **at_once},
        "conv-pSVM": {"init": paper_conv_psvm(), **at_once},
        DEFAULT: {"init": AggregateLogisticRegression(), **at_once},
    }
    return {
        name: paper_alter_psvm(random_state=seed, **setting) for name, setting in settings.items()
    }


def measure(split, data, bag_size):
    """A row for each start, on the first of five folds over whole bags.

    ``objective`` is that of eq:pSVM_2; ``right`` and ``accuracy`` are the percentages of
    correct labels of training and test instances; ``bag_error`` is the error on the test bags.
    """
    task = task_of(split, data, bag_size)
    C, C_p = (0.1, 100.0) if data == "cod-rna.t" else (1.0, 10.0)
    for start, model in walks(task.train.labels, split).items():
        model.set_params(C=C, C_p=C_p).fit(task.train.X, task.train.y)
        predicted = model.predict(task.test.X)
        yield {
            "start": start,
            "objective": model.objective_,
            "right": 100.0 * np.mean(model.transduction_ == task.train.labels),
            "accuracy": 100.0 * np.mean(predicted == task.test.labels),
            "bag_error": bag_error(task.test.y, predicted),
        }


def task_of(split, data, bag_size):
    """Random bags, and the first of five folds over them."""
    X, labels = labeled(data)
    sample = Sample.in_bags(X, labels, random_bags(labels, bag_size, split))
    inside, outside = next(BagKFold(random_state=split).split(sample.X, sample.y))
    return Task(sample.take(inside), sample.take(outside))


def relative(rows):
    """The rows with the objective over the objective of the true labels of the same repetition."""
    keys = ["split", "data", "bag_size"]
    true = rows[rows.start == TRUE].set_index(keys).objective.rename("true")
    rows = rows.join(true, on=keys)
    return rows.assign(relative=rows.objective / rows.true)


if __name__ == "__main__":
    cells = [
        {"split": split, "data": data, "bag_size": size}
        for split in range(3)
        for data, sizes in BAG_SIZES.items()
        for size in sizes
    ]
    rows = relative(complete(HERE / "starts.csv", cells, measure))
    table = rows.groupby(["data", "bag_size", "start"], sort=False)
    print(table[["relative", "right", "accuracy", "bag_error"]].mean().round(3).to_string())
    axes = {"test accuracy (%)": "accuracy", "relative objective": "relative"}
    panels = {
        label: {
            data: {start: line(group[group.start == start], "bag_size", column) for start in DRAWN}
            for data, group in rows.groupby("data", sort=False)
        }
        for label, column in axes.items()
    }
    line_grid(panels, "bag size").savefig(HERE / "starts.png", dpi=110)
