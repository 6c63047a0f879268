"""Algorithm 2: masters, SimpleMKL, oracles, the loop, rounding, and ConvPropSVM around them."""

from itertools import count, pairwise
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem, small_problems

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.errors import InaccurateSolutionWarning, SolverError
from propcvx.history import History, StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.metrics import proportion_error
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.relaxation import RelaxationResult, cutting_planes
from propcvx.relaxation.masters import MASTERS, MasterSolution
from propcvx.relaxation.oracles import (
    CoordinateOracle,
    Cut,
    DirectionSweepOracle,
    ExhaustiveOracle,
    MixedIntegerOracle,
    exact,
    violation_value,
)
from propcvx.relaxation.rounding import rank_one
from propcvx.relaxation.simple_mkl import RELATIVE_GAP, Trial, reduced_gradient
from propcvx.solvers import solve

# An interior-point method may call 1e-9 an inaccurate answer; tests say what they need of it.
pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

FORMS = [
    ("epigraph", "mkl_interior_point"),
    ("epigraph", "clarabel"),
    ("group", "clarabel"),
    ("reduced_gradient", "piqp"),
    ("reduced_gradient", "osqp"),
]


def all_labelings(feasible):
    return np.array(list(feasible.enumerate()))


def svm_value(features, labeling, C):
    """The SVM value g(y) from the dual program, without bias."""
    program = svm_dual(features, bias=False).set(**svm_dual_parameters(labeling, C))
    return solve(program, "clarabel", tol=1e-10, residuals=False).value


CUTTING = ("oracle", "master", "max_cuts", "tol")


def accurate(**options):
    """ConvPropSVM with a solver tolerance well below the 1e-6 to which values are compared."""
    cutting = {name: options.pop(name) for name in CUTTING if name in options}
    return ConvPropSVM(relaxation=CuttingPlanes(**cutting), **{"solver_tol": 1e-8, **options})


def epigraph(features, C, **how):
    return MASTERS["epigraph"](features, C, **how)


# --- masters ----------------------------------------------------------------------------------


def random_master_input(seed, n_labelings, n_instances=12, rank=3):
    random = np.random.RandomState(seed)
    labelings = random.choice((-1.0, 1.0), size=(n_labelings, n_instances))
    return random.randn(n_instances, rank), np.unique(labelings, axis=0)


@pytest.mark.parametrize("form", FORMS, ids="/".join)
@pytest.mark.parametrize(("seed", "n_labelings", "C"), [(0, 4, 0.7), (1, 1, 0.05), (2, 5, 5.0)])
@pytest.mark.filterwarnings("error::propcvx.errors.InaccurateSolutionWarning")
def test_forms_of_the_master_agree_and_enclose_the_optimum(form, seed, n_labelings, C):
    features, labelings = random_master_input(seed, n_labelings, rank=seed + 2)
    optimum = epigraph(features, C, tol=1e-9)(labelings).value
    answer = MASTERS[form[0]](features, C, form[1])(labelings)
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


def test_master_without_any_separation():
    """Where the features vanish, w = 0 and every instance costs C."""
    for form in ("epigraph", "group"):
        answer = MASTERS[form](np.zeros((4, 2)), 0.5)(np.ones((2, 4)))
        assert answer.value == pytest.approx(2.0, rel=1e-6)
        assert answer.mu.sum() == pytest.approx(1.0)


# --- SimpleMKL --------------------------------------------------------------------------------


