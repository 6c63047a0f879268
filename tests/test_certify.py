"""Certified intervals: no bound exceeds the best labeling's value, and proofs agree with lists."""

from dataclasses import replace

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from small_problems import small_problem

from propcvx import Bags, CuttingPlanes, bag_target, certify
from propcvx.bounds import (
    BOUNDS,
    Interval,
    LabelingProblem,
    OutOfTimeError,
    SwapSearch,
    moment_program,
    moments,
)
from propcvx.bounds import branch_and_bound as branching
from propcvx.bounds import pieces as pieces_module
from propcvx.bounds.box_qp import solve_boxes
from propcvx.bounds.directions import labelings_of_arcs
from propcvx.bounds.enumeration import list_values
from propcvx.bounds.maximise import SmoothBound
from propcvx.bounds.moment_program import program_bound
from propcvx.bounds.moments import Multipliers, certify_values, improve_duals
from propcvx.bounds.pieces import divide
from propcvx.errors import FailedBoundWarning, InputError, SolverError
from propcvx.history import StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import PROPORTION_LOSSES
from propcvx.programs import svm_primal
from propcvx.relaxation.bounds import labeling_upper_bound
from propcvx.solvers import solve


def all_labelings(problem):
    """Every labeling with a finite cost."""
    return [one for one in problem.feasible.enumerate() if np.isfinite(problem.cost(one))]


def best_value(problem):
    """The best labeling's value by brute force and another solver."""
    program = svm_primal(problem.features, bias=False)

    def value(labeling):
        program.set(y=labeling, C=problem.C)
        answer = solve(program, "clarabel", tol=1e-10, residuals=False)
        return answer.value + problem.cost(labeling)

    return min(map(value, all_labelings(problem)))


def random_problem(seed):
    """A problem in one of the forms, with at most 8 instances."""
    random = np.random.RandomState(seed)
    sizes = random.randint(1, 5, size=random.randint(1, 4))
    sizes = sizes[np.cumsum(sizes) <= 8]
    sizes = sizes if sizes.sum() >= 2 else np.array([3])
    known, noise = random.choice([0.0, 0.3]), random.choice([0.3, 1.0, 3.0])
    small = small_problem(seed, tuple(sizes), random.randint(1, 5), known, noise)
    C = float(10.0 ** random.uniform(-2, 1))
    X = small.X * 10.0 ** random.choice([-1, 0, 1])
    form = random.randint(3)
    if form == 2:
        loss = PROPORTION_LOSSES[random.choice(list(PROPORTION_LOSSES))]
        weights = random.uniform(0.0, 2.0, size=len(sizes))
        return LabelingProblem.penalised(X, small.bags, C, loss, weights)
    feasible = FeasibleLabelings.of(small.bags, [0.0, 0.4][form])
    return LabelingProblem.constrained(X, feasible, C)


def random_multipliers(division, random):
    """Multipliers that sum to what they should but for rounding, and are good for nothing else."""
    n, rank = len(division.pieces), division.pieces[0].features.shape[1]
    q = random.randint(1, rank + 1)
    roots = random.normal(size=(n, q, q)) * 10.0 ** random.uniform(-2, 1, size=(n, 1, 1))
    squares = roots @ roots.transpose(0, 2, 1)
    total = np.linalg.cholesky(squares.sum(axis=0))
    scales = random.uniform(0.01, 1.0, size=n)
    linear = random.normal(size=(n, rank)) * 10.0 ** random.uniform(-2, 1)
    return Multipliers(
        np.linalg.solve(total, roots),
        scales / np.linalg.norm(scales),
        linear - linear.mean(axis=0),
        random.normal(size=len(division.costs)),
    )


