"""Algorithm 1: the loop itself, and AlterPropSVM around it."""

from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from effort import examples
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.base import clone
from small_problems import SQUARED_HINGE, small_problem, small_problems

from propcvx import (
    AggregateLogisticRegression,
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    InvCal,
    MeanMap,
    bag_target,
)
from propcvx.alternating import alternate, annealing_values, descent
from propcvx.errors import SolverError
from propcvx.estimators import alter, paper_alter_psvm
from propcvx.estimators.starts import Start
from propcvx.history import FitResult, History, StopReason
from propcvx.labelings.feasible import FeasibleLabelings, best_labeling, random_labeling
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES
from propcvx.programs import margin_classifier, psvm, svm_primal
from propcvx.solvers import Solve, solve
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator, SVMStep

# SMO may stop short of the tightest tolerances; what is tested holds all the same.
pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

KERNELS = ["linear", "rbf", "exponential", "poly"]
LOSSES = list(PROPORTION_LOSSES)


def fitted(problem, **options):
    return paper_alter_psvm(**{"random_state": 0, **options}).fit(problem.X, problem.y)


def recomputed(clf, problem, weights, labeling):
    """The objective of a labeling from the fitted attributes alone."""
    scores = clf.decision_function(problem.X)
    if clf.kernel == "linear":
        norm = clf.coef_[0] @ clf.coef_[0]
    else:
        norm = clf.dual_coef_[0] @ (scores - clf.intercept_[0])
    of_bags = PROPORTION_LOSSES[clf.proportion_loss].total(problem.bags, weights, labeling)
    return 0.5 * norm + clf.C * HINGE.evaluate(labeling, scores).sum() + of_bags


def gain_of_a_labeling_step(clf, problem, weights):
    """By how much the best labels for the final scores lower the objective."""
    scores, loss = clf.decision_function(problem.X), PROPORTION_LOSSES[clf.proportion_loss]
    better = best_labeling(scores, problem.bags, loss, weights / clf.C)
    return clf.objective_ - recomputed(clf, problem, weights, better)


def posed(bags, weights):
    return PropSVM(bags, 1.0, np.array(weights), PROPORTION_LOSSES["absolute"])


# --- the schedule -----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-3, 7.3, 1e4])
def test_annealing_values_follow_algorithm_1(C):
    """And without it there is the last value alone."""
    problem = small_problem(1, sizes=(4, 4, 4))
    values, alone = (
        np.unique([record.C_star for record in clf.history_])
        for clf in (fitted(problem, C=C, annealing=given, n_init=1) for given in (True, False))
    )
    assert values[0] == pytest.approx(1.5e-5 * C)
    assert values[-1] == C == alone
    np.testing.assert_allclose(values[1:-1] / values[:-2], 1.5)
    assert 1.0 < values[-1] / values[-2] <= 1.5 + 1e-12


# --- descent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "piqp", "clarabel", "osqp"])
@examples(6)
@given(
    problem=small_problems(),
    kernel=st.sampled_from(KERNELS),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    C_p=st.sampled_from([0.0, 1.0, 30.0]),
    loss=st.sampled_from(LOSSES),
    solver_tol=st.sampled_from([1e-1, 1e-3, 1e-5]),
)
def test_objective_never_increases_at_one_annealing_value(
    solver, problem, kernel, C, C_p, loss, solver_tol
):
    """And in the end it is that of the fitted attributes; OSQP may be too far off for any.

    The solver that is asked for is the one that answers.
    """
    options = {"C": C, "C_p": C_p, "proportion_loss": loss, "kernel": kernel}
    options |= {"gamma": 0.5, "degree": 2, "solver": solver, "solver_tol": solver_tol}
    try:
        clf = fitted(problem, n_init=2, **options)
    except SolverError:
        if solver != "osqp":
            raise
        reject()
    for before, after in pairwise(clf.history_):
        assert before.C_star <= after.C_star
        if before.C_star == after.C_star:
            slack = 1e-12 * max(1.0, before.objective)
            assert after.objective <= before.objective + slack
    known = problem.bags.labels != 0
    np.testing.assert_array_equal(clf.transduction_[known], problem.bags.labels[known])
    assert set(np.unique(clf.transduction_)) <= {-1.0, 1.0}
    assert clf.objective_ == clf.history_[-1].objective
    least = clf.init_objectives_.min()  # a tie is within the errors of both
    assert least <= clf.objective_ <= least * (1.0 + 2.0 * solver_tol)
    value = recomputed(clf, problem, np.full(problem.bags.n_bags, C_p), clf.transduction_)
    assert value == pytest.approx(clf.objective_, rel=1e-7, abs=1e-9)
    assert solver in ("auto", *{record.solver for record in clf.history_})


