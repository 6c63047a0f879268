"""Relaxations under one interface: which is tighter than which, and what each bound is worth."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import best_value, small_problem, small_problems

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.errors import InputError, SolverError
from propcvx.history import StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.programs import square_loss_matrix
from propcvx.relaxation import (
    RELAXATIONS,
    ContinuousLabels,
    Diffrac,
    Lifted,
    MixedInteger,
    mixed_integer,
)
from propcvx.relaxation.lifted import ridge
from propcvx.relaxation.oracles import SemidefiniteOracle

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

small = small_problems(max_size=4, max_bags=3, max_features=3)
epsilons = st.sampled_from([0.0, 0.3])
ALL_CUTS = CuttingPlanes(oracle="exhaustive", max_cuts=100, tol=0.0)
QUICK = [name for name in RELAXATIONS if name != "mixed_integer"]


def best_square(features, feasible, C):
    A = square_loss_matrix(features, C)
    return min(y @ A @ y for y in feasible.enumerate())


# --- bounds that hold whatever the solver, and which is tighter than which -----------------------

LIFTED = Lifted(), "scs", best_value
DIFFRAC = Diffrac(), "scs", best_square
CONTINUOUS = ContinuousLabels(), "osqp", best_value


@pytest.mark.parametrize(("relaxation", "inaccurate", "best_of"), [LIFTED, DIFFRAC, CONTINUOUS])
@settings(max_examples=12)
@given(
    problem=small,
    epsilon=epsilons,
    C=st.sampled_from([0.01, 0.1, 1.0, 20.0, 100.0]),
    tol=st.sampled_from([1e-8, 1e-3, 1e-1]),
    accurate=st.booleans(),
)
def test_bounds_hold_however_little_the_solver_does(
    relaxation, inaccurate, best_of, problem, epsilon, C, tol, accurate
):
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    solver = "clarabel" if accurate else inaccurate
    reached = relaxation.relax(problem.X, feasible, C, solver=solver, tol=tol)
    best = best_of(problem.X, feasible, C)
    assert reached.lower <= best * (1.0 + 1e-9)
    assert reached.upper >= best * (1.0 - 1e-6)
    assert all(labeling in feasible for labeling in reached.labelings)
    assert ((reached.alpha >= 0.0) & (reached.alpha <= C)).all()
    if not isinstance(relaxation, ContinuousLabels):
        assert reached.lower <= reached.value


@settings(max_examples=10)
@given(problem=small, epsilon=epsilons, C=st.sampled_from([0.1, 1.0]))
def test_lifted_is_below_mixtures_of_labelings_and_both_below_the_best(problem, epsilon, C):
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    lifted = Lifted().relax(problem.X, feasible, C, solver="clarabel")
    mixed = ALL_CUTS.relax(problem.X, feasible, C)
    best = best_value(problem.X, feasible, C)
    assert lifted.lower <= mixed.upper * (1.0 + 1e-9)
    assert lifted.lower == pytest.approx(lifted.value, rel=1e-4)
    assert mixed.lower <= best * (1.0 + 1e-9)
    assert mixed.lower == pytest.approx(mixed.upper, rel=1e-4)


def relaxable(seed, **options):
    problem = small_problem(seed, n_features=3, **options)
    return problem.X, FeasibleLabelings.of(problem.bags, 0.0), 0.5


def test_continuous_labels_are_weak_unless_labels_are_known():
    """Its value is 0 where every bag is half and half, and the SVM where every label is known."""
    halves = small_problem(0, sizes=(4, 4))
    mixed = Bags.from_target(bag_target(halves.bags.index, [0.5, 0.5]))
    pure = Bags.from_target(bag_target(np.arange(8), (halves.labels > 0).astype(float)))
    weak = ContinuousLabels().relax(10.0 * halves.X, FeasibleLabelings.of(mixed, 0.0), 1.0)
    known = FeasibleLabelings.of(pure, 0.0)
    strong = ContinuousLabels().relax(halves.X, known, 1.0)
    assert weak.value == pytest.approx(0.0, abs=1e-6)
    assert strong.lower == pytest.approx(best_value(halves.X, known, 1.0), rel=1e-5)


# --- the exact program --------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (1, 0.3), (2, 0.3)])
def test_the_mixed_integer_program_finds_the_best_labeling(seed, epsilon):
    pytest.importorskip("pyscipopt")
    problem = small_problem(seed, sizes=(4, 3), known=0.2 * (seed % 2))
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    reached = MixedInteger().relax(problem.X, feasible, 0.7)
    best = best_value(problem.X, feasible, 0.7)
    assert reached.lower <= best * (1.0 + 1e-9)
    assert reached.upper == pytest.approx(best, rel=1e-6)
    assert reached.lower == pytest.approx(best, rel=1e-4)
    assert reached.labelings[0] in feasible


def test_out_of_time_is_an_interval_and_no_error():
    pytest.importorskip("pyscipopt")
    problem = small_problem(0, sizes=(8,) * 6, n_features=6, noise=2.0)
    clf = ConvPropSVM(C=0.1, relaxation=MixedInteger(seconds=0.01)).fit(problem.X, problem.y)
    assert 0.0 <= clf.bounds_.lower <= clf.bounds_.upper
    assert clf.stop_reason_ is StopReason.SOLVED
    assert clf.history_[0].status != "optimal"


def test_a_failure_before_the_time_is_over_is_one(monkeypatch):
    def fails(*arguments, **options):
        raise SolverError("no answer", "stub", "solver_error")

    monkeypatch.setattr(mixed_integer, "ask", fails)
    with pytest.raises(SolverError, match="no answer"):
        MixedInteger().relax(*relaxable(0))


# --- DIFFRAC ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_the_square_loss_of_a_labeling_is_ridge_regression(seed):
    features, feasible, C = relaxable(seed)
    labeling = next(feasible.enumerate())
    w = cp.Variable(3)
    loss = 0.5 * cp.sum_squares(w) + C * cp.sum_squares(labeling - features @ w)
    value = cp.Problem(cp.Minimize(loss)).solve("CLARABEL")
    weights, own_value = ridge(features, labeling, C)
    assert own_value == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(weights, w.value, atol=1e-4)


# --- all of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", QUICK)
def test_every_relaxation_fits_with_every_kernel(name, kernel):
    problem = small_problem(1, sizes=(4, 4, 3), n_features=3)
    clf = ConvPropSVM(relaxation=name, kernel=kernel, C=0.5).fit(problem.X, problem.y)
    assert clf.labeling_ in FeasibleLabelings.of(problem.bags, 0.0)
    if clf.bounds_ is not None:
        assert clf.bounds_.lower <= clf.bounds_.upper * (1.0 + 1e-9)


@pytest.mark.parametrize("name", QUICK)
def test_swapped_classes_are_the_same_problem(name):
    problem = small_problem(2, sizes=(4, 4, 3), n_features=3)
    values = []
    for shares in (problem.bags.proportions, 1.0 - problem.bags.proportions):
        feasible = FeasibleLabelings.of(
            Bags.from_target(bag_target(problem.bags.index, shares)), 0.0
        )
        values.append(RELAXATIONS[name].relax(problem.X, feasible, 0.5).value)
    assert values[1] == pytest.approx(values[0], rel=2e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("relaxation", "message"),
    [
        (MixedInteger(seconds=0), "seconds must be a finite number above 0"),
        (
            CuttingPlanes(oracle=partial(SemidefiniteOracle, max_order=6)),
            "order 7 is above max_order=6",
        ),
        (Diffrac(max_order=6), r"order 7 is above max_order=6; .*'cutting_planes'"),
    ],
)
def test_what_cannot_be_done_is_said(relaxation, message):
    with pytest.raises(InputError, match=message):
        relaxation.relax(*relaxable(0))