def check_random_multipliers(seed, monkeypatch):
    """No bound at random multipliers, with poor and good duals, is above the best value."""
    problem, random = random_problem(seed), np.random.RandomState(seed)
    with monkeypatch.context() as patch:
        if random.randint(2):
            patch.setattr(pieces_module, "MOST_LABELINGS", 3)
            patch.setattr(pieces_module, "PIECE_SIZE", 2)
        division = divide(problem)
    best = best_value(problem)
    for _ in range(3):
        multipliers = random_multipliers(division, random)
        duals = [
            random.uniform(0, 1.2 * problem.C, size=piece.labelings.shape) * piece.labelings
            for piece in division.pieces
        ]
        for improved in (False, True):
            if improved:
                improve_duals(division, multipliers, duals, problem.C, room=best, tol=1e-3 * best)
            found = certify_values(division, multipliers, duals, problem.C, problem.reach)
            assert found.lower <= best + 1e-8 * max(1.0, abs(best))


def check_kinds(seed, monkeypatch):
    """Whatever kind, no lower bound is above the best value, and no upper one below it."""
    problem, random = random_problem(seed), np.random.RandomState(seed)
    best = best_value(problem)
    slack = 1e-7 * max(1.0, best)
    interval = Interval(1e-5)
    tol = float(random.choice([1e-2, 1e-8]))
    search = SwapSearch(problem, interval, tol=tol)
    search.plane(problem.best_for(random.normal(size=len(problem.features))))
    for name in ("enumeration", "directions", "sweep", "bag_moments", "branch_and_bound"):
        row = BOUNDS[name]
        if row.refuses(problem) is None:
            monkeypatch.setattr(branching, "MOST_AT_ONCE", random.choice([1, 1000]))
            alone = Interval(1e-5, upper=interval.upper, labeling=interval.labeling)
            row.run(problem, alone, replace(search, interval=alone))
            assert alone.lower <= best + slack
            assert alone.upper >= best - slack
            if name in ("enumeration", "directions", "branch_and_bound") and tol < 1e-5:
                assert alone.upper == pytest.approx(best, rel=1e-4, abs=1e-9)
                assert alone.closed or best < 1e-6


@pytest.mark.parametrize("first", range(0, 40, 5))
def test_bounds_at_random_multipliers_hold(first, monkeypatch):
    for seed in range(first, first + 5):
        check_random_multipliers(seed, monkeypatch)


@pytest.mark.parametrize("first", range(0, 16, 4))
def test_every_kind_of_bound_holds(first, monkeypatch):
    for seed in range(first, first + 4):
        check_kinds(seed, monkeypatch)


def plane_problem(seed):
    """Two features, the constraint form: with known labels, equal instances, or one feature."""
    random = np.random.RandomState(seed)
    small = small_problem(seed, (4, 3, 2), random.randint(1, 3), random.choice([0.0, 0.3]))
    X = small.X.round(random.choice([0, 8]))
    feasible = FeasibleLabelings.of(small.bags, random.choice([0.0, 0.4]))
    return LabelingProblem.constrained(X, feasible, float(10.0 ** random.uniform(-2, 1)))


@pytest.mark.parametrize("seed", range(40))
def test_the_best_labeling_is_that_of_an_arc(seed):
    problem, interval = plane_problem(seed), Interval(1e-5)
    search = SwapSearch(problem, interval)
    search.plane(problem.best_for(np.zeros(9)))
    BOUNDS["directions"].run(problem, interval, search)
    best = best_value(problem)
    assert interval.closed
    assert interval.lower <= best * (1 + 1e-7)
    assert interval.upper == pytest.approx(best, rel=1e-5)


def separable_problem(size, C):
    """Two features, bags of 10, a wide margin."""
    random = np.random.RandomState(0)
    labels = random.choice([-1.0, 1.0], size=size)
    X = 0.5 * random.normal(size=(size, 2)) + np.outer(labels, [3.0, 1.5])
    bags = np.repeat(np.arange(size // 10), 10)
    y = bag_target(bags, np.bincount(bags, weights=labels > 0) / 10)
    return LabelingProblem.constrained(X, FeasibleLabelings.of(Bags.from_target(y), 0.0), C)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e0, 1e3, 1e5, 1e7])
