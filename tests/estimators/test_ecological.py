"""Ecological regression: its closed form, its units, and the error on bags left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_problems import small_problem

from propcvx import BagMeans, EcologicalRegression, bag_target, fit_means
from propcvx.errors import IllPosedWarning, InputError
from propcvx.estimators.ecological import STRENGTHS, left_out_errors, scatter_unit

PROBLEM = small_problem(0, sizes=(3, 5, 8, 4, 6, 9), n_features=3, noise=0.7)
SIZES = PROBLEM.bags.sizes.astype(float)


def by_normal_equations(X, y, weights, lam):
    """The plane of the weighted ridge regression, the bias not penalised."""
    codes = y["bag"]
    same = codes == np.unique(codes)[:, None]
    means, shares = same @ X / same.sum(axis=1)[:, None], same @ y["proportion"] / same.sum(axis=1)
    rows = np.column_stack([means, np.ones(len(means))])
    penalty = lam * np.diag(np.append(np.ones(X.shape[1]), 0.0))
    return np.linalg.solve((rows.T * weights) @ rows + penalty, (rows.T * weights) @ shares)


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 0.3, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("bag_weights", ["size", "bag"])
def test_it_is_the_ridge_regression_of_the_shares_on_the_bag_means(ridge, scale, bag_weights):
    X, weights = scale * PROBLEM.X, SIZES if bag_weights == "size" else np.ones(6)
    model = EcologicalRegression(ridge=ridge, bag_weights=bag_weights).fit(X, PROBLEM.y)
    means = PROBLEM.bags.means_of(X)
    centred = means - weights @ means / weights.sum()
    scatter = (centred.T * weights) @ centred
    lam = ridge * np.trace(scatter @ scatter) / np.trace(scatter)
    *w, b = by_normal_equations(X / scale, PROBLEM.y, weights, lam / scale**2)
    assert_allclose(scale * model.coef_[0], w, rtol=1e-6, atol=1e-9 * np.abs(w).max())
    assert model.intercept_[0] == pytest.approx(b - 0.5, rel=1e-6)


@pytest.mark.parametrize("solver", ["piqp", "clarabel", "osqp", "ecos"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_general_solvers_agree_with_the_closed_form(solver, kernel):
    closed, other = (
        EcologicalRegression(kernel=kernel, solver=name).fit(PROBLEM.X, PROBLEM.y)
        for name in ("auto", solver)
    )
    assert closed.history_[0].solver == "ridge"
    assert other.history_[0].solver == solver
    scores = closed.decision_function(PROBLEM.X)
    assert_allclose(other.decision_function(PROBLEM.X), scores, atol=1e-4)
    assert other.objective_ == pytest.approx(closed.objective_, rel=1e-6)
    assert other.objective_ >= closed.objective_ * (1.0 - 1e-12)


def test_the_unit_sees_neither_rotations_nor_columns_without_scatter():
    rows, random = np.random.RandomState(0).randn(6, 3), np.random.RandomState(1)
    rotation = np.linalg.qr(random.randn(3, 3))[0]
    unit = scatter_unit(rows)
    assert scatter_unit(rows @ rotation) == pytest.approx(unit)
    assert scatter_unit(np.column_stack([rows, np.zeros((6, 5))])) == pytest.approx(unit)
    assert scatter_unit(10.0 * rows) == pytest.approx(100.0 * unit)
    assert scatter_unit(np.zeros((6, 3))) == 1.0


def test_errors_on_bags_left_out_are_those_of_fits_without_them():
    random = np.random.RandomState(0)
    means, p, weights = random.randn(7, 3), random.uniform(size=7), random.uniform(1, 9, size=7)
    centred, root = means - weights @ means / weights.sum(), np.sqrt(weights)
    ridges = np.array([1e-3, 0.7, 50.0])
    errors = left_out_errors(root[:, None] * centred, root * p, root, ridges)
    for ridge, error in zip(ridges, errors, strict=True):
        penalty, total = ridge * np.diag([1.0, 1.0, 1.0, 0.0]), 0.0
        for k in range(7):
            rest = np.arange(7) != k
            rows = np.column_stack([means, np.ones(7)])
            A = (rows[rest].T * weights[rest]) @ rows[rest] + penalty
            plane = np.linalg.solve(A, (rows[rest].T * weights[rest]) @ p[rest])
            total += weights[k] * (p[k] - rows[k] @ plane) ** 2
        assert error == pytest.approx(total, rel=1e-9)


def test_a_ridge_chosen_by_bags_left_out():
    model = EcologicalRegression(ridge="loo").fit(PROBLEM.X, PROBLEM.y)
    assert model.ridge_ in STRENGTHS
    alone = EcologicalRegression(ridge=model.ridge_).fit(PROBLEM.X, PROBLEM.y)
    assert_allclose(model.coef_, alone.coef_)
    with pytest.raises(InputError, match="ridge must be a number of at least 0 or 'loo'"):
        EcologicalRegression(ridge="auto").fit(PROBLEM.X, PROBLEM.y)


def test_values_are_shares():
    model = EcologicalRegression(ridge=0.0).fit(PROBLEM.X, PROBLEM.y)
    scores, shares = model.decision_function(PROBLEM.X), model.predict_proba(PROBLEM.X)
    assert_allclose(shares[:, 1], np.clip(scores + 0.5, 0.0, 1.0), atol=1e-12)
    table = np.random.RandomState(0).dirichlet(np.ones(3), size=6)
    y = bag_target(PROBLEM.y["bag"], table)
    many = EcologicalRegression().fit(PROBLEM.X, y)
    assert_allclose(many.decision_function(PROBLEM.X).sum(axis=1) + 1.5, 1.0)
    assert_allclose(many.predict_proba(PROBLEM.X).sum(axis=1), 1.0)


def test_equal_shares_have_no_direction():
    y = bag_target(PROBLEM.y["bag"], np.full(6, 0.4))
    with pytest.warns(IllPosedWarning, match="all bags have the same proportion"):
        model = EcologicalRegression().fit(PROBLEM.X, y)
    assert_allclose(model.coef_, 0.0, atol=1e-12)
    assert model.intercept_[0] == pytest.approx(-0.1)


def test_a_table_of_means_is_enough():
    model = EcologicalRegression().fit(PROBLEM.X, PROBLEM.y)
    table = BagMeans(PROBLEM.bags.means_of(PROBLEM.X), PROBLEM.bags.proportions, SIZES)
    of_table = fit_means(EcologicalRegression(), table)
    assert_allclose(of_table.coef_, model.coef_, rtol=1e-9)
    assert_allclose(of_table.predict_proba(PROBLEM.X), model.predict_proba(PROBLEM.X), rtol=1e-9)
