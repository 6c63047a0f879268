"""The interior-point method of the restricted master equals its program, and bounds its error."""

import numpy as np
import pytest
from effort import first

from propcvx.programs import mkl_epigraph
from propcvx.relaxation.masters import MASTERS
from propcvx.solvers import Solve, solve
from propcvx.solvers.specialized.mkl_interior_point import Scaled, follow

NAME = "mkl_interior_point"


def problem(seed, n_instances, rank, n_cuts):
    random = np.random.default_rng(seed)
    labelings = random.choice([-1.0, 1.0], (n_cuts, n_instances))
    return random.normal(size=(n_instances, rank)), labelings


@pytest.mark.filterwarnings("ignore:clarabel stopped")
@pytest.mark.parametrize("C", first(1, [1.0, 1e-3, 1e2]))
@pytest.mark.parametrize(
    ("n_instances", "rank", "n_cuts"), [(1, 1, 1), (12, 12, 4), (40, 3, 10), (60, 40, 3)]
)
@pytest.mark.parametrize("separable", [False, True])
def test_mkl_interior_point_equals_program(n_instances, rank, n_cuts, C, separable):
    features, labelings = problem(0, n_instances, rank, n_cuts)
    if separable:  # as the labelings of an oracle are
        labelings = np.where(labelings @ features @ features.T > 0.0, 1.0, -1.0)
    program = mkl_epigraph(features, labelings, C)
    fast = solve(program, NAME)
    readable = solve(program, "clarabel", tol=1e-10)
    assert fast.value == pytest.approx(readable.value, rel=1e-6)
    assert fast.residuals.primal_residual <= 1e-9
    assert fast.residuals.dual_residual <= 1e-9
    assert fast.residuals.duality_gap <= 1.1e-8 * abs(fast.value)


def test_mkl_interior_point_with_binary_attributes_reaches_tolerance():
    """Most unknowns end at a bound: refined only once, the steps end above 1e-8."""
    random = np.random.default_rng(8)
    letters = random.integers(0, 4, size=(400, 50))
    features = 2.0 * np.hstack([letters == k for k in range(3)]) - 1.0
    features -= features.mean(axis=0)
    labels = np.sign(features @ random.normal(size=150) + 0.01)
    bound, _ = follow(Scaled.from_cuts(features, labels[None], 1000.0), 1e-8, 60)
    assert bound.gap <= 1e-8


def test_repeated_labelings_have_same_value():
    features, labelings = problem(3, 20, 4, 3)
    features[:5] = 0.0
    program = mkl_epigraph(features, labelings[[0, 1, 1, 2, 0]], 1.0)
    once = mkl_epigraph(features, labelings, 1.0)
    assert solve(program, NAME).value == pytest.approx(solve(once, NAME).value, rel=1e-7)


def test_unreached_tolerance_keeps_valid_bounds():
    features, labelings = problem(4, 40, 6, 5)
    best = solve(mkl_epigraph(features, labelings, 1.0), NAME).value
    early = MASTERS["epigraph"](features, 1.0, Solve(NAME, options={"max_iter": 3}))(labelings)
    assert early.status == "user_limit"
    assert early.value <= best <= early.upper
    hard = MASTERS["epigraph"](1e4 * features, 1e4, Solve(NAME, 1e-17))(labelings)
    assert hard.status == "user_limit"
    assert hard.value <= hard.upper


@pytest.mark.parametrize("C", [1e-12, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_mkl_interior_point_at_zero_tolerance_stops_without_warnings(C, scale, recwarn):
    features, labelings = problem(5, 30, 30, 4)
    bound, _ = follow(Scaled.from_cuts(scale * features, labelings, C), 0.0, 60)
    assert bound.gap < 1e-7
    assert not recwarn.list


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize(("n_instances", "rank"), [(60, 40), (60, 2), (20, 20)])
def test_mkl_interior_point_in_other_units_has_same_value(n_instances, rank, C):
    features, labelings = cuts_of(7, n_instances, rank, 4)
    values = []
    for scale in (1.0, 1e-6, 1e-3, 1e3, 1e6):
        program = mkl_epigraph(scale * features, labelings, C / scale**2)
        answer = solve(program, NAME, tol=1e-7, residuals=False)
        assert answer.status == "optimal"
        values.append(scale**2 * answer.value)
    assert values == pytest.approx([values[0]] * 5, rel=2e-7)


def cuts_of(seed, n_instances, rank, n_cuts):
    """Labelings that separate the instances, as those of the oracle do, none twice."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(n_instances, rank))
    scores = features @ random.normal(size=(rank, n_cuts))
    return features, np.where(scores > 0, 1.0, -1.0).T.copy()


def test_mkl_interior_point_keeps_all_alphas_positive():
    """Instances that do not count keep a small alpha, all of them, as the central path has it."""
    features, labelings = cuts_of(11, 200, 20, 4)
    answer = solve(mkl_epigraph(features, labelings, 10.0), NAME)
    assert (answer.variables["alpha"] > 0.0).all()
    assert (answer.variables["alpha"] < 1e-6).sum() > 50