def test_directions_close_whatever_C(C):
    """From some C on, the best labeling of separable bags has no loss, and its value is that."""
    problem, interval = separable_problem(40, C), Interval(1e-5)
    search = SwapSearch(problem, interval)
    search.plane(problem.best_for(np.zeros(40)))
    BOUNDS["directions"].run(problem, interval, search)
    assert interval.closed
    for labeling in (problem.best_for(problem.features @ [1.0, 0.5]), interval.labeling):
        value = labeling_upper_bound(problem.features, labeling, min(C, 1e2))
        assert interval.lower <= value * (1 + 1e-7)
    assert interval.upper == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("C_p", [None, 1.0])
def test_no_move_betters_where_the_search_ends(C_p):
    small = small_problem(3, (4, 3), 3, known=0.2)
    weights = np.full(2, C_p or 0.0)
    problem = LabelingProblem.penalised(
        small.X, small.bags, 0.5, PROPORTION_LOSSES["absolute"], weights
    )
    if C_p is None:
        feasible = FeasibleLabelings.of(small.bags, 0.3)
        problem = LabelingProblem.constrained(small.X, feasible, 0.5)
    search = SwapSearch(problem, Interval(1e-5))
    end = search.descend(problem.best_for(np.ones(7)))
    for other in all_labelings(problem):
        changed = np.flatnonzero(other != end.labeling)
        bags = set(problem.bags.index[changed])
        swap = len(changed) == 2 and len(bags) == 1 and other[changed].sum() == 0.0
        if swap or len(changed) == 1:
            assert search.plane(other).value >= end.value * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_best_labeling_of_small_problems(seed):
    problem, random = bound_problem(seed, (4, 4), 4, C=1.0), np.random.RandomState(seed)
    interval = Interval(1e-5)
    search = SwapSearch(problem, interval)
    search.search(random)
    assert interval.upper == pytest.approx(best_value(problem), rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_every_best_labeling_of_a_direction_is_among_those_of_the_arcs(seed):
    problem, random = bound_problem(seed, (6, 5, 1), 2, epsilon=0.2), np.random.RandomState(seed)
    found = set(map(tuple, labelings_of_arcs(problem, Interval(1e-5))))
    for direction in random.normal(size=(2000, 2)):
        assert tuple(problem.feasible.best(problem.features @ direction)) in found


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, *range(1000, 6000, 100)])
def test_bounds_hold_in_thousands_of_problems(first, monkeypatch):
    for seed in range(first, first + 100):
        check_random_multipliers(seed, monkeypatch)
        check_kinds(seed, monkeypatch)


def bound_problem(seed, sizes=(4, 4, 4), n_features=3, C=0.3, epsilon=0.0):
    small = small_problem(seed, sizes, n_features)
    feasible = FeasibleLabelings.of(small.bags, epsilon)
    return LabelingProblem.constrained(small.X, feasible, C)


def open_interval(problem):
    """An interval with a good labeling, and the search that found it."""
    interval = Interval(1e-5)
    search = SwapSearch(problem, interval)
    search.descend(problem.best_for(problem.features @ np.ones(problem.features.shape[1])))
    return interval, search


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_reach_the_value_of_the_program(seed):
    problem = bound_problem(seed)
    interval, search = open_interval(problem)
    value, proved = program_bound(problem, solver="clarabel", tol=1e-8)
    BOUNDS["bag_moments"].run(problem, interval, search)
    assert proved == pytest.approx(value, rel=1e-4)
    assert interval.lower <= value * (1 + 1e-6)
    assert interval.lower == pytest.approx(value, rel=5e-3)
    assert value <= best_value(problem) * (1 + 1e-6)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_program_solved_badly_still_gives_a_bound(tol):
    problem = bound_problem(5)
    _, proved = program_bound(problem, solver="scs", tol=tol)
    value, _ = program_bound(problem, solver="clarabel", tol=1e-8)
    assert proved <= value * (1 + 1e-6)


def test_one_piece_with_unit_multipliers_has_the_svm_values():
    problem = bound_problem(1, sizes=(3, 3))
    piece, values = list_values(problem)
    program = svm_primal(problem.features, bias=False)
    for labeling, value in zip(piece.labelings, values, strict=True):
        whole = np.empty(6)
        whole[piece.instances] = labeling
        answer = solve(program.set(y=whole, C=problem.C), "clarabel", tol=1e-10, residuals=False)
        assert value == pytest.approx(answer.value, rel=1e-6)