def test_inaccurate_step_cannot_raise_objective():
    problem = small_problem(3, sizes=(6, 6))
    step, random = SVMStep(problem.X, Solve("libsvm", 1e-6)), np.random.RandomState(0)

    def sloppy(labeling, C, after=None):
        answer = step(labeling, C)
        weights = answer.weights + random.randn(2)
        return Separator(labeling, weights, answer.bias, problem.X @ weights + answer.bias)

    start = random_labeling(problem.bags, np.random.RandomState(1))
    task = posed(problem.bags, [3.0, 3.0])
    rounds = alternate(task, sloppy, start, [1.0], tol=-np.inf, max_iter=20)
    assert (np.diff([iterate.objective for iterate in rounds]) <= 1e-12).all()


@examples(12)
@given(problem=small_problems(), loss=st.sampled_from(LOSSES))
def test_descent_ends_at_fixed_point(problem, loss):
    clf = fitted(problem, C_p=3.0, n_init=2, proportion_loss=loss, solver_tol=1e-6)
    assert clf.stop_reason_ in (StopReason.FIXED_POINT, StopReason.CONVERGED)
    gain = gain_of_a_labeling_step(clf, problem, np.full(problem.bags.n_bags, clf.C_p))
    assert gain <= (1e-9 if clf.stop_reason_ is StopReason.FIXED_POINT else clf.tol)
    program = svm_primal(problem.X).set(y=clf.transduction_, C=clf.C)
    svm = solve(program, "clarabel", tol=1e-10, residuals=False).value
    gaps = problem.bags.proportions_of(clf.transduction_) - problem.bags.proportions
    best = svm + clf.C_p * PROPORTION_LOSSES[loss].of_differences(problem.bags, gaps).sum()
    assert clf.objective_ == pytest.approx(best, abs=1e-5)


# --- against the exact optimum ----------------------------------------------------------------

EXACT = list(product(LOSSES, enumerate([(4, 3), (2, 3, 2)])))
SCIP_TOLERANCE = 1e-4


@pytest.mark.thorough
def test_alternation_never_beats_exact_optimum():
    pytest.importorskip("pyscipopt")
    reached = 0
    for loss, (seed, sizes) in EXACT:
        problem = small_problem(seed, sizes, known=0.2 if seed == 1 else 0.0)
        weights = np.full(len(sizes), 2.0)
        program = psvm(problem.X, problem.bags, 1.0, weights, PROPORTION_LOSSES[loss])
        exact = solve(program, "scip", tol=1e-6, residuals=False)
        best = np.where(exact.variables["z"] > 0.5, 1.0, -1.0)
        options = {"C_p": 2.0, "proportion_loss": loss, "solver_tol": 1e-6}
        annealed = fitted(problem, init="random", n_init=3, **options)
        options |= {"init": ["random", best], "n_init": 10, "annealing": False}
        *without, stayed = fitted(problem, **options).init_objectives_
        objectives = np.append(annealed.init_objectives_, without)
        assert objectives.min() >= exact.value - SCIP_TOLERANCE, (loss, seed)
        assert stayed == pytest.approx(exact.value, abs=SCIP_TOLERANCE), (loss, seed)
        reached += objectives.min() <= exact.value + SCIP_TOLERANCE
    assert reached >= len(EXACT) // 2


# --- restarts ---------------------------------------------------------------------------------


STARTS = ["random", InvCal(C_p=1.0)]


