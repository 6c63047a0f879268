"""Many fits at once are the fits one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    MeanMap,
    fit_grid,
)
from propcvx.svm.kernels import FeatureMap

WEIGHTS = (0.1, 1.0, 10.0)
GRIDS = [
    (MeanMap(), {"lam": WEIGHTS}),
    (InvCal(kernel="rbf"), {"C_p": WEIGHTS, "epsilon": (0.0, 0.1)}),
    (AlterPropSVM(n_init=1, random_state=0), {"C": (0.1, 1.0), "C_p": (1.0, 10.0)}),
    (AlterPropSVM(n_init=1, random_state=0), {"kernel": ["linear", "rbf"], "C_p": (1.0, 10.0)}),
    (AlterPropSVM(init=["inv_cal", "random"], n_init=1, random_state=0), {"C_p": WEIGHTS}),
    (AlterPropSVM(solver="newton", n_init=1, random_state=0), {"C_p": (0.1, 10.0)}),
    (
        ConvPropSVM(relaxation=CuttingPlanes()),
        {"C": (0.1, 10.0), "epsilon": (0.0, 0.01, 0.2), "relaxation__max_cuts": (1, 2)},
    ),
]


PROBLEM = small_problem(0, sizes=(6,) * 5, n_features=4)
X, Y = PROBLEM.X, PROBLEM.y


@pytest.mark.parametrize(("estimator", "grid"), GRIDS)
def test_every_model_is_that_of_a_fit_of_its_own(estimator, grid):
    models = list(fit_grid(estimator, X, Y, grid))
    assert [{k: m.get_params()[k] for k in grid} for m in models] == list(ParameterGrid(grid))
    assert not hasattr(estimator, "classes_")
    for model in models:
        alone = clone(model).fit(X, Y)
        np.testing.assert_array_equal(model.labeling_, alone.labeling_)
        assert model.objective_ == alone.objective_
        scores = (m.decision_function(X) for m in (model, alone))
        np.testing.assert_array_equal(*scores)


def test_the_features_of_a_kernel_are_computed_once(monkeypatch):
    calls, fit = [], FeatureMap.fit
    monkeypatch.setattr(FeatureMap, "fit", lambda *args: calls.append(args) or fit(*args))
    grid = {"kernel": ["linear", "rbf"], "C_p": WEIGHTS}
    list(fit_grid(InvCal(), X, Y, grid))
    assert len(calls) == 2


def test_tolerances_with_the_same_counts_are_fitted_once(monkeypatch):
    calls, run = [], ConvPropSVM._run
    monkeypatch.setattr(ConvPropSVM, "_run", lambda *args: calls.append(args) or run(*args))
    models = []
    for model in fit_grid(ConvPropSVM(), X, Y, {"epsilon": (0.0, 0.01, 0.2), "C": (1.0, 2.0)}):
        models.append(clone(model).set_params(**model.get_params()))
        model.set_params(epsilon=1.0).fit(X, Y)
    assert len(calls) == 2 * 2 + len(models)
    assert [model.epsilon for model in models] == [0.0, 0.01, 0.2] * 2


def test_models_of_a_grid_know_the_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in fit_grid(InvCal(), frame, Y, {"C_p": WEIGHTS}):
        assert list(model.feature_names_in_) == list("abcd")
        assert model.n_features_in_ == 4