@pytest.mark.parametrize("divided", [False, True])
def test_gradient_of_the_smoothed_bound(divided, monkeypatch):
    if divided:
        monkeypatch.setattr(pieces_module, "MOST_LABELINGS", 5)
        monkeypatch.setattr(pieces_module, "PIECE_SIZE", 2)
    problem = bound_problem(2, n_features=4, epsilon=0.3)
    division = divide(problem)
    assert bool(division.costs) == divided
    duals = [problem.C * piece.labelings.astype(float) for piece in division.pieces]
    bound = SmoothBound(division, duals, problem.C, 2.0, np.inf, lambda: None, temperature=0.05)
    random = np.random.RandomState(0)
    at = bound.pack(Multipliers.equal(division, 2))
    at += 0.1 * random.normal(size=len(at))
    numeric = approx_fprime(at, lambda vector: bound(vector)[0], 1e-6)
    assert bound(at)[1] == pytest.approx(numeric, abs=1e-4)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=12)
def test_box_programs_are_solved_to_optimality(seed):
    random = np.random.RandomState(seed)
    n_programs, n = random.randint(1, 30), random.randint(1, 9)
    rows = random.normal(size=(n_programs, n, random.randint(1, 9)))
    rows *= 10.0 ** random.uniform(-3, 3, size=(1, 1, rows.shape[2]))
    Q, g = rows @ rows.transpose(0, 2, 1), random.normal(size=(n_programs, n))
    lower, upper = -random.uniform(0, 1, (n_programs, n)), random.uniform(0, 1, (n_programs, n))
    v = solve_boxes(Q, g, lower, upper, np.zeros_like(g), tol=1e-8)
    assert ((lower <= v) & (v <= upper)).all()
    gradient = g - np.einsum("pij,pj->pi", Q, v)
    gap = (gradient * np.where(gradient > 0, upper - v, lower - v)).sum(axis=1)
    assert gap.max() <= 1e-7


def test_merged_pieces_are_no_worse_and_hold_all_labelings(monkeypatch):
    monkeypatch.setattr(pieces_module, "MOST_LABELINGS", 3)
    monkeypatch.setattr(pieces_module, "PIECE_SIZE", 2)
    problem = bound_problem(4)
    division, random = divide(problem), np.random.RandomState(0)
    multipliers = random_multipliers(division, random)
    groups = [[0, 1], [2, 3], [4, 5]]
    merged = division.merge(groups)
    bounds = []
    for parts, with_multipliers in (
        (division, multipliers),
        (merged, multipliers.merge(groups)),
    ):
        duals = [problem.C * piece.labelings.astype(float) for piece in parts.pieces]
        improve_duals(parts, with_multipliers, duals, problem.C, room=np.inf, tol=1e-10)
        args = (parts, with_multipliers, duals, problem.C, problem.reach)
        bounds.append(certify_values(*args).lower)
    assert bounds[1] >= bounds[0] - 1e-6
    assert len(division.pieces) == 6
    whole = merged.merge([[0, 1, 2]]).pieces[0]
    whole = whole.keep(np.isfinite(whole.costs))
    labelings = np.empty((len(whole), 12))
    labelings[:, whole.instances] = whole.labelings
    assert not any(len(cost) > 1 for cost in merged.costs)
    assert sorted(map(tuple, labelings)) == sorted(map(tuple, all_labelings(problem)))


def test_branching_proves_what_listing_does(monkeypatch):
    monkeypatch.setattr(branching, "MOST_MERGED", 1)
    monkeypatch.setattr(branching, "MOST_AT_ONCE", 1)
    problem = bound_problem(4, sizes=(4, 4, 4), n_features=6, C=3.0)
    interval, search = open_interval(problem)
    BOUNDS["branch_and_bound"].run(problem, interval, search)
    assert len(interval.nodes) > 3
    assert interval.closed
    assert interval.upper == pytest.approx(best_value(problem), rel=1e-4)
    parents = {node.index for node in interval.nodes if node.status == "branched"} | {-1}
    assert {node.parent for node in interval.nodes} <= parents
    lowers = [event.lower for event in interval.events]
    assert lowers == sorted(lowers)


