"""Whole fits beside one call of scikit-learn on the same data."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.bench_data import generated, in_bags, linear_svc
from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.estimators import printed_alter_psvm
from propcvx.labelings.losses import HINGE
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


def last_svm_excess(fitted, X):
    """By how much the separator is above the SVM of its labeling, relatively."""
    weights = fitted.coef_[0]
    losses = HINGE.of(fitted.labeling_, X @ weights + fitted.intercept_[0])
    primal = 0.5 * weights @ weights + fitted.C * losses.sum()
    values = svm_dual_parameters(fitted.labeling_, fitted.C)
    program = svm_dual(X - X.mean(axis=0)).set(**values)
    return primal / solve(program, "newton", tol=1e-6, residuals=False).value - 1.0


@pytest.mark.benchmark(group="cod-rna.t, bags of 2,048")
@pytest.mark.parametrize("side", ["alter-pSVM", "LinearSVC"])
def test_many_instances(benchmark, quick, real, side):
    X, labels = real("cod-rna.t")
    if side == "LinearSVC":
        benchmark.pedantic(linear_svc, (X, labels))
        return
    model = printed_alter_psvm(n_init=1 if quick else 10, random_state=0)
    fitted = benchmark.pedantic(model.fit, (X, in_bags(labels, 8 if quick else 2048)))
    assert last_svm_excess(fitted, X) < 1e-4


@pytest.mark.benchmark(group="one annealed start, bags of 1,000")
@pytest.mark.parametrize("thousands", [10, 1000])
def test_growth_with_the_number_of_instances(benchmark, quick, thousands):
    X, labels = generated((2 if quick else 1000) * thousands, 8)
    model = printed_alter_psvm(n_init=1, random_state=0)
    fitted = benchmark.pedantic(model.fit, (X, in_bags(labels, 1000)))
    assert last_svm_excess(fitted, X) < 1e-4


@pytest.mark.benchmark(group="vote, Gaussian kernel, bags of 8")
@pytest.mark.parametrize("side", ["alter-pSVM", "conv-pSVM, 10 cuts", "SVC"])
def test_a_kernel(benchmark, quick, real, side):
    X, labels = real("vote")
    gram, y = rbf_kernel(X, gamma=0.1), in_bags(labels, 8)
    if side == "SVC":
        benchmark(SVC(kernel="precomputed").fit, gram, labels)
        return
    planes = CuttingPlanes(oracle="coordinate", max_cuts=10)
    model = {
        "alter-pSVM": printed_alter_psvm(n_init=1 if quick else 10, random_state=0),
        "conv-pSVM, 10 cuts": ConvPropSVM(relaxation=planes),
    }[side].set_params(kernel="precomputed")
    fitted = benchmark.pedantic(model.fit, (gram, y), rounds=3)
    assert {record.status for record in fitted.history_} == {"optimal"}
    exact = model.set_params(solver_tol=1e-8).fit(gram, y)
    assert np.isclose(fitted.objective_, exact.objective_, rtol=3e-4)
