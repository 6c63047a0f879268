"""The smoothed Newton method, LIBLINEAR and LIBSVM against the program they solve."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from large_C import KINDS, problem

from propcvx.errors import SolverError
from propcvx.programs import mkl_epigraph, mkl_group, svm_dual, svm_dual_parameters
from propcvx.solvers import choose_solvers, solve
from propcvx.svm.kernels import FeatureMap, Kernel

N_INSTANCES = 40


def problems(random):
    """Features and labels of eight sorts."""
    y = random.choice((-1.0, 1.0), N_INSTANCES)
    X = random.normal(size=(N_INSTANCES, 3)) + 0.5 * y[:, None]
    side = np.where(X[:, 0] > 0, 1.0, -1.0)
    return {
        "overlapping": (X, y),
        "separable": (X + side[:, None], side),
        "duplicated": (np.repeat(X[:8], 5, axis=0), y),
        "constant features": (np.where(np.arange(3) > 0, 3.0, X), y),
        "binary": (random.choice((0.0, 1.0), (N_INSTANCES, 4)), y),
        "unbalanced": (X, np.where(np.arange(N_INSTANCES) < 2, 1.0, -1.0)),
        "no signal": (np.zeros((N_INSTANCES, 2)), y),
        "wide": (random.normal(size=(N_INSTANCES, 45)), y),
    }


PROBLEMS = tuple(problems(np.random.default_rng(0)))


def gap_of(solution, features, labeling, C, bias=True):
    """Relative duality gap of an answer, from the definitions."""
    v = solution.variables["v"]
    weights = (features - features.mean(axis=0)).T @ v if bias else features.T @ v
    scores = (features - features.mean(axis=0)) @ weights if bias else features @ weights
    offsets = labeling - scores if bias else np.zeros(1)  # the best bias is at a kink
    primal = 0.5 * weights @ weights + C * min(
        np.maximum(0.0, 1.0 - labeling * (scores + offset)).sum() for offset in offsets
    )
    assert (v * labeling >= 0.0).all()
    assert np.abs(v).max() <= C * (1 + 1e-12)
    assert not bias or abs(v.sum()) <= 1e-9 * np.abs(v).sum()
    return (primal - (labeling @ v - 0.5 * weights @ weights)) / primal


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", PROBLEMS)
def test_newton_equals_program_at_all_scales(name, bias):
    features, labeling = problems(np.random.default_rng(3))[name]
    program = svm_dual(features, bias=bias)
    for C in (1e-6, 1.0, 1e2, 1e6):
        program.set(**svm_dual_parameters(labeling, C))
        exact = solve(program, "clarabel", tol=1e-8, residuals=False, warn=False).value
        solution = solve(program, "newton", tol=1e-7)
        assert solution.status == cp.OPTIMAL
        assert solution.residuals.primal_residual <= 1e-9 * max(1.0, C * N_INSTANCES)
        assert gap_of(solution, features, labeling, C, bias) <= 1.1e-7
        assert solution.value == pytest.approx(exact, rel=1e-6)
        for scale in (1e-6, 1e6):
            scaled = svm_dual(scale * features, bias=bias)
            scaled.set(**svm_dual_parameters(labeling, C / scale**2))
            other = solve(scaled, "newton", tol=1e-7, residuals=False)
            assert other.status == cp.OPTIMAL
            assert scale**2 * other.value == pytest.approx(solution.value, rel=2e-7)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1e2), (1.0, 1e6), (1e-6, 0.0), (1e6, 0.0)])
@pytest.mark.parametrize(
    ("solver", "C"), [("newton", 1e-3), ("newton", 1e4), ("libsvm", 1e-2), ("libsvm", 100.0)]
)
def test_svm_is_invariant_to_units_and_origin(solver, C, scale, offset):
    random = np.random.default_rng(0)
    labeling = random.choice((-1.0, 1.0), 500)
    features = random.normal(size=(500, 5)) + 0.8 * labeling[:, None]
    plain = svm_dual(features).set(**svm_dual_parameters(labeling, C))
    moved = svm_dual(scale * features + offset).set(**svm_dual_parameters(labeling, C / scale**2))
    first, other = (solve(each, solver, tol=1e-6, residuals=False) for each in (plain, moved))
    assert first.status == other.status == cp.OPTIMAL
    assert scale**2 * other.value == pytest.approx(first.value, rel=2e-6)
    weights, again = features.T @ first.variables["v"], features.T @ other.variables["v"]
    np.testing.assert_allclose(scale**2 * again, weights, atol=1e-2 * np.abs(weights).max())
    shift = float(first.duals["balance"] - other.duals["balance"])
    assert shift == pytest.approx(offset * again.sum(), rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("name", PROBLEMS)
def test_newton_warm_start_gives_same_value(name):
    random = np.random.default_rng(4)
    features, labeling = problems(random)[name]
    program, end = svm_dual(features), None
    for C in (1e-5, 1.5e-5, 1e-2, 1.0, 1.5, 1e-3):
        labeling = labeling * random.choice((-1.0, 1.0), len(labeling), p=(0.05, 0.95))
        program.set(**svm_dual_parameters(labeling, C))
        cold = solve(program, "newton", tol=1e-8, residuals=False)
        warm = solve(program, "newton", tol=1e-8, residuals=False, warm_start=end)
        end = warm.warm_start
        assert warm.value == pytest.approx(cold.value, rel=3e-8)


@pytest.mark.parametrize("solver", ["newton", "libsvm"])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_newton_with_one_class_has_value_zero(label, solver):
    features = np.random.default_rng(0).normal(size=(10, 2))
    program = svm_dual(features).set(**svm_dual_parameters(np.full(10, label), 2.0))
    solution = solve(program, solver)
    assert (solution.value, solution.gap) == (0.0, 0.0)
    assert label * float(solution.duals["balance"]) >= 1.0
    assert max(vars(solution.residuals).values()) == 0.0


@pytest.mark.parametrize("bias", [True, False])
def test_newton_with_any_bounds_equals_program(bias):
    random = np.random.default_rng(5)
    features, y = random.normal(size=(30, 3)), random.normal(size=30)
    bounds = {"lower": -random.uniform(0.0, 2.0, 30), "upper": random.uniform(0.0, 2.0, 30)}
    program = svm_dual(features, bias=bias).set(y=y, **bounds)
    exact = solve(program, "clarabel").value
    assert solve(program, "newton", tol=1e-8).value == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("C", "flip"), [(1e-4, 0.1), (1.0, 0.5)])
def test_newton_with_many_instances_reaches_tolerance(C, flip):
    random = np.random.default_rng(6)
    features = random.normal(size=(20_000, 4))
    labeling = np.sign(features @ [1.0, -0.5, 0.2, 0.0] + 0.3)
    labeling *= random.choice((-1.0, 1.0), len(labeling), p=(flip, 1 - flip))
    program, end = svm_dual(features), None
    for change in (1.0, 1.5):
        program.set(**svm_dual_parameters(labeling, change * C))
        solution = solve(program, "newton", tol=1e-4, residuals=False, warm_start=end)
        end, v = solution.warm_start, solution.variables["v"]
        lower, upper = program.structure.bounds(program.values, v)
        assert solution.status == cp.OPTIMAL
        assert (upper - lower) / upper <= 1e-4
        assert lower == pytest.approx(solution.value, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("solver", "C"),
    [
        *itertools.product(["newton"], [1e3, 1e6, 1e8, 1e9, 1e10, 1e12]),
        *itertools.product(["auto"], [1e8, 1e12]),
        *itertools.product(["libsvm"], [1e3, 1e9]),
    ],
)
def test_large_C_reaches_tolerance_or_reports_gap(solver, kind, C):
    """`newton` and `auto` reach 1e-6 up to C = 1e8; beyond, w = F'v is rounded to eps times C."""
    tol = 1e-6
    for seed in range(1 if solver == "libsvm" else 3):
        features, labeling = problem(kind, np.random.default_rng(seed))
        program = svm_dual(features).set(**svm_dual_parameters(labeling, C))
        if solver == "libsvm" and C > 1e8 and kind != "separable":
            with pytest.raises(SolverError, match="relative duality gap"):
                solve(program, solver, tol=tol, residuals=False)
            continue
        solution = solve(program, solver, tol=tol, residuals=False, warn=False)
        assert solution.status == cp.OPTIMAL or C > 1e8 or solver == "libsvm"
        assert (solution.gap <= tol) == (solution.status == cp.OPTIMAL)
        rounding = 1e-15 * C * len(labeling) if solution.gap > 0.0 else tol
        assert gap_of(solution, features, labeling, C) <= 1.01 * solution.gap + rounding


