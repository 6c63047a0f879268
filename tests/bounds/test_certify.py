"""Certified intervals: no bound exceeds the best labeling's value, and all agree with lists."""

from itertools import product
from unittest.mock import Mock, patch

import numpy as np
import pytest
from effort import examples, first
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.base import clone
from small_problems import (
    all_labelings,
    piqp_values,
    small_problem,
    small_problems,
    svm_values,
    without_a_share,
)

from propcvx import AlterPropSVM, ConvPropSVM, CuttingPlanes, bag_target, certify
from propcvx.bounds import BOUNDS, Bound, Interval, LabelingProblem, SwapSearch, partition
from propcvx.bounds import branch_and_bound as branching
from propcvx.bounds.maximize import SmoothBound
from propcvx.bounds.moments import Multipliers, PieceProblem
from propcvx.bounds.partition import divide
from propcvx.errors import BoundFailedWarning, InconsistentBoundsError, InputError, SolverError
from propcvx.history import StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import PROPORTION_LOSSES, constraint, epsilon_insensitive
from propcvx.programs import bag_moments
from propcvx.relaxation import Lifted, labeling_upper_bound, relaxation_lower_bound
from propcvx.relaxation.bounds import Bounds
from propcvx.relaxation.oracles import ExhaustiveOracle
from propcvx.solvers import Solve, solve
from propcvx.svm.step import LabelingSVM


def allowed_labelings(problem):
    """Every labeling with a finite cost."""
    return [each for each in problem.feasible.enumerate() if np.isfinite(problem.cost(each))]


def listed_values(problem):
    """The best labeling's value, from below and above, by brute force with PIQP itself."""
    labelings = allowed_labelings(problem)
    costs = np.array([problem.cost(labeling) for labeling in labelings])
    values = piqp_values(problem.features, labelings, problem.C)
    return (values + costs[:, None]).min(axis=0)


def random_problem(seed, most=8, n_features=5, forms=3):
    """Unequal bags and scales, some labels known, some instances equal, C from 1e-6 to 1e6.

    Of every fifth the share of a bag is not known, and every fifth has a tolerance of each bag.
    """
    random = np.random.RandomState(seed)
    sizes = random.permutation([2, 4, 3, 2, 1])[: random.randint(1, 6)]
    sizes = sizes[np.cumsum(sizes) <= most]
    known, noise = random.choice([0.0, 0.3]), random.choice([0.3, 1.0, 3.0])
    small = small_problem(
        seed, tuple(sizes) or (3,), random.randint(1, n_features + 1), known, noise
    )
    C, X = float(10.0 ** random.uniform(-6, 6)), small.X.round(random.choice([0, 8, 8]))
    X = X * 10.0 ** random.randint(-1, 2, size=X.shape[1])
    bags, form = small.bags, random.randint(forms)
    if seed % 5 == 2:
        bags = without_a_share(bags)
    widths = np.linspace(0.0, 0.4, bags.n_bags) if seed % 5 == 4 else [0.0, 0.4, 0.1][form]
    if form < 2:
        return LabelingProblem(bags, C, 1.0, constraint(widths), features=X)
    loss = PROPORTION_LOSSES[random.choice(list(PROPORTION_LOSSES))]
    loss = epsilon_insensitive(widths) if seed % 5 == 4 else loss
    weights = C * bags.sizes * random.uniform(0.0, 2.0)
    return LabelingProblem(bags, C, weights, loss, features=X)


def bound_problem(seed, sizes=(4, 4, 4), n_features=3, C=0.3, epsilon=0.0):
    small = small_problem(seed, sizes, n_features)
    return LabelingProblem(small.bags, C, 1.0, constraint(epsilon), features=small.X)


def reached(bound, problem, scores=0.0, tol=1e-8):
    """The interval of a bound that begins with the labeling that is best for some scores."""
    interval = Interval(1e-5)
    search = SwapSearch.from_problem(problem, interval, tol)
    search.evaluate(problem.best_labeling(scores + np.zeros(len(problem.features))))
    BOUNDS[bound].run(problem, interval, search)
    return interval


