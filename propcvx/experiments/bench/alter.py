"""Benchmarks of whole fits of alter-pSVM with many instances."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from propcvx.bags import bag_target
from propcvx.datasets import proportions_of, random_bags
from propcvx.estimators import AlterPropSVM
from propcvx.experiments.bench.data import BenchData, generated, real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.experiments.bench.svm_many import linear_svc
from propcvx.losses import hinge
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve

Array = NDArray[np.float64]

EXCESS = 1e-4
"""Largest relative excess of the SVM part of a fit's objective over the best for its labels."""

EXPONENT = 1.1
"""With which the time of a fit may grow with the instances."""

KERNEL_EXCESS = 3e-4
"""Largest relative excess of a fit's objective over that of the same algorithm, exact solves."""

MEMORY = 3.0
"""Largest memory of a fit beyond its data, in units of the data."""


def alter_large(setting: Setting) -> Iterator[Measurement]:
    """Ten annealed restarts on cod-rna.t in bags of 2,048, over one LinearSVC."""
    data = real_or_generated("cod-rna.t", 4096 if setting.quick else None)
    target = _bag_target(data.y, 2048)
    restarts = 1 if setting.quick else 10

    def fit() -> AlterPropSVM:
        return _fitted(data, target, restarts)

    def check(machine: AlterPropSVM, _: object) -> Check:
        optimal = _optimal(machine, data)
        peak = _peak_memory(data, target, restarts)
        memory = at_most("memory beyond the data, over the data", peak, MEMORY)
        return Check(optimal.passed, f"{optimal.text}; {memory.text}")

    yield measure(
        "alter-large",
        f"{restarts} annealed restarts / LinearSVC, N={len(data.y):,}, bags of 2,048",
        fit,
        lambda: linear_svc(data),
        check,
        reach=20.0,
        repeats=1,
        note=data.note,
    )


def alter_scaling(setting: Setting) -> Iterator[Measurement]:
    """One annealed start at two sizes; the ratio to reach is that of an exponent of 1.1."""
    few, many = (2_000, 4_000) if setting.quick else (10_000, 1_000_000)
    small, large = (generated(n, 8) for n in (few, many))
    targets = [_bag_target(data.y, 1000) for data in (small, large)]

    def check(at_many: AlterPropSVM, at_few: AlterPropSVM) -> Check:
        checks = [_optimal(at_many, large), _optimal(at_few, small)]
        rounds = f"{at_few.n_iter_} and {at_many.n_iter_} rounds"
        return Check(all(c.passed for c in checks), f"{checks[0].text}; {rounds}")

    yield measure(
        "alter-scaling",
        f"one annealed start, N={many:,} / N={few:,}, bags of 1,000",
        lambda: _fitted(large, targets[1], 1),
        lambda: _fitted(small, targets[0], 1),
        check,
        reach=(many / few) ** EXPONENT,
        repeats=1,
    )


def alter_kernel(setting: Setting) -> Iterator[Measurement]:
    """Ten annealed restarts with a Gaussian kernel on vote, over one SVC."""
    data = real_or_generated("vote")
    chosen = np.random.default_rng(0).permutation(len(data.y))[: 80 if setting.quick else 348]
    X, y = data.X[chosen], data.y[chosen]
    target, gram = _bag_target(y, 8), rbf_kernel(X, gamma=0.1)

    def fit(tol: float) -> AlterPropSVM:
        machine = AlterPropSVM(kernel="rbf", gamma=0.1, solver_tol=tol, random_state=0)
        return machine.fit(X, target)

    def check(machine: AlterPropSVM, _: object) -> Check:
        exact = fit(1e-6).objective_
        excess = machine.objective_ / exact - 1.0
        return at_most("excess over the objective with exact solves", excess, KERNEL_EXCESS)

    yield measure(
        "alter-kernel",
        f"10 annealed restarts / SVC(kernel='precomputed'), vote, N={len(y)}, bags of 8",
        lambda: fit(1e-4),
        lambda: SVC(C=1.0, kernel="precomputed").fit(gram, y),
        check,
        reach=100.0,
        repeats=min(setting.repeats, 7),
        note=data.note,
    )


def _bag_target(labels: Array, size: int) -> NDArray[np.void]:
    bags = random_bags(labels, size, random_state=0)
    return bag_target(bags, proportions_of(labels, bags))


def _fitted(data: BenchData, target: NDArray[np.void], restarts: int) -> AlterPropSVM:
    return AlterPropSVM(n_init=restarts, random_state=0, solver="newton").fit(data.X, target)


def _optimal(machine: AlterPropSVM, data: BenchData) -> Check:
    """Whether the separator is the SVM of the labeling, by a dual value that is a lower bound."""
    labeling, weights = machine.labeling_, machine.coef_[0]
    losses = hinge(labeling, data.X @ weights + machine.intercept_[0])
    primal = 0.5 * weights @ weights + machine.C * losses.sum()
    program = svm_dual(data.X).set(**svm_dual_parameters(labeling, machine.C))
    dual = solve(program, "newton", tol=1e-6, certify=False).value
    return at_most("relative excess of the last SVM", float(primal / dual - 1.0), EXCESS)


def _peak_memory(data: BenchData, target: NDArray[np.void], restarts: int) -> float:
    tracemalloc.start()
    try:
        _fitted(data, target, restarts)
        return tracemalloc.get_traced_memory()[1] / data.X.nbytes
    finally:
        tracemalloc.stop()


ROWS = (
    Benchmark("alter-large", "a fit with many instances, over one LinearSVC", alter_large),
    Benchmark("alter-kernel", "a fit with a Gaussian kernel, over one SVC", alter_kernel),
    Benchmark("alter-scaling", "how a fit's time grows with the instances", alter_scaling),
)