@pytest.mark.parametrize("seed", range(3))
def test_newton_stops_at_rounding_errors(seed):
    random = np.random.RandomState(seed)
    features, labeling = random.randn(6, 2), np.where(random.rand(6) > 0.5, 1.0, -1.0)
    features[0] *= 1e18
    program = svm_dual(features, bias=False).set(**svm_dual_parameters(labeling, 1e8))
    with pytest.warns(match="user_limit"):
        solution = solve(program, "newton", max_iter=500)
    assert solution.iterations < 500


@pytest.mark.filterwarnings("ignore:clarabel stopped")
@pytest.mark.parametrize(
    ("form", "spread"), [(mkl_epigraph, 1.0), (mkl_epigraph, 1e2), (mkl_group, 1e2)]
)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e2])
@pytest.mark.parametrize("name", PROBLEMS)
def test_newton_on_cut_equals_master_of_one_cut(name, C, form, spread):
    """Its SVM without a bias, weights of the instances apart by a factor."""
    random = np.random.default_rng(4)
    features, labeling = problems(random)[name]
    each = C * spread ** random.uniform(-1.0, 0.0, len(labeling))
    program = form(features, labeling[None], each)
    answer = solve(program, "newton", tol=1e-7)
    exact = solve(program, "clarabel", tol=1e-9, residuals=False)
    assert answer.status == cp.OPTIMAL
    assert answer.value == pytest.approx(exact.value, rel=1e-6)
    residuals = answer.residuals
    assert max(residuals.primal_residual, residuals.dual_residual) <= 1e-9 * max(1.0, 1.0 / C)
    assert residuals.duality_gap <= 1.1e-7 * abs(answer.value)


