"""Ecological regression: its closed form, its units, and the strength of its ridge."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_problems import small_problem

from propcvx import EcologicalRegression, bag_proportions, bag_target
from propcvx.errors import InputError, UnreliableIntervalWarning
from propcvx.estimators.ecological import STRENGTHS, Posterior

PROBLEM = small_problem(0, sizes=(3, 5, 8, 4, 6, 9), n_features=3, noise=0.7)
SIZES = PROBLEM.bags.sizes.astype(float)


def by_normal_equations(X, y, weights, lam):
    """The plane of the weighted ridge regression, the bias not penalized."""
    codes = y["bag"]
    same = codes == np.unique(codes)[:, None]
    means, shares = same @ X / same.sum(axis=1)[:, None], same @ y["proportion"] / same.sum(axis=1)
    rows = np.column_stack([means, np.ones(len(means))])
    penalty = lam * np.diag(np.append(np.ones(X.shape[1]), 0.0))
    return np.linalg.solve((rows.T * weights) @ rows + penalty, (rows.T * weights) @ shares)


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 0.3, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("bag_weights", ["size", "uniform"])
def test_ecological_regression_is_ridge_on_means(ridge, scale, bag_weights):
    X, weights = scale * PROBLEM.X, SIZES if bag_weights == "size" else np.ones(6)
    model = EcologicalRegression(ridge=ridge, bag_weights=bag_weights).fit(X, PROBLEM.y)
    means = PROBLEM.bags.means_of(X)
    centered = means - weights @ means / weights.sum()
    scatter = (centered.T * weights) @ centered
    lam = ridge * np.trace(scatter @ scatter) / np.trace(scatter)
    *w, b = by_normal_equations(X / scale, PROBLEM.y, weights, lam / scale**2)
    assert_allclose(scale * model.coef_[0], w, rtol=1e-6, atol=1e-9 * np.abs(w).max())
    assert model.intercept_[0] == pytest.approx(b - 0.5, rel=1e-6)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("rank", [2, 9])
def test_evidence_equals_normal_model(rank, n_classes):
    """Of the differences between bags, which b leaves alone, by dense covariances."""
    random = np.random.RandomState(0)
    means, p, weights = random.randn(7, rank), random.rand(7, n_classes), random.uniform(1, 9, 7)
    p = p if n_classes == 1 else p / p.sum(axis=1, keepdims=True)
    ridges, free, expected = np.array([1e-3, 0.7, 50.0]), max(n_classes - 1, 1), []
    differences = np.eye(7)[1:] - np.eye(7)[:-1]
    for ridge in ridges:
        covariance = differences @ (np.diag(1.0 / weights) + means @ means.T / ridge)
        covariance = covariance @ differences.T
        seen = differences @ p
        missed = np.sum(seen * np.linalg.solve(covariance, seen))
        logs = 6 * np.log(missed) + np.linalg.slogdet(covariance)[1]
        expected.append(-0.5 * free * logs)
    centered = means - weights @ means / weights.sum()
    evidence = Posterior.from_means(centered, p, weights, 7, ridges).log_evidence(ridges)
    assert_allclose(np.diff(evidence), np.diff(expected), rtol=1e-9)


@pytest.mark.parametrize("n_features", [3, 40])
def test_hyperplanes_are_drawn_from_posterior_of_normal_model(n_features):
    problem = small_problem(1, sizes=(4,) * 24, n_features=n_features)
    weights = problem.bags.sizes.astype(float)
    model = EcologicalRegression(ridge=0.5).fit(problem.X, problem.y)
    random = np.random.RandomState(0)
    drawn = [model.posterior_.draw(random) for _ in range(10_000)]
    planes = np.array([np.append(w[0], b) for w, b in drawn])
    fitted, rows = np.append(model.coef_, model.intercept_), problem.bags.means_of(problem.X)
    rows = np.column_stack([rows, np.ones(24)])
    penalty = 0.5 * model.posterior_.unit * np.diag(np.append(np.ones(n_features), 0.0))
    inverse = np.linalg.inv((rows.T * weights) @ rows + penalty)
    missed = weights @ np.square(rows @ fitted + 0.5 - problem.bags.proportions)
    missed += fitted @ penalty @ fitted
    covariance = inverse * missed / (24 - 3)
    deviations = np.sqrt(covariance.diagonal())
    assert np.abs(planes.mean(axis=0) - fitted).max() < 0.04 * deviations.max()
    off = (np.cov(planes.T) - covariance) / np.outer(deviations, deviations)
    assert np.abs(off).max() < 0.1


def test_rates_are_drawn_with_two_classes_and_linear_kernel():
    model = EcologicalRegression().fit(PROBLEM.X, PROBLEM.y)
    shares = model.sample_probabilities(PROBLEM.X, random_state=0)
    assert_allclose(model.sample_probabilities(PROBLEM.X, random_state=0), shares)
    w, b = model.posterior_.draw(np.random.RandomState(0))
    scores = PROBLEM.X @ w[0] + b[0]
    values = np.maximum(np.column_stack([-scores, scores]) + 0.5, 1.0 / 8.0)
    assert_allclose(shares, values[:, 1] / values.sum(axis=1))
    curved = model.sample_probabilities(PROBLEM.X, random_state=0, logistic=True)
    assert_allclose(curved, model._calibration.probabilities(scores)[:, 1])
    table = np.random.RandomState(0).dirichlet(np.ones(3), size=6)
    model.fit(PROBLEM.X, bag_target(PROBLEM.y["bag"], table))
    assert not hasattr(model, "sample_probabilities")
    assert not hasattr(
        EcologicalRegression(kernel="rbf").fit(PROBLEM.X, PROBLEM.y), "sample_probabilities"
    )
    assert not hasattr(EcologicalRegression(), "sample_probabilities")


def test_ridge_is_most_probable_strength():
    model = EcologicalRegression().fit(PROBLEM.X, PROBLEM.y)
    assert model.ridge_ in STRENGTHS
    alone = EcologicalRegression(ridge=model.ridge_).fit(PROBLEM.X, PROBLEM.y)
    assert_allclose(model.coef_, alone.coef_)
    few = EcologicalRegression().fit(PROBLEM.X[:2], bag_target([0, 1], [0.3, 0.6]))
    assert 0.2 < few.ridge_ < 0.4
    with pytest.raises(InputError, match="ridge must be a finite number at least 0 or 'evidence'"):
        EcologicalRegression(ridge="auto").fit(PROBLEM.X, PROBLEM.y)


def test_ecological_regression_values_are_proportions():
    model = EcologicalRegression(ridge=0.0).fit(PROBLEM.X, PROBLEM.y)
    scores, shares = model.decision_function(PROBLEM.X), model.predict_proba(PROBLEM.X)
    inside = np.abs(scores) < 0.5 - 1.0 / 8.0  # of six bags and two classes
    assert_allclose(shares[inside, 1], scores[inside] + 0.5)
    assert (np.diff(shares[np.argsort(scores), 1]) > 0.0).all()
    assert np.abs(shares - 0.5).max() < 0.5 - 1.0 / 16.0
    table = np.random.RandomState(0).dirichlet(np.ones(3), size=6)
    y = bag_target(PROBLEM.y["bag"], table)
    many = EcologicalRegression().fit(PROBLEM.X, y)
    assert_allclose(many.decision_function(PROBLEM.X).sum(axis=1) + 1.5, 1.0)
    assert_allclose(many.predict_proba(PROBLEM.X).sum(axis=1), 1.0)


def test_repeated_bags_count_as_observations():
    """Households and a question of yes or no: nine kinds of bags, and a thousand of them."""
    random = np.random.RandomState(0)
    X, bags = random.randint(0, 2, size=(2000, 1)), np.repeat(np.arange(1000), 2)
    labels = np.where(random.uniform(size=2000) < 0.3 + 0.4 * X[:, 0], 1, -1)
    y = bag_target(bags, bag_proportions(labels, bags))
    equal = EcologicalRegression().fit(X, y)
    near = EcologicalRegression().fit(X + 1e-7 * random.normal(size=X.shape), y)
    assert equal.posterior_.n_bags == 1000
    assert_allclose(equal.coef_, near.coef_, rtol=1e-4)
    slopes = [equal.posterior_.draw(np.random.RandomState(seed))[0] for seed in range(300)]
    assert np.std(slopes) == pytest.approx(0.03, rel=0.15)  # the standard error of least squares


def test_values_wider_than_labels_are_calibrated():
    random = np.random.RandomState(0)
    X, y = random.randn(120, 3), bag_target(np.arange(120) // 20, random.rand(6))
    model = EcologicalRegression(ridge=0.0).fit(X, y)
    scores = model.decision_function(X)
    assert np.std(scores) > 0.5
    assert_allclose(model.predict_proba(X), model._calibration.probabilities(scores))


def test_large_weights_of_bags_warn():
    weights = np.full(len(PROBLEM.y), 50.0)
    with pytest.warns(UnreliableIntervalWarning, match="counts 6 bags as 300.* by their mean"):
        EcologicalRegression().fit(PROBLEM.X, PROBLEM.y, sample_weight=weights)
    with warnings.catch_warnings():  # a label of weight 50 is 50 labels
        warnings.simplefilter("error")
        EcologicalRegression().fit(PROBLEM.X, PROBLEM.labels, sample_weight=weights)
