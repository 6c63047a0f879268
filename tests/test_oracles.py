"""Oracles beside enumeration: feasible, never worse than what they improve, bounds that hold."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem, small_problems

from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.errors import InputError
from propcvx.history import StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.oracles import (
    ORACLES,
    AscentOracle,
    CoordinateOracle,
    Cut,
    EigenvalueOracle,
    ExhaustiveOracle,
    RandomDirectionsOracle,
    SemidefiniteOracle,
    checked,
    violation_value,
)
from propcvx.relaxation.oracles.cut import best_cuts

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

small = small_problems(max_size=4, max_bags=3, max_features=4)
epsilons = st.sampled_from([0.0, 0.3])
seeds = st.integers(0, 2**32 - 1)


def drawn(problem, epsilon, seed):
    """A feasible set, and an alpha some of which are zero."""
    alpha = np.maximum(0.0, np.random.RandomState(seed).uniform(-0.3, 1.0, len(problem.X)))
    return FeasibleLabelings.of(problem.bags, epsilon), alpha


CHECKED = {
    **{name: ORACLES[name] for name in ORACLES if name not in ("mixed_integer", "sweep")},
    "semidefinite, low accuracy": partial(SemidefiniteOracle, tol=1e-2),
}


@pytest.mark.parametrize("name", CHECKED)
@settings(max_examples=10)
@given(problem=small, epsilon=epsilons, seed=seeds)
def test_answers_are_feasible_and_bounds_hold(name, problem, epsilon, seed):
    feasible, alpha = drawn(problem, epsilon, seed)
    oracle = checked(CHECKED[name](problem.X, feasible), problem.X, feasible)
    cut, exact = oracle(alpha), ExhaustiveOracle(problem.X, feasible)(alpha).value
    assert cut.value <= exact * (1.0 + 1e-9)
    assert cut.bound >= exact * (1.0 - 1e-12)


@settings(max_examples=15)
@given(problem=small, epsilon=epsilons, seed=seeds)
def test_ascent_is_never_worse_than_where_it_began(problem, epsilon, seed):
    feasible, alpha = drawn(problem, epsilon, seed)
    start = CoordinateOracle.on_axes(problem.X, feasible)(alpha).value
    assert AscentOracle(problem.X, feasible)(alpha).value >= start * (1.0 - 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_eigenvalue_bound_is_that_of_the_trust_region(seed):
    """Of all y with the sums of the bags and the norm of a labeling, none is above it."""
    problem = small_problem(seed, sizes=(5, 4), n_features=3)
    feasible, alpha = drawn(problem, 0.0, seed)
    membership = problem.bags.membership.toarray()
    sums = 2.0 * feasible.lower - problem.bags.sizes
    centre = membership.T @ (sums / problem.bags.sizes)
    radius, random = np.sqrt(9.0 - centre @ centre), np.random.RandomState(seed)
    free = np.eye(9) - membership.T @ np.diag(1.0 / problem.bags.sizes) @ membership
    largest = 0.0
    for _ in range(20):  # ascent on the sphere from random points
        y = centre + radius * unit(free @ random.randn(9))
        for _ in range(500):
            weighted = alpha * (problem.X @ (problem.X.T @ (alpha * y)))
            y = centre + radius * unit(free @ weighted)
        largest = max(largest, violation_value(problem.X, y, alpha))
    bound = EigenvalueOracle(problem.X, feasible)(alpha).bound
    assert bound >= largest * (1.0 - 1e-12)
    assert bound == pytest.approx(largest, rel=1e-3)
    semidefinite = SemidefiniteOracle(problem.X, feasible, tol=1e-8)(alpha).bound
    norm = np.linalg.norm(alpha[:, None] * problem.X, 2)
    assert semidefinite * (1.0 - 1e-5) <= bound <= 4.5 * norm**2 * (1.0 + 1e-9)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_random_directions_are_those_of_the_seed_and_more_are_not_worse():
    problem = small_problem(2, sizes=(6, 6, 6), n_features=5)
    feasible, alpha = drawn(problem, 0.0, 0)

    def value(**options):
        return RandomDirectionsOracle(problem.X, feasible, **options)(alpha).value

    assert value(n_directions=20) == value(n_directions=20)
    values = [value(n_directions=5, random_state=seed) for seed in range(10)]
    assert len(set(values)) > 1
    exact = ExhaustiveOracle(problem.X, feasible)(alpha).value
    assert value(n_directions=2000) == pytest.approx(exact, rel=1e-9)
    with pytest.raises(InputError, match="n_directions must be a whole number"):
        RandomDirectionsOracle(problem.X, feasible, n_directions=0)


# --- several cuts a round -----------------------------------------------------------------------


def test_several_cuts_are_the_most_violated_ones_each_once():
    problem = small_problem(3, sizes=(4, 4))
    feasible, alpha = drawn(problem, 0.0, 1)
    labelings = np.array(list(feasible.enumerate()))
    weighted = alpha[:, None] * problem.X
    cut = best_cuts(np.vstack([labelings, labelings]), weighted, 4)
    values = np.sort([violation_value(problem.X, y, alpha) for y in labelings])[::-1]
    found = [violation_value(problem.X, y, alpha) for y in (cut.labeling, *cut.others)]
    np.testing.assert_allclose(found, values[:4])


@pytest.mark.parametrize("n_cuts", [1, 3])
def test_rounds_with_several_cuts_end_at_the_same_optimum(n_cuts):
    class Best(ExhaustiveOracle):
        def __call__(self, alpha):
            labelings = np.array(list(self.feasible.enumerate()))
            cut = best_cuts(labelings, alpha[:, None] * self.features, n_cuts)
            return Cut(cut.labeling, cut.value, cut.value, cut.others)

    problem = small_problem(4, sizes=(4, 4), n_features=3, noise=2.0)
    several, one = (
        ConvPropSVM(relaxation=CuttingPlanes(oracle=oracle, max_cuts=60, tol=0.0), solver_tol=1e-9)
        for oracle in (Best, "exhaustive")
    )
    several.fit(problem.X, problem.y)
    one.fit(problem.X, problem.y)
    assert several.objective_ == pytest.approx(one.objective_, rel=1e-6)
    assert several.n_iter_ <= one.n_iter_
    assert [record.n_cuts for record in one.history_] == list(range(1, one.n_iter_ + 1))


def test_no_more_cuts_than_are_allowed():
    problem = small_problem(5, sizes=(5, 5), n_features=4, noise=2.0)
    planes = CuttingPlanes(oracle="several", max_cuts=3, tol=0.0)
    clf = ConvPropSVM(relaxation=planes).fit(problem.X, problem.y)
    assert clf.history_[-1].n_cuts == 3
    assert clf.stop_reason_ is StopReason.MAX_CUTS


@pytest.mark.parametrize("name", ["eigenvalue", "semidefinite"])
def test_a_bound_of_an_oracle_bounds_the_best_labeling(name):
    problem = small_problem(0, sizes=(4, 4), n_features=3)
    planes = CuttingPlanes(oracle=name, max_cuts=6)
    exact = CuttingPlanes(oracle="exhaustive", max_cuts=60, tol=0.0)
    here = ConvPropSVM(relaxation=planes).fit(problem.X, problem.y).bounds_
    reference = ConvPropSVM(relaxation=exact).fit(problem.X, problem.y)
    assert 0.0 < here.lower <= reference.relaxation_.upper * (1.0 + 1e-9)