def test_large_master_of_one_cut_has_specialized_solver_first():
    X, labelings = np.random.default_rng(6).normal(size=(1100, 5)), np.ones((2, 1100))
    labelings[0, X[:, 0] > 0.1 * X[:, 1]] = -1.0
    features, _ = FeatureMap.fit(X, Kernel()).with_intercept("center")
    program = mkl_group(features, labelings[:1], 1.0)
    names = choose_solvers(program)
    assert names[:2] == ("newton", "mkl_interior_point")
    assert choose_solvers(mkl_group(features, labelings, 1.0))[0] == names[1]
    few = choose_solvers(mkl_group(features[:1000], labelings[:1, :1000], 1.0))
    assert (few[0], few[-2:]) == ("clarabel", names[:2])
    wide = choose_solvers(mkl_group(np.tile(features, 23), labelings[:1], 1.0))
    assert wide[:2] == ("liblinear", names[1])


# --- LIBLINEAR on an SVM without a bias -------------------------------------------------------


def kernel_problem(seed):
    """Features of a Gaussian kernel, a noisy labeling, and C, unequal by a factor of 100."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(120, 4))
    labeling = np.where(X[:, 0] + 0.5 * random.normal(size=120) > 0.2, 1.0, -1.0)
    features, _ = FeatureMap.fit(X, Kernel("rbf", 0.25)).with_intercept("center")
    return features, labeling, 100.0 ** random.uniform(-1.0, 0.0, 120)


@pytest.mark.parametrize("form", [svm_dual, mkl_epigraph, mkl_group])
@pytest.mark.parametrize("scale", [1e-6, 0.2, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_liblinear_is_exact_with_gaussian_kernel(seed, scale, form):
    features, labeling, each = kernel_problem(seed)
    C = scale * np.where(np.arange(120) % 7, each, 0.0)
    if form is svm_dual:
        program = svm_dual(features, bias=False).set(**svm_dual_parameters(labeling, C))
    else:
        program = form(features, labeling[None], C)
    answer = solve(program, "liblinear", tol=1e-8)
    exact = solve(program, "clarabel", tol=1e-9, residuals=False, warn=False)
    assert answer.status == cp.OPTIMAL
    assert answer.gap <= 1e-12
    assert answer.value == pytest.approx(exact.value, rel=1e-6)
    assert answer.residuals.relative <= 1e-7
    again = solve(program, "liblinear", tol=1e-8, residuals=False)
    for name, value in answer.variables.items():
        assert np.array_equal(value, again.variables[name])


@pytest.mark.parametrize(
    ("solver", "C"), [("liblinear", 1e4), ("liblinear", 1e8), ("libsvm", 1e4), ("libsvm", 1e6)]
)
def test_solver_above_tolerance_asks_next_one(solver, C):
    features, labeling, _ = kernel_problem(0)
    program = svm_dual(features, bias=solver == "libsvm").set(**svm_dual_parameters(labeling, C))
    solution = solve(program, (solver, "newton"), tol=1e-7, residuals=False, max_iter=200)
    assert (solution.solver, solution.status) == ("newton", cp.OPTIMAL)


@pytest.mark.parametrize(("one_class", "C"), [(True, 1.0), (False, 0.0)])
def test_without_second_class_or_weights_next_solver_answers(one_class, C):
    features, labeling, _ = kernel_problem(0)
    labeling = np.ones(120) if one_class else labeling
    program = svm_dual(features, bias=False).set(**svm_dual_parameters(labeling, C))
    assert choose_solvers(program)[:2] == ("liblinear", "newton")
    assert solve(program, tol=1e-7, residuals=False).solver == "newton"
