"""Algorithm 2: masters, SimpleMKL, oracles, the loop, rounding, and ConvPropSVM around them."""

from itertools import count, pairwise

import numpy as np
import pytest
from effort import examples, first
from hypothesis import given
from hypothesis import strategies as st
from small_problems import all_labelings, small_problem, svm_values

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.errors import InaccurateSolutionWarning, SolverError
from propcvx.history import StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation import cutting_planes
from propcvx.relaxation.masters import MASTERS, RELATIVE_GAP, MasterSolution, Trial, simple_mkl
from propcvx.relaxation.oracles import ORACLES, Cut, ExhaustiveOracle, violation_value
from propcvx.solvers import Solve

# An interior-point method may call 1e-9 an inaccurate answer; tests say what they need of it.
pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

FORMS = [
    ("epigraph", "mkl_interior_point"),
    ("epigraph", "clarabel"),
    ("group", "clarabel"),
    ("reduced_gradient", "piqp"),
    ("reduced_gradient", "osqp"),
]
epigraph = MASTERS["epigraph"]

CUTTING = ("oracle", "master", "max_cuts", "tol")


def accurate(**options):
    """ConvPropSVM with a solver tolerance well below the 1e-6 to which values are compared."""
    cutting = {name: options.pop(name) for name in CUTTING if name in options}
    return ConvPropSVM(1.0, relaxation=CuttingPlanes(**cutting), **{"solver_tol": 1e-8, **options})


# --- masters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids="/".join)
@pytest.mark.parametrize(
    ("seed", "n_labelings", "C"), first(1, [(0, 4, 0.7), (1, 1, 0.05), (2, 5, 5.0)])
)
@pytest.mark.filterwarnings("error::propcvx.errors.InaccurateSolutionWarning")
def test_forms_of_master_agree_and_enclose_optimum(form, seed, n_labelings, C):
    random = np.random.RandomState(seed)
    labelings = np.unique(random.choice((-1.0, 1.0), size=(n_labelings, 12)), axis=0)
    features = random.randn(12, seed + 2)
    optimum = epigraph(features, C, Solve(tol=1e-9))(labelings).value
    answer = MASTERS[form[0]](features, C, Solve(form[1]))(labelings)
    assert answer.value <= optimum * (1.0 + 1e-7)
    assert answer.upper >= optimum * (1.0 - 1e-7)
    tolerance = 2 * RELATIVE_GAP if form[0] == "reduced_gradient" else 1e-7
    assert answer.value == pytest.approx(optimum, rel=tolerance)
    assert answer.upper == pytest.approx(optimum, rel=2 * RELATIVE_GAP)
    assert answer.solver == form[1]
    assert ((answer.alpha >= 0.0) & (answer.alpha <= C)).all()
    assert (answer.mu >= 0.0).all()
    assert answer.mu.sum() == pytest.approx(1.0)
    level = max(violation_value(features, labeling, answer.alpha) for labeling in labelings)
    assert answer.level == pytest.approx(level)
    assert answer.value >= (answer.alpha.sum() - level) * (1.0 - 1e-12)


@pytest.mark.parametrize("form", ["epigraph", "group"])
def test_master_of_equal_instances_is_solved(form):
    """Where the features vanish, w = 0 and every instance costs C."""
    answer = MASTERS[form](np.zeros((4, 2)), 0.5)(np.ones((2, 4)))
    assert answer.value == pytest.approx(2.0, rel=1e-6)
    assert answer.mu.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(answer.alpha, 0.5)


# --- SimpleMKL --------------------------------------------------------------------------------


@examples(20)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), rank=st.integers(1, 8))
def test_simple_mkl_minimizes_over_simplex(seed, n, rank):
    """A smooth convex function in place of the inner problem."""
    random = np.random.RandomState(seed)
    root, c = random.randn(n, rank), random.randn(n)
    Q = root @ root.T + 0.01 * np.eye(n)

    def inner(mu):
        assert (mu >= 0.0).all()
        assert mu.sum() == pytest.approx(1.0)
        return Trial(mu, float(0.5 * mu @ Q @ mu + c @ mu), Q @ mu + c, None)

    point = simple_mkl(inner, np.full(n, 1.0 / n))
    assert point.gap <= RELATIVE_GAP * max(1.0, abs(point.value))
    for _ in range(20):
        assert inner(random.dirichlet(np.full(n, 0.3))).value >= point.value - point.gap - 1e-12


