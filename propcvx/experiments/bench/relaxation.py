"""Benchmarks of conv-pSVM: its restricted master, and a whole fit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from propcvx.bags import bag_target
from propcvx.datasets import proportions_of, random_bags
from propcvx.estimators import ConvPropSVM
from propcvx.experiments.bench.data import bags_of, generated, real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.kernels import FeatureMap, Kernel
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.masters import Master, MasterSolution

Array = NDArray[np.float64]

FAST = ("epigraph", "mkl_interior_point")
THROUGH_CVXPY = (("group", "clarabel"), ("epigraph", "clarabel"))
"""Forms of the master and solvers, the faster of which is what is compared with; with 5 cuts ECOS
and the reduced gradient took several times as long."""
GAP = 1e-6
GAUSSIAN = Kernel("rbf", 0.1)


def conv_master(setting: Setting) -> Iterator[Measurement]:
    """The restricted master through CVXPY over the structured solver."""
    sets = [_gaussian(setting), _linear(setting)]
    for text, features, labels, note, reach in sets:
        feasible, random = FeasibleLabelings.of(bags_of(labels, 8), 0.0), np.random.default_rng(0)
        axes = random.normal(size=(features.shape[1], 20))
        labelings = np.ascontiguousarray(feasible.best(features @ axes).T)
        slow = _fastest(features, labelings[:5])
        for n_cuts in (2, 3) if setting.quick else (5, 20):
            work = f"{'/'.join(slow)} / {'/'.join(FAST)}, {text}, {n_cuts} cuts"
            yield _one_master(work, slow, features, labelings[:n_cuts], reach, note)


def _gaussian(setting: Setting) -> tuple[str, Array, Array, str, float]:
    data = real_or_generated("vote", 24 if setting.quick else 348)
    features = FeatureMap.fit(data.X, GAUSSIAN).features
    text = f"N={len(data.X)} of vote, Gaussian kernel, rank {features.shape[1]}"
    return text, features - features.mean(axis=0), data.y, data.note, 50.0


def _linear(setting: Setting) -> tuple[str, Array, Array, str, float]:
    n, d = (24, 3) if setting.quick else (1600, 180)
    data = generated(n, d)
    return f"N={n:,}, linear, d={d}", data.X - data.X.mean(axis=0), data.y, data.note, 5.0


def _one_master(
    work: str,
    slow: tuple[str, str],
    features: Array,
    labelings: Array,
    reach: float,
    note: str,
) -> Measurement:
    def check(slow: MasterSolution, fast: MasterSolution) -> Check:
        apart = slow.value > fast.upper * (1 + 1e-12) or slow.upper < fast.value * (1 - 1e-12)
        gap = np.inf if apart else (fast.upper - fast.value) / abs(fast.value)
        other = (slow.upper - slow.value) / abs(slow.value)
        return at_most(f"relative gap through CVXPY {other:.1g}, structured", gap, GAP)

    return measure(
        "conv-master",
        work,
        partial(_solve, features, labelings, slow),
        partial(_solve, features, labelings, FAST),
        check,
        reach=reach,
        at_least=True,
        repeats=1,  # the slow side takes minutes
        note=note,
    )


def _solve(features: Array, labelings: Array, form: tuple[str, str]) -> MasterSolution:
    return Master(features, 1.0, *form, GAP, {})(labelings)


def _fastest(features: Array, labelings: Array) -> tuple[str, str]:
    """The form and solver of ``THROUGH_CVXPY`` that took the least time, each tried once."""
    seconds = {}
    with threadpool_limits(limits=1):
        for form in THROUGH_CVXPY:
            start = process_time()
            _solve(features, labelings, form)
            seconds[form] = process_time() - start
    return min(seconds, key=lambda form: seconds[form])


def conv_fit(setting: Setting) -> Iterator[Measurement]:
    """One fit of conv-pSVM over a cold fit of LIBSVM on the same Gram matrix."""
    data = real_or_generated("vote", 48 if setting.quick else None)
    gram = GAUSSIAN(data.X, data.X)
    bags = random_bags(data.y, 8, random_state=0)
    target = bag_target(bags, proportions_of(data.y, bags))
    model = ConvPropSVM(
        kernel="precomputed", max_cuts=10, solver=FAST[1], solver_tol=GAP, master=FAST[0]
    )

    def check(fitted: ConvPropSVM, machine: SVC) -> Check:
        master = fitted.relaxation_.master
        gap = (master.upper - master.value) / abs(master.value)
        if any(record.status != "optimal" for record in fitted.history_):
            gap = np.inf
        return at_most(f"{fitted.n_iter_} cuts, relative gap of the last master", gap, GAP)

    yield measure(
        "conv-fit",
        f"ConvPropSVM.fit / SVC.fit, N={len(data.X)} of vote, Gaussian kernel, bags of 8",
        lambda: model.fit(gram, target),
        lambda: SVC(kernel="precomputed").fit(gram, data.y),
        check,
        reach=100.0,
        repeats=setting.repeats,
        note=data.note,
    )


ROWS = (
    Benchmark("conv-master", "the restricted master of conv-pSVM against CVXPY", conv_master),
    Benchmark("conv-fit", "one fit of conv-pSVM over a fit of LIBSVM", conv_fit),
)
