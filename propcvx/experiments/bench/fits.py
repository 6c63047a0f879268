"""Benchmarks of whole fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from propcvx.estimators import AlterPropSVM
from propcvx.experiments.bench.data import generated, in_bags, real_or_generated
from propcvx.experiments.bench.frame import Case, Check, at_most, benchmark
from propcvx.experiments.bench.steps import linear_svc
from propcvx.experiments.methods import paper_conv
from propcvx.losses import HINGE
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve

Array = NDArray[np.float64]


@benchmark("alter-large")
def alter_large(quick: bool) -> Iterator[Case]:
    """A fit of alter-pSVM to many instances over one LinearSVC."""
    data = real_or_generated("cod-rna.t", 4096 if quick else None)
    model = AlterPropSVM(n_init=1 if quick else 10, random_state=0)
    yield Case(
        f"{model.n_init} annealed restarts / LinearSVC, N={len(data.y):,}, bags of 2,048",
        partial(model.fit, data.X, in_bags(data.y, 2048)),
        partial(linear_svc, data.X, data.y),
        lambda fitted, _: _last_svm(fitted, data.X),
        reach=30.0,
        repeats=1,
        note=data.note,
    )


@benchmark("alter-scaling")
def alter_scaling(quick: bool) -> Iterator[Case]:
    """A fit of alter-pSVM over one to a hundredth of the instances."""
    few, many = (2_000, 4_000) if quick else (10_000, 1_000_000)
    small, large = generated(few, 8), generated(many, 8)
    model = AlterPropSVM(n_init=1, random_state=0)
    yield Case(
        f"one annealed start, N={many:,} / N={few:,}, bags of 1,000",
        partial(clone(model).fit, large.X, in_bags(large.y, 1000)),
        partial(clone(model).fit, small.X, in_bags(small.y, 1000)),
        lambda fitted, _: _last_svm(fitted, large.X),
        reach=(many / few) ** 1.1,
        repeats=1,
    )


@benchmark("alter-kernel")
def alter_kernel(quick: bool) -> Iterator[Case]:
    """A fit of alter-pSVM with a Gaussian kernel over one SVC."""
    data = real_or_generated("vote", 80 if quick else 348)
    gram = rbf_kernel(data.X, gamma=0.1)
    model = AlterPropSVM(kernel="precomputed", random_state=0)
    exact = AlterPropSVM(kernel="precomputed", random_state=0, solver_tol=1e-8)
    target = in_bags(data.y, 8)
    best = exact.fit(gram, target).objective_
    yield Case(
        f"10 annealed restarts / SVC(kernel='precomputed'), vote, N={len(gram)}, bags of 8",
        partial(model.fit, gram, target),
        partial(SVC(kernel="precomputed").fit, gram, data.y),
        lambda fitted, _: at_most(
            "excess over the objective with exact solves", fitted.objective_ / best - 1.0, 3e-4
        ),
        reach=250.0,
        repeats=3,
        note=data.note,
    )


@benchmark("conv-fit")
def conv_fit(quick: bool) -> Iterator[Case]:
    """A fit of conv-pSVM with ten cuts over one SVC."""
    data = real_or_generated("vote", 48 if quick else None)
    gram = rbf_kernel(data.X, gamma=0.1)
    model = paper_conv(kernel="precomputed", max_cuts=10)
    yield Case(
        f"ConvPropSVM.fit, 10 cuts / SVC.fit, N={len(gram)} of vote, Gaussian kernel, bags of 8",
        partial(model.fit, gram, in_bags(data.y, 8)),
        partial(SVC(kernel="precomputed").fit, gram, data.y),
        lambda fitted, _: Check(
            all(record.status == "optimal" for record in fitted.history_),
            f"{fitted.n_iter_} cuts, all masters within the tolerance",
        ),
        reach=120.0,
        repeats=5,
        note=data.note,
    )


def _last_svm(fitted: AlterPropSVM, X: Array) -> Check:
    """Whether the separator is the SVM of the labeling, by a dual value that is a lower bound."""
    labeling, weights = fitted.labeling_, fitted.coef_[0]
    losses = HINGE.of(labeling, X @ weights + fitted.intercept_[0])
    primal = 0.5 * weights @ weights + fitted.C * losses.sum()
    program = svm_dual(X - X.mean(axis=0)).set(**svm_dual_parameters(labeling, fitted.C))
    dual = solve(program, "newton", tol=1e-6, certify=False).value
    return at_most("relative excess of the last SVM", float(primal / dual - 1.0), 1e-4)
