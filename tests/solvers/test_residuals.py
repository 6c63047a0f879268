"""Residuals: right at, near and far from optima, for all that programs use; or refused by name."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propcvx.errors import ResidualsError
from propcvx.solvers.residuals import residuals_of

TARGET = np.array([[1.0, -2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.1, 0.4]])


def residuals(problem):
    return tuple(vars(residuals_of(problem)).values())


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


def maximised():
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
    "maximised": maximised,
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


def noticed(problem):
    try:
        return max(residuals(problem)) > 0.02
    except ResidualsError as error:  # moved out of the domain of an atom
        return "boundary of its domain" in str(error)


@pytest.mark.parametrize("name", EXACT)
def test_an_optimum_has_none_and_nothing_can_be_moved_unnoticed(name):
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
                assert noticed(problem), (leaf, entry)
        leaf.save_value(right)
    assert max(residuals(problem)) <= 1e-6


@given(seed=st.integers(0, 10_000), maximise=st.booleans())
@settings(max_examples=15)
def test_any_point_of_a_quadratic_program_against_its_kkt_system(seed, maximise):
    random = np.random.RandomState(seed)
    P, q, A, b = random.randn(4, 4), random.randn(4), random.randn(2, 4), random.randn(2)
    G, h = random.randn(3, 4), random.randn(3)
    x, sign = cp.Variable(4, nonneg=True), -1.0 if maximise else 1.0
    objective = sign * (0.5 * cp.sum_squares(P @ x) + q @ x)
    goal = cp.Maximize(objective) if maximise else cp.Minimize(objective)
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
@settings(max_examples=15)
def test_any_point_of_a_second_order_cone_program_against_its_kkt_system(seed):
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


def test_residuals_of_attributes_are_about_the_perturbation():
    """Minimise tr(X) with X >= 0 in the semidefinite order: X = 0, multiplier I."""
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)))
    X.save_value(np.zeros((2, 2)))
    assert residuals(problem) == (0.0, 0.0, 0.0)
    X.save_value(np.diag([0.3, -0.1]))
    assert residuals(problem) == pytest.approx((0.1, 0.0, 0.2))
    problem = cp.Problem(cp.Minimize(X[0, 0] - 0.2 * X[1, 1]))
    X.save_value(np.zeros((2, 2)))
    assert residuals(problem) == pytest.approx((0.0, 0.2, 0.0))


def test_integer_programs_have_a_primal_residual_only():
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


POINT = np.array([0.7, 1.3, 0.4])

SMOOTH = {
    "exp": cp.exp,
    "huber": lambda x: cp.huber(x, 0.5),
    "log_sum_exp": cp.log_sum_exp,
    "logistic": cp.logistic,
    "quad_form": lambda x: cp.quad_form(x, TARGET @ TARGET.T),
    "log": cp.log,
    "entr": cp.entr,
    "sum_squares": cp.sum_squares,
    "square": cp.square,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_that_are_relied_on_are_those_of_finite_differences(name):
    x = cp.Variable(3)
    expression = cp.sum(SMOOTH[name](x))
    goal = cp.Minimize(expression) if expression.is_convex() else cp.Maximize(expression)

    def value(point):
        x.save_value(point)
        return expression.value

    steps = 1e-6 * np.eye(3)
    expected = [(value(POINT + step) - value(POINT - step)) / 2e-6 for step in steps]
    x.save_value(POINT)
    assert residuals_of(cp.Problem(goal)).dual_residual == pytest.approx(
        np.abs(expected).max(), rel=1e-6
    )
    assert np.ravel(expression.grad[x].toarray()) == pytest.approx(expected, rel=1e-6, abs=1e-6)


REFUSED = {
    "ExpCone": lambda x: [cp.ExpCone(x[0], x[1], x[2])],
    "PowCone3D": lambda x: [cp.PowCone3D(x[0], x[1], x[2], 0.3)],
    "NonNeg": lambda x: [cp.NonNeg(x)],
    "variable v with complex": lambda x: [cp.real(cp.Variable(name="v", complex=True)) == x[0]],
    "variable v with diag": lambda x: [cp.Variable((2, 2), name="v", diag=True) == x[0]],
    "variable v with nonneg and PSD": lambda x: [
        cp.Variable((2, 2), name="v", PSD=True, nonneg=True) == x[0]
    ],
    "variable v with bounds": lambda x: [
        cp.Variable(name="v", bounds=[cp.Parameter(value=0.3), None]) == x[0]
    ],
    "variable v with boolean": lambda x: [cp.Variable(3, name="v", boolean=[(0,)]) == x],
    "constraint .* of Equality": lambda x: [1j * x == 0],
    "no dual value": lambda x: [x >= 0],
    "norm1, in": lambda x: [cp.norm1(x) <= 1],
    "abs, in": lambda x: [cp.abs(x) <= 1],
    "maximum, in": lambda x: [cp.pos(x) <= 1],
    "lambda_max, in": lambda x: [cp.lambda_max(cp.diag(x)) <= 1],
    "PnormApprox, in": lambda x: [cp.norm(x, 2) <= 1],
    "log.* boundary of its domain": lambda x: [cp.sum(cp.log(x - 1)) >= 1],
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("named", REFUSED)
def test_what_is_not_covered_is_refused_by_name(named):
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), REFUSED[named](x))
    for variable in problem.variables():
        variable.save_value(np.ones(variable.shape))
    if named != "no dual value":
        for part in (p for c in problem.constraints for p in c.dual_variables):
            part.save_value(np.ones(part.shape))
    with pytest.raises(ResidualsError, match=rf"(?s){named}.*residuals=False"):
        residuals_of(problem)


def test_unset_values_are_named():
    x, p = cp.Variable(name="x"), cp.Parameter(name="p")
    with pytest.raises(ResidualsError, match="'x', 'p'"):
        residuals_of(cp.Problem(cp.Minimize(cp.square(x - p))))


@pytest.mark.parametrize("name", ["soc", "psd", "PSD linked"])
def test_values_that_are_not_finite_have_no_finite_residual(name):
    problem = solved(EXACT[name]())
    dual = problem.constraints[0].dual_variables[0]
    dual.save_value(np.full(dual.shape, np.inf))
    answer = residuals_of(problem)
    assert answer.primal_residual <= 1e-6
    assert not np.isfinite(answer.dual_residual)
    assert not np.isfinite(answer.duality_gap)


def test_constraints_without_variables_or_entries_are_no_obstacle():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.Constant(1) >= 0, x[:0] >= 0])
    x.save_value(np.zeros(2))
    problem.constraints[1].save_dual_value(np.zeros(0))
    assert residuals(problem) == (0.0, 0.0, 0.0)
