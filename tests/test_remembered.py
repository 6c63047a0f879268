"""SVM steps that answer from memory: fewer solves, the same answers, and nothing kept for long."""

import pickle

import cvxpy as cp
import numpy as np
import pytest

from propcvx import AlterPropSVM, bag_target, fit_grid
from propcvx.alternating.svm_step import MOST, SVMStep, remembered, svm_step
from propcvx.datasets import proportions_of, random_bags
from propcvx.losses import HINGE, InstanceLoss

SQUARED = InstanceLoss(
    "squared hinge", lambda m: np.maximum(0.0, 1.0 - m) ** 2, lambda m: cp.square(cp.pos(1.0 - m))
)
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


@pytest.mark.parametrize(
    ("solver", "kernel"), [("auto", "linear"), ("libsvm", "rbf"), ("newton", "linear")]
)
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


def test_steps_on_other_features_share_nothing(solved):
    X = np.random.RandomState(0).normal(size=(2, 6, 2))
    labeling = np.repeat([1.0, -1.0], 3)
    steps = [remembered(svm_step(part, HINGE, "auto", 1e-6, {}), {}) for part in X]
    weights = [step(labeling, 1.0).weights for step in (*steps, *steps)]
    assert len(solved) == 2
    assert not np.allclose(weights[0], weights[1])
    assert weights[0] is weights[2]


def test_memory_does_not_travel_between_processes():
    step = remembered(svm_step(np.eye(4), HINGE, "auto", 1e-6, {}), {})
    first = step(np.array([1.0, 1.0, -1.0, -1.0]), 1.0)
    sent = pickle.loads(pickle.dumps(step))
    assert not sent.known
    again = sent(np.array([1.0, 1.0, -1.0, -1.0]), 1.0)
    assert np.array_equal(first.weights, again.weights)


@pytest.mark.parametrize(
    ("n", "loss", "options"),
    [
        (MOST + 1, HINGE, {}),
        (4, HINGE.times(np.arange(1.0, 5.0)), {}),
        (4, SQUARED, {}),
        (4, HINGE, {"max_iter": 7}),
    ],
)
def test_steps_of_another_kind_are_left_as_they_are(n, loss, options):
    step = svm_step(np.ones((n, 1)), loss, "auto", 1e-6, options)
    assert remembered(step, {}) is step