def divide_bags(monkeypatch, most_labelings, piece_size):
    """Let bags with more labelings than that be divided into pieces of this size."""
    monkeypatch.setattr(partition, "MOST_LABELINGS", most_labelings)
    monkeypatch.setattr(partition, "PIECE_SIZE", piece_size)


def check_bounds(seed, monkeypatch, names=tuple(BOUNDS), **options):
    """Whatever bound, no lower end is above the best value, and no upper one below it."""
    problem, random = random_problem(seed, **options), np.random.RandomState(seed)
    below, above = listed_values(problem)
    scores = random.normal(size=len(problem.features))
    tol = float(random.choice([1e-2, 1e-8]))
    monkeypatch.setattr(branching, "MOST_AT_ONCE", random.choice([1, 1000]))
    for name in names:
        if BOUNDS[name].refusal_reason(problem) is None:
            interval = reached(name, problem, scores, tol)
            assert interval.lower <= above * (1 + 1e-7)
            assert interval.upper >= below * (1 - 1e-7)
            resolved = problem.C * len(problem.features) < 1e9 * above  # whose rounding is left
            if name != "bag_moments" and tol < 1e-5 and resolved:
                assert interval.closed
                assert interval.upper <= above * (1 + 1.1e-5)


def check_tree(seed, monkeypatch):
    """All that branch and bound says on its way, with merges and divided bags, holds."""
    problem, random = random_problem(seed, most=12), np.random.RandomState(seed)
    monkeypatch.setattr(branching, "MOST_MERGED", random.choice([1, 20, 60]))
    monkeypatch.setattr(branching, "MOST_AT_ONCE", 1)
    if random.randint(3) == 0:
        divide_bags(monkeypatch, 5, 2)
    tol = float(random.choice([1e-4, 1e-2, 0.1, 0.3, 0.5]))
    events, interrupt_at = [], random.choice([np.inf, np.inf, 2, 4])

    def callback(event):
        events.append(event)
        if len(events) >= interrupt_at:
            raise KeyboardInterrupt

    interval = Interval(tol, callback=callback)
    search = SwapSearch.from_problem(problem, interval)
    try:
        search.descend(problem.best_labeling(random.normal(size=len(problem.features))))
        BOUNDS["branch_and_bound"].run(problem, interval, search)
        assert interval.gap <= tol
    except KeyboardInterrupt:
        assert len(events) >= interrupt_at
    below, above = listed_values(problem)
    for event in events:
        assert event.lower <= above * (1 + 1e-9)
        assert event.upper >= below * (1 - 1e-9)
    assert all(node.lower <= above * (1 + 1e-9) for node in interval.nodes if node.index == 0)


CHECKS = {
    check_bounds: (range(0, 5), range(5, 10), range(10, 15)),
    check_tree: (range(0, 4), (24, 41, 303)),
}


@pytest.mark.parametrize(
    ("check", "seeds"),
    [case for f, parts in CHECKS.items() for case in first(1, product([f], parts))],
)
def test_bounds_hold_on_random_problems(check, seeds, monkeypatch):
    for seed in seeds:
        with monkeypatch.context() as patched:
            check(seed, patched)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("first", range(1000, 5000, 100))
def test_bounds_hold_in_thousands_of_problems(check, first, monkeypatch):
    test_bounds_hold_on_random_problems(check, range(first, first + 100), monkeypatch)


# --- the search -------------------------------------------------------------------------------


@pytest.mark.parametrize("C_p", [None, 1.0])
def test_search_ends_at_local_minimum(C_p):
    small, loss = small_problem(3, (4, 3), 3, known=0.2), PROPORTION_LOSSES["absolute"]
    problem = LabelingProblem(small.bags, 0.5, 1.0, constraint(0.3), features=small.X)
    if C_p is not None:
        problem = LabelingProblem(small.bags, 0.5, C_p, loss, features=small.X)
    search = SwapSearch.from_problem(problem, Interval(1e-5))
    end = search.descend(problem.best_labeling(np.ones(7)))
    for other in allowed_labelings(problem):
        changed = np.flatnonzero(other != end.labeling)
        bags = set(problem.bags.index[changed])
        swap = len(changed) == 2 and len(bags) == 1 and other[changed].sum() == 0.0
        if swap or len(changed) == 1:
            assert search.evaluate(other).value >= end.value * (1 - 1e-6)


