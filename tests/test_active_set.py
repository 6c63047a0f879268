"""The active-set method against the program it solves."""

import cvxpy as cp
import numpy as np
import pytest

from propcvx.kernels import FeatureMap, Kernel
from propcvx.programs import svm_dual, svm_dual_parameters, svm_primal
from propcvx.solvers import SOLVERS, solve

N_INSTANCES = 60


def clusters(random):
    labels = random.choice((-1.0, 1.0), N_INSTANCES)
    return random.normal(size=(N_INSTANCES, 4)) + 0.5 * labels[:, None], labels


def duplicates(random):
    X, labels = clusters(random)
    return np.repeat(X[:20], 3, axis=0), labels


def binary(random):
    return random.choice((0.0, 1.0), (N_INSTANCES, 5)), clusters(random)[1]


def unbalanced(random):
    X, _ = clusters(random)
    return X, np.where(np.arange(N_INSTANCES) < 3, 1.0, -1.0)


PROBLEMS = (clusters, duplicates, binary, unbalanced)


def gaussian(X, gamma=0.5):
    return FeatureMap.fit(X, Kernel("rbf", gamma)).features


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("make", PROBLEMS)
def test_equals_the_program(make, C, bias):
    X, labeling = make(np.random.default_rng(3))
    program = svm_dual(gaussian(X), bias=bias).set(**svm_dual_parameters(labeling, C))
    exact = solve(program, "clarabel", tol=1e-9, scale=C, certify=False).value
    solution = solve(program, "active_set", tol=1e-8)
    assert solution.status == cp.OPTIMAL
    assert solution.value == pytest.approx(exact, rel=1e-6, abs=1e-6 * C)
    assert solution.value == pytest.approx(program.problem.objective.value, rel=1e-12)
    assert solution.gap <= 1e-8 * (solution.value + solution.gap)
    assert solution.certificate.primal_residual <= 1e-12 * max(1.0, C)
    assert solution.certificate.dual_residual <= 1e-9
    assert solution.certificate.duality_gap <= 1e-7 * solution.value + 1e-12


@pytest.mark.parametrize("make", PROBLEMS)
def test_warm_answers_are_those_of_cold_calls(make):
    random = np.random.default_rng(4)
    X, labeling = make(random)
    features = gaussian(X)
    warm = svm_dual(features)
    for C in 1e-3 * 1.5 ** np.arange(18):
        labeling = labeling * random.choice((-1.0, 1.0), len(labeling), p=(0.02, 0.98))
        programs = [p.set(**svm_dual_parameters(labeling, C)) for p in (warm, svm_dual(features))]
        values = [solve(p, "active_set", tol=1e-8, certify=False).value for p in programs]
        assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_a_label_more_or_less_takes_few_steps():
    X, labeling = clusters(np.random.default_rng(5))
    program, steps = svm_dual(gaussian(X)), []
    for i in range(10):
        labeling[i] = -labeling[i]
        program.set(**svm_dual_parameters(labeling, 1.0))
        steps.append(solve(program, "active_set", certify=False).iterations)
    assert max(steps[1:]) < steps[0]


def test_one_class():
    features = np.random.default_rng(0).normal(size=(10, 12))
    for label in (-1.0, 1.0):
        program = svm_dual(features).set(**svm_dual_parameters(np.full(10, label), 2.0))
        solution = solve(program, "active_set")
        assert solution.value == pytest.approx(0.0, abs=1e-12)
        assert float(solution.duals["balance"]) == pytest.approx(label)


@pytest.mark.parametrize("bias", [True, False])
def test_any_bounds(bias):
    random = np.random.default_rng(5)
    features, y = gaussian(random.normal(size=(30, 3))), random.normal(size=30)
    bounds = {"lower": -random.uniform(0.0, 2.0, 30), "upper": random.uniform(0.0, 2.0, 30)}
    program = svm_dual(features, bias=bias).set(y=y, **bounds)
    exact = solve(program, "clarabel").value
    assert solve(program, "active_set", tol=1e-8).value == pytest.approx(exact, rel=1e-6)


def test_few_features_may_go_round_in_circles_and_it_says_so():
    random = np.random.default_rng(6)
    labels = random.choice((-1.0, 1.0), 200)
    program = svm_dual(random.normal(size=(200, 3))).set(**svm_dual_parameters(labels, 1.0))
    with pytest.warns(match="user_limit"):
        solution = solve(program, "active_set")
    assert solution.certificate.primal_residual <= 1e-12
    exact = solve(program, "clarabel").value
    assert solution.value <= exact * (1 + 1e-9) <= solution.value + solution.gap + 1e-6
    assert solve(program, ("active_set", "libsvm"), tol=1e-4).solver == "libsvm"


def test_a_stop_is_told_and_forgotten():
    X, labeling = clusters(np.random.default_rng(7))
    program = svm_dual(gaussian(X)).set(**svm_dual_parameters(labeling, 1.0))
    with pytest.warns(match="user_limit"):
        stopped = solve(program, "active_set", max_steps=1)
    assert stopped.iterations == 1
    assert stopped.certificate.primal_residual <= 1e-12
    assert solve(program, "active_set").status == cp.OPTIMAL


def test_only_the_svm_dual():
    assert not SOLVERS["active_set"].can_solve(svm_primal(np.eye(2)))
