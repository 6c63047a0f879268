"""conv-pSVM is a function of the data: not of the order of rows, the solver, or bags' names."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale
from small_problems import small_problem

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.datasets import proportions_of, random_bags
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.oracles import ORACLES

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("oracle", [name for name in ORACLES if name != "mixed_integer"])
def test_a_fit_does_not_depend_on_the_order_of_rows_or_the_names_of_bags(oracle, ties):
    for seed in range(2):
        problem, random = small_problem(seed, sizes=(5, 4, 4)), np.random.RandomState(seed)
        X, index = problem.X.round() if ties else problem.X, problem.bags.index
        shares, names = problem.bags.proportions, random.permutation(3)
        clf = ConvPropSVM(
            intercept="none", relaxation=CuttingPlanes(oracle=oracle, max_cuts=6, tol=0.0)
        )
        here = clf.fit(X, bag_target(index, shares)).decision_function(X)
        order = random.permutation(len(X))
        moved = bag_target(names[index[order]], dict(zip(names, shares, strict=True)))
        there = clf.fit(X[order], moved).decision_function(X)
        np.testing.assert_allclose(there, here, atol=1e-5 * np.abs(here).max())


def test_labels_do_not_leak_through_the_order_of_rows():
    """With ties broken by the order, accuracies were 0.93, 0.93, 0.70 and 0.88."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = minmax_scale(X, (-1, 1)), 2 * y - 1
    ids = random_bags(y, 32, random_state=0)
    clf = ConvPropSVM(relaxation=CuttingPlanes(max_cuts=4, tol=0.0))
    here, there = (
        clf.fit(X[order], bag_target(ids[order], proportions_of(y, ids))).decision_function(X)
        for order in (np.arange(len(y)), np.argsort(y, kind="stable"))
    )
    np.testing.assert_allclose(there, here, atol=1e-4 * np.abs(here).max())


def values_after_each_cut(features, feasible, master, solver, tol, oracle="ascent"):
    """Until violations and decreases are no more than what solvers leave of them."""
    values = []
    CuttingPlanes(master=master, oracle=oracle, max_cuts=6, tol=1e-6).relax(
        features,
        feasible,
        1.0,
        solver=solver,
        tol=tol,
        on_round=lambda reached: values.append(reached.value),
    )
    return np.array(values)


CERTIFIED = [
    ("epigraph", "mkl_interior_point", 1e-9),
    ("epigraph", "ecos", 1e-9),
    ("group", "clarabel", 1e-9),
    ("group", "ecos", 1e-9),
    ("epigraph", "scs", 1e-8),
]


@cache
def random_set(seed, oracle):
    """Features, feasible labelings, and the values that every solver is compared with."""
    problem = small_problem(seed, sizes=(6,) * 6, n_features=4)
    feasible = FeasibleLabelings.of(problem.bags, 0.0)
    values = values_after_each_cut(problem.X, feasible, "epigraph", "clarabel", 1e-9, oracle)
    return problem.X, feasible, values


@pytest.mark.parametrize("oracle", ["ascent", "coordinate"])
@pytest.mark.parametrize(("master", "solver", "tol"), CERTIFIED)
def test_every_solver_takes_the_same_path_on_random_sets(master, solver, tol, oracle):
    for seed in range(2):
        features, feasible, reference = random_set(seed, oracle)
        values = values_after_each_cut(features, feasible, master, solver, tol, oracle)
        assert len(values) == len(reference)
        np.testing.assert_allclose(values, reference, rtol=0.01)


@pytest.mark.parametrize("size", [8, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["heart", pytest.param("vote", marks=pytest.mark.slow)])
def test_every_solver_takes_the_same_path_on_real_sets(name, size, data_dir, monkeypatch):
    from propcvx.datasets.real import load_real

    monkeypatch.setenv("PROPCVX_DATA", str(data_dir))
    X, y = load_real(name)
    ids = random_bags(y, size, random_state=0)
    feasible = FeasibleLabelings.of(Bags.from_target(bag_target(ids, proportions_of(y, ids))), 0.0)
    features = X - X.mean(axis=0)
    reference = values_after_each_cut(features, feasible, "epigraph", "clarabel", 1e-9)
    for master, solver, tol in CERTIFIED[:2]:
        values = values_after_each_cut(features, feasible, master, solver, tol)
        np.testing.assert_allclose(values, reference, rtol=0.01)


# --- what they stand on -----------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_alphas_are_at_their_bounds_whoever_solves(scale):
    """One of alpha and its slack is 0 exactly, in whatever units the features are."""
    problem = small_problem(3, sizes=(8,) * 5, n_features=3)
    feasible, C = FeasibleLabelings.of(problem.bags, 0.0), 1.0 / scale**2
    planes, statuses = CuttingPlanes(master="epigraph", oracle="several", max_cuts=2), []
    for solver in ("mkl_interior_point", "clarabel", "ecos"):
        answer = planes.relax(scale * problem.X, feasible, C, solver=solver, tol=1e-9)
        statuses.append(np.where(answer.alpha == 0.0, -1, np.where(answer.alpha == C, 1, 0)))
        assert answer.upper - answer.value <= 1e-5 * answer.value
    np.testing.assert_array_equal(statuses[1], statuses[0])
    np.testing.assert_array_equal(statuses[2], statuses[0])
    assert {-1, 0, 1} == set(statuses[0].tolist())