def test_failed_solver_gives_bound_at_zero_weights(monkeypatch):
    failure = SolverError("no answer", "stub", "solver_error")
    monkeypatch.setattr(Solve, "__call__", Mock(side_effect=failure))
    problem, interval = bound_problem(0), Interval(1e-5)
    SwapSearch.from_problem(problem, interval).evaluate(problem.best_labeling(np.zeros(12)))
    assert interval.upper == pytest.approx(problem.C * 12)


@pytest.mark.parametrize("seed", range(2))
def test_search_finds_best_labeling_of_small_problems(seed):
    problem, interval = bound_problem(seed, (4, 4), 4, C=1.0), Interval(1e-5)
    SwapSearch.from_problem(problem, interval).search(np.random.RandomState(seed))
    assert interval.upper == pytest.approx(listed_values(problem)[1], rel=1e-6)


# --- the moment bound and its parts -----------------------------------------------------------


def test_multipliers_reach_value_of_program():
    """The moment bound's program in CVXPY, by an interior-point method."""
    problem = bound_problem(0)
    blocks = divide(problem).blocks
    program = bag_moments(
        [block.features for block in blocks],
        [block.labelings.astype(float) for block in blocks],
        [block.costs for block in blocks],
        problem.C,
    )
    value = solve(program, "clarabel", tol=1e-8).value
    lower = reached("bag_moments", problem, problem.features @ np.ones(3)).lower
    assert lower <= value * (1 + 1e-6)
    assert lower == pytest.approx(value, rel=5e-3)
    assert value <= listed_values(problem)[1] * (1 + 1e-6)


