"""The interior-point method of the restricted master equals its program, and certifies itself."""

import numpy as np
import pytest

from propcvx.errors import InaccurateSolutionWarning, UnsupportedSolverError
from propcvx.masters import Master
from propcvx.programs import mkl_epigraph, svm_dual
from propcvx.solvers import mkl_interior_point, solve, solvers_for, weighted_gram

NAME = "mkl_interior_point"


def problem(seed, n_instances, rank, n_cuts):
    random = np.random.default_rng(seed)
    labelings = random.choice([-1.0, 1.0], (n_cuts, n_instances))
    return random.normal(size=(n_instances, rank)), labelings


@pytest.mark.filterwarnings("ignore:clarabel stopped")
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e2])
@pytest.mark.parametrize(
    ("n_instances", "rank", "n_cuts"), [(1, 1, 1), (12, 12, 4), (30, 2, 3), (40, 3, 10), (60, 5, 2)]
)
def test_it_equals_the_program(n_instances, rank, n_cuts, C):
    features, labelings = problem(0, n_instances, rank, n_cuts)
    program = mkl_epigraph(features, labelings, C)
    fast = solve(program, NAME)
    readable = solve(program, "clarabel", tol=1e-10)
    assert fast.value == pytest.approx(readable.value, rel=1e-6)
    assert fast.certificate.primal_residual <= 1e-9
    assert fast.certificate.dual_residual <= 1e-9
    assert fast.certificate.duality_gap <= 1.1e-8 * abs(fast.value)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_small_factor_is_as_good_as_the_whole_matrix(C, monkeypatch):
    features, labelings = problem(1, 50, 3, 5)
    program = mkl_epigraph(features, labelings, C)
    whole = solve(program, NAME)
    called = []

    def low_rank(*arguments):
        called.append(1)
        return weighted_gram._low_rank_factor(*arguments)

    monkeypatch.setattr(mkl_interior_point, "factor", low_rank)
    small = solve(program, NAME)
    assert called
    assert small.value == pytest.approx(whole.value, rel=1e-7)


def test_it_is_a_master_like_any_other():
    features, labelings = problem(2, 40, 6, 5)
    fast = Master(features, 1.0, "epigraph", NAME, 1e-8, {})(labelings)
    readable = Master(features, 1.0, "group", "clarabel", 1e-9, {})(labelings)
    assert fast.value == pytest.approx(readable.value, rel=1e-6)
    assert fast.value <= fast.upper <= fast.value * (1 + 1e-7)
    assert fast.solver == NAME


def test_repeated_labelings_and_instances_without_features():
    features, labelings = problem(3, 20, 4, 3)
    features[:5] = 0.0
    program = mkl_epigraph(features, labelings[[0, 1, 1, 2, 0]], 1.0)
    once = mkl_epigraph(features, labelings, 1.0)
    assert solve(program, NAME).value == pytest.approx(solve(once, NAME).value, rel=1e-7)


def test_no_features_at_all():
    program = mkl_epigraph(np.zeros((6, 2)), np.ones((2, 6)), 0.5)
    solution = solve(program, NAME)
    assert solution.value == pytest.approx(3.0)
    assert np.allclose(solution.variables["alpha"], 0.5)


def test_stopped_early_it_says_so_and_its_bounds_still_hold():
    features, labelings = problem(4, 40, 6, 5)
    best = solve(mkl_epigraph(features, labelings, 1.0), NAME).value
    with pytest.warns(InaccurateSolutionWarning, match="stopped before its tolerance"):
        early = Master(features, 1.0, "epigraph", NAME, 1e-8, {"max_iter": 3})(labelings)
    assert early.status == "user_limit"
    assert early.value <= best <= early.upper


def test_it_solves_nothing_else():
    program = svm_dual(np.eye(3)).set(y=np.ones(3), lower=np.zeros(3), upper=np.ones(3))
    assert NAME not in solvers_for(program)
    with pytest.raises(UnsupportedSolverError, match=NAME):
        solve(program, NAME)


@pytest.mark.parametrize("C", [1e-12, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_asked_for_more_than_there_is_it_stops_without_noise(C, scale, recwarn):
    features, labelings = problem(5, 30, 30, 4)
    problem_ = mkl_interior_point.Scaled(np.sqrt(C) * scale * features, labelings)
    bound, _, _ = mkl_interior_point._iterate(problem_, tol=0.0)
    assert bound.gap < 1e-7
    assert not recwarn.list


def test_margins_that_are_hardly_reached_are_bounded_all_the_same():
    features, labelings = problem(6, 30, 3, 4)
    with pytest.warns(InaccurateSolutionWarning):
        hard = Master(1e4 * features, 1e4, "epigraph", NAME, 1e-12, {})(labelings)
    assert hard.value <= hard.upper
    assert hard.status == "user_limit"
