"""How often the best labeling is found: by alternation, search and relaxations; alternating.md."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
from numpy.random import RandomState
from reproduction.evaluation import Sample
from shown import line_grid
from study import HERE, complete, labelled, lines

from propcvx.alternating.algorithm import alternate, annealing_values, descent
from propcvx.bags.bags import Bags
from propcvx.bounds import BOUNDS, Interval, LabelingProblem, OutOfTimeError, SwapSearch
from propcvx.datasets import random_bags
from propcvx.labelings.feasible import random_labeling
from propcvx.labelings.losses import PROPORTION_LOSSES, constraint
from propcvx.relaxation.rounding import ROUNDINGS
from propcvx.relaxation.table import RELAXATIONS
from propcvx.solvers import Solve
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import LabelingSVM, Separator

RUNS = 20
"""Values of random_state, from 0 on."""
STARTS = 10
"""Random labelings of a run of Algorithm 1, as in the paper."""
TOL, TIME_LIMIT = 1e-4, 120.0
"""Relative gap of a proof, to which a run finds the best labeling, and seconds for it."""
EXACT = 1e6
"""Price of a wrong proportion, with which Algorithm 1 keeps all proportions."""


def measure(split, data, n_instances, C, runs=RUNS):
    """A row for each search: in how many runs it found the best labeling.

    All without a bias and with all proportions kept (eq:convex_1).  The best is what branch and
    bound proves within ``TIME_LIMIT``; ``proved`` says whether it did.
    """
    X, labels = labelled(data)
    drawn = RandomState(split).permutation(len(X))[:n_instances]
    X, labels = X[drawn] - X[drawn].mean(axis=0), labels[drawn]
    sample = Sample.in_bags(X, labels, random_bags(labels, 8, split))
    search = SwapSearch.of(problem_of(sample, C), Interval(TOL))
    values = values_reached(search, runs)
    interval = prove(search)
    best = min(interval.upper, *map(min, values.values()))
    for method, reached in values.items():
        excess = np.array(reached) / best - 1.0
        yield {
            "method": method,
            "proved": int(interval.closed),
            "best": best,
            "runs": len(reached),
            "found": np.count_nonzero(excess <= TOL),
            "excess": excess.mean(),
            "worst": excess.max(),
        }


def values_reached(search, runs):
    """The values that each way of searching reaches, one for each run."""
    problem, values = search.problem, {}
    walk = algorithm_1(problem)
    for seed in range(runs):
        for name, labelings in walk(seed).items():
            reached = min(search.plane(labeling).value for labeling in labelings)
            values.setdefault(name, []).append(reached)
        alone = Interval(TOL)
        replace(search, interval=alone).search(RandomState(seed))
        values.setdefault("search of certify", []).append(alone.upper)
    for name in ("cutting_planes", "lifted"):
        result = RELAXATIONS[name].relax(problem.features, problem.feasible, problem.C)
        rounded = ROUNDINGS["polished"](result, problem.features, problem.feasible, problem.C)
        values[f"{name}, alternation"] = [search.plane(rounded.labeling).value]
        values[f"{name}, swaps"] = [search.descend(rounded.labeling).value]
    return values


def problem_of(sample, C):
    """The problem without a bias."""
    return LabelingProblem(Bags.from_target(sample.y), C, 1.0, constraint(0.0), features=sample.X)


def algorithm_1(problem):
    """Algorithm 1 without a bias: by seed, the labelings that its starts end with."""
    bags, C = problem.bags, problem.C
    posed = PropSVM(bags, C, np.full(bags.n_bags, EXACT), PROPORTION_LOSSES["absolute"])
    step = unbiased_step(problem.features)

    def walk(seed):
        random = RandomState(seed)
        starts = [random_labeling(bags, random) for _ in range(STARTS)]
        runs = [list(alternate(posed, step, start, annealing_values(C))) for start in starts]
        return {"Algorithm 1": [descent(run).labeling for run in runs]}

    return walk


def unbiased_step(features):
    """The SVM step of Algorithm 1 without a bias, which remembers its answers."""

    @cache
    def svm(C):
        return LabelingSVM(features, C, Solve(tol=1e-8))

    @cache
    def solved(signs, C):
        labeling = np.frombuffer(signs)
        duals = labeling * np.clip(svm(C).alpha(labeling), 0.0, C)
        weights = features.T @ duals
        return Separator(labeling, weights, 0.0, features @ weights, ties=labeling, duals=duals)

    return lambda labeling, C, after: solved(labeling.tobytes(), C)


def prove(search):
    """The interval that branch and bound reaches from the best labeling met."""
    interval = Interval(TOL, TIME_LIMIT)
    search = replace(search, interval=interval)
    for plane in list(search.known.values()):
        search.plane(plane.labeling)
    with suppress(OutOfTimeError):
        BOUNDS["branch_and_bound"].run(search.problem, interval, search)
    return interval


if __name__ == "__main__":
    grid = product(range(1), (24, 48), ("heart", "vote"), (0.01, 0.1, 1.0))
    cells = [{"split": split, "data": data, "n_instances": n, "C": C} for split, n, data, C in grid]
    rows = complete(HERE / "search.csv", cells, measure)
    by = ["n_instances", "method", "data", "C"]
    table = rows.groupby(by, sort=False)[["found", "runs"]].sum()
    print(table.unstack(["data", "C"]).to_string())
    shares = rows[rows.method.str.startswith(("Algorithm", "search"))]
    shares = shares.assign(share=shares.found / shares.runs)
    panels = {
        f"share of runs that\nfind the best, N = {n}": {
            method: lines(of, "data", "C", "share")
            for method, of in group.groupby("method", sort=False)
        }
        for n, group in shares.groupby("n_instances")
    }
    line_grid(panels, "C", log=True).savefig(HERE / "search.png", dpi=110)
