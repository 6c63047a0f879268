"""Residuals: right at, near and far from optima, for all that CVXPY has; or refused by name."""

import cvxpy as cp
import numpy as np
import pytest
from common_problems import COMMON
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from propcvx.errors import ResidualsError
from propcvx.solvers.residuals import compute_residuals

TARGET = np.array([[1.0, -2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.1, 0.4]])


def residuals(problem):
    return tuple(vars(compute_residuals(problem)).values())[:3]


SOLVERS = {"SCS": {"eps": 1e-10}, "CLARABEL": {}}
ACCURACY = {"SCS": 1e-7, "CLARABEL": 1e-3}


def solved(problem, solver="SCS"):
    problem.solve(solver=solver, **SOLVERS[solver])
    assert problem.status == cp.OPTIMAL
    return problem


def nearest(variable, target, *constraints):
    return cp.Problem(cp.Minimize(cp.sum_squares(variable - target)), list(constraints))


def vector(constrain, target=(1.0, -2.0, 0.5)):
    x = cp.Variable(3)
    return nearest(x, np.array(target), constrain(x))


def second_order(shape, axis):
    t, X = cp.Variable(2), cp.Variable(shape)
    targets = 2 * np.random.RandomState(0).randn(*shape)
    objective = cp.sum_squares(t - [0.5, -0.2]) + cp.sum_squares(X - targets)
    return cp.Problem(cp.Minimize(objective), [cp.SOC(t, X, axis=axis)])


def maximized():
    x, y = cp.Variable(3), cp.Variable()
    objective = cp.Maximize(y - cp.sum_squares(x - [1.0, -2.0, 0.5]))
    return cp.Problem(objective, [y <= 1 - cp.sum_squares(x), cp.sum(x) == 1])


def absent_from_objective():
    x, y = cp.Variable(2), cp.Variable(2)
    return nearest(x, np.array([1.0, 2.0]), x <= y, y <= 0.5)


def entropy():
    x = cp.Variable(3)
    objective = cp.Minimize(cp.sum(-cp.entr(x)) + x @ [1.0, 2.0, 3.0])
    return cp.Problem(objective, [cp.sum(x) == 1])


CONSTRAINED = {
    "equality": lambda: vector(lambda x: cp.sum(x) == 1),
    "inequality": lambda: vector(lambda x: x <= 0.2),
    "convex inequality": lambda: vector(lambda x: cp.sum_squares(x) <= 0.2),
    "soc": lambda: second_order((3, 2), 0),
    "soc rows": lambda: second_order((2, 3), 1),
    "soc vector": lambda: vector(lambda x: cp.SOC(x[0], x[1:])),
    "psd": lambda: nearest(X := cp.Variable((3, 3)), TARGET, X - 0.1 * np.eye(3) >> 0),
    "nsd": lambda: nearest(X := cp.Variable((3, 3), symmetric=True), TARGET, X << 0),
    "maximized": maximized,
    "absent": absent_from_objective,
    "entropy": entropy,
    "no constraint": lambda: nearest(cp.Variable(3), np.ones(3)),
}

ATTRIBUTES = {
    "nonneg": {"nonneg": True},
    "symmetric": {"symmetric": True},
    "PSD": {"PSD": True},
    "bounds": {"bounds": [-0.5, 0.7]},
    "one bound": {"bounds": [None, 0.7]},
    "array of bounds": {"bounds": [TARGET.round() - 0.2, np.where(TARGET > 0, np.inf, 0.0)]},
}


def with_attributes(name, linked):
    X = cp.Variable((3, 3), **ATTRIBUTES[name])
    target = TARGET + np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -4.0, 0.0]])
    return nearest(X, target, *([cp.sum(X) <= 0.8] if linked else []))


EXACT = CONSTRAINED | {
    f"{name}{' linked' * linked}": lambda name=name, linked=linked: with_attributes(name, linked)
    for name in ATTRIBUTES
    for linked in (False, True)
}


@pytest.mark.parametrize("name", EXACT)
def test_residuals_vanish_at_optimum_and_detect_any_move(name):
    for solver, accuracy in ACCURACY.items():
        assert max(residuals(solved(EXACT[name](), solver))) <= accuracy
    problem = solved(EXACT[name]())
    duals = [part for constraint in problem.constraints for part in constraint.dual_variables]
    for leaf in (*problem.variables(), *duals):
        right = np.array(leaf.value)
        for entry in np.ndindex(right.shape):
            for change in (-0.1, 0.1):
                moved = right.copy()
                moved[entry] += change
                leaf.save_value(moved)
                assert max(residuals(problem)) > 0.02, (leaf, entry)
        leaf.save_value(right)
    assert max(residuals(problem)) <= 1e-6


@given(seed=st.integers(0, 10_000), maximize=st.booleans())
@examples(15)
def test_any_point_of_quadratic_program_against_its_kkt_system(seed, maximize):
    random = np.random.RandomState(seed)
    P, q, A, b = random.randn(4, 4), random.randn(4), random.randn(2, 4), random.randn(2)
    G, h = random.randn(3, 4), random.randn(3)
    x, sign = cp.Variable(4, nonneg=True), -1.0 if maximize else 1.0
    objective = sign * (0.5 * cp.sum_squares(P @ x) + q @ x)
    goal = cp.Maximize(objective) if maximize else cp.Minimize(objective)
    problem = cp.Problem(goal, [A @ x == b, G @ x <= h])
    point, nu, lam = random.randn(4), random.randn(2), random.randn(3)
    x.save_value(point)
    for constraint, dual in zip(problem.constraints, (nu, lam), strict=True):
        constraint.dual_variables[0].save_value(dual)
    gradient = P.T @ P @ point + q + A.T @ nu + G.T @ lam
    primal = [abs(A @ point - b).max(), (G @ point - h).max(), -point.min()]
    gap = nu @ (A @ point - b) + lam @ (G @ point - h) - np.maximum(gradient, 0.0) @ point
    assert residuals(problem) == pytest.approx(
        (max(*primal, 0.0), max(0.0, -lam.min(), -gradient.min()), abs(gap))
    )


