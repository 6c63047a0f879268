"""How many labels of a provably best labeling are correct; see alternating.md."""

from contextlib import suppress
from itertools import product

import numpy as np
from reproduction.evaluation import Sample
from shown import line_grid
from study import HERE, OVERLAPS, REAL, complete, labeled, lines

from propcvx.bags.bags import Bags
from propcvx.bounds import BOUNDS, Interval, LabelingProblem, OutOfTimeError, SwapSearch
from propcvx.datasets import random_bags
from propcvx.labelings.losses import constraint
from propcvx.svm.step import LabelingSVM

CONSTANTS = (0.001, 0.1, 1.0)
BAGS = ((2, 0.0), (4, 0.0), (8, 0.0), (8, 0.125))
"""Bag sizes with an epsilon; in bags of 2 and 4, an epsilon of 0.125 allows nothing more."""
TOL, TIME_LIMIT = 1e-6, 30.0
"""Relative gap at which a labeling counts as proved optimal, and seconds for a proof."""


def measure(split, data, n_instances, bag_size, epsilon, C):
    """The row of a cell.

    ``right`` is the fraction of correct labels of the best labeling, ``chance`` the expected
    fraction for a random feasible labeling; ``held_out`` and ``held_out_truth`` are the accuracies
    of the SVMs of the best labeling and of the true one on the other instances of the set.
    """
    X, labels = labeled(data)
    order = np.random.RandomState(split).permutation(len(X))
    inside, outside = order[:n_instances], order[n_instances:]
    truth, mean = labels[inside], X[inside].mean(axis=0)
    sample = Sample.in_bags(X[inside] - mean, truth, random_bags(truth, bag_size, split))
    bags = Bags.from_target(sample.y)
    interval = proved_best(LabelingProblem(bags, C, 1.0, constraint(epsilon), features=sample.X))
    best, svm = np.asarray(interval.labeling), LabelingSVM(sample.X, C)
    planes, p = [svm.weights(labeling) for labeling in (best, truth)], sample.y["proportion"]
    held_out = [np.mean(((X[outside] - mean) @ w > 0.0) == (labels[outside] > 0)) for w in planes]
    yield {
        "proved": int(interval.closed),
        "lower": interval.lower,
        "value": interval.upper,
        "true_value": svm.value(truth, planes[1]),
        "right": np.mean(best == truth),
        "chance": np.mean(p**2 + (1.0 - p) ** 2),
        "held_out": held_out[0],
        "held_out_truth": held_out[1],
    }


def proved_best(problem):
    """What :func:`propcvx.bounds.certify` does, without its search from random directions.

    At these sizes nearly all of the time would be that search's, and the bounds do without.
    """
    interval = Interval(TOL, TIME_LIMIT)
    search = SwapSearch.from_problem(problem, interval)
    listed = BOUNDS["enumeration"].refusal_reason(problem) is None
    with suppress(OutOfTimeError):
        search.evaluate(problem.best_labeling(np.zeros(len(problem.features))))
        BOUNDS["enumeration" if listed else "branch_and_bound"].run(problem, interval, search)
    return interval


def judged(rows):
    """The problems whose optimum is proved; ``true`` is 1 where the true labeling is a best one.

    It is the one found, or its mirror image, whose value is the same without a bias.
    """
    rows = rows[rows.proved == 1]
    return rows.assign(true=rows.right.isin([0.0, 1.0]).astype(int))


if __name__ == "__main__":
    grid = product((16, 24), range(5), (*REAL, *OVERLAPS), BAGS, CONSTANTS)
    cells = [
        {"split": s, "data": data, "n_instances": n, "bag_size": size, "epsilon": epsilon, "C": C}
        for n, s, data, (size, epsilon), C in grid
    ]
    rows = complete(HERE / "truth.csv", cells, measure)
    proved = judged(rows)
    counts = proved.groupby(["n_instances", "data", "bag_size", "epsilon"])["true"]
    print(counts.agg(["sum", "size"]).to_string())
    setting = (
        "bags of " + proved.bag_size.astype(str) + ", epsilon " + proved.epsilon.map("{:g}".format)
    )
    panels = {
        f"N = {n}": {
            name: lines(group, "data", "C", "right")
            for name, group in same.groupby(setting, sort=False)
        }
        for n, same in proved.groupby("n_instances")
    }
    line_grid(panels, "C", log=True).savefig(HERE / "truth.png", dpi=110)
