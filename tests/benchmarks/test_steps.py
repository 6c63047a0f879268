"""Single steps beside one call of NumPy or scikit-learn: sorting inside bags, one SVM."""

from functools import partial

import numpy as np
import pytest

from benchmarks.bench_data import linear_svc
from propcvx.bags.bags import Bags
from propcvx.bags.targets import bag_target
from propcvx.labelings.feasible import best_labeling
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve

ABSOLUTE = PROPORTION_LOSSES["absolute"]


def best_objective(scores, bags):
    """The labeling step's objective at the best of all counts of each bag."""
    best = HINGE.evaluate(-np.ones_like(scores), scores).sum()
    order = np.lexsort((-scores, bags.index))
    for share, of_bag in zip(
        bags.proportions, np.split(scores[order], bags.membership.indptr[1:-1]), strict=True
    ):
        counts = np.arange(len(of_bag) + 1) / len(of_bag)
        gains = np.append(0.0, np.cumsum(HINGE.reduction(of_bag)))
        best += np.min(10.0 * ABSOLUTE.evaluate(counts - share) - gains)
    return best


@pytest.mark.benchmark(group="labeling step")
@pytest.mark.parametrize("side", ["bags of 64", "bags of 2,048", "in any order", "numpy.sort"])
def test_labeling_step_time_by_form(benchmark, quick, side):
    n, size = 2**12 if quick else 2**20, 2048 if side == "bags of 2,048" else 64
    random = np.random.default_rng(0)
    scores, index = random.normal(size=n), np.repeat(np.arange(n // size), size)
    if side == "numpy.sort":
        benchmark(np.sort, scores)
        return
    index = random.permutation(index) if side == "in any order" else index
    bags = Bags.from_target(bag_target(index, random.random(n // size)))
    labeling = benchmark(best_labeling, scores, bags, ABSOLUTE, np.full(bags.n_bags, 10.0))
    gaps = bags.proportions_of(labeling) - bags.proportions
    objective = HINGE.evaluate(labeling, scores).sum() + 10.0 * ABSOLUTE.evaluate(gaps).sum()
    assert objective == pytest.approx(best_objective(scores, bags), rel=1e-9)


@pytest.mark.benchmark(group="SVM of cod-rna.t")
@pytest.mark.parametrize("side", ["newton", "1% of labels changed", "C grown by half", "LinearSVC"])
def test_svm_time_by_solver(benchmark, real, side):
    X, labels = real("cod-rna.t")
    if side == "LinearSVC":
        benchmark.pedantic(linear_svc, (X, labels), rounds=3)
        return
    program = svm_dual(X)
    newton = partial(solve, program, "newton", tol=1e-4, residuals=False)
    program.set(**svm_dual_parameters(labels, 1.0))
    warm = None if side == "newton" else newton().warm_start
    if side == "1% of labels changed":
        labels = np.where(np.random.default_rng(0).random(len(labels)) < 0.01, -labels, labels)
    program.set(**svm_dual_parameters(labels, 1.5 if side == "C grown by half" else 1.0))
    assert benchmark(newton, warm_start=warm).gap <= 1e-4