def uneven_problem(seed):
    """4 to 12 instances in unequal bags, some labels known, in one of the forms."""
    random = np.random.RandomState(seed)
    sizes = random.permutation([2, 4, 3, 2, 1])[: random.randint(3, 6)]
    small = small_problem(seed, tuple(sizes), random.randint(1, 6), random.choice([0.0, 0.3]))
    C = float(10.0 ** random.uniform(-3, 3))
    if random.randint(2):
        weights = C * sizes * random.uniform(0.0, 2.0)
        loss = PROPORTION_LOSSES[random.choice(list(PROPORTION_LOSSES))]
        return LabelingProblem.penalised(small.X, small.bags, C, loss, weights)
    feasible = FeasibleLabelings.of(small.bags, random.choice([0.0, 0.3]))
    return LabelingProblem.constrained(small.X, feasible, C)


def listed_values(problem):
    """The best labeling's value, from below and above, by brute force with PIQP itself."""
    F, C = problem.features, problem.C

    def values(labeling):
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        box = np.minimum(0.0, labeling), np.maximum(0.0, labeling)
        solver.setup(C * F @ F.T, -labeling, x_l=box[0], x_u=box[1])
        solver.solve()
        duals = C * np.clip(solver.result.x, *box)
        weights = F.T @ duals
        losses = np.maximum(0.0, 1.0 - labeling * (F @ weights))
        half = 0.5 * weights @ weights
        return np.array([labeling @ duals - half, half + C * losses.sum()]) + problem.cost(labeling)

    return np.min([values(labeling) for labeling in all_labelings(problem)], axis=0)


def check_events(problem, tol, random, time_limit=np.inf, interrupt_at=np.inf):
    """All that branch and bound says on its way holds of the best labeling's value."""
    seen = []

    def on_event(event):
        seen.append(event)
        if len(seen) >= interrupt_at:
            raise KeyboardInterrupt

    interval = Interval(tol, time_limit, on_event)
    search = SwapSearch(problem, interval)
    try:
        search.descend(problem.best_for(random.normal(size=len(problem.features))))
        BOUNDS["branch_and_bound"].run(problem, interval, search)
        assert interval.gap <= tol
    except (KeyboardInterrupt, OutOfTimeError):
        pass
    below, above = listed_values(problem)
    for event in interval.events:
        assert event.lower <= above * (1 + 1e-9)
        assert event.upper >= below * (1 - 1e-9)
    records = {node.index: node.lower for node in interval.nodes}
    assert records.get(0, 0.0) <= above * (1 + 1e-9)
    assert interval.lower >= interval.upper * (1 - tol) or len(seen) >= interrupt_at


def small_trees(monkeypatch, random):
    """Settings at which few instances need a tree, merges and divided bags."""
    monkeypatch.setattr(branching, "MOST_MERGED", random.choice([1, 20, 60]))
    monkeypatch.setattr(branching, "MOST_AT_ONCE", 1)
    if random.randint(3) == 0:
        monkeypatch.setattr(pieces_module, "MOST_LABELINGS", 5)
        monkeypatch.setattr(pieces_module, "PIECE_SIZE", 3)


def check_tree(seed, monkeypatch):
    problem, random = uneven_problem(seed), np.random.RandomState(seed)
    small_trees(monkeypatch, random)
    tol = float(random.choice([1e-4, 1e-2, 0.1, 0.3, 0.5]))
    check_events(problem, tol, random, interrupt_at=random.choice([np.inf, np.inf, 2, 4]))


@pytest.mark.parametrize("seed", [41, 303, *range(4)])
def test_everything_that_branch_and_bound_says_on_its_way_holds(seed, monkeypatch):
    check_tree(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 50))
def test_branch_and_bound_holds_in_thousands_of_problems(first, monkeypatch):
    for seed in range(first, first + 50):
        with monkeypatch.context() as patch:
            check_tree(seed, patch)