def quadratic(Q, c, calls=None):
    """A smooth convex function on the simplex in place of the inner problem."""

    def inner(mu):
        if calls is not None:
            calls.append(mu)
        return Trial(mu, float(0.5 * mu @ Q @ mu + c @ mu), Q @ mu + c, None)

    return inner


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), rank=st.integers(1, 8))
def test_reduced_gradient_minimises_over_the_simplex(seed, n, rank):
    random = np.random.RandomState(seed)
    root, calls = random.randn(n, rank), []
    inner = quadratic(root @ root.T + 0.01 * np.eye(n), random.randn(n), calls)
    point = reduced_gradient(inner, np.full(n, 1.0 / n))
    assert point.gap <= RELATIVE_GAP * max(1.0, abs(point.value))
    for mu in calls:
        assert (mu >= 0.0).all()
        assert mu.sum() == pytest.approx(1.0)
    for _ in range(20):
        assert inner(random.dirichlet(np.full(n, 0.3))).value >= point.value - point.gap - 1e-12


def test_reduced_gradient_says_when_it_stalls():
    def wrong_gradient(mu):
        return Trial(mu, float(mu[0]), np.array([-1.0, 1.0]), None)

    with pytest.warns(InaccurateSolutionWarning, match="gap of .* at the value"):
        point = reduced_gradient(wrong_gradient, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(point.mu, [0.5, 0.5])


# --- oracles ----------------------------------------------------------------------------------


@st.composite
def separation_problems(draw, max_features=2):
    """Features, feasible labelings and alpha; often with ties, zeros and known labels."""
    problem = draw(small_problems(max_size=4, max_bags=3, max_features=max_features))
    feasible = FeasibleLabelings.of(problem.bags, draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    values = st.sampled_from([0.0, 0.5, 1.0]) if draw(st.booleans()) else st.floats(0.0, 1.0)
    n = len(problem.X)
    alpha = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    features = np.round(problem.X) if draw(st.booleans()) else problem.X
    return features, feasible, alpha


@settings(max_examples=50)
@given(case=separation_problems())
def test_a_sweep_over_directions_finds_the_most_violated_labeling(case):
    features, feasible, alpha = case
    exhaustive = ExhaustiveOracle(features, feasible)(alpha)
    sweep = DirectionSweepOracle(features, feasible)(alpha)
    assert sweep.value == pytest.approx(exhaustive.value, rel=1e-9, abs=1e-12)
    assert sweep.bound == sweep.value
    assert sweep.labeling in feasible
    assert violation_value(features, sweep.labeling, alpha) == pytest.approx(sweep.value)


def test_a_sweep_over_directions_misses_no_arc():
    """More instances, and every labeling feasible: arcs so narrow that half of them do not do."""
    for seed in range(30):
        problem = small_problem(seed, sizes=(5, 4), noise=3.0)
        feasible = FeasibleLabelings.of(problem.bags, 0.5)
        alpha = np.random.RandomState(seed).uniform(size=9)
        exhaustive = ExhaustiveOracle(problem.X, feasible)(alpha)
        sweep = DirectionSweepOracle(problem.X, feasible)(alpha)
        assert sweep.value == pytest.approx(exhaustive.value, rel=1e-9)


@settings(max_examples=8)
@given(case=separation_problems(max_features=4))
def test_mixed_integer_oracle_finds_the_most_violated_labeling(case):
    pytest.importorskip("pyscipopt")
    features, feasible, alpha = case
    exhaustive = ExhaustiveOracle(features, feasible)(alpha)
    cut = MixedIntegerOracle(features, feasible)(alpha)
    assert cut.labeling in feasible
    assert cut.value <= exhaustive.value + 1e-9
    assert cut.value == pytest.approx(exhaustive.value, rel=1e-4, abs=1e-5)
    assert cut.bound >= exhaustive.value - 1e-9


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("tol", [1e-6, 0.9])
def test_mixed_integer_oracle_is_as_exact_at_every_scale(scale, tol):
    pytest.importorskip("pyscipopt")
    problem = small_problem(4, sizes=(6, 5), n_features=4, noise=3.0)
    feasible = FeasibleLabelings.of(problem.bags, 0.2)
    alpha = np.random.RandomState(4).uniform(size=11)
    exact = ExhaustiveOracle(scale * problem.X, feasible)(alpha).value
    cut = MixedIntegerOracle(scale * problem.X, feasible, tol=tol)(alpha)
    assert cut.value <= exact * (1.0 + 1e-9) <= cut.bound * (1.0 + 2e-9)
    if tol == 1e-6:
        assert cut.value == pytest.approx(exact, rel=1e-6)
        assert cut.bound <= exact * (1.0 + 1e-4)


def test_mixed_integer_oracle_keeps_its_time_and_its_bound():
    pytest.importorskip("pyscipopt")
    problem = small_problem(0, sizes=(16,) * 4, n_features=8, noise=3.0)
    feasible = FeasibleLabelings.of(problem.bags, 0.0)
    alpha = np.random.RandomState(0).uniform(size=64)
    start = perf_counter()
    cut = MixedIntegerOracle(problem.X, feasible, seconds=1.0)(alpha)
    assert perf_counter() - start < 20.0
    assert cut.labeling in feasible
    weighted = alpha[:, None] * problem.X
    assert cut.value < cut.bound
    assert cut.bound <= 0.5 * 64 * np.linalg.norm(weighted, 2) ** 2 * 1.001
    along = CoordinateOracle.on_axes(problem.X, feasible, 1.0)(alpha)
    assert along.value <= cut.bound


@settings(max_examples=30)
@given(case=separation_problems(max_features=4))
def test_coordinate_oracle_is_exact_in_the_largest_coordinate(case):
    """Proposition 3: it maximises the l-infinity norm, here against all labelings."""
    features, feasible, alpha = case
    labeling = CoordinateOracle(features, feasible, features)(alpha).labeling
    norms = np.abs((all_labelings(feasible) * alpha) @ features).max(axis=1)
    assert np.abs((labeling * alpha) @ features).max() == pytest.approx(norms.max())


def test_oracles_work_in_chunks(monkeypatch):
    problem = small_problem(1, sizes=(6, 4))
    feasible = FeasibleLabelings.of(problem.bags, 0.2)
    alpha = np.random.RandomState(0).uniform(size=10)
    for oracle in (ExhaustiveOracle, DirectionSweepOracle):
        whole = oracle(problem.X, feasible)(alpha)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "CHUNK", 7)
            chunked = oracle(problem.X, feasible)(alpha)
        assert chunked.value == pytest.approx(whole.value, rel=1e-12)
        np.testing.assert_array_equal(chunked.labeling, whole.labeling)


# --- the loop ---------------------------------------------------------------------------------


PAIRS = FeasibleLabelings.of(Bags.from_target(bag_target([0, 0, 1, 1, 2, 2], [0.5] * 3)), 0.0)
SCRIPT = [labeling for labeling in PAIRS.enumerate() if labeling[0] > 0]


@pytest.fixture
def scripted(monkeypatch):
    """The loop with values and cuts of a script, which no features have; and what was asked."""
    monkeypatch.setattr(cutting_planes, "checked", lambda oracle, *rest: oracle)
    asked = []

    def loop(objectives, cuts, on_round=lambda reached: None, **options):
        def master(labelings):
            n = len(labelings)
            mu, value = np.full(n, 1.0 / n), objectives[n - 1]
            return MasterSolution(np.ones(6), mu, value, 9.0, 1.0, "stub", "optimal")

        def oracle(alpha):
            asked.append(alpha)
            return cuts[len(asked) - 1]

        parts = {"master": lambda *rest, **how: master, "oracle": lambda *rest: oracle}
        relaxation = CuttingPlanes(**parts, **options)
        return relaxation.relax(np.ones((6, 1)), PAIRS, 1.0, on_round=on_round)

    return loop, asked


@pytest.mark.parametrize(
    ("objectives", "violations", "reason", "n_cuts"),
    [
        ([5.0, 4.0], [9, 3, 1.05], StopReason.NO_VIOLATION, 2),
        ([5.0, 4.0, 3.95], [9, 3, 3, 3], StopReason.CONVERGED, 3),
        ([5.0, 4.0, 3.0], [9, 3, 3, 3], StopReason.MAX_CUTS, 3),
        ([5.0], [9, 0.5], StopReason.NO_VIOLATION, 1),
    ],
)
def test_why_the_loop_stops(objectives, violations, reason, n_cuts, scripted):
    (loop, asked), seen = scripted, []
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
    np.testing.assert_array_equal(asked[0], np.full(6, 1 / 6))
    np.testing.assert_array_equal(end.labelings, SCRIPT[:n_cuts])


def test_a_labeling_that_is_there_ends_the_loop_whatever_rounding_says(scripted):
    loop, _ = scripted
    cuts = [Cut(SCRIPT[0], 9.0), Cut(-SCRIPT[0], 1.0 + 1e-9)]
    end = loop([5.0, 4.0], cuts, max_cuts=9, tol=0.0)
    assert end.history.stop_reason is StopReason.NO_VIOLATION
    assert len(end.history) == 1


# --- the relaxation, against all feasible labelings at once -----------------------------------

BAGS_OF_EIGHT = {
    "halves": ((4, 4), (0.5, 0.5), 0.0),
    "unequal": ((3, 5), (1 / 3, 0.4), 0.0),
    "one pure": ((3, 5), (1.0, 0.4), 0.0),
    "one bag": ((8,), (0.375,), 0.0),
    "pairs": ((2, 2, 2, 2), (0.5, 0.5, 0.5, 0.5), 0.0),
    "epsilon": ((4, 4), (0.5, 0.25), 0.25),
    "bags of one": ((1,) * 8, (0, 1, 1, 0, 1, 0, 0, 1), 0.0),
}
VALUE = 1e-6


@pytest.fixture(scope="module", params=[(name, seed) for seed, name in enumerate(BAGS_OF_EIGHT)])
def eight(request):
    """A fit, features and feasible labelings in its order, and the relaxation over all of them."""
    name, seed = request.param
    sizes, shares, epsilon = BAGS_OF_EIGHT[name]
    features = np.random.RandomState(seed).randn(8, 3)
    y = bag_target(np.repeat(np.arange(len(sizes)), sizes), shares)
    clf = accurate(epsilon=epsilon, intercept="none", max_cuts=100, tol=0.0)
    ordered, feasible = what_is_relaxed(clf, features, y)
    labelings = all_labelings(feasible)
    return clf, ordered, feasible, labelings, epigraph(ordered, clf.C)(labelings).value


def what_is_relaxed(clf, X, y):
    """Fit with an exact oracle; the features and the feasible labelings of the relaxation."""
    relax, seen = clf.set_params(relaxation__oracle="exhaustive").relaxation.relax, []

    def watched(features, feasible, C, **how):
        seen.append((features, feasible))
        return relax(features, feasible, C, **how)

    clf.relaxation.relax = watched
    clf.fit(X, y)
    return seen[0]


def test_exact_oracle_reaches_the_optimum_of_the_relaxation(eight):
    clf, _, _, _, optimum = eight
    assert clf.objective_ == pytest.approx(optimum, abs=VALUE)
    assert clf.violation_ <= VALUE
    assert clf.bounds_.lower <= optimum + VALUE


def test_bounds_enclose_the_best_labeling(eight):
    clf, features, feasible, labelings, optimum = eight
    values = [svm_value(features, labeling, clf.C) for labeling in labelings]
    best = min(values)
    assert optimum <= best + VALUE
    assert clf.bounds_.lower <= best + VALUE
    assert clf.bounds_.upper >= best - VALUE
    labeling = feasible.bags.sign * clf.labeling_[feasible.bags.rows]
    assert labeling in feasible
    own = values[int(np.argmin(np.abs(labelings - labeling).sum(axis=1)))]
    assert clf.bounds_.upper <= own + VALUE
    lower, upper = clf.bounds_.lower, clf.bounds_.upper
    assert clf.bounds_.gap == pytest.approx(max(0, upper - lower) / upper)


def test_the_master_never_rises_and_every_round_adds_a_cut(eight):
    clf, *_ = eight
    objectives = clf.history_.objectives
    assert all(after <= before + VALUE for before, after in pairwise(objectives))
    assert len(clf.relaxation_.labelings) == clf.history_[-1].n_cuts == len(objectives)


def test_coordinate_oracle_ends_at_or_above_the_optimum_and_knows_no_bounds(eight):
    clf, features, feasible, _, optimum = eight
    y = bag_target(feasible.bags.index, feasible.bags.proportions)
    inexact = accurate(
        epsilon=clf.epsilon, intercept="none", oracle="coordinate", max_cuts=100, tol=0.0
    ).fit(features, y)
    assert inexact.objective_ >= optimum - VALUE
    assert inexact.bounds_ is None
    assert inexact.violation_ >= 0.0
    assert inexact.labeling_ in feasible


@pytest.mark.parametrize("form", FORMS, ids="/".join)
def test_the_loop_cannot_tell_which_master_it_was_given(form):
    problem = small_problem(3, sizes=(4, 4), n_features=3)
    options = {"oracle": "exhaustive", "max_cuts": 50, "tol": 1e-5}
    reference = accurate(**options).fit(problem.X, problem.y)
    clf = accurate(**options, master=form[0], solver=form[1]).fit(problem.X, problem.y)
    assert clf.objective_ == pytest.approx(reference.objective_, rel=1e-3)
    assert clf.bounds_.lower <= reference.objective_ + VALUE
    assert {record.solver for record in clf.history_} == {form[1]}


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("intercept", ["center", "constant"])
def test_exact_bounds_with_kernels_and_with_a_bias(kernel, intercept):
    problem = small_problem(4, sizes=(3, 4))
    clf = accurate(kernel=kernel, intercept=intercept, max_cuts=100, tol=0.0)
    features, feasible = what_is_relaxed(clf, problem.X, problem.y)
    labelings = all_labelings(feasible)
    optimum = epigraph(features, clf.C)(labelings).value
    assert clf.objective_ == pytest.approx(optimum, abs=VALUE)
    best = min(svm_value(features, labeling, clf.C) for labeling in labelings)
    assert clf.bounds_.lower - VALUE <= best <= clf.bounds_.upper + VALUE


def test_known_labels_stay():
    problem = small_problem(6, sizes=(4, 4), known=0.5)
    known = problem.bags.labels != 0
    assert known.any()
    clf = accurate(oracle="exhaustive", max_cuts=20).fit(problem.X, problem.y)
    np.testing.assert_array_equal(clf.labeling_[known], problem.labels[known])
    assert (clf.relaxation_.labelings[:, known] == problem.labels[known]).all()


# --- from M back to a classifier --------------------------------------------------------------


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n_labelings=st.integers(1, 6), n=st.integers(1, 9))
def test_rank_one_is_the_leading_eigenvector_of_M(seed, n_labelings, n):
    random = np.random.RandomState(seed)
    labelings = random.choice((-1.0, 1.0), size=(n_labelings, n))
    mu = random.dirichlet(np.ones(n_labelings))
    M = (labelings.T * mu) @ labelings
    values = np.linalg.eigvalsh(M)
    result = RelaxationResult(0.0, 0.0, 0.0, labelings, mu, np.ones(n), labelings, History())
    labeling = rank_one(result)
    assert labeling @ labeling == pytest.approx(values[-1])
    np.testing.assert_allclose(M @ labeling, values[-1] * labeling, atol=1e-8)
    others = values[:-1]
    distance = np.linalg.norm(M - np.outer(labeling, labeling))
    assert distance == pytest.approx(np.linalg.norm(others), abs=1e-7)
    assert labeling @ labelings[np.argmax(mu)] >= 0.0


