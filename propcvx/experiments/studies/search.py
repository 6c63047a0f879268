"""How often the best labeling is found: by alternation, what polishes it, and relaxations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from propcvx.alternating.algorithm import alternate, annealing_values
from propcvx.alternating.polish import POLISHES, PropSVMSearch
from propcvx.alternating.problem import PropSVM, Separator
from propcvx.alternating.svm_step import Step
from propcvx.bags import Bags
from propcvx.bounds import BOUNDS, Interval, LabelingProblem, OutOfTimeError, SwapSearch
from propcvx.datasets import random_bags
from propcvx.experiments.evaluation import Sample
from propcvx.experiments.studies.cells import Row, carry_out, grouped, line, numbers
from propcvx.experiments.studies.samples import labelled
from propcvx.labelings import FeasibleLabelings, random_labeling
from propcvx.losses import PROPORTION_LOSSES
from propcvx.ordering import in_canonical_order
from propcvx.plotting import Figure, line_grid
from propcvx.relaxation import RELAXATIONS
from propcvx.relaxation.labeling_svm import LabelingSVM
from propcvx.relaxation.rounding import ROUNDINGS

Array = NDArray[np.float64]

DATA = ("heart", "vote")
N_INSTANCES = (24, 48)
CONSTANTS = (0.01, 0.1, 1.0)
BAG_SIZE = 8
RUNS = 20
"""Values of random_state, from 0 on."""

STARTS = 10
"""Random labelings of a run of Algorithm 1, as in the paper."""

RELAXED = ("cutting_planes", "lifted")
TIME_LIMIT = 120.0
"""Seconds for a proof."""

TOL = 1e-4
"""Relative gap of a proof; a run has found the best labeling if its value is as near to it."""

EXACT = 1e6
"""Price of a wrong proportion, with which Algorithm 1 keeps all proportions."""


class Cell(NamedTuple):
    """One labeling problem."""

    split: int
    data: str
    n_instances: int
    C: float


def study_search(folder: Path, splits: int, quick: bool) -> Path:
    """All cells, kept in ``search.csv`` in a folder.

    Parameters
    ----------
    folder : Path
    splits : int
        Random samples of each set, seeded by their number.
    quick : bool
        One generated set and three runs: does it run?

    Returns
    -------
    Path
        The figure, ``search.png``; a table is printed.
    """
    cells = [
        Cell(split, name, n, C)
        for split, n, name, C in product(range(splits), N_INSTANCES, DATA, CONSTANTS)
    ]
    if quick:
        cells = [Cell(0, "gaussians 10%", 16, 0.1)]
    return carry_out(
        folder / "search.csv", cells, partial(measure, runs=3 if quick else RUNS), table, draw
    )


def measure(cell: Cell, runs: int) -> list[dict[str, Any]]:
    """A row for each search: in how many runs it found the best labeling.

    All without a bias and with all proportions kept (eq:convex_1).  The best is what branch and
    bound proves within ``TIME_LIMIT``; ``proved`` says whether it did.
    """
    X, labels = labelled(cell.data)
    drawn = RandomState(cell.split).permutation(len(X))[: cell.n_instances]
    X, labels = X[drawn] - X[drawn].mean(axis=0), labels[drawn]
    sample = Sample.in_bags(X, labels, random_bags(labels, BAG_SIZE, cell.split))
    search = SwapSearch(problem_of(sample, cell.C), Interval(TOL))
    values = values_reached(search, runs)
    interval = prove(search)
    best = min(interval.upper, *map(min, values.values()))
    rows = []
    for method, reached in values.items():
        excess = np.array(reached) / best - 1.0
        row = {"method": method, "proved": int(interval.closed), "best": best}
        row |= {"runs": len(reached), "found": int(np.count_nonzero(excess <= TOL))}
        rows.append({**row, "excess": float(excess.mean()), "worst": float(excess.max())})
    return rows


def values_reached(search: SwapSearch, runs: int) -> Mapping[str, list[float]]:
    """The values that each way of searching reaches, one for each run."""
    problem, values = search.problem, dict[str, list[float]]()
    walk = algorithm_1(problem)
    for seed in range(runs):
        for name, labelings in walk(seed).items():
            reached = min(search.plane(labeling).value for labeling in labelings)
            values.setdefault(name, []).append(reached)
        alone = Interval(TOL)
        replace(search, interval=alone).search(RandomState(seed))
        values.setdefault("search of certify", []).append(alone.upper)
    for name in RELAXED:
        relax = RELAXATIONS[name].relax
        result = relax(problem.features, problem.feasible, problem.C)
        rounded = ROUNDINGS["polished"](result, problem.features, problem.feasible, problem.C)
        values[f"{name}, alternation"] = [search.plane(rounded.labeling).value]
        values[f"{name}, swaps"] = [search.descend(rounded.labeling).value]
    return values


def problem_of(sample: Sample, C: float) -> LabelingProblem:
    """The problem without a bias, its rows in an order that the data determine."""
    bags = in_canonical_order(Bags.from_target(sample.y), sample.X)
    return LabelingProblem.constrained(sample.X[bags.rows], FeasibleLabelings.of(bags, 0.0), C)


def algorithm_1(problem: LabelingProblem) -> Callable[[int], dict[str, list[Array]]]:
    """Algorithm 1 without a bias: by seed, the labelings of its starts, polished in all ways."""
    bags, C = problem.bags, problem.C
    prices = np.full(bags.n_bags, EXACT)
    posed = PropSVM(bags, C, prices, PROPORTION_LOSSES["absolute"])
    step = unbiased_step(problem.features)
    search = PropSVMSearch(posed, step, problem.features)

    def walk(seed: int) -> dict[str, list[Array]]:
        random = RandomState(seed)
        starts = [random_labeling(bags, random) for _ in range(STARTS)]
        ends = [alternate(posed, step, start, annealing_values(C)) for start in starts]
        return {
            f"Algorithm 1, polish {name}": [
                polish(search, end, RandomState(seed)).labeling for end in ends
            ]
            for name, polish in POLISHES.items()
        }

    return walk


def unbiased_step(features: Array) -> Step:
    """The SVM step of Algorithm 1 without a bias, which remembers its answers."""

    @cache
    def svm(C: float) -> LabelingSVM:
        return LabelingSVM(features, C, 1e-8)

    @cache
    def solved(signs: bytes, C: float) -> Separator:
        labeling = np.frombuffer(signs)
        duals = labeling * np.clip(svm(C).alpha(labeling), 0.0, C)
        weights = features.T @ duals
        return Separator(weights, 0.0, features @ weights, ties=labeling, duals=duals)

    return lambda labeling, C, after: solved(labeling.tobytes(), C)


def prove(search: SwapSearch) -> Interval:
    """The interval that branch and bound reaches from the best labeling met."""
    interval = Interval(TOL, TIME_LIMIT)
    search = replace(search, interval=interval)
    for plane in list(search.known.values()):
        search.plane(plane.labeling)
    with suppress(OutOfTimeError):
        BOUNDS["branch_and_bound"].run(search.problem, interval, search)
    return interval


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """In how many of the runs the best labeling was found, by size, data and C."""
    return [
        {
            "N": n,
            "method": method,
            **{
                f"{data}, C = {C}": f"{numbers(cell, 'found').sum():.0f} of "
                f"{numbers(cell, 'runs').sum():.0f}"
                for (data, C), cell in grouped(group, "data", "C").items()
            },
        }
        for (n, method), group in grouped(rows, "n_instances", "method").items()
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Share of the runs that found the best labeling, against C."""
    shares = [
        {**row, "share": str(float(row["found"]) / float(row["runs"]))}
        for row in rows
        if row["method"].startswith(("Algorithm", "search"))
    ]
    panels = {
        f"share of runs that\nfind the best, N = {n}": {
            method: {
                data: line(cell, "C", "share") for (data,), cell in grouped(of, "data").items()
            }
            for (method,), of in grouped(group, "method").items()
        }
        for (n,), group in grouped(shares, "n_instances").items()
    }
    return line_grid(panels, "C", log=True)