@pytest.mark.parametrize(
    "changes",
    [
        {"random_state": np.random.RandomState(7)},
        pytest.param({"n_jobs": 2}, marks=pytest.mark.process),
    ],
)
def test_same_seed_gives_same_fit_in_parallel(changes):
    problem = small_problem(5, sizes=(8, 8), noise=2.0)
    clf = paper_alter_psvm(init=STARTS, n_init=3, annealing="auto", random_state=7)
    first, second = (
        clone(clf).set_params(**new).fit(problem.X, problem.y) for new in ({}, changes)
    )
    for name in ("init_objectives_", "transduction_", "coef_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.history_.objectives == second.history_.objectives


# --- starts -----------------------------------------------------------------------------------


def fit_from(problem, init, **options):
    return fitted(problem, init=init, annealing=False, solver_tol=1e-6, **options)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("mean_map", MeanMap()),
        ("inv_cal", InvCal()),
        ("conv", ConvPropSVM()),
        (InvCal(C_p=1e-6), InvCal(C_p=1e-6)),
    ],
)
def test_start_from_method_equals_start_from_its_labels(name, method, kernel):
    """It takes the kernel; an estimator keeps its other parameters, and stays unfitted."""
    problem, options = small_problem(7, sizes=(4, 4, 6)), {"kernel": kernel, "gamma": 0.5}
    guide = clone(method).set_params(**options).fit(problem.X, problem.y)
    nearest = FeasibleLabelings.nearest(problem.bags)
    labels = nearest.best(guide.decision_function(problem.X))
    wanted = fit_from(problem, labels, **options)
    for init in (name, method, labels.tolist()):
        clf = fit_from(problem, init, **options)
        assert clf.objective_ == pytest.approx(wanted.objective_, abs=1e-9)
        np.testing.assert_array_equal(clf.transduction_, wanted.transduction_)
    assert not hasattr(method, "intercept_")


def test_smallest_objective_of_several_starts_wins():
    problem = small_problem(10, sizes=(8, 8, 4), noise=2.0)
    starts = [*STARTS, problem.labels]
    clf, *alone = (fitted(problem, init=init) for init in (starts, *starts))
    objectives = np.concatenate([single.init_objectives_ for single in alone])
    np.testing.assert_array_equal(clf.init_objectives_, objectives)
    least = objectives.min()
    assert clf.objective_ == pytest.approx(least, rel=2.0 * clf.solver_tol)
    ties = [k for k, single in enumerate(alone) if single.objective_ <= least * (1 + 1e-9)]
    winner = starts[min(ties, key=lambda k: not isinstance(starts[k], InvCal))]
    assert np.array_equal(clf.init_, winner)
    labelings = fitted(problem, init=["ecological", problem.labels, list(-problem.labels)])
    assert len(labelings.init_objectives_) == 3


@pytest.mark.parametrize(("excess", "winner"), [(1e-9, "InvCal()"), (1e-3, "random")])
def test_start_with_smaller_objective_wins_beyond_tolerance(excess, winner):
    random, method = (FitResult(None, None, 0.0, value, History()) for value in (1.0, 1.0 + excess))
    clf = AlterPropSVM()
    clf._best([(Start("random", True), random), (Start(InvCal(), False), method)])
    assert str(clf.init_) == winner


# --- defaults ---------------------------------------------------------------------------------


def test_default_start_is_counts_with_seven_tenths_of_scores():
    problem = small_problem(5, sizes=(8, 8, 8), noise=2.0)
    counts = AggregateLogisticRegression().fit(problem.X, problem.y)
    clf = AlterPropSVM().fit(problem.X, problem.y)
    alone = AlterPropSVM(init_weight=0.0).fit(problem.X, problem.y)
    assert (repr(clf.init_), len(clf.init_objectives_)) == (repr(counts), 1)
    assert clf.objective_ == alone.objective_
    np.testing.assert_array_equal(clf.transduction_, alone.transduction_)
    first, last = (each.decision_function(problem.X) for each in (counts, alone))
    mean = 0.3 * last + 0.7 * first * np.sqrt(np.mean(last**2) / np.mean(first**2))
    np.testing.assert_allclose(clf.decision_function(problem.X), mean, atol=1e-9)


def test_mixed_starts_are_random_labelings_and_two_methods():
    problem = small_problem(5, sizes=(8, 8, 8), noise=2.0)
    conv = ConvPropSVM(1.0, epsilon="rounding")
    default, listed, printed = (
        AlterPropSVM(1.0, 10.0, init=init, n_init=3, random_state=0).fit(problem.X, problem.y)
        for init in ("mixed", ["random", conv, STARTS[1]], "random")
    )
    np.testing.assert_array_equal(default.init_objectives_, listed.init_objectives_)
    np.testing.assert_array_equal(default.init_objectives_[:3], printed.init_objectives_)
    assert len(default.init_objectives_) == 5


@pytest.mark.parametrize(
    ("y", "n_starts"),
    [
        (bag_target(np.repeat([0, 1], 6), [0.33, 1.0]), 4),  # no count has these shares
        (bag_target(np.repeat([0, 1], 6), [0.5, 0.5]), 4),  # nothing to regress on
        (bag_target(np.repeat([0, 1], 6), [0.5, 1.0], np.eye(12)[0]), 4),  # a label inside of a bag
        (np.repeat([0, 1], 6), 1),  # there is one labeling
    ],
)
@pytest.mark.filterwarnings("error", "ignore::propcvx.errors.PoorFitWarning")
def test_default_starts_suit_any_bags(y, n_starts):
    X = np.random.RandomState(0).randn(12, 2) + np.arange(12)[:, None]
    clf = AlterPropSVM(n_init=2, random_state=0).fit(X, y)
    assert len(clf.init_objectives_) == n_starts


