"""Whole fits beside one call of scikit-learn on the same data, or beside reading them."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from benchmarks.bench_data import generated, in_bags, linear_svc
from propcvx import AlterPropSVM, ConvPropSVM, CuttingPlanes, InvCal, MeanMap
from propcvx.estimators import AggregateLogisticRegression, paper_alter_psvm
from propcvx.labelings.losses import HINGE
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


def last_svm_excess(fitted, X):
    """By how much the separator is above the SVM of its labeling, relatively."""
    weights = fitted.coef_[0]
    losses = HINGE.evaluate(fitted.transduction_, X @ weights + fitted.intercept_[0])
    primal = 0.5 * weights @ weights + fitted.C * losses.sum()
    values = svm_dual_parameters(fitted.transduction_, fitted.C)
    program = svm_dual(X - X.mean(axis=0)).set(**values)
    return primal / solve(program, "newton", tol=1e-6, residuals=False).value - 1.0


MANY = {
    "alter-pSVM, one random start": paper_alter_psvm(n_init=1, annealing=False, random_state=0),
    "alter-pSVM": AlterPropSVM(random_state=0),
    "InvCal": InvCal(),
    "MeanMap": MeanMap(),
    "AggregateLogisticRegression": AggregateLogisticRegression(),
}


@pytest.mark.benchmark(group="300,000 x 20, bags of 1,000, beside LinearSVC")
@pytest.mark.parametrize("side", [*MANY, "LinearSVC"])
def test_fit_time_of_hundred_thousand_instances(benchmark, quick, side):
    X, labels = generated(400 if quick else 300_000, 20)
    if side == "LinearSVC":
        benchmark.pedantic(linear_svc, (X, labels))
        return
    fitted = benchmark.pedantic(clone(MANY[side]).fit, (X, in_bags(labels, 40 if quick else 1000)))
    if side == "alter-pSVM, one random start":
        assert last_svm_excess(fitted, X) < 1e-4
    else:
        assert np.mean(fitted.predict(X) == labels) > 0.7


WITH_KERNEL = {
    "alter-pSVM": AlterPropSVM(kernel="rbf", random_state=0),
    "conv-pSVM": ConvPropSVM(kernel="rbf"),
    "conv-pSVM, best": ConvPropSVM(kernel="rbf", rounding="best"),
    "InvCal": InvCal(kernel="rbf"),
    "SVC": SVC(kernel="rbf"),
}


@pytest.mark.parametrize("name", ["a1a", "dna"])
@pytest.mark.parametrize("side", WITH_KERNEL)
def test_fit_time_of_thousands_with_gaussian_kernel(benchmark, quick, real, name, side):
    benchmark.group = f"{name}, Gaussian kernel, bags of 16, beside SVC"
    X, labels = real(name)
    labels = np.where(labels == labels.max(), 1.0, -1.0)
    y = labels if side == "SVC" else in_bags(labels, 16)
    fitted = benchmark.pedantic(clone(WITH_KERNEL[side]).fit, (X, y))
    assert side == "SVC" or {record.status for record in fitted.history_} == {"optimal"}


def conv(max_cuts):
    return ConvPropSVM(relaxation=CuttingPlanes(max_cuts=max_cuts))


TEACHING = {
    "conv-pSVM, one cut": partial(conv, 1),
    "conv-pSVM, ten cuts": partial(conv, 10),
    "conv-pSVM, ten cuts, Gaussian": lambda: conv(10).set_params(kernel="rbf"),
    "alter-pSVM": partial(AlterPropSVM, random_state=0),
    "alter-pSVM as printed": partial(paper_alter_psvm, random_state=0),
    "alter-pSVM as printed, n_jobs=2": partial(paper_alter_psvm, random_state=0, n_jobs=2),
    "LinearSVC": lambda: None,
    "SVC": lambda: None,
}
"""Fits in units of the last, which like the one before it is told the labels."""


@pytest.mark.parametrize("name", ["heart", "breast-cancer"])
@pytest.mark.parametrize("side", TEACHING)
def test_fit_time_at_teaching_size(benchmark, quick, real, name, side):
    if quick and name != "heart":
        pytest.skip("both sets are replaced by the same instances")
    benchmark.group = f"{name}, {side if side == 'LinearSVC' else 'bags of 8, in units of SVC'}"
    X, labels = real(name)
    model, y = TEACHING[side](), in_bags(labels, 8)
    if side == "SVC":
        benchmark(SVC(kernel="precomputed").fit, X @ X.T, labels)
    elif side == "LinearSVC":
        benchmark(linear_svc, X, labels)
    else:
        if quick and isinstance(model, AlterPropSVM):
            model.set_params(n_init=2)
        fitted = benchmark.pedantic(model.fit, (X, y), rounds=3)
        assert {record.status for record in fitted.history_} == {"optimal"}
        if not quick:
            exact = clone(model).set_params(solver_tol=1e-8).fit(X, y)
            assert np.isclose(fitted.objective_, exact.objective_, rtol=3e-4)
