"""The smoothed Newton method against the program it solves."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from propcvx.programs import svm_dual, svm_dual_parameters, svm_primal
from propcvx.solvers import SOLVERS, newton, solve, solvers_for

N_INSTANCES = 40


def overlapping(random):
    labels = random.choice((-1.0, 1.0), N_INSTANCES)
    return random.normal(size=(N_INSTANCES, 3)) + 0.5 * labels[:, None], labels


def separable(random):
    features, _ = overlapping(random)
    labels = np.where(features[:, 0] > 0, 1.0, -1.0)
    return features + labels[:, None], labels


def duplicated(random):
    features, labels = overlapping(random)
    return np.repeat(features[:8], 5, axis=0), labels


def constant_features(random):
    features, labels = overlapping(random)
    features[:, 1:] = 3.0
    return features, labels


def binary(random):
    _, labels = overlapping(random)
    return random.choice((0.0, 1.0), (N_INSTANCES, 4)), labels


def unbalanced(random):
    features, labels = overlapping(random)
    labels[:] = -1.0
    labels[:2] = 1.0
    return features, labels


def no_signal(random):
    return np.zeros((N_INSTANCES, 2)), overlapping(random)[1]


def wide(random):
    return random.normal(size=(N_INSTANCES, 60)), overlapping(random)[1]


PROBLEMS = (
    overlapping,
    separable,
    duplicated,
    constant_features,
    binary,
    unbalanced,
    no_signal,
    wide,
)


def gap_of(program, labeling, C, bias):
    """Duality gap of the v that a program holds, from the definitions; and the primal objective."""
    v, features = program.variables["v"].value, program.constants["features"]
    weights = features.T @ v
    offset = float(program.constraints["balance"].dual_value) if bias else 0.0
    hinge = np.maximum(0.0, 1.0 - labeling * (features @ weights + offset)).sum()
    primal = 0.5 * weights @ weights + C * hinge
    return primal - (labeling @ v - 0.5 * weights @ weights), primal


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2, 1e6])
@pytest.mark.parametrize("make", PROBLEMS)
def test_equals_the_program(make, C, bias):
    features, labeling = make(np.random.default_rng(3))
    program = svm_dual(features, bias=bias).set(**svm_dual_parameters(labeling, C))
    exact = solve(program, "clarabel", tol=1e-9, scale=C, certify=False).value
    tol = 1e-7
    solution = solve(program, "newton", tol=tol)
    assert solution.status == cp.OPTIMAL
    assert solution.certificate.primal_residual <= 1e-9 * max(1.0, C * N_INSTANCES)
    gap, primal = gap_of(program, labeling, C, bias)
    assert gap <= tol * primal + 1e-12
    assert solution.gap == pytest.approx(gap, abs=1e-9 * primal + 1e-12)
    assert solution.value == pytest.approx(exact, rel=1e-6, abs=1e-6 * C)


@pytest.mark.parametrize("make", PROBLEMS)
def test_warm_answers_are_those_of_cold_calls(make):
    random = np.random.default_rng(4)
    features, labeling = make(random)
    warm = svm_dual(features)
    for C in (1e-5, 1.5e-5, 1e-2, 1.0, 1.5, 1e-3):
        labeling = labeling * random.choice((-1.0, 1.0), len(labeling), p=(0.05, 0.95))
        cold = svm_dual(features).set(**svm_dual_parameters(labeling, C))
        warm.set(**svm_dual_parameters(labeling, C))
        values = [solve(p, "newton", tol=1e-8, certify=False).value for p in (warm, cold)]
        assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_a_width_that_is_too_narrow_is_left(monkeypatch):
    monkeypatch.setattr(newton, "PATIENCE", 50)
    random = np.random.default_rng(12)
    features = random.normal(size=(3000, 10))
    labeling = np.sign(features.sum(axis=1)) * random.choice((-1.0, 1.0), 3000, p=(0.01, 0.99))
    program = svm_dual(features).set(**svm_dual_parameters(labeling, 1.0))
    end = solve(program, "newton", tol=1e-7, certify=False).warm
    end.width = 1e-10
    program.set(**svm_dual_parameters(labeling, 1.5))
    solution = solve(program, "newton", tol=1e-7, certify=False, warm=end)
    gap, primal = gap_of(program, labeling, 1.5, True)
    assert solution.status == cp.OPTIMAL
    assert solution.iterations > newton.PATIENCE
    assert solution.warm.width > 1e-8
    assert gap <= 1e-7 * primal


def test_one_class():
    features = np.random.default_rng(0).normal(size=(10, 2))
    for label in (-1.0, 1.0):
        program = svm_dual(features).set(**svm_dual_parameters(np.full(10, label), 2.0))
        solution = solve(program, "newton")
        assert (solution.value, solution.gap) == (0.0, 0.0)
        assert float(solution.duals["balance"]) == label


def test_any_bounds():
    random = np.random.default_rng(5)
    features, y = random.normal(size=(30, 3)), random.normal(size=30)
    bounds = {"lower": -random.uniform(0.0, 2.0, 30), "upper": random.uniform(0.0, 2.0, 30)}
    program = svm_dual(features).set(y=y, **bounds)
    exact = solve(program, "clarabel").value
    assert solve(program, "newton", tol=1e-8).value == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("C", [1e-4, 1.0])
@pytest.mark.parametrize("flip", [0.1, 0.5])
def test_many_instances(C, flip):
    random = np.random.default_rng(6)
    features = random.normal(size=(150_000, 4))
    labeling = np.sign(features @ [1.0, -0.5, 0.2, 0.0] + 0.3)
    labeling *= random.choice((-1.0, 1.0), len(labeling), p=(flip, 1 - flip))
    program = svm_dual(features)
    for change in (1.0, 1.5):
        program.set(**svm_dual_parameters(labeling, change * C))
        solution = solve(program, "newton", tol=1e-4, certify=False)
        gap, primal = gap_of(program, labeling, change * C, True)
        assert solution.status == cp.OPTIMAL
        assert gap <= 1e-4 * primal
        v = solution.variables["v"]
        assert abs(v.sum()) <= 1e-9 * np.abs(v).sum()
        assert (v * labeling >= 0).all()
        assert np.abs(v).max() <= change * C * (1 + 1e-12)


def test_warm_answers_after_small_and_large_changes():
    """Small changes let a call take its steps over fewer instances; large ones must undo that."""
    random = np.random.default_rng(10)
    features = random.normal(size=(60_000, 3))
    labeling = np.sign(features @ [1.0, -0.5, 0.2] + random.normal(size=60_000))
    program, C = svm_dual(features), 1e-3
    for share, growth in ((0, 1.0), *[(1e-4, 1.0)] * 6, (0.3, 1.0), (1e-4, 1.0), (0.0, 1e3)):
        labeling = labeling * random.choice((-1.0, 1.0), len(labeling), p=(share, 1 - share))
        C *= growth
        program.set(**svm_dual_parameters(labeling, C))
        solution = solve(program, "newton", tol=1e-5, certify=False)
        gap, primal = gap_of(program, labeling, C, True)
        assert solution.status == cp.OPTIMAL
        assert gap <= 1e-5 * primal
        assert solution.gap == pytest.approx(gap, abs=1e-9 * primal)


def test_duals_are_those_of_the_program():
    features, labeling = overlapping(np.random.default_rng(7))
    program = svm_dual(features).set(**svm_dual_parameters(labeling, 1.0))
    certificate = solve(program, "newton", tol=1e-9).certificate
    assert certificate.primal_residual <= 1e-12
    assert certificate.dual_residual <= 1e-9
    assert certificate.duality_gap <= 1e-6


def test_a_limit_that_the_coarse_steps_use_up():
    random = np.random.default_rng(9)
    features, labeling = random.normal(size=(20_000, 2)), random.choice((-1.0, 1.0), 20_000)
    program = svm_dual(features).set(**svm_dual_parameters(labeling, 1.0))
    with pytest.warns(match="user_limit"):
        solution = solve(program, "newton", max_steps=1, certify=False)
    assert solution.gap == pytest.approx(gap_of(program, labeling, 1.0, True)[0])
    assert abs(solution.variables["v"].sum()) <= 1e-6


def test_a_limit_is_told_and_the_answer_feasible():
    features, labeling = overlapping(np.random.default_rng(8))
    program = svm_dual(features).set(**svm_dual_parameters(labeling, 1.0))
    with pytest.warns(match="user_limit"):
        solution = solve(program, "newton", max_steps=1)
    assert solution.status == cp.USER_LIMIT
    assert solution.certificate.primal_residual <= 1e-12
    assert solution.gap == pytest.approx(gap_of(program, labeling, 1.0, True)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps = solve(program, ("newton", "clarabel"), certify=False)
    assert steps.solver == "newton"


def test_only_the_svm_dual():
    assert not SOLVERS["newton"].can_solve(svm_primal(np.eye(2)))
    assert {"newton"} <= set(solvers_for(svm_dual(np.eye(2), bias=False)))