# --- weights, losses, solvers -----------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_bag_weights_multiply_proportion_loss(loss):
    problem = small_problem(13, sizes=(7, 3, 5), noise=2.0)
    sizes, numbers = problem.bags.sizes, np.array([0.1, 2.0, 5.0])
    options = {"C_p": 0.5, "proportion_loss": loss, "annealing": False, "solver_tol": 1e-6}
    for given_weights, factors in (("uniform", np.ones(3)), ("size", sizes), (numbers, numbers)):
        clf = fitted(problem, bag_weights=given_weights, **options)
        value = recomputed(clf, problem, 0.5 * factors, clf.transduction_)
        assert clf.objective_ == pytest.approx(value, rel=1e-9)
        assert clf.stop_reason_ is StopReason.FIXED_POINT
        assert gain_of_a_labeling_step(clf, problem, 0.5 * factors) <= 1e-9


# --- what is kept when it is stopped ----------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SolverError("none", "stub", "failed")])
@pytest.mark.parametrize("n_whole", [0, 2])
def test_interruption_keeps_finished_starts(monkeypatch, n_whole, error):
    problem, ended = small_problem(16, sizes=(6, 6), noise=2.0), []

    def stopped(*args, **options):
        if len(ended) == n_whole:
            raise error
        ended.append(True)
        return alternate(*args, **options)

    clf = paper_alter_psvm(n_init=4, annealing=False, random_state=0)
    whole = clone(clf).set_params(n_init=max(n_whole, 1)).fit(problem.X, problem.y)
    monkeypatch.setattr(alter, "alternate", stopped)
    with pytest.raises(type(error)):
        clf.fit(problem.X, problem.y)
    assert hasattr(clf, "coef_") == (n_whole > 0)
    if n_whole:
        np.testing.assert_array_equal(clf.init_objectives_, whole.init_objectives_)
        np.testing.assert_array_equal(clf.predict(problem.X), whole.predict(problem.X))
        assert clf.stop_reason_ is StopReason.from_exception(error)
        assert "keeps the best it had reached" in error.__notes__[-1]


# --- numerics ---------------------------------------------------------------------------------


def svm_value(features, labeling, C, weights):
    """The primal objective of weights with their best bias, which is at a kink of the losses."""
    scores = features @ weights
    losses = [HINGE.evaluate(labeling, scores + bias).sum() for bias in labeling - scores]
    return 0.5 * weights @ weights + C * min(losses)


def value_of(separator, labeling, C):
    """The primal objective of a separator."""
    losses = HINGE.evaluate(labeling, separator.scores).sum()
    return 0.5 * separator.weights @ separator.weights + C * losses


def best_weights(features, labeling, C):
    """By another solver."""
    program = svm_primal(features).set(y=labeling, C=C)
    return solve(program, "clarabel", tol=1e-10, residuals=False, warn=False).variables["w"]


ON_AXES = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.5, 0.5], [-0.5, -0.5]])
NORMAL = {n: np.random.RandomState(n).randn(n, 3) * [1.0, 100.0, 0.1] for n in (6, 200)}


@pytest.mark.parametrize("solver", ["libsvm", "newton", "piqp"])
@pytest.mark.parametrize(
    ("X", "n_positive", "C"),
    [(ON_AXES, 2, 1e-4)]
    + [(np.tile(X, (2, 1)), n, C) for n, X in NORMAL.items() for C in (1e-6, 1.0, 1e3, 1e6)],
)
def test_hyperplane_whose_best_weights_are_zero_is_exactly_zero(X, n_positive, C, solver):
    """The mean of the positives is among the negatives and C small, or both classes are equal."""
    labeling = np.where(np.arange(len(X)) < n_positive, 1.0, -1.0)
    separator = SVMStep(X, Solve(solver, 1e-6))(labeling, C)
    np.testing.assert_array_equal(separator.weights, 0.0)
    assert len(set(separator.scores)) == 1
    assert HINGE.evaluate(labeling, separator.scores).sum() == pytest.approx(2.0 * n_positive)


