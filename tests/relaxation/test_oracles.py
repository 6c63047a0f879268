"""Oracles beside enumeration: feasible, never worse than what they improve, bounds that hold."""

from functools import partial

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from small_problems import all_labelings, small_problem, small_problems, without_a_share

from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.errors import InputError
from propcvx.history import StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.oracles import (
    ORACLES,
    AxesOracle,
    CoordinateOracle,
    DirectionSweepOracle,
    EigenvalueOracle,
    ExhaustiveOracle,
    MixedIntegerOracle,
    RandomDirectionsOracle,
    SemidefiniteOracle,
    check_cut,
    exact,
    violation_value,
)
from propcvx.relaxation.oracles.cut import best_cuts
from propcvx.relaxation.oracles.sorting import leading_dimensions

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")


@st.composite
def separation_problems(draw):
    """Features, feasible labelings and alpha; often with ties, zeros and known labels."""
    problem = draw(small_problems(max_size=4, max_bags=3, max_features=4))
    bags = without_a_share(problem.bags) if draw(st.booleans()) else problem.bags
    feasible = FeasibleLabelings.from_bags(bags, draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    values = st.sampled_from([0.0, 0.5, 1.0]) if draw(st.booleans()) else st.floats(0.0, 1.0)
    n = len(problem.X)
    alpha = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    features = np.round(problem.X) if draw(st.booleans()) else problem.X
    return features, feasible, alpha


def separation_problem(seed, epsilon=0.0, **options):
    """One of them without ties, a third of whose alphas are zero."""
    problem = small_problem(seed, **options)
    alpha = np.maximum(0.0, np.random.RandomState(seed).uniform(-0.3, 1.0, len(problem.X)))
    return problem.X, FeasibleLabelings.from_bags(problem.bags, epsilon), alpha


ALL = {**ORACLES, "semidefinite, low accuracy": partial(SemidefiniteOracle, tol=1e-2)}
NEAR = {"rel": 1e-9, "abs": 1e-12}
EXACT = {"exhaustive": NEAR, "sweep": NEAR, "mixed_integer": {"rel": 1e-4, "abs": 1e-5}}
"""Oracles that find the most violated labeling, and how near to its value."""


@pytest.mark.parametrize("name", ALL)
@examples(15)
@given(case=separation_problems())
def test_answers_are_feasible_and_bounds_hold(name, case):
    if name == "mixed_integer":
        pytest.importorskip("pyscipopt")
    features, feasible, alpha = case
    features = features[:, :2] if name == "sweep" else features
    largest = ExhaustiveOracle(features, feasible)(alpha).value
    cut = ALL[name](features, feasible)(alpha)
    check_cut(name, cut, features, feasible, alpha)
    assert cut.value <= largest * (1.0 + 1e-9)
    assert cut.bound >= largest * (1.0 - 1e-12)
    if name in EXACT:
        assert cut.value == pytest.approx(largest, **EXACT[name])
    if name in ("exhaustive", "sweep"):
        assert cut.bound == cut.value
    if name == "ascent":
        start = AxesOracle(features, feasible)(alpha).value
        assert cut.value >= start * (1.0 - 1e-12)


def test_sweep_over_directions_misses_no_arc():
    """More instances, and every labeling feasible: arcs so narrow that half of them do not do."""
    for seed in range(30):
        case = separation_problem(seed, 0.5, sizes=(5, 4), noise=3.0)
        largest = ExhaustiveOracle(*case[:2])(case[2]).value
        assert DirectionSweepOracle(*case[:2])(case[2]).value == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("tol", [1e-6, 0.9])
def test_mixed_integer_oracle_is_exact_at_every_scale(scale, tol):
    pytest.importorskip("pyscipopt")
    X, feasible, alpha = separation_problem(4, 0.2, sizes=(6, 5), n_features=4, noise=3.0)
    largest = ExhaustiveOracle(scale * X, feasible)(alpha).value
    cut = MixedIntegerOracle(scale * X, feasible, tol=tol)(alpha)
    assert cut.value <= largest * (1.0 + 1e-9) <= cut.bound * (1.0 + 2e-9)
    if tol == 1e-6:
        assert cut.value == pytest.approx(largest, rel=1e-6)
        assert cut.bound <= largest * (1.0 + 1e-4)


@examples(30)
@given(case=separation_problems())
def test_coordinate_oracle_is_exact_in_largest_coordinate(case):
    """Proposition 3: it maximizes the l-infinity norm, here against all labelings."""
    features, feasible, alpha = case
    labeling = CoordinateOracle(features, feasible, features)(alpha).labeling
    norms = np.abs((all_labelings(feasible) * alpha) @ features).max(axis=1)
    assert np.abs((labeling * alpha) @ features).max() == pytest.approx(norms.max())


@pytest.mark.parametrize("oracle", [ExhaustiveOracle, DirectionSweepOracle])
def test_oracles_work_in_chunks(oracle, monkeypatch):
    X, feasible, alpha = separation_problem(1, 0.2, sizes=(6, 4))
    whole = oracle(X, feasible)(alpha)
    monkeypatch.setattr(exact, "CHUNK", 7)
    chunked = oracle(X, feasible)(alpha)
    assert chunked.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_array_equal(chunked.labeling, whole.labeling)


@pytest.mark.parametrize("seed", range(3))
def test_eigenvalue_bound_equals_trust_region_bound(seed):
    """Of all y with the sums of the bags and the norm of a labeling, none is above it."""
    X, feasible, alpha = separation_problem(seed, sizes=(5, 4), n_features=3)
    bags, random = feasible.bags, np.random.RandomState(seed)
    share = bags.membership.toarray() / bags.sizes[:, None]
    center = share.T @ (2.0 * feasible.lower - bags.sizes)
    radius, free = np.sqrt(9.0 - center @ center), np.eye(9) - bags.membership.T @ share
    largest = 0.0
    for _ in range(20):  # ascent on the sphere from random points
        y = center + radius * unit(free @ random.randn(9))
        for _ in range(500):
            y = center + radius * unit(free @ (alpha * (X @ (X.T @ (alpha * y)))))
        largest = max(largest, violation_value(X, y, alpha))
    bound = EigenvalueOracle(X, feasible)(alpha).bound
    assert bound >= largest * (1.0 - 1e-12)
    assert bound == pytest.approx(largest, rel=1e-3)
    semidefinite = SemidefiniteOracle(X, feasible, tol=1e-8)(alpha).bound
    norm = np.linalg.norm(alpha[:, None] * X, 2)
    assert semidefinite * (1.0 - 1e-5) <= bound <= 4.5 * norm**2 * (1.0 + 1e-9)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_more_random_directions_are_not_worse():
    X, feasible, alpha = separation_problem(2, sizes=(6, 6, 6), n_features=5)

    def value(**options):
        return RandomDirectionsOracle(X, feasible, **options)(alpha).value

    assert value(n_directions=20) == value(n_directions=20)
    assert len({value(n_directions=5, random_state=seed) for seed in range(10)}) > 1
    largest = ExhaustiveOracle(X, feasible)(alpha).value
    assert value(n_directions=2000) == pytest.approx(largest, rel=1e-9)
    with pytest.raises(InputError, match="n_directions must be a whole number"):
        value(n_directions=0)


# --- several cuts a round -----------------------------------------------------------------------


def test_several_cuts_are_distinct_and_most_violated():
    X, feasible, alpha = separation_problem(3)
    labelings = all_labelings(feasible)
    cut = best_cuts(np.vstack([labelings, labelings]), alpha[:, None] * X, 4)
    values = np.sort([violation_value(X, y, alpha) for y in labelings])[::-1]
    answer = [violation_value(X, y, alpha) for y in (cut.labeling, *cut.others)]
    np.testing.assert_allclose(answer, values[:4])


def test_no_more_cuts_than_are_allowed():
    problem = small_problem(5, sizes=(5, 5), n_features=4, noise=2.0)
    planes = CuttingPlanes(oracle="several", max_cuts=3, tol=0.0)
    clf = ConvPropSVM(1.0, relaxation=planes).fit(problem.X, problem.y)
    assert clf.history_[-1].n_cuts == 3
    assert clf.stop_reason_ is StopReason.MAX_CUTS


# --- what the coordinate oracle looks along ---------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(1, 6), st.floats(0.05, 1.0))
@examples(30)
def test_leading_dimensions_keep_just_variance_asked_for(seed, n, r, variance):
    features = np.random.RandomState(seed).randn(n, r)
    before = features.copy()
    dimensions = leading_dimensions(features, variance, 2000)
    np.testing.assert_array_equal(features, before)
    total, kept = np.sum(features**2), np.sum(dimensions**2, axis=0)
    assert kept.sum() >= variance * total * (1 - 1e-9)
    assert kept[:-1].sum() < variance * total
    assert (np.diff(kept) <= 1e-9).all()
    off = dimensions.T @ dimensions - np.diag(kept)
    assert np.abs(off).max() <= 1e-9 * total
    values = np.linalg.eigvalsh(features @ features.T)[::-1]
    np.testing.assert_allclose(kept, values[: len(kept)], atol=1e-9 * total)
