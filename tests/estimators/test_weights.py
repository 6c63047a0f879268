"""Weights of instances: what they multiply, in every method, and what they must not depend on."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from effort import first
from numpy.testing import assert_allclose, assert_array_equal
from small_problems import all_labelings, small_problem

from propcvx import ConvPropSVM, CuttingPlanes, InvCal, MeanMap, bag_target
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import mkl_epigraph, mkl_group, svm_dual, svm_dual_parameters
from propcvx.solvers import solve

pytestmark = pytest.mark.filterwarnings(
    "ignore::propcvx.errors.InaccurateSolutionWarning", "ignore::propcvx.errors.IllPosedWarning"
)

PROBLEM = small_problem(0, sizes=(4, 5, 6, 3), n_features=2)
X, Y, LABELS = PROBLEM.X, PROBLEM.y, PROBLEM.labels
WEIGHTS = np.random.RandomState(1).choice([0.0, 0.5, 1.0, 2.0, 3.0], size=len(Y))
POSITIVE = np.random.RandomState(1).uniform(0.2, 3.0, size=len(Y))


# --- what weights mean ------------------------------------------------------------------------


@pytest.mark.parametrize("bag_weights", ["uniform", "size"])
def test_mean_map_with_weights_equals_weighted_means(bag_weights):
    clf = MeanMap(0.1, bag_weights=bag_weights, solver_tol=1e-12).fit(X, Y, POSITIVE)
    member = Y["bag"] == np.arange(4)[:, None]
    totals, n, p = member @ POSITIVE, member.sum(axis=1), PROBLEM.bags.proportions
    means = (member * POSITIVE) @ X / totals[:, None]
    roots = np.sqrt(totals / n * (n if bag_weights == "size" else 1.0))[:, None]
    classes = np.linalg.lstsq(roots * np.column_stack([p, 1.0 - p]), roots * means)[0]
    assert_allclose(clf.class_means_, classes, atol=1e-9)
    prior, shares = totals @ p / totals.sum(), POSITIVE / POSITIVE.sum()
    slopes = shares * np.tanh(clf.decision_function(X))
    operator = prior * classes[0] - (1.0 - prior) * classes[1]
    assert_allclose(slopes @ X - operator + 0.2 * clf.coef_[0], 0.0, atol=1e-8)
    assert slopes.sum() == pytest.approx(2.0 * prior - 1.0)


@pytest.mark.parametrize("bag_weights", ["uniform", "size", np.array([1.0, 5.0, 0.1, 2.0])])
@pytest.mark.parametrize("C_p", first(1, [1.0, 1e-4, 1e4]))
def test_inv_cal_with_weights_equals_weighted_means(bag_weights, C_p):
    y, n = bag_target(Y["bag"], p := np.array([0.25, 0.4, 0.5, 2 / 3])), PROBLEM.bags.sizes
    by_name = (
        {"uniform": np.ones(4), "size": n}[bag_weights] if isinstance(bag_weights, str) else None
    )
    member = Y["bag"] == np.arange(4)[:, None]
    totals = member @ WEIGHTS
    means = (member * WEIGHTS) @ X / totals[:, None]
    costs = C_p * (bag_weights if by_name is None else by_name) * totals / n
    w, b = cp.Variable(2), cp.Variable()
    misses = cp.pos(cp.abs(np.log(p / (1.0 - p)) - means @ w - b) - 0.1)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + costs @ misses))
    best = problem.solve("CLARABEL")
    clf = InvCal(C_p, 0.1, bag_weights=bag_weights, solver_tol=1e-10).fit(X, y, WEIGHTS)
    assert clf.objective_ == pytest.approx(best, rel=1e-5)
    assert_allclose(clf.coef_[0], w.value, atol=1e-3 * np.abs(w.value).max())


def svm_values(features, labelings, C, bias=False):
    """The values of the weighted SVM of labelings, stated here anew."""
    w, b, y = cp.Variable(features.shape[1]), cp.Variable() if bias else 0.0, cp.Parameter(len(C))
    losses = cp.pos(1.0 - cp.multiply(y, features @ w + b))
    problem, values = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C @ losses)), []
    for y.value in labelings:
        values.append(problem.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-9))
    return values


def svm_value(features, labels, C, bias=False):
    return svm_values(features, [labels], C, bias)[0]


# --- bounds -----------------------------------------------------------------------------------

SMALL = small_problem(3, sizes=(3, 3, 2), n_features=2, known=0.2)
RELAXATIONS = {
    **{name: name for name in ("cutting_planes", "lifted", "mixed_integer")},
    "all cuts": CuttingPlanes(oracle="exhaustive", max_cuts=30),
    "epigraph": CuttingPlanes(master="epigraph", oracle="exhaustive", max_cuts=30),
    "reduced_gradient": CuttingPlanes(master="reduced_gradient", oracle="sweep", max_cuts=5),
    "eigenvalue": CuttingPlanes(oracle="eigenvalue", max_cuts=30),
    "semidefinite": CuttingPlanes(oracle="semidefinite", max_cuts=30),
}


def weights_of(kind, n):
    random = np.random.RandomState(5)
    if kind == "zeros":
        return random.choice([0.0, 1.0, 2.0], n)
    return 10.0 ** random.uniform(-3.0, 3.0, n) if kind == "wide" else random.uniform(0.2, 3.0, n)


@cache
def best_value(C, kind):
    """The least value of the weighted SVM of all feasible labelings."""
    weights, feasible = weights_of(kind, len(SMALL.X)), FeasibleLabelings.from_bags(SMALL.bags, 0.0)
    features = SMALL.X - np.average(SMALL.X, axis=0, weights=weights)
    return min(svm_values(features, all_labelings(feasible), C * weights))


@pytest.mark.parametrize(
    ("C", "kind"), first(1, [(1.0, "zeros"), (1e-6, "wide"), (10.0, "uniform")])
)
@pytest.mark.parametrize("name", RELAXATIONS)
def test_bounds_hold_for_weighted_problem(name, C, kind):
    weights, best = weights_of(kind, len(SMALL.X)), best_value(C, kind)
    clf = ConvPropSVM(C, relaxation=RELAXATIONS[name], rounding="polished")
    clf.fit(SMALL.X, SMALL.y, sample_weight=weights)
    assert (clf.relaxation_.alpha <= C * weights * (1.0 + 1e-12)).all()
    if clf.bounds_ is None:
        assert name == "cutting_planes"
        return
    assert clf.bounds_.lower <= best * (1.0 + 1e-6)
    assert clf.bounds_.upper >= best * (1.0 - 1e-6)
    if name == "mixed_integer":
        assert clf.bounds_.upper == pytest.approx(best, rel=1e-6)
    if name in ("all cuts", "lifted") and clf.bounds_.lower <= 0.1 * best:
        equal = ConvPropSVM(C * weights.mean(), relaxation=RELAXATIONS[name])
        assert equal.fit(SMALL.X, SMALL.y).bounds_.gap > 0.5, "the bound says nothing"


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_diffrac_bounds_weighted_square_loss(C):
    weights = weights_of("zeros", len(SMALL.X))
    features = SMALL.X - np.average(SMALL.X, axis=0, weights=weights)
    values = []
    for y in all_labelings(FeasibleLabelings.from_bags(SMALL.bags, 0.0)):
        rows = np.sqrt(2.0 * C * weights)[:, None] * features
        system = np.vstack([rows, np.eye(2)])
        wanted = np.append(np.sqrt(2.0 * C * weights) * y, np.zeros(2))
        w = np.linalg.lstsq(system, wanted)[0]
        values.append(0.5 * np.square(system @ w - wanted).sum())
    clf = ConvPropSVM(C, relaxation="diffrac").fit(SMALL.X, SMALL.y, weights)
    assert clf.bounds_.lower <= min(values) * (1.0 + 1e-6)
    assert clf.bounds_.upper == pytest.approx(min(values), rel=0.2)
    assert clf.bounds_.upper >= min(values) * (1.0 - 1e-6)


# --- solvers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uniform", "zeros", "wide"])
@pytest.mark.parametrize("C", first(1, [1.0, 1e-6, 100.0]))
@pytest.mark.parametrize("n_features", [3, 60])
def test_solvers_of_one_structure_accept_weights_per_instance(n_features, C, kind):
    random = np.random.RandomState(0)
    F, labels = random.randn(30, n_features), random.choice([-1.0, 1.0], (2, 30))
    each = C * weights_of(kind, 30)
    svm = svm_dual(F).set(**svm_dual_parameters(labels[0], each))
    wanted = svm_value(F, labels[0], each, bias=True)
    for solver in ("libsvm", "newton"):
        assert solve(svm, solver, tol=1e-6).value == pytest.approx(wanted, rel=1e-5)
    group = solve(mkl_group(F, labels, each), "clarabel", tol=1e-8).value
    for program in (mkl_group(F, labels, each), mkl_epigraph(F, labels, each)):
        answer = solve(program, "mkl_interior_point", tol=1e-8)
        assert abs(answer.value) == pytest.approx(group, rel=1e-6)


def test_libsvm_with_one_weighted_class_has_zero_solution():
    F, labels = np.random.RandomState(0).randn(8, 2), np.tile([-1.0, 1.0], 4)
    each = np.where(labels > 0, 0.0, 1.0)
    answer = solve(svm_dual(F).set(**svm_dual_parameters(labels, each)), "libsvm")
    assert_array_equal(answer.variables["v"], 0.0)
    assert answer.duals["balance"] == -1.0