def test_starts_from_zero_hyperplanes_try_both_signs():
    """Bags are the same at x and at -x, so that a plane is found as often as its mirror image.

    At the lowest C* the plane of a random labeling is mostly zero, and all labelings tie.
    """
    half = np.sort(np.abs(np.random.RandomState(0).normal(size=80)))
    X, index = np.concatenate([-half[::-1], half])[:, None], np.arange(160) % 10
    bags = Bags.from_target(bag_target(index, dict.fromkeys(range(10), 0.5)))
    problem, step = posed(bags, np.full(10, 10.0)), SVMStep(X)
    walk = partial(alternate, problem, step, schedule=annealing_values(1.0)[:3])
    starts = (random_labeling(bags, np.random.RandomState(seed)) for seed in range(60))
    ends = (descent(walk(labeling)) for labeling in starts)
    assert 15 <= sum(end.weights[0] > 0.0 for end in ends) <= 45


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
@pytest.mark.parametrize("solver", ["libsvm", "newton", "piqp"])
@pytest.mark.parametrize("C", [1e-4, 2.0, 1e2])
def test_separator_gap_bounds_error(C, solver, gap):
    problem = small_problem(3, sizes=(30, 30), noise=2.0)
    labeling = problem.labels.astype(float)
    separator = SVMStep(problem.X, Solve(solver, gap))(labeling, C)
    scores = problem.X @ separator.weights + separator.bias
    np.testing.assert_allclose(separator.scores, scores, atol=1e-9 * np.abs(scores).max())
    primal = value_of(separator, labeling, C)
    best = svm_value(problem.X, labeling, C, best_weights(problem.X, labeling, C))
    assert primal <= best + separator.gap + 1e-7 * best
    assert separator.gap <= gap * primal


# --- instance losses --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["weighted", "squared", "weighted squared"])
def test_descent_with_another_instance_loss_is_descent(loss):
    problem = small_problem(1, sizes=(5, 4), noise=2.0)
    weights = np.random.RandomState(1).uniform(0.2, 3.0, 9) if "weighted" in loss else 1.0
    chosen = replace(SQUARED_HINGE if "squared" in loss else HINGE, weights=weights)
    clf = fitted(problem, C_p=3.0, init=np.ones(9), instance_loss=chosen, solver_tol=1e-8)
    scores, norm = clf.decision_function(problem.X), np.square(clf.coef_).sum()

    def proportion_losses(labeling):
        return 3.0 * np.abs(problem.bags.proportions_of(labeling) - problem.bags.proportions).sum()

    def value(labeling):
        """Eq:pSVM_2 for the separator in the end."""
        return 0.5 * norm + chosen.evaluate(labeling, scores).sum() + proportion_losses(labeling)

    assert clf.objective_ == pytest.approx(value(clf.transduction_), rel=1e-9)
    least = min(value(np.array(labeling)) for labeling in product((-1.0, 1.0), repeat=9))
    assert value(clf.transduction_) <= least + 1e-4
    program = margin_classifier(problem.X, chosen).set(y=clf.transduction_, C=1.0)
    svm = solve(program, "clarabel", tol=1e-9, residuals=False).value
    assert clf.objective_ == pytest.approx(svm + proportion_losses(clf.transduction_), rel=1e-5)


# --- many instances ---------------------------------------------------------------------------


@pytest.mark.parametrize(("tol", "ends"), [(0.4, 3), (0.6, 2)])
def test_loop_stops_at_relative_decrease(tol, ends):
    """Objectives 204, 136 and 80: they decrease by half of 136, and by 0.7 of 80."""
    bags = Bags.from_target(bag_target(np.zeros(4, dtype=int), {0: 0.5}))
    pattern, norms = np.array([-1.0, 1.0, 1.0, -1.0]), iter([200.0, 128.0, 72.0])

    def step(labeling, C, after=None):
        """Every plane is shorter than the last by far, and wants the opposite labels."""
        scores = pattern if after is None else -after.scores
        return Separator(labeling, np.sqrt([2.0 * next(norms)]), 0.0, scores)

    problem = PropSVM(bags, 1.0, np.ones(1), PROPORTION_LOSSES["absolute"])
    start = np.array([1.0, -1.0, 1.0, -1.0])
    end = descent(alternate(problem, step, start, [1.0], tol=tol, max_iter=3))
    assert end.history.objectives == pytest.approx([204.0, 136.0, 80.0][:ends])
    reason = StopReason.CONVERGED if ends == 2 else StopReason.MAX_ROUNDS
    assert end.history.stop_reason is reason
