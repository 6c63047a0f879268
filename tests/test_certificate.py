"""Certificates: right at, near and far from optima, for all that CVXPY has; or refused by name."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.constraints import FiniteSet, NonNeg, NonPos, PowConeND, Zero
from cvxpy.constraints.constraint import Constraint
from hypothesis import given, settings
from hypothesis import strategies as st

from propcvx.errors import CertificateError
from propcvx.solvers.certificates import certify, cones
from propcvx.solvers.certificates.differentiable import check_differentiable
from propcvx.solvers.certificates.memberships import ROWS, membership

pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\s*Explicitly invoking"),
    pytest.mark.filterwarnings("ignore:Reading from a sparse"),
]

EXPONENTS = np.array([[0.2, 0.5], [0.3, 0.25], [0.5, 0.25]])
COST = np.random.RandomState(5).uniform(0.5, 1.5, size=(3, 2))
TARGET = np.array([[1.0, -2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.1, 0.4]])


def residuals(problem):
    return tuple(vars(certify(problem)).values())


SOLVERS = {"SCS": {"eps": 1e-10}, "CLARABEL": {}}
ACCURACY = {"SCS": 1e-7, "CLARABEL": 1e-3}


def solved(problem, solver="SCS"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's own, of sparse variables
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


def semidefinite(shape):
    X = cp.Variable(shape)
    target = np.broadcast_to(TARGET, shape) + np.arange(np.prod(shape[:-2])).reshape(-1, 1, 1)
    return nearest(X, target.reshape(shape), X - 0.1 * np.eye(3) >> 0)


def triples(cone, targets):
    x, y, z = cp.Variable(2), cp.Variable(2), cp.Variable(2)
    parts = [cp.sum_squares(part - target) for part, target in zip((x, y, z), targets, strict=True)]
    return cp.Problem(cp.Minimize(sum(parts)), [cone(x, y, z)])


def scalars(cone, targets):
    x, y, z = cp.Variable(), cp.Variable(), cp.Variable()
    parts = [cp.square(part - target) for part, target in zip((x, y, z), targets, strict=True)]
    return cp.Problem(cp.Minimize(sum(parts)), [cone(x, y, z)])


def power_nd(axis):
    W, z = cp.Variable((3, 2) if axis == 0 else (2, 3)), cp.Variable(2)
    cost, exponents = (COST, EXPONENTS) if axis == 0 else (COST.T, EXPONENTS.T)
    objective = cp.sum_squares(W - cost) + cp.sum_squares(z - [2.0, -3.0])
    return cp.Problem(cp.Minimize(objective), [PowConeND(W, z, exponents, axis=axis)])


def power_nd_one():
    W, z = cp.Variable(3), cp.Variable()
    objective = cp.sum_squares(W - COST[:, 0]) + cp.square(z - 2.0)
    return cp.Problem(cp.Minimize(objective), [PowConeND(W, z, EXPONENTS[:, 0])])


def maximised():
    x, y = cp.Variable(3), cp.Variable()
    objective = cp.Maximize(y - cp.sum_squares(x - [1.0, -2.0, 0.5]))
    return cp.Problem(objective, [y <= 1 - cp.sum_squares(x), cp.sum(x) == 1])


def absent_from_objective():
    x, y = cp.Variable(2), cp.Variable(2)
    return nearest(x, np.array([1.0, 2.0]), x <= y, y <= 0.5)


def norm_bounded():
    x = cp.Variable(3)
    return nearest(x, np.array([1.0, -2.0, 0.5]), cp.norm(x, 2) <= 1)


def entropy():
    x = cp.Variable(3)
    objective = cp.Minimize(cp.sum(-cp.entr(x)) + x @ [1.0, 2.0, 3.0])
    return cp.Problem(objective, [cp.sum(x) == 1])


def log_determinant():
    X = cp.Variable((3, 3), symmetric=True)
    covariance = TARGET @ TARGET.T + np.eye(3)
    return cp.Problem(cp.Minimize(cp.trace(covariance @ X) - cp.log_det(X)), [X[0, 1] == 0])


CONSTRAINED = {
    "equality": lambda: vector(lambda x: cp.sum(x) == 1),
    "zero": lambda: vector(lambda x: Zero(x[:2] - 1)),
    "inequality": lambda: vector(lambda x: x <= 0.2),
    "convex inequality": lambda: vector(lambda x: cp.sum_squares(x) <= 0.2),
    "nonneg": lambda: vector(lambda x: NonNeg(x - 0.1)),
    "concave nonneg": lambda: vector(lambda x: NonNeg(1 - cp.sum_squares(x))),
    "nonpos": lambda: vector(lambda x: NonPos(x - 0.1)),
    "soc": lambda: second_order((3, 2), 0),
    "soc rows": lambda: second_order((2, 3), 1),
    "soc vector": lambda: vector(lambda x: cp.SOC(x[0], x[1:])),
    "psd": lambda: semidefinite((3, 3)),
    "nsd": lambda: nearest(X := cp.Variable((3, 3)), TARGET, X << 0),
    "psd batch": lambda: semidefinite((2, 3, 3)),
    "exponential": lambda: triples(cp.ExpCone, ([1.0, -1.0], [0.5, 2.0], [0.2, -1.0])),
    "exponential scalar": lambda: scalars(cp.ExpCone, (1.0, 0.5, 0.2)),
    "power": lambda: triples(
        lambda x, y, z: cp.PowCone3D(x, y, z, [0.3, 0.6]), ([1.0, -0.2], [0.5, 2.0], [2.0, -3.0])
    ),
    "power scalar": lambda: scalars(lambda x, y, z: cp.PowCone3D(x, y, z, 0.3), (1.0, 0.5, -3.0)),
    "power nd": lambda: power_nd(0),
    "power nd rows": lambda: power_nd(1),
    "power nd vector": power_nd_one,
    "maximised": maximised,
    "absent": absent_from_objective,
    "norm": norm_bounded,
    "entropy": entropy,
    "log det": log_determinant,
    "no constraint": lambda: nearest(cp.Variable(3), np.ones(3)),
}

BOUND = cp.Parameter(value=0.3)

ATTRIBUTES = {
    "nonneg": {"nonneg": True},
    "nonpos": {"nonpos": True},
    "pos": {"pos": True},
    "neg": {"neg": True},
    "symmetric": {"symmetric": True},
    "diag": {"diag": True},
    "PSD": {"PSD": True},
    "NSD": {"NSD": True},
    "sparsity": {"sparsity": [(0, 0, 2), (1, 2, 2)]},
    "bounds": {"bounds": [-0.5, 0.7]},
    "one bound": {"bounds": [None, 0.7]},
    "array of bounds": {"bounds": [TARGET.round() - 0.2, np.where(TARGET > 0, np.inf, 0.0)]},
    "bound by expression": {"bounds": [-BOUND, 2 * BOUND]},
    "symmetric, nonneg": {"symmetric": True, "nonneg": True},
    "symmetric, bounds": {"symmetric": True, "bounds": [np.tril(TARGET) - 1, np.full((3, 3), 1.2)]},
    "symmetric, upper": {"symmetric": True, "bounds": [None, np.where(np.tri(3), -1.2, 3.0)]},
    "diag, bounds": {"diag": True, "bounds": [-0.2, 0.7]},
    "nonneg, bounds": {"nonneg": True, "bounds": [-1.0, 0.7]},
}


def with_attributes(name, linked=True):
    X = cp.Variable((3, 3), **ATTRIBUTES[name])
    target = TARGET + np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -4.0, 0.0]])
    return nearest(X, target, *([cp.sum(X) <= 0.8] if linked else []))


EXACT = CONSTRAINED | {
    f"{name}{' linked' * linked}": lambda name=name, linked=linked: with_attributes(name, linked)
    for name in ATTRIBUTES
    for linked in (False, True)
}


def stored(leaf):
    value = leaf.value if leaf.sparse_idx is None else leaf.value_sparse
    return np.array(value.toarray() if hasattr(value, "toarray") else value, dtype=float)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", EXACT)
def test_optimum_is_certified(name, solver):
    assert max(residuals(solved(EXACT[name](), solver))) <= ACCURACY[solver]


def noticed(problem):
    try:
        return max(residuals(problem)) > 0.02
    except CertificateError as error:  # moved out of the domain of an atom
        return "boundary of its domain" in str(error)


@pytest.mark.parametrize("change", [-0.1, 0.1])
@pytest.mark.parametrize("name", EXACT)
def test_nothing_can_be_moved_unnoticed(name, change):
    problem = solved(EXACT[name]())
    duals = [part for constraint in problem.constraints for part in constraint.dual_variables]
    for leaf in (*problem.variables(), *(part for part in duals if part.value is not None)):
        right = stored(leaf)
        for entry in np.ndindex(right.shape):
            moved = right.copy()
            moved[entry] += change
            leaf.save_value(moved)
            off_pattern = leaf.sparse_idx is not None and np.array_equal(stored(leaf), right)
            assert off_pattern or noticed(problem), (leaf, entry)
        leaf.save_value(right)
    assert max(residuals(problem)) <= 1e-6


@pytest.mark.parametrize("name", [name for name in CONSTRAINED if name != "no constraint"])
def test_flipped_sign_of_a_dual_is_seen(name):
    problem = solved(CONSTRAINED[name]())
    for constraint in problem.constraints:
        for part in constraint.dual_variables:
            if part.value is not None:
                part.save_value(-part.value)
    assert certify(problem).dual_residual > 0.1


@pytest.mark.parametrize("name", ["soc", "soc rows", "exponential", "power", "power nd rows"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=5)
def test_primal_residual_is_the_distance_from_the_cone(name, seed):
    random = np.random.RandomState(seed)
    problem = CONSTRAINED[name]()
    for variable in problem.variables():
        variable.save_value(2 * random.randn(*variable.shape))
    (constraint,) = problem.constraints
    values = [part.value for part in constraint.args]
    objective = sum(cp.sum_squares(p - v) for p, v in zip(constraint.args, values, strict=True))
    ours = np.atleast_1d(_distances(constraint))
    projected = cp.Problem(cp.Minimize(objective), [constraint])
    assert np.sum(ours**2) == pytest.approx(solved(projected, "CLARABEL").value, abs=1e-6)


def _distances(constraint):
    row = membership(constraint)
    points = row.sign * row.points([part.value for part in row.expressions])
    assert row.violation() == pytest.approx(
        np.linalg.norm(points - row.project(points), axis=1).max()
    )
    return np.linalg.norm(points - row.project(points), axis=1)


PROJECTIONS = {
    "second order": (4, cones.second_order),
    "exponential": (3, cones.exponential),
    "power": (3, lambda points: cones.power(points, np.array([[0.3, 0.7]]))),
    "power of four": (5, lambda points: cones.power(points, np.array([[0.3, 0.2, 0.1, 0.4]]))),
}


@pytest.mark.parametrize("name", PROJECTIONS)
@given(seed=st.integers(0, 10_000), scale=st.integers(-8, 8), uneven=st.booleans())
@settings(max_examples=50)
def test_projection_and_what_it_leaves_are_orthogonal_and_in_their_cones(name, seed, scale, uneven):
    size, project = PROJECTIONS[name]
    random = np.random.RandomState(seed)
    scales = 10.0 ** (random.randint(-8, 9, size=(1, size)) if uneven else scale)
    point = scales * random.randn(1, size) * (random.uniform(size=(1, size)) > 0.1)
    kept, length = project(point), np.linalg.norm(point)
    assert abs(np.vdot(kept, point - kept)) <= 1e-6 * length**2
    assert cones.distance(kept, project) <= 1e-9 * length
    assert cones.distance(kept - point, project, dual=True) <= 1e-7 * length


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


# Integers


def test_integer_programs_have_a_primal_residual_only():
    x = cp.Variable((2, 2), boolean=[(0, 1), (1, 1)])
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.1])
    x.save_value(np.array([[0.1, 0.8], [0.1, 1.0]]))
    assert residuals(problem) == (pytest.approx(0.2), None, None)
    x.save_value(np.array([[0.1, 2.0], [0.1, 0.0]]))
    assert residuals(problem) == (pytest.approx(1.0), None, None)
    x.save_value(np.array([[7.0, 1.0], [0.1, -3.0]]))
    assert residuals(problem) == (pytest.approx(3.1), None, None)
    y = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(cp.abs(y)), [y >= 2.5])
    y.save_value(2.9)
    assert residuals(problem) == (pytest.approx(0.1), None, None)
    z = cp.Variable(2)
    z.save_value(np.array([1.1, 4.0]))
    problem = cp.Problem(cp.Minimize(cp.sum(z)), [FiniteSet(z, [1, 2, 4])])
    assert residuals(problem) == (pytest.approx(0.1), None, None)


# Gradients

POINT = np.array([0.7, 1.3, 0.4])

SMOOTH = {
    "exp": cp.exp,
    "huber": lambda x: cp.huber(x, 0.5),
    "log_sum_exp": cp.log_sum_exp,
    "logistic": cp.logistic,
    "quad_form": lambda x: cp.quad_form(x, TARGET @ TARGET.T),
    "log": cp.log,
    "entr": cp.entr,
    "log1p": cp.log1p,
    "log_det": lambda x: cp.log_det(cp.diag(x) + np.eye(3)),
    "tr_inv": lambda x: cp.tr_inv(cp.diag(x)),
    "geo_mean": cp.geo_mean,
    "xexp": lambda x: cp.xexp(cp.Variable(3, nonneg=True)),
    "kl_div": lambda x: cp.kl_div(x, x[::-1]),
    "rel_entr": lambda x: cp.rel_entr(x, np.ones(3)),
    "quad_over_lin": lambda x: cp.quad_over_lin(x, x[0]),
    "sum_squares": cp.sum_squares,
    "inv_pos": cp.inv_pos,
    "sqrt": cp.sqrt,
    "power 1.5": lambda x: cp.power(x, 1.5),
    "power 4": lambda x: cp.power(x, 4),
    "norm2": cp.norm2,
    "norm3": lambda x: cp.pnorm(x, 3),
    "rows' norms": lambda x: cp.norm(cp.vstack([x, 2 * x - 1]), 2, axis=1),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_that_are_relied_on_are_those_of_finite_differences(name):
    x = cp.Variable(3)
    expression = cp.sum(SMOOTH[name](x))
    (x,) = expression.variables()

    def value(point):
        x.save_value(point)
        return expression.value

    steps = 1e-6 * np.eye(3)
    expected = [(value(POINT + step) - value(POINT - step)) / 2e-6 for step in steps]
    x.save_value(POINT)
    check_differentiable(expression)
    assert np.ravel(expression.grad[x].toarray()) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "named", "point"),
    [
        ("log", "log", [0.0, 1.0, 1.0]),
        ("entr", "entr", [0.0, 1.0, 1.0]),
        ("log1p", "log1p", [-1.0, 1.0, 1.0]),
        ("log_det", "log_det", [-1.0, 1.0, 1.0]),
        ("tr_inv", "tr_inv", [0.0, 1.0, 1.0]),
        ("geo_mean", "GeoMean", [1e-8, 1.0, 1.0]),
        ("kl_div", "kl_div", [1e-8, 1.0, 1e-8]),
        ("rel_entr", "rel_entr", [-1e-8, 1.0, 1.0]),
        ("quad_over_lin", "quad_over_lin", [1e-8, 0.0, 0.0]),
        ("inv_pos", "Power", [0.0, 1.0, 1.0]),
        ("sqrt", "Power", [-1e-9, 1.0, 1.0]),
        ("power 1.5", "Power", [1e-8, 1.0, 1.0]),
        ("norm2", "Pnorm", [1e-8, 0.0, 1e-8]),
    ],
)
def test_kinks_and_boundaries_of_domains_are_refused_by_name(name, named, point):
    x = cp.Variable(3)
    x.save_value(np.array(point))
    expression = cp.sum(SMOOTH[name](x))
    goal = cp.Minimize(expression) if expression.is_convex() else cp.Maximize(expression)
    problem = cp.Problem(goal)
    with (
        np.errstate(divide="ignore", invalid="ignore"),
        pytest.raises(CertificateError, match=rf"(?s){named}.*, in .* boundary of its domain"),
    ):
        certify(problem)


# What is refused


def _with_values(problem, value=1.0):
    for variable in problem.variables():
        variable.save_value(np.full(variable.shape, value))
    return problem


def _relative_entropy(x):
    return [cp.constraints.RelEntrConeQuad(x[0], x[1], x[2], 3, 3)]


def _operator_relative_entropy(x):
    parts = [cp.diag(x[:2]), cp.diag(x[1:]), cp.diag(x[:2])]
    return [cp.constraints.OpRelEntrConeQuad(*parts, 3, 3)]


REFUSED = {
    "RelEntrConeQuad": _relative_entropy,
    "OpRelEntrConeQuad": _operator_relative_entropy,
    "PowCone3DApprox": lambda x: [cp.PowCone3DApprox(x[0], x[1], x[2], 0.3)],
    "variable v has complex": lambda x: [cp.real(cp.Variable(name="v", complex=True)) == x[0]],
    "variable v has imag": lambda x: [cp.imag(cp.Variable(name="v", imag=True)) == x[0]],
    "variable v has hermitian": lambda x: [
        cp.real(cp.Variable((2, 2), name="v", hermitian=True)) == x[0]
    ],
    "variable v has PSD and bounds": lambda x: [
        cp.Variable((2, 2), name="v", PSD=True, nonneg=True) == x[0]
    ],
    "complex": lambda x: [1j * x == 0],
    "no dual value": lambda x: [x >= 0],
    "norm1, in": lambda x: [cp.norm1(x) <= 1],
    "abs, in": lambda x: [cp.abs(x) <= 1],
    "maximum, in": lambda x: [cp.pos(x) <= 1],
    "lambda_max, in": lambda x: [cp.lambda_max(cp.diag(x)) <= 1],
    "not DCP": lambda x: [cp.sqrt(x) <= 1],
}


@pytest.mark.parametrize("named", REFUSED)
def test_what_cannot_be_certified_is_refused_by_name(named):
    x = cp.Variable(3)
    problem = _with_values(cp.Problem(cp.Minimize(cp.sum_squares(x)), REFUSED[named](x)))
    if named != "no dual value":
        for part in (p for c in problem.constraints for p in c.dual_variables):
            part.save_value(np.ones(part.shape))
    with pytest.raises(CertificateError, match=named):
        certify(problem)


def test_kinks_of_the_objective_are_refused_where_the_residual_would_be_one():
    x = cp.Variable(3)
    problem = solved(cp.Problem(cp.Minimize(cp.norm1(x) + cp.sum_squares(x - 0.1))))
    with pytest.raises(CertificateError, match=r"norm1, in .*certify=False"):
        certify(problem)


def test_unset_values_are_named():
    x, p = cp.Variable(name="x"), cp.Parameter(name="p")
    with pytest.raises(CertificateError, match="'x', 'p'"):
        certify(cp.Problem(cp.Minimize(cp.square(x - p))))


def test_every_class_of_constraint_has_a_row_or_is_refused():
    def below(kind):
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    refused = {"RelEntrConeQuad", "OpRelEntrConeQuad", "PowCone3DApprox", "SvecPSD"}
    abstract = {"Constraint", "Cone"}
    ours = {row.__name__ for row in ROWS}
    kinds = {kind.__name__ for kind in below(Constraint) if kind.__module__.startswith("cvxpy")}
    assert kinds == ours | refused | abstract


def test_values_that_are_not_finite_give_nan():
    problem = solved(CONSTRAINED["soc"]())
    cone = problem.constraints[0]
    cone.dual_variables[0].save_value(np.array([np.inf, 1.0]))
    certificate = certify(problem)
    assert certificate.primal_residual <= 1e-6
    assert np.isnan(certificate.dual_residual)


def test_constraints_without_variables_or_entries_are_no_obstacle():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.Constant(1) >= 0, x[:0] >= 0])
    x.save_value(np.zeros(2))
    problem.constraints[1].save_dual_value(np.zeros(0))
    assert residuals(problem) == (0.0, 0.0, 0.0)
