"""Benchmarks of single steps: sorting inside bags, one SVM, one restricted master."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from propcvx.bags import Bags
from propcvx.experiments.bench.data import bags_of, generated, real_or_generated
from propcvx.experiments.bench.frame import Case, Check, at_most, benchmark
from propcvx.labelings import FeasibleLabelings, labeling_step
from propcvx.layout import Layout
from propcvx.losses import HINGE, PROPORTION_LOSSES
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.relaxation.oracles import CoordinateOracle, Cut
from propcvx.solvers import Solution, solve
from propcvx.targets import bag_target

Array = NDArray[np.float64]

ABSOLUTE = PROPORTION_LOSSES["absolute"]


@benchmark("label-step")
def label_step(quick: bool) -> Iterator[Case]:
    """The labeling step of alter-pSVM over one flat sort of as many numbers."""
    n, sizes = (2**10, (8, 32)) if quick else (2**20, (64, 2048))
    random = np.random.default_rng(0)
    scores, weights = random.normal(size=n), np.full(n, 10.0)
    for size in sizes:
        for order in ("bag by bag", "in any order"):
            index = np.repeat(np.arange(n // size), size)
            index = index if order == "bag by bag" else random.permutation(index)
            bags = Bags.from_target(bag_target(index, random.random(n // size)))
            step = partial(labeling_step, scores, bags, ABSOLUTE, weights[: bags.n_bags])
            yield Case(
                f"labeling step / numpy.sort, N={n:,}, bags of {size:,}, {order}",
                partial(step, layout=Layout.of(bags)),
                partial(np.sort, scores),
                partial(_excess, scores, bags),
                reach=1.0 if order == "bag by bag" else 2.0,
            )


def _excess(scores: Array, bags: Bags, labeling: Array, _: Array) -> Check:
    """Excess of a labeling's objective over that of the best of all counts of each bag."""
    gaps = bags.proportions_of(labeling) - bags.proportions
    objective = float(HINGE.of(labeling, scores).sum() + 10.0 * ABSOLUTE.of(gaps).sum())
    best = float(HINGE.of(-np.ones_like(scores), scores).sum())
    order = np.lexsort((-scores, bags.index))
    for bag, scores_of_bag in enumerate(np.split(scores[order], bags.starts[1:])):
        counts = np.arange(len(scores_of_bag) + 1) / len(scores_of_bag)
        gains = np.append(0.0, np.cumsum(HINGE.reduction(scores_of_bag)))
        best += float(np.min(10.0 * ABSOLUTE.of(counts - bags.proportions[bag]) - gains))
    return at_most("excess over the best counts", (objective - best) / best, 1e-9)


@benchmark("separation")
def separation(quick: bool) -> Iterator[Case]:
    """The coordinate oracle over one sort of its matrix."""
    data = generated(*((96, 6) if quick else (1600, 180)))
    alpha = np.random.default_rng(0).random(len(data.X))
    scores = alpha[:, None] * np.hstack([data.X, -data.X])
    for bag_size in (8, 64):
        feasible = FeasibleLabelings.of(bags_of(data.y, bag_size), 0.1)
        best = (scores * feasible.best(scores)).sum(axis=0).max()
        yield Case(
            f"coordinate oracle / numpy.sort, {data.X.shape}, bags of {bag_size}, epsilon 0.1",
            partial(CoordinateOracle(data.X, feasible, data.X), alpha),
            partial(np.sort, data.X),
            partial(_shortfall, scores, best),
            reach=3.0,
        )


def _shortfall(scores: Array, best: float, cut: Cut, _: Array) -> Check:
    found = float((scores.T @ cut.labeling).max())
    return at_most("shortfall of its labeling", 1.0 - found / best, 1e-9)


@benchmark("svm-large")
def svm_large(quick: bool) -> Iterator[Case]:
    """The linear SVM of many instances over one LinearSVC."""
    data = real_or_generated("cod-rna.t", 20_000 if quick else None)
    flipped = np.where(np.random.default_rng(0).random(len(data.y)) < 0.01, -data.y, data.y)
    program = svm_dual(data.X)
    end = _newton(program, data.y, 1.0, None).warm
    for text, labeling, C, warm, reach in (
        ("cold", data.y, 1.0, None, 0.15),
        ("warm, 1% of labels changed", flipped, 1.0, end, 0.08),
        ("warm, C grown by half", data.y, 1.5, end, 0.08),
    ):
        yield Case(
            f"newton / LinearSVC(loss='hinge', C=1), {data.X.shape}, {text}",
            partial(_newton, program, labeling, C, warm),
            partial(linear_svc, data.X, data.y),
            partial(_svm_gap, program, labeling, C),
            reach,
            repeats=7,
            note=data.note,
        )


def _newton(program: Program, labeling: Array, C: float, warm: object) -> Solution:
    values = svm_dual_parameters(labeling, C)
    return solve(program.set(**values), "newton", tol=1e-4, certify=False, warm=warm)


def _svm_gap(program: Program, labeling: Array, C: float, solution: Solution, _: object) -> Check:
    gap = program.structure.gap(  # type: ignore[union-attr]
        svm_dual_parameters(labeling, C), solution.variables, {}
    )
    return at_most("relative duality gap", gap or 0.0, 1e-4)


def linear_svc(X: Array, y: Array) -> LinearSVC:
    """LIBLINEAR's answer, as it is with its default limit of iterations."""
    with warnings.catch_warnings():  # of the iteration limit
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(loss="hinge", C=1, dual=True).fit(X, y)