@settings(max_examples=10)
@given(problem=small_problems(max_size=5, max_bags=3), max_cuts=st.sampled_from([1, 4]))
def test_sign_is_that_of_the_smaller_bag_error_in_training(problem, max_cuts):
    clf = accurate(max_cuts=max_cuts).fit(problem.X, problem.y)
    scores = clf.decision_function(problem.X)
    bags = problem.bags
    assert proportion_error(bags, scores) <= proportion_error(bags, -scores)
    alpha = clf.relaxation_.alpha
    centred = problem.X - problem.X.mean(axis=0)
    np.testing.assert_allclose(clf.coef_[0], centred.T @ (alpha * clf.soft_labeling_), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_intercept_is_what_centring_or_the_constant_feature_gives(kernel):
    problem = small_problem(9, sizes=(5, 6), noise=0.5)
    X = problem.X + 3.0
    gram = (lambda A, B: A @ B.T) if kernel == "linear" else None
    for intercept in ("center", "constant", "none"):
        clf = accurate(kernel=kernel, intercept=intercept, max_cuts=3).set_params(bias="none")
        clf.fit(X, problem.y)
        K = (gram or clf.feature_map_.kernel)(X, X)
        soft = clf.relaxation_.alpha * clf.soft_labeling_
        if intercept == "center":
            centring = np.eye(len(X)) - 1.0 / len(X)
            K = centring @ K @ centring
        if intercept == "constant":
            K = K + 1.0
        scores = clf.decision_function(X)
        np.testing.assert_allclose(scores, K @ soft, atol=1e-7 * max(1.0, np.abs(scores).max()))
        if intercept == "none":
            assert clf.intercept_[0] == 0.0


def test_a_verbose_fit_shows_its_cuts(capsys):
    problem = small_problem(10)
    accurate(verbose=True, max_cuts=2, tol=0.0).fit(problem.X, problem.y)
    assert "rounds" in capsys.readouterr().err


# --- what is kept when it is stopped ----------------------------------------------------------


def failing_oracle(failure, fails_at):
    """Exhaustive, until the call that fails."""
    calls = count(1)

    class Failing(ExhaustiveOracle):
        def __call__(self, alpha):
            if next(calls) == fails_at:
                raise failure
            return super().__call__(alpha)

    return Failing


FAILURES = {
    StopReason.INTERRUPTED: KeyboardInterrupt(),
    StopReason.SOLVER_FAILED: SolverError("no answer", "stub", "solver_error"),
}


@pytest.mark.parametrize("reason", FAILURES)
def test_what_was_reached_is_kept_when_it_is_stopped(reason):
    problem = small_problem(12, sizes=(4, 4), n_features=3)
    whole = accurate(oracle="exhaustive", max_cuts=10, tol=0.0).fit(problem.X, problem.y)
    assert len(whole.history_) > 2
    oracle = failing_oracle(FAILURES[reason], fails_at=4)
    clf = accurate(oracle=oracle, max_cuts=10, tol=0.0)
    with pytest.raises(type(FAILURES[reason])) as raised:
        clf.fit(problem.X, problem.y)
    assert raised.value is FAILURES[reason]
    assert "ConvPropSVM keeps the best it had reached" in raised.value.__notes__[-1]
    assert clf.stop_reason_ is reason
    assert clf.history_.objectives == whole.history_.objectives[:2]
    two = accurate(oracle="exhaustive", max_cuts=2, tol=0.0).fit(problem.X, problem.y)
    np.testing.assert_array_equal(clf.predict(problem.X), two.predict(problem.X))
    assert clf.bounds_ == two.bounds_


@pytest.mark.parametrize("fails_at", [1, 2])
def test_with_nothing_reached_nothing_is_kept(fails_at):
    problem = small_problem(12, sizes=(4, 4), n_features=3)
    clf = accurate(oracle=failing_oracle(KeyboardInterrupt(), fails_at))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(problem.X, problem.y)
    assert not hasattr(clf, "coef_")