@pytest.mark.parametrize("divided", [False, True])
def test_gradient_of_smoothed_bound_equals_differences(divided, monkeypatch):
    if divided:
        divide_bags(monkeypatch, 5, 2)
    division = divide(bound_problem(2, n_features=4, epsilon=0.3))
    assert bool(division.costs) == divided
    multipliers = Multipliers.equal(division, 2)
    bound = SmoothBound(division, 2.0, multipliers, temperature=0.05)
    at = bound.pack(multipliers)
    at += 0.1 * np.random.RandomState(0).normal(size=len(at))
    numeric = approx_fprime(at, lambda vector: bound(vector)[0], 1e-6)
    assert bound(at)[1] == pytest.approx(numeric, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_piece_bounds_hold_with_inexact_rows(seed):
    division = divide(bound_problem(seed, n_features=3))
    piece = PieceProblem(division, Multipliers.equal(division, 2), 0)
    values = piece.values(np.inf, 1e-10, lambda: None)
    np.testing.assert_allclose(piece.certify()[0], values, rtol=1e-6, atol=1e-9)
    weights = piece.weights(piece.block.duals)
    inside = np.linalg.norm(weights, axis=1) <= division.reach
    piece.rows, piece.offset = 0.99 * piece.rows, 0.99 * piece.offset
    assert inside.any()
    assert (piece.certify()[0] <= values + 1e-9)[inside].all()


def test_merged_blocks_of_divided_bags_have_costs_of_bags(monkeypatch):
    divide_bags(monkeypatch, 5, 2)
    small, loss = small_problem(2, (4, 4), 3), PROPORTION_LOSSES["absolute"]
    merged = divide(LabelingProblem(small.bags, 0.5, 2.0, loss, features=small.X)).merge_all()
    (block,) = merged.blocks
    costs = [loss.total(small.bags, 2.0, merged.labeling([k])) for k in range(2**8)]
    np.testing.assert_allclose(block.costs, costs)


def test_branch_and_bound_equals_enumeration(monkeypatch):
    monkeypatch.setattr(branching, "MOST_MERGED", 1)
    monkeypatch.setattr(branching, "MOST_AT_ONCE", 1)
    problem = bound_problem(1, sizes=(4, 4, 2), n_features=6, C=3.0)
    interval = reached("branch_and_bound", problem)
    assert len(interval.nodes) > 3
    assert interval.closed
    assert interval.upper == pytest.approx(listed_values(problem)[1], rel=1e-4)
    parents = {node.index for node in interval.nodes if node.status == "branched"} | {-1}
    assert {node.parent for node in interval.nodes} <= parents
    lowers = [event.lower for event in interval.events]
    assert lowers == sorted(lowers)


# --- two bounds that need no search -----------------------------------------------------------


@examples(10)
@given(
    problem=small_problems(max_size=3, max_bags=2, max_features=3),
    epsilon=st.sampled_from([0.0, 0.4]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_lower_bound_holds_for_every_alpha(problem, epsilon, C, seed):
    feasible = FeasibleLabelings.from_bags(problem.bags, epsilon)
    oracle = ExhaustiveOracle(problem.X, feasible)
    best = svm_values(problem.X, feasible.enumerate(), C).min()
    random = np.random.RandomState(seed)
    for scale in (0.01, 0.1, 1.0, 3.0):
        alpha = scale * C * random.uniform(-0.2, 1.0, size=len(problem.X))
        assert relaxation_lower_bound(alpha, oracle, C) <= best + 1e-7 * max(1.0, best)


def test_alpha_is_clipped_and_scaled_optimally():
    problem = small_problem(1, sizes=(3, 3))
    oracle = ExhaustiveOracle(problem.X, FeasibleLabelings.from_bags(problem.bags, 0.0))
    inside = np.array([0.0, 0.2, 0.5, 0.1, 0.0, 0.3])
    outside = np.array([-5.0, 0.2, 9.0, 0.1, 0.0, 0.3])
    bound = relaxation_lower_bound(inside, oracle, 0.5)
    violation = 0.5 * np.square((all_labelings(oracle.feasible) * inside) @ problem.X).sum(axis=1)
    multiples = np.linspace(0, 1, 100_001)
    by_hand = (multiples * inside.sum() - multiples**2 * violation.max()).max()
    assert bound == pytest.approx(by_hand, rel=1e-6)
    assert bound == relaxation_lower_bound(outside, oracle, 0.5) > 0.0
    assert relaxation_lower_bound(np.zeros(6), oracle, 0.5) == 0.0


@pytest.mark.parametrize("error", [0.0, 1e-4, 0.1, 10.0])
@examples(12)
@given(problem=small_problems(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_upper_bound_holds_despite_solver_error(error, problem, C):
    labeling, exact = problem.labels.astype(float), LabelingSVM.alpha
    noise = error * np.random.RandomState(0).randn(len(labeling))
    (value,) = svm_values(problem.X, [labeling], C)
    with patch.object(LabelingSVM, "alpha", lambda svm, y: exact(svm, y) + noise):
        bound = labeling_upper_bound(problem.X, labeling, C)
    assert value - 1e-8 * max(1.0, value) <= bound <= C * len(labeling) * (1 + 1e-12)
    if error == 0.0:
        assert bound == pytest.approx(value, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [
        *((1.0, 4.0, 0.75), (1e-9, 4e-9, 0.75), (2.0, 2.0, 0.0), (2.0 + 1e-9, 2.0, 0.0)),
        *((0, 0, 0), (-np.inf, 3.0, np.inf), (0.0, np.inf, np.inf)),
    ],
)
def test_gap_is_relative_to_upper_bound_at_every_scale(lower, upper, gap):
    assert Bounds(lower, upper).gap == pytest.approx(gap)


@pytest.mark.parametrize(
    ("lower", "upper"), [(1000.0, 0.87), (1e-3 + 1e-8, 1e-3), (np.nan, 1.0), (0.0, np.nan), (1, 0)]
)
def test_crossed_bounds_prove_nothing(lower, upper):
    with pytest.raises(InconsistentBoundsError, match=r"lower bound .* above the upper bound"):
        Bounds(lower, upper)


# --- certify ----------------------------------------------------------------------------------


FORMS = {
    "exact": {},
    "epsilon": {"epsilon": 0.3},
    "loss": {"C_p": 1.0},
    "squared loss": {"C_p": 1.0, "proportion_loss": "squared", "bag_weights": "size"},
    "gaussian": {"kernel": "rbf", "gamma": 0.5},
    "constant": {"intercept": "constant"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [0.0, 0.3])
def test_every_form_is_proved_for_any_order_and_names(form, known):
    small, random = small_problem(8, (4, 4, 3), 2, known), np.random.RandomState(1)
    order, names, labels = random.permutation(11), random.permutation(3), small.y["label"]
    shares, ids = small.bags.proportions, small.y["bag"]
    permuted = bag_target(names[ids[order]], dict(zip(names, shares, strict=True)), labels[order])
    swapped = bag_target(ids, 1 - shares, -labels)
    first, second, third = (
        certify(X, y, 0.5, **FORMS[form])
        for X, y in ((small.X, small.y), (small.X[order], permuted), (small.X, swapped))
    )
    assert first.is_optimal
    assert first.stop_reason is StopReason.PROVED
    assert (first.labeling[labels != 0] == labels[labels != 0]).all()
    assert second.upper == pytest.approx(first.upper, rel=1e-10)
    assert second.lower == pytest.approx(first.lower, rel=1e-6)
    assert (second.labeling == first.labeling[order]).all()
    assert third.upper == pytest.approx(first.upper, rel=1e-4)


RELAXED = {
    "lifted": "lifted",
    "mixed_integer": "mixed_integer",
    "eigenvalue": CuttingPlanes(master="epigraph", oracle="eigenvalue", max_cuts=40),
    "by SCIP": CuttingPlanes(master="epigraph", oracle="mixed_integer", max_cuts=20),
    "bag_moments": "bag_moments",
}


@pytest.mark.parametrize("name", RELAXED)
@pytest.mark.parametrize("form", ["epsilon", "loss"])
def test_relaxations_prove_bounds_of_best_labeling(name, form):
    if name in ("by SCIP", "mixed_integer"):
        pytest.importorskip("pyscipopt")
    small = small_problem(11, (3, 3), 3)
    best = certify(small.X, small.y, 0.5, bounds="enumeration", **FORMS[form])
    result = certify(small.X, small.y, 0.5, bounds=RELAXED[name], **FORMS[form])
    assert best.is_optimal
    proofs = ("swap search", "no loss is negative")
    proved = [event.lower for event in result.history if event.bound not in proofs]
    assert 0.0 < max(proved) <= best.upper * (1 + 1e-7)
    if name == "mixed_integer" and form != "loss":
        assert max(proved) == pytest.approx(best.upper, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "form"),
    [
        (ConvPropSVM(0.5, 0.3, intercept="constant"), {"epsilon": 0.3, "intercept": "constant"}),
        (AlterPropSVM(0.5, 2.0, bag_weights="uniform"), {"C_p": 2.0, "bag_weights": "uniform"}),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_certify_of_fit_equals_certify_of_its_problem(model, form, kernel):
    small, options = small_problem(8, (4, 4, 3), 2), {"kernel": kernel, "gamma": 0.5}
    fitted = clone(model).set_params(**options).fit(small.X, small.y)
    after = certify(fitted, small.X, small.y)
    direct = certify(small.X, small.y, 0.5, **form, **options)
    assert after.is_optimal
    assert after.upper == pytest.approx(direct.upper, rel=1e-4)
    with pytest.raises(InputError, match=r"must .* of the fit"):
        certify(fitted, 2.0 * small.X if kernel == "rbf" else small.X[1:], small.y)


def test_relaxation_gets_remaining_time_only():
    class Mine:
        def relax(self, features, feasible, C, solve, on_round):
            seconds.append(solve.time_limit)
            return Lifted().relax(features, feasible, C, solve=solve, on_round=on_round)

    small, seconds = small_problem(9, (4, 4), 3), []
    certify(small.X, small.y, 1.0, bounds=Mine(), time_limit=20.0)
    assert 1.0 < seconds[0] < 20.0


def test_interval_is_returned_when_time_is_up():
    small = small_problem(9, (5,) * 3, 4)
    result = certify(small.X, small.y, 1.0, bounds="bag_moments", time_limit=1e-6)
    assert result.stop_reason is StopReason.OUT_OF_TIME
    assert 0.0 <= result.lower < result.upper < np.inf
    assert "not proved optimal" in str(result)
    assert not result.is_optimal


def test_interruption_at_any_event_keeps_valid_bounds():
    small, events = small_problem(9, (4,) * 3, 4), []
    earlier = certify(small.X, small.y, bounds="bag_moments", tol=0.5)
    options = {"bounds": "branch_and_bound", "init": earlier.labeling}
    best = certify(small.X, small.y, **options, callback=events.append)

    for last in range(len(events)):
        told = []

        def callback(event, told=told, last=last):
            told.append(event)
            if len(told) > last:
                raise KeyboardInterrupt

        result = certify(small.X, small.y, **options, callback=callback)
        assert max(0.0, told[-1].lower) <= result.lower <= best.upper * (1 + 1e-9)
        assert told[-1].upper >= result.upper >= best.lower * (1 - 1e-9)
        if result.stop_reason is not StopReason.INTERRUPTED:
            break
    assert last > 1


class Failing:
    """A relaxation that proves something, or nothing, and then fails."""

    def __init__(self, proves):
        self.proves = proves

    def relax(self, features, feasible, C, *, on_round, **options):
        if self.proves:
            on_round(CuttingPlanes(oracle="exhaustive", max_cuts=30).relax(features, feasible, C))
        raise FloatingPointError("of no use")


@pytest.mark.parametrize("proves", [False, True])
def test_failing_bound_keeps_other_bounds(proves):
    small, first, failing = small_problem(9, (4, 4), 3), RELAXED["eigenvalue"], Failing(proves)
    alone = certify(small.X, small.y, 1.0, bounds=first)
    with pytest.warns(BoundFailedWarning, match="'Failing' failed: of no use"):
        result = certify(small.X, small.y, 1.0, bounds=[first, failing])
    assert result.failures == {"Failing": "FloatingPointError: of no use"}
    assert "Failing failed: FloatingPointError: of no use" in str(result)
    assert result.lower > alone.lower if proves else result.lower == alone.lower
    assert result.upper == alone.upper
    with pytest.warns(BoundFailedWarning):
        assert certify(small.X, small.y, 1.0, bounds=[failing, "branch_and_bound"]).is_optimal


def test_failure_without_any_bound_raises():
    small = small_problem(9, (4, 4), 3)
    with pytest.raises(FloatingPointError, match="of no use"):
        certify(small.X, small.y, 1.0, bounds=[Failing(proves=False)])


def test_number_of_labelings_above_largest_float_prints():
    """2,200 instances in bags of two, one of each positive: 2 ** 1100 labelings."""
    bags = np.repeat(np.arange(1100), 2)
    with pytest.raises(InputError, match=r"about 10\^331"):
        certify(np.eye(2)[bags % 2], bag_target(bags, np.full(1100, 0.5)), bounds="enumeration")


@pytest.mark.parametrize(("value", "allowed"), [(0.0, True), (1e-3, True), (0.5, False)])
def test_labeling_returned_by_bound_is_evaluated(value, allowed):
    small = small_problem(9, (5,) * 3, 4)

    def offering(problem, interval, search):
        zeros = np.zeros(len(problem.features))
        labeling = problem.best_labeling(zeros) if allowed else zeros + 1.0
        interval.offer("mine", labeling, value)

    with pytest.raises(InconsistentBoundsError, match=r"bounds must offer .* from 'mine' or an"):
        certify(small.X, small.y, 1.0, bounds=[Bound(offering)])
