"""A grid of fits computes once what its fits share."""

import numpy as np
from sklearn.base import clone
from small_problems import small_problem

from propcvx import ConvPropSVM, InvCal, bag_target, fit_grid
from propcvx.svm.kernels import FeatureMap

WEIGHTS = (0.1, 1.0, 10.0)


PROBLEM = small_problem(0, sizes=(6,) * 5, n_features=4)
X, Y = PROBLEM.X, PROBLEM.y


def test_features_of_kernel_are_computed_once(monkeypatch):
    calls, fit = [], FeatureMap.fit
    monkeypatch.setattr(FeatureMap, "fit", lambda *args: calls.append(args) or fit(*args))
    grid = {"kernel": ["linear", "rbf"], "C_p": WEIGHTS}
    list(fit_grid(InvCal(), X, Y, grid))
    assert len(calls) == 2


def test_tolerances_with_same_counts_are_fitted_once(monkeypatch):
    calls, run = [], ConvPropSVM._run
    monkeypatch.setattr(ConvPropSVM, "_run", lambda *args: calls.append(args) or run(*args))
    models = []
    for model in fit_grid(ConvPropSVM(), X, Y, {"epsilon": (0.0, 0.01, 0.2), "C": (1.0, 2.0)}):
        models.append(clone(model).set_params(**model.get_params()))
        model.set_params(epsilon=1.0).fit(X, Y)
    assert len(calls) == 2 * 2 + len(models)
    assert [model.epsilon for model in models] == [0.0, 0.01, 0.2] * 2
    calls.clear()
    none = bag_target(Y["bag"], np.zeros(5))  # the least counts are 0 with any tolerance
    list(fit_grid(ConvPropSVM(), X, none, {"epsilon": (0.0, 0.4)}))
    assert len(calls) == 2