@pytest.mark.parametrize("form", ["exact", "epsilon", "loss"])
def test_a_divided_bag_has_the_same_best_labeling(form, monkeypatch):
    small = small_problem(3, (7, 4), 2)
    options = {**FORMS[form], "kinds": "branch_and_bound"}
    whole = certify(small.X, small.y, 0.5, **options)
    monkeypatch.setattr(pieces_module, "MOST_LABELINGS", 10)
    monkeypatch.setattr(pieces_module, "PIECE_SIZE", 4)
    divided = certify(small.X, small.y, 0.5, **options)
    assert whole.proved_optimal
    assert divided.proved_optimal
    assert divided.upper == pytest.approx(whole.upper, rel=2e-4)


def test_features_without_whole_matrices_only_loosen_the_bound(monkeypatch):
    problem = bound_problem(2, n_features=5)
    lowers = []
    for n_factored in (5, 2):
        monkeypatch.setattr(branching, "N_FACTORED", n_factored)
        interval, search = open_interval(problem)
        BOUNDS["bag_moments"].run(problem, interval, search)
        lowers.append(interval.lower)
    assert 0.5 * lowers[0] < lowers[1] <= lowers[0] * (1 + 1e-3)


FORMS = {
    "exact": {},
    "epsilon": {"epsilon": 0.3},
    "loss": {"C_p": 1.0},
    "squared loss": {"C_p": 1.0, "loss": "squared", "bag_weights": "size"},
    "gaussian": {"kernel": "rbf", "gamma": 0.5},
    "constant": {"intercept": "constant"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [0.0, 0.3])
def test_every_form_is_proved(form, known):
    small = small_problem(7, (4, 4, 4), 2, known)
    result = certify(small.X, small.y, 0.5, **FORMS[form])
    assert result.proved_optimal
    assert result.stop_reason is StopReason.PROVED
    assert (result.labeling[small.y["label"] != 0] == small.y["label"][small.y["label"] != 0]).all()


@pytest.mark.parametrize("form", FORMS)
def test_order_of_rows_names_of_bags_and_classes_change_nothing(form):
    small, random = small_problem(8, (4, 4, 4), 2), np.random.RandomState(1)
    order, names = random.permutation(12), random.permutation(3)
    shares = small.bags.proportions
    bags = names[small.y["bag"][order]]
    permuted = bag_target(bags, {names[k]: shares[k] for k in range(3)})
    swapped = bag_target(small.y["bag"], 1 - shares)
    first = certify(small.X, small.y, 0.5, **FORMS[form])
    second = certify(small.X[order], permuted, 0.5, **FORMS[form])
    third = certify(small.X, swapped, 0.5, **FORMS[form])
    assert second.upper == pytest.approx(first.upper, rel=1e-10)
    assert second.lower == pytest.approx(first.lower, rel=1e-6)
    assert (second.labeling == first.labeling[order]).all()
    assert third.upper == pytest.approx(first.upper, rel=1e-4)


RELAXED = ("relaxation", "eigenvalue", "lifted", "mixed_integer", "bag_moments", "moment_program")


@pytest.mark.parametrize("name", RELAXED)
@pytest.mark.parametrize("form", ["exact", "epsilon", "loss"])
def test_relaxations_prove_bounds_of_the_best_labeling(name, form):
    if name in ("relaxation", "mixed_integer"):
        pytest.importorskip("pyscipopt")
    small = small_problem(11, (4, 4), 3)
    best = certify(small.X, small.y, 0.5, kinds="enumeration", **FORMS[form])
    result = certify(small.X, small.y, 0.5, kinds=name, **FORMS[form])
    assert best.proved_optimal
    proved = [event.lower for event in result.history if event.kind == name]
    assert 0.0 < max(proved) <= best.upper * (1 + 1e-7)
    if name == "mixed_integer" and form != "loss":
        assert max(proved) == pytest.approx(best.upper, rel=1e-3)


def test_the_interval_is_returned_when_time_is_over():
    small = small_problem(9, (8,) * 6, 5)
    result = certify(small.X, small.y, 1.0, time_limit=1e-6)
    assert result.stop_reason is StopReason.OUT_OF_TIME
    assert 0.0 <= result.lower < result.upper < np.inf
    assert not result.proved_optimal
    assert "not proved optimal" in str(result)


def test_time_is_checked_while_one_piece_is_solved(monkeypatch):
    monkeypatch.setattr(moments, "CHUNK", 2)
    problem = bound_problem(1, sizes=(3, 3))
    division = divide(problem)
    division = division.merge([[0, 1]])
    duals = [problem.C * piece.labelings.astype(float) for piece in division.pieces]
    multipliers, interval = Multipliers.equal(division, 3), Interval(1e-5, time_limit=1e-9)
    args = (division, multipliers, duals, problem.C)
    with pytest.raises(OutOfTimeError):
        improve_duals(*args, room=np.inf, tol=1e-9, before=interval.check_time)
    calls = []
    improve_duals(*args, room=np.inf, tol=1e-9, before=lambda: calls.append(1))
    assert len(calls) > len(division.pieces[0]) / 2


def test_the_interval_is_returned_after_an_interruption():
    def interrupt(event):
        if event.lower > 0.1:
            raise KeyboardInterrupt

    small = small_problem(9, (6,) * 4, 5)
    result = certify(small.X, small.y, 1.0, kinds="bag_moments", on_event=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert 0.1 < result.lower < result.upper


class Failing:
    """A relaxation that proves something, or nothing, and then fails."""

    def __init__(self, proves):
        self.proves = proves

    def relax(self, features, feasible, C, *, on_round, **how):
        if self.proves:
            on_round(CuttingPlanes(oracle="exhaustive", max_cuts=30).relax(features, feasible, C))
        raise FloatingPointError("of no use")


@pytest.mark.parametrize("proves", [False, True])
def test_a_kind_that_fails_costs_only_its_own(proves):
    small = small_problem(9, (4, 4), 3)
    alone = certify(small.X, small.y, 1.0, kinds="eigenvalue")
    with pytest.warns(FailedBoundWarning, match="'Failing' failed: of no use"):
        result = certify(small.X, small.y, 1.0, kinds=["eigenvalue", Failing(proves)])
    assert result.failures == {"Failing": "FloatingPointError: of no use"}
    assert "Failing failed: FloatingPointError: of no use" in str(result)
    assert result.lower > alone.lower if proves else result.lower == alone.lower
    assert result.upper == alone.upper
    with pytest.warns(FailedBoundWarning):
        closed = certify(small.X, small.y, 1.0, kinds=[Failing(proves), "branch_and_bound"])
    assert closed.proved_optimal


def test_a_failure_is_raised_where_nothing_is_proved():
    small = small_problem(9, (4, 4), 3)
    with pytest.raises(FloatingPointError, match="of no use"):
        certify(small.X, small.y, 1.0, kinds=[Failing(proves=False)])


def test_a_failure_of_the_program_leaves_what_others_proved(monkeypatch):
    def no_answer(*arguments, **options):
        raise SolverError("no answer", "stub", "solver_error")

    monkeypatch.setattr(moment_program, "solve", no_answer)
    small = small_problem(9, (4, 4), 3)
    with pytest.warns(FailedBoundWarning, match="'moment_program' failed: no answer"):
        result = certify(small.X, small.y, 1.0, kinds=["eigenvalue", "moment_program"])
    assert 0.0 < result.lower < result.upper


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must"),
        ({"tol": -1.0}, "tol must"),
        ({"time_limit": 0.0}, "time_limit must"),
        ({"C_p": -1.0}, "C_p must"),
        ({"kinds": "guess"}, "kinds must be one of"),
        ({"kinds": ["sweep"]}, "'sweep' needs at most 2 features, here are 3; use 'bag_moments'"),
        ({"kinds": ["directions"]}, "'directions' needs at most 2 features, here are 3"),
        ({"kinds": ["directions"], "C_p": 1.0}, "'directions' needs the constraint form"),
        ({"kinds": ["enumeration"]}, "'enumeration' lists at most 20,000 labelings"),
        ({"intercept": "bias"}, "intercept must"),
    ],
)
def test_bad_input_is_refused(options, message):
    small = small_problem(3, (8,) * 4, 3)
    with pytest.raises(InputError, match=message):
        certify(small.X, small.y, **options)