@given(seed=st.integers(0, 10_000))
@examples(15)
def test_socp_residuals_agree_with_kkt(seed):
    random = np.random.RandomState(seed)
    A, b, c, q = random.randn(3, 4), random.randn(3), random.randn(4), random.randn(4)
    x = cp.Variable(4)
    cone = cp.SOC(c @ x + 1, A @ x + b)
    problem = cp.Problem(cp.Minimize(q @ x), [cone])
    point, t, u = random.randn(4), random.randn(), random.randn(3)
    x.save_value(point)
    cone.save_dual_value(np.append(t, u))
    bound, argument = c @ point + 1, A @ point + b

    def distance(bound, vector):
        norm = np.linalg.norm(vector)
        return np.hypot(bound, norm) if norm <= -bound else max(0.0, norm - bound) / np.sqrt(2)

    stationarity = abs(q - c * t - A.T @ u).max()
    assert residuals(problem) == pytest.approx(
        (
            distance(bound, argument),
            max(stationarity, distance(t, u)),
            abs(bound * t + argument @ u),
        )
    )


def test_integer_programs_have_primal_residual_only():
    x = cp.Variable((2, 2), boolean=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.1])
    for value, violation in (
        ([[1.0, 0.8], [1.0, 1.0]], 0.2),
        ([[1.0, 2.0], [0.1, 0.0]], 1.0),
        ([[1.0, 1.0], [1.0, -3.0]], 3.1),
    ):
        x.save_value(np.array(value))
        assert residuals(problem) == (pytest.approx(violation), None, None)
    y = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(cp.abs(y)), [y >= 2.5])
    y.save_value(2.9)
    assert residuals(problem) == (pytest.approx(0.1), None, None)


REFUSED = {
    "RelEntrConeQuad": lambda x: [cp.constraints.RelEntrConeQuad(x[0], x[1], x[2], 3, 3)],
    "no dual value": lambda x: [x >= 0],
    "rules, DCP": lambda x: [cp.sqrt(x) <= 1],
}


@pytest.mark.parametrize("named", REFUSED)
def test_residuals_of_uncovered_problem_raise(named):
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), REFUSED[named](x))
    x.save_value(np.ones(3))
    with pytest.raises(ResidualsError, match=rf"(?s){named}.*residuals=False"):
        compute_residuals(problem)


def test_unset_values_are_named():
    x, p = cp.Variable(name="x"), cp.Parameter(name="p")
    with pytest.raises(ResidualsError, match="'x', 'p'"):
        compute_residuals(cp.Problem(cp.Minimize(cp.square(x - p))))


@pytest.mark.parametrize("name", ["soc", "psd", "PSD linked"])
def test_values_not_finite_have_infinite_residual(name):
    problem = solved(EXACT[name]())
    dual = problem.constraints[0].dual_variables[0]
    dual.save_value(np.full(dual.shape, np.inf))
    answer = compute_residuals(problem)
    assert answer.primal_residual <= 1e-6
    assert not np.isfinite(answer.dual_residual)
    assert not np.isfinite(answer.duality_gap)


def test_residuals_ignore_empty_constraints():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.Constant(1) >= 0, x[:0] >= 0])
    x.save_value(np.zeros(2))
    problem.constraints[1].save_dual_value(np.zeros(0))
    assert residuals(problem) == (0.0, 0.0, 0.0)


def test_residuals_outside_domain_are_infinite():
    x = cp.Variable(2)
    problem = solved(cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [x <= 1]))
    x.save_value(np.array([1.0, -0.1]))
    assert set(vars(compute_residuals(problem)).values()) == {np.inf}


# Problems of all kinds; their dual residual is a norm where there are kinks


ACCURATE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)


@pytest.mark.filterwarnings("ignore:.* is being approximated")
@pytest.mark.parametrize("name", COMMON)
def test_residuals_at_optimum_vanish_without_side_effects(name):
    """At 1e-5: near an exponential cone's optimum the gradient is not yet zero."""
    problem = COMMON[name]()
    problem.solve(solver="CLARABEL", **ACCURATE)
    before = [dense(leaf.value) for leaf in leaves_of(problem)]
    assert problem.status == cp.OPTIMAL
    assert compute_residuals(problem).relative <= 1e-5
    assert all(map(np.array_equal, before, [dense(leaf.value) for leaf in leaves_of(problem)]))


def leaves_of(problem):
    duals = (part for constraint in problem.constraints for part in constraint.dual_variables)
    return [*problem.variables(), *duals]


def dense(value):
    return value.toarray() if sparse.issparse(value) else np.array(value)


def test_residuals_of_lasso_are_least_subgradients():
    """Far from kinks r is the gradient; at a kink it is the nearest to zero of the interval."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - [1.0, 0.3]) + cp.norm1(x)))
    for point, norm in (([2.0, 1.0], np.hypot(3.0, 2.4)), ([-1.0, 0.0], 5.0), ([0.5, 0.0], 0.0)):
        x.save_value(np.array(point))
        primal, dual, gap = residuals(problem)
        assert primal == 0.0
        assert dual == pytest.approx(norm, abs=0.02 * np.hypot(1.0, norm))
        assert gap <= 1e-3
