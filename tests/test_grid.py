"""Many fits at once are the fits one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from propcvx import (
    AlterPropSVM,
    ConvPropSVM,
    InvCal,
    MeanMap,
    Start,
    alternating,
    bag_target,
    fit_grid,
)
from propcvx.alternating.algorithm import Remembered, Separator
from propcvx.datasets import proportions_of, random_bags

WEIGHTS = (0.1, 1.0, 10.0)
GRIDS = [
    (MeanMap(), {"lam": WEIGHTS}),
    (InvCal(kernel="rbf"), {"C_p": WEIGHTS, "epsilon": (0.0, 0.1)}),
    (AlterPropSVM(n_init=3, random_state=0), {"C": WEIGHTS, "C_p": (1.0, 10.0)}),
    (AlterPropSVM(kernel="rbf", n_init=3, random_state=0), {"C": WEIGHTS, "C_p": (1.0, 10.0)}),
    (AlterPropSVM(n_init=2, random_state=0), {"kernel": ["linear", "rbf"], "C_p": (1.0, 10.0)}),
    (AlterPropSVM(init=[Start("inv_cal"), Start()], random_state=0), {"C_p": WEIGHTS}),
    (AlterPropSVM(solver="newton", n_init=2, random_state=0), {"C_p": WEIGHTS}),
    (ConvPropSVM(), {"C": WEIGHTS, "epsilon": (0.0, 0.2)}),
]


def sample(n=48, size=6, seed=0):
    random = np.random.default_rng(seed)
    labels = random.choice((-1.0, 1.0), n)
    X = random.normal(size=(n, 4)) + 0.7 * labels[:, None]
    bags = random_bags(labels, size, random_state=seed)
    return X, bag_target(bags, proportions_of(labels, bags))


@pytest.mark.parametrize(("estimator", "grid"), GRIDS)
def test_every_model_is_that_of_a_fit_of_its_own(estimator, grid):
    X, y = sample()
    models = list(fit_grid(estimator, X, y, grid))
    assert [{k: m.get_params()[k] for k in grid} for m in models] == list(ParameterGrid(grid))
    assert not hasattr(estimator, "classes_")
    for model in models:
        alone = clone(model).fit(X, y)
        np.testing.assert_array_equal(model.labeling_, alone.labeling_)
        through_cvxpy = estimator.solver == "clarabel"
        tol = 1e-6 if through_cvxpy else 1e-12
        assert model.objective_ == pytest.approx(alone.objective_, rel=tol)
        scores = (m.decision_function(X) for m in (model, alone))
        np.testing.assert_allclose(*scores, atol=1e-3 if through_cvxpy else 1e-12)


def test_what_paths_have_in_common_is_solved_once(monkeypatch):
    calls, solve = [], alternating.solve
    monkeypatch.setattr(alternating, "solve", lambda *a, **k: calls.append(1) or solve(*a, **k))
    X, y = sample()
    estimator, weights = AlterPropSVM(n_init=3, random_state=0), [50.0, 100.0]
    for C_p in weights:
        clone(estimator).set_params(C_p=C_p).fit(X, y)
    alone = len(calls)
    list(fit_grid(estimator, X, y, {"C_p": weights}))
    assert len(calls) - alone < 0.7 * alone


def question(i):
    return np.where(np.arange(8) == i, 1.0, -1.0)


def counting_machine():
    asked = []

    def machine(labeling, C, after=None):
        asked.append((labeling.tobytes(), C))
        return Separator(lambda: np.zeros(1), 0.0, 0.0, np.zeros(8))

    return machine, asked


def test_a_remembered_answer_is_of_the_same_question_after_the_same_separator():
    machine, asked = counting_machine()
    remembered = Remembered(machine)
    first = remembered(question(0), 1.0)
    second = remembered(question(1), 1.0, first)
    assert remembered(question(0), 1.0) is first
    assert remembered(question(1), 1.0, first) is second
    assert len(asked) == 2
    others = [(question(2), 1.0, first), (question(1), 2.0, first), (question(1), 1.0, second)]
    for other in others:
        remembered(*other)
    assert len(asked) == 5


def test_what_is_remembered_is_bounded():
    machine, asked = counting_machine()
    remembered = Remembered(machine, limit=1000)
    for _ in range(2):
        after = None
        for i in range(8):
            after = remembered(question(i), 1.0, after)
    assert len(asked) > 8
    assert len(remembered._answers) <= 3