def test_stalled_simple_mkl_warns():
    def wrong_gradient(mu):
        return Trial(mu, float(mu[0]), np.array([-1.0, 1.0]), None)

    with pytest.warns(InaccurateSolutionWarning, match="gap of .* at the value"):
        point = simple_mkl(wrong_gradient, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(point.mu, [0.5, 0.5])


# --- the loop ---------------------------------------------------------------------------------


PAIRS = FeasibleLabelings.from_bags(
    Bags.from_target(bag_target([0, 0, 1, 1, 2, 2], [0.5] * 3)), 0.0
)
SCRIPT = [labeling for labeling in PAIRS.enumerate() if labeling[0] > 0]


@pytest.fixture
def scripted(monkeypatch):
    """The loop with values and cuts of a script, which no features have; and what was asked."""
    monkeypatch.setattr(cutting_planes, "check_cut", lambda *cut: None)
    alphas = []

    def loop(objectives, cuts, on_round=lambda reached: None, **options):
        def master(labelings):
            n = len(labelings)
            mu, value = np.full(n, 1.0 / n), objectives[n - 1]
            return MasterSolution(np.ones(6), mu, value, 9.0, 1.0, "stub", "optimal")

        def oracle(alpha):
            alphas.append(alpha)
            return cuts[len(alphas) - 1]

        parts = {"master": lambda *rest, **arguments: master, "oracle": lambda *rest: oracle}
        relaxation = CuttingPlanes(**parts, **options)
        return relaxation.relax(np.ones((6, 1)), PAIRS, 1.0, on_round=on_round)

    return loop, alphas


@pytest.mark.parametrize(
    ("objectives", "violations", "reason", "n_cuts"),
    [
        ([5.0, 4.0], [9, 3, 1.05], StopReason.NO_VIOLATION, 2),
        ([5.0, 4.0, 3.95], [9, 3, 3, 3], StopReason.CONVERGED, 3),
        ([5.0, 4.0, 3.0], [9, 3, 3, 3], StopReason.MAX_CUTS, 3),
        ([5.0], [9, 0.5], StopReason.NO_VIOLATION, 1),
    ],
)
def test_loop_reports_stop_reason_and_history(objectives, violations, reason, n_cuts, scripted):
    (loop, alphas), seen = scripted, []
    cuts = [Cut(labeling, value) for labeling, value in zip(SCRIPT, violations, strict=False)]
    end = loop(objectives, cuts, seen.append, max_cuts=3, tol=0.1)
    assert end.history.stop_reason is reason
    assert reason.advice
    assert end.history.objectives == objectives[:n_cuts]
    assert [len(reached.history) for reached in seen] == list(range(1, n_cuts + 1))
    assert [record.n_cuts for record in end.history] == list(range(1, n_cuts + 1))
    assert end.value == objectives[n_cuts - 1]
    assert end.history[-1].violation == max(0.0, violations[n_cuts] - 1.0)
    assert end.lower == -np.inf
    np.testing.assert_array_equal(alphas[0], np.full(6, 1 / 6))
    np.testing.assert_array_equal(end.labelings, SCRIPT[:n_cuts])


def test_repeated_labeling_stops_cutting_planes(scripted):
    loop, _ = scripted
    cuts = [Cut(SCRIPT[0], 9.0), Cut(-SCRIPT[0], 1.0 + 1e-9)]
    end = loop([5.0, 4.0], cuts, max_cuts=9, tol=0.0)
    assert end.history.stop_reason is StopReason.NO_VIOLATION
    assert len(end.history) == 1


# --- the relaxation, against all feasible labelings at once -----------------------------------

EIGHT = {
    "halves": ((4, 4), (0.5, 0.5), {}),
    "unequal": ((3, 5), (1 / 3, 0.4), {}),
    "one pure": ((3, 5), (1.0, 0.4), {}),
    "one bag": ((8,), (0.375,), {}),
    "pairs": ((2, 2, 2, 2), (0.5, 0.5, 0.5, 0.5), {}),
    "epsilon": ((4, 4), (0.5, 0.25), {"epsilon": 0.25}),
    "bags of one": ((1,) * 8, (0, 1, 1, 0, 1, 0, 0, 1), {}),
    "known labels": ((4, 4), (0.5, 0.25), {}),
    **{
        f"{kernel}, {intercept}": ((3, 5), (1 / 3, 0.4), {"kernel": kernel, "intercept": intercept})
        for kernel in ("rbf", "poly")
        for intercept in ("center", "constant")
    },
}
"""Eight instances: sizes of their bags, proportions, and options of the fit."""
VALUE = 1e-6


@pytest.fixture(scope="module", params=[(name, seed) for seed, name in enumerate(EIGHT)])
def eight(request):
    """A fit, features and feasible labelings in its order, and the relaxation over all of them."""
    name, seed = request.param
    sizes, shares, options = EIGHT[name]
    features = np.random.RandomState(seed).randn(8, 3)
    labels = [0, -1, 1, 0, 0, 1, 0, 0] if name == "known labels" else None
    y = bag_target(np.repeat(np.arange(len(sizes)), sizes), shares, labels)
    clf = accurate(**{"intercept": "none", **options}, max_cuts=100, tol=0.0)
    ordered, feasible = what_is_relaxed(clf, features, y)
    labelings = all_labelings(feasible)
    return clf, ordered, feasible, labelings, epigraph(ordered, clf.C_)(labelings).value


def what_is_relaxed(clf, X, y):
    """Fit with an exact oracle; the features and the feasible labelings of the relaxation."""
    relax, seen = clf.set_params(relaxation__oracle="exhaustive").relaxation.relax, []

    def watched(features, feasible, C, **options):
        seen.append((features, feasible))
        return relax(features, feasible, C, **options)

    clf.relaxation.relax = watched
    clf.fit(X, y)
    return seen[0]


def test_exact_oracle_reaches_optimum_and_master_never_rises(eight):
    clf, _, _, _, optimum = eight
    objectives = clf.history_.objectives
    assert clf.objective_ == pytest.approx(optimum, abs=VALUE)
    assert clf.violation_ <= VALUE
    assert clf.bounds_.lower <= optimum + VALUE
    assert all(after <= before + VALUE for before, after in pairwise(objectives))
    assert len(clf.relaxation_.labelings) == clf.history_[-1].n_cuts == len(objectives)


def test_bounds_enclose_best_labeling(eight):
    clf, features, _, labelings, optimum = eight
    values = svm_values(features, labelings, clf.C_)
    best = min(values)
    assert optimum <= best + VALUE
    assert clf.bounds_.lower <= best + VALUE
    reached = values[labelings.tolist().index(clf.transduction_.tolist())]
    assert best - VALUE <= clf.bounds_.upper <= reached + VALUE


# --- a function of the data: not of the solver --------------------------------------------------


def test_oracle_receives_positive_alpha():
    """Scores of zero would leave the labels of these instances to the order of the rows."""
    problem, points = small_problem(3, sizes=(8,) * 5, n_features=3), []

    def factory(features, feasible):
        oracle = ORACLES["ascent"](features, feasible)
        return lambda alpha: points.append(alpha) or oracle(alpha)

    feasible = FeasibleLabelings.from_bags(problem.bags, 0.0)
    planes = CuttingPlanes(oracle=factory, max_cuts=3, tol=0.0)
    assert planes.relax(problem.X, feasible, 1.0).alpha.min() == 0.0
    assert min(alpha.min() for alpha in points) > 0.0


# --- from M back to a classifier --------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", ["center", "constant", "none"])
def test_intercept_equals_centering_or_constant_feature(kernel, intercept):
    problem = small_problem(9, sizes=(5, 6), noise=0.5)
    X = problem.X + 3.0
    clf = accurate(kernel=kernel, intercept=intercept, fit_intercept=False, max_cuts=3).fit(
        X, problem.y
    )
    K = X @ X.T if kernel == "linear" else clf.feature_map_.kernel(X, X)
    if intercept == "center":
        centering = np.eye(len(X)) - 1.0 / len(X)
        K = centering @ K @ centering
    if intercept == "constant":
        K = K + 1.0
    scores, soft = clf.decision_function(X), clf.relaxation_.alpha * clf.soft_labeling_
    np.testing.assert_allclose(scores, K @ soft, atol=1e-7 * max(1.0, np.abs(scores).max()))
    assert intercept != "none" or clf.intercept_[0] == 0.0


# --- what is kept when it is stopped ----------------------------------------------------------


FAILURES = {
    StopReason.INTERRUPTED: KeyboardInterrupt(),
    StopReason.SOLVER_FAILED: SolverError("no answer", "stub", "solver_error"),
}


@pytest.mark.parametrize("reason", FAILURES)
@pytest.mark.parametrize(("fails_at", "n_kept"), [(1, 0), (2, 0), (4, 2)])
def test_interruption_keeps_finished_rounds(reason, fails_at, n_kept):
    problem, calls = small_problem(12, sizes=(4, 4), n_features=3), count(1)

    class Failing(ExhaustiveOracle):
        def __call__(self, alpha):
            if next(calls) == fails_at:
                raise FAILURES[reason]
            return super().__call__(alpha)

    clf, whole, part = (
        accurate(oracle=oracle, max_cuts=n_cuts, tol=0.0)
        for oracle, n_cuts in ((Failing, 10), ("exhaustive", 10), ("exhaustive", max(n_kept, 1)))
    )
    with pytest.raises(type(FAILURES[reason])) as raised:
        clf.fit(problem.X, problem.y)
    assert raised.value is FAILURES[reason]
    assert hasattr(clf, "coef_") == (n_kept > 0)
    if n_kept:
        whole.fit(problem.X, problem.y)
        part.fit(problem.X, problem.y)
        assert len(whole.history_) > n_kept
        assert clf.stop_reason_ is reason
        assert clf.history_.objectives == whole.history_.objectives[:n_kept]
        np.testing.assert_array_equal(clf.predict(problem.X), part.predict(problem.X))
        assert clf.bounds_ == part.bounds_
        assert "keeps the best it had reached" in raised.value.__notes__[-1]
