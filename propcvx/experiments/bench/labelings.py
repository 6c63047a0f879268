"""Benchmarks of sorting inside bags: the labeling step and the separation problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags, bag_target
from propcvx.experiments.bench.data import bags_of, generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.labelings import FeasibleLabelings, labeling_step
from propcvx.losses import PROPORTION_LOSSES, hinge, hinge_reduction
from propcvx.relaxation.oracles import CoordinateOracle, Cut

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ABSOLUTE = PROPORTION_LOSSES["absolute"]
EXACT = 1e-9
"""Relative error of an objective that is a sum of a million terms."""


def label_step(setting: Setting) -> Iterator[Measurement]:
    """The whole labeling step over one flat sort of the same numbers."""
    n = 2**10 if setting.quick else 2**20
    most = 2**5 if setting.quick else 2**11
    layouts = [(f"bags of {size:,}", np.full(n // size, size), 1.0) for size in (most // 32, most)]
    layouts.append((f"bags of 1 to {most:,}", _ragged(n, most), 2.0))
    for text, sizes, reach in layouts:
        for order in ("bag by bag", "in any order"):
            bags = _bags(sizes, shuffled=order == "in any order")
            yield _one_label_step(f"N={n:,}, {text}, {order}", bags, reach, setting)


def _one_label_step(work: str, bags: Bags, reach: float, setting: Setting) -> Measurement:
    scores = np.random.default_rng(1).normal(size=bags.n_instances)
    weights = np.full(bags.n_bags, 10.0)

    def check(labeling: Array, flat: Array) -> Check:
        return at_most(
            "excess over the best count", _excess(labeling, scores, bags, weights), EXACT
        )

    return measure(
        "label-step",
        f"labeling step / numpy.sort, {work}",
        lambda: labeling_step(scores, bags, ABSOLUTE, weights),
        lambda: np.sort(scores),
        check,
        reach=reach,
        repeats=setting.repeats,
    )


def separation(setting: Setting) -> Iterator[Measurement]:
    """The coordinate oracle over one sort of a matrix of the same shape."""
    n, d = (96, 6) if setting.quick else (1600, 180)
    data = generated(n, d)
    for bag_size in (8, 64):
        for epsilon in (0.0, 0.1):
            feasible = FeasibleLabelings.of(bags_of(data.y, bag_size), epsilon)
            work = f"N={n:,}, d={d}, bags of {bag_size}, epsilon={epsilon:g}"
            yield _one_separation(work, data.X, feasible, setting)


def _one_separation(
    work: str, X: Array, feasible: FeasibleLabelings, setting: Setting
) -> Measurement:
    alpha = np.random.default_rng(0).random(len(X))
    oracle = CoordinateOracle(X, feasible, X)

    def check(cut: Cut, flat: Array) -> Check:
        scores = alpha[:, None] * np.hstack([X, -X])
        best = (scores * feasible.best(scores)).sum(axis=0).max()
        found = (scores * cut.labeling[:, None]).sum(axis=0).max()
        within = cut.labeling in feasible
        return at_most(
            "excess of the best labeling", (best - found) / best, EXACT if within else -1
        )

    return measure(
        "separation",
        f"coordinate oracle / numpy.sort, {work}",
        lambda: oracle(alpha),
        lambda: np.sort(X),
        check,
        reach=3.0,
        repeats=setting.repeats,
    )


def _excess(labeling: Array, scores: Array, bags: Bags, weights: Array) -> float:
    """Relative excess of a labeling's objective over that of the best of all counts of each bag."""
    objective = hinge(labeling, scores).sum()
    objective += weights @ ABSOLUTE.of(bags.proportions_of(labeling) - bags.proportions)
    order = np.lexsort((-scores, bags.index))
    bag, reduction = bags.index[order], hinge_reduction(scores[order])
    total = np.cumsum(reduction)
    before = np.append(0.0, total)[bags.starts]
    rank = np.arange(len(order)) - bags.starts[bag] + 1
    loss = weights[bag] * ABSOLUTE.of(rank / bags.sizes[bag] - bags.proportions[bag])
    best = np.minimum.reduceat(loss - (total - before[bag]), bags.starts)
    none = weights * ABSOLUTE.of(-bags.proportions)
    least = hinge(-np.ones_like(scores), scores).sum() + np.minimum(best, none).sum()
    return float((objective - least) / max(1.0, abs(least)))


def _bags(sizes: Indices, *, shuffled: bool) -> Bags:
    random = np.random.default_rng(0)
    index = np.repeat(np.arange(len(sizes)), sizes)
    index = random.permutation(index) if shuffled else index
    return Bags.from_target(bag_target(index, random.random(len(sizes))))


def _ragged(n: int, most: int) -> Indices:
    """Random sizes from 1 to ``most`` that sum to n."""
    sizes = np.random.default_rng(0).integers(1, most + 1, n)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
    sizes[-1] -= sizes.sum() - n
    return sizes


ROWS = (
    Benchmark("label-step", "the labeling step of alter-pSVM over one flat sort", label_step),
    Benchmark("separation", "the coordinate oracle over one sort of its matrix", separation),
)
