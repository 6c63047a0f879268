"""SVM steps that answer from memory: fewer solves, the same answers, and nothing kept for long."""

import numpy as np
import pytest

from propcvx import AlterPropSVM, bag_target, fit_grid
from propcvx.alternating.svm_step import SVMStep
from propcvx.datasets import proportions_of, random_bags

GRID = {"C": [0.1, 1.0], "C_p": [1.0, 100.0]}


@pytest.fixture
def task():
    random = np.random.RandomState(0)
    labels = random.choice([-1, 1], 48)
    X = random.normal(size=(48, 3)) + 0.5 * labels[:, None]
    bags = random_bags(labels, 6, 0)
    return X, bag_target(bags, proportions_of(labels, bags))


@pytest.fixture
def solved(monkeypatch):
    """The labelings and values of C that were really solved for."""
    questions, solve = [], SVMStep.__call__

    def watched(self, labeling, C, after=None):
        questions.append((labeling.tobytes(), C))
        return solve(self, labeling, C, after)

    monkeypatch.setattr(SVMStep, "__call__", watched)
    return questions


@pytest.mark.parametrize(("solver", "kernel"), [("auto", "linear"), ("libsvm", "rbf")])
def test_a_grid_solves_nothing_twice_and_answers_as_single_fits_do(task, solved, solver, kernel):
    method = AlterPropSVM(kernel=kernel, init="random", n_init=3, solver=solver, random_state=0)
    models = list(fit_grid(method, *task, GRID))
    assert len(solved) == len(set(solved)) < sum(model.n_iter_ for model in models) * 3
    for model in models:
        alone = AlterPropSVM(**model.get_params()).fit(*task)
        assert np.array_equal(alone.start_objectives_, model.start_objectives_)
        assert np.array_equal(alone.decision_function(task[0]), model.decision_function(task[0]))


def test_a_fitted_estimator_keeps_nothing_of_it(task):
    models = list(fit_grid(AlterPropSVM(n_init=1, random_state=0), *task, GRID))
    assert not any(model.feature_map_.solved for model in models)
