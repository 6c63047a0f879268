"""Relaxations under one interface: which is tighter than which, and what each bound is worth."""

from unittest.mock import Mock

import cvxpy as cp
import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from small_problems import best_value, small_problem, small_problems, without_a_share

from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.errors import SolverError
from propcvx.history import StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import Lifting, lifted_svm, lifted_svm_dual, square_loss_matrix
from propcvx.relaxation import Diffrac, Lifted, MixedInteger
from propcvx.solvers import Solve, solve

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

ALL_CUTS = CuttingPlanes(oracle="exhaustive", max_cuts=100, tol=0.0)


def posed(problem, epsilon, shareless=False):
    """Features of a problem and its feasible labelings; a share may not be known."""
    bags = without_a_share(problem.bags) if shareless else problem.bags
    return problem.X, FeasibleLabelings.from_bags(bags, epsilon)


def relaxable(seed, epsilon=0.0, shareless=False, **options):
    return posed(small_problem(seed, n_features=3, **options), epsilon, shareless)


many_relaxable = st.builds(
    posed,
    small_problems(max_size=4, max_bags=3, max_features=3),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([False, False, True]),
)


def best_square(features, feasible, C):
    A = square_loss_matrix(features, C)
    return min(y @ A @ y for y in feasible.enumerate())


# --- bounds that hold whatever the solver, and which is tighter than which -----------------------

LIFTED = Lifted(), "scs", best_value, 1e-6
DIFFRAC = Diffrac(), "scs", best_square, 1e-9


@pytest.mark.parametrize(("relaxation", "inaccurate", "best_of", "near"), [LIFTED, DIFFRAC])
@examples(12)
@given(
    case=many_relaxable,
    C=st.sampled_from([0.01, 0.1, 1.0, 20.0, 100.0]),
    tol=st.sampled_from([1e-8, 1e-3, 1e-1]),
    accurate=st.booleans(),
)
def test_bounds_hold_with_early_stopped_solver(
    relaxation, inaccurate, best_of, near, case, C, tol, accurate
):
    features, feasible = case
    solver = "clarabel" if accurate else inaccurate
    reached = relaxation.relax(features, feasible, C, solve=Solve(solver, tol))
    best = best_of(features, feasible, C)
    assert reached.lower <= best * (1.0 + 1e-9)
    assert reached.upper >= best * (1.0 - near)
    assert all(labeling in feasible for labeling in reached.labelings)
    assert ((reached.alpha >= 0.0) & (reached.alpha <= C)).all()
    assert reached.lower <= reached.value


@examples(10)
@given(case=many_relaxable, C=st.sampled_from([0.1, 1.0]))
def test_lifted_bound_below_mixture_below_best(case, C):
    lifted = Lifted().relax(*case, C, solve=Solve("clarabel"))
    mixed = ALL_CUTS.relax(*case, C)
    assert lifted.lower <= mixed.upper * (1.0 + 1e-9)
    assert lifted.lower == pytest.approx(lifted.value, rel=1e-4)
    assert mixed.lower <= best_value(*case, C) * (1.0 + 1e-9)
    assert mixed.lower == pytest.approx(mixed.upper, rel=1e-4)


# --- the exact program --------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (1, 0.3), (2, 0.3)])
def test_mixed_integer_program_finds_best_labeling(seed, epsilon):
    pytest.importorskip("pyscipopt")
    features, feasible = relaxable(seed, epsilon, seed == 2, sizes=(4, 3), known=0.2 * (seed % 2))
    reached = MixedInteger(time_limit=np.inf).relax(features, feasible, 0.7)
    best = best_value(features, feasible, 0.7)
    assert reached.lower <= best * (1.0 + 1e-9)
    assert reached.upper == pytest.approx(best, rel=1e-6)
    assert reached.lower == pytest.approx(best, rel=1e-4)
    assert reached.labelings[0] in feasible


def test_time_limit_returns_interval():
    pytest.importorskip("pyscipopt")
    problem = small_problem(0, sizes=(8,) * 6, n_features=6, noise=2.0)
    clf = ConvPropSVM(C=0.1, relaxation=MixedInteger(time_limit=0.01)).fit(problem.X, problem.y)
    assert 0.0 <= clf.bounds_.lower <= clf.bounds_.upper
    assert clf.stop_reason_ is StopReason.OUT_OF_TIME
    assert clf.history_[0].status != "optimal"


def test_failure_within_time_limit_raises():
    failing = Mock(side_effect=SolverError("no answer", "stub", "solver_error"), time_limit=np.inf)
    with pytest.raises(SolverError, match="no answer"):
        MixedInteger().relax(*relaxable(0), 0.5, solve=failing)


# --- the lifted matrix, its two programs --------------------------------


@examples(15)
@given(case=many_relaxable, seed=st.integers(0, 2**32 - 1))
def test_quadratic_form_bound_holds_for_any_multipliers(case, seed):
    (features, feasible), random = case, np.random.RandomState(seed)
    lifting, n = Lifting.from_feasible(feasible), len(features)
    quadratic = random.randn(n, n)
    quadratic = quadratic + quadratic.T
    largest = max(y @ quadratic @ y for y in feasible.enumerate())
    for scale in (0.0, 1.0, 10.0):
        products = scale * random.randn(lifting.ranges.shape[0], lifting.rows.shape[0])
        bound = lifting.largest(quadratic, scale * random.randn(n + 1), products)
        assert bound >= largest - 1e-12 * abs(largest)


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (1, 0.3), (3, 0.0)])
def test_lifted_svm_primal_dual_agree(seed, epsilon):
    features, feasible = relaxable(seed, epsilon, known=0.2 * (seed % 2))
    primal, dual = (
        solve(build(features, feasible, 0.5), "clarabel", residuals=False).value
        for build in (lifted_svm, lifted_svm_dual)
    )
    assert dual == pytest.approx(primal, rel=1e-3)
    reached = Lifted().relax(features, feasible, 0.5, solve=Solve("clarabel"))
    M = (reached.vectors.T * reached.weights) @ reached.vectors
    np.testing.assert_allclose(np.diag(M), 1.0, atol=1e-6)
    alpha = cp.Variable(8)
    inner = cp.sum(alpha) - 0.5 * cp.quad_form(alpha, cp.psd_wrap(features @ features.T * M))
    inner = cp.Problem(cp.Maximize(inner), [alpha >= 0, alpha <= 0.5]).solve("CLARABEL")
    assert inner == pytest.approx(dual, rel=1e-4)
