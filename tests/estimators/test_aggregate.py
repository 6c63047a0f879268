"""The likelihood of counts, against enumeration and an independent maximization."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from effort import first
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import clone
from small_problems import small_problem

from propcvx import (
    AggregateLogisticRegression,
    Bags,
    bag_proportions,
    bag_target,
    binary_target,
    group_rates,
)
from propcvx.errors import IllPosedWarning, InaccurateSolutionWarning, InputError
from propcvx.estimators.aggregate import RIDGES
from propcvx.labelings.given_counts import CountLikelihood, class_likelihood

SEEDS = first(12, range(40))


def problem_of(seed):
    """Bags of up to 12, with proportions from 0 to 1; some features are integers, so have ties."""
    random = np.random.RandomState(seed)
    sizes = random.randint(1, 13, size=random.randint(2, 5))
    bags = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = random.normal(size=(len(bags), random.randint(1, 4)))
    X = 10.0 ** random.randint(-2, 3) * (np.round(X) if seed % 3 == 0 else X)
    shares = random.choice([0.0, 1.0, 0.5, 0.3, 0.62], size=len(sizes))
    shares[:2] = 0.4, 0.9  # so that they differ
    weights = random.choice([0.5, 1.0, 3.0], size=len(bags)) if seed % 2 else np.ones(len(bags))
    return X, bag_target(bags, shares), weights, 10.0 ** random.uniform(-6.0, 6.0)


def log_likelihood(scores, bags, lower, upper):
    """Of each range of counts, by a recursion over the instances of a bag."""
    logs, positive, negative = [], log_expit(scores), log_expit(-scores)
    for bag in range(len(lower)):
        counts = np.array([0.0])
        for i in np.flatnonzero(bags == bag):
            more, same = np.append(-np.inf, counts), np.append(counts, -np.inf)
            counts = np.logaddexp(more + positive[i], same + negative[i])
        logs.append(np.logaddexp.reduce(counts[lower[bag] : upper[bag] + 1]))
    return np.array(logs)


def loss_of(X, y, weights, ridge):
    """Minus the penalized log-likelihood as a function of the plane, from its definition."""
    (lower, upper), bags = Bags.from_target(y).count_range("rounding"), y["bag"]
    of_bags = np.bincount(bags, weights) / np.bincount(bags)
    mean = np.average(X, axis=0, weights=weights)
    variance = np.average(np.square(X - mean).sum(axis=1), weights=weights)

    def loss(plane):
        logs = log_likelihood(X @ plane[:-1] + plane[-1], bags, lower, upper)
        return 0.5 * ridge * variance * plane[:-1] @ plane[:-1] - of_bags @ logs

    return loss, np.sqrt(variance), mean


@pytest.mark.parametrize("seed", SEEDS)
def test_likelihood_and_means_equal_enumeration(seed):
    y, size = problem_of(seed)[1], (0.1, 1.0, 30.0, 1000.0)[seed // 3 % 4]
    bags, scores = Bags.from_target(y), size * np.random.RandomState(seed).normal(size=len(y))
    epsilon = ("rounding", "sampling", 0.5)[seed % 3]
    value, means = CountLikelihood.from_bags(bags, bags, epsilon).value_and_means(scores)
    lower, upper = bags.count_range(epsilon)
    expected = 0.0
    for bag, inside in enumerate(bags.members):
        labels = np.array(list(product([0, 1], repeat=len(inside))))
        counts = labels.sum(axis=1)
        labels = labels[(lower[bag] <= counts) & (counts <= upper[bag])]
        logs = log_expit(np.where(labels, 1, -1) * scores[inside]).sum(axis=1)
        expected += logsumexp(logs)
        assert_allclose(means[inside], np.exp(logs - logsumexp(logs)) @ labels, atol=1e-9)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_fit_equals_independent_maximization(seed):
    X, y, weights, ridge = problem_of(seed)
    model = AggregateLogisticRegression(ridge).fit(X, y, weights)
    loss, unit, mean = loss_of(X, y, weights, ridge)
    plane = np.append(model.coef_, model.intercept_)
    assert model.objective_ == pytest.approx(loss(plane), rel=1e-8)
    scaled = np.append(model.coef_ * unit, model.intercept_ + model.coef_ @ mean)

    def of_scaled(z):
        return loss(np.append(z[:-1] / unit, z[-1] - z[:-1] @ mean / unit))

    better = minimize(of_scaled, scaled, method="L-BFGS-B", jac="3-point")
    assert better.fun >= model.objective_ * (1.0 - 1e-7)
    start = minimize(of_scaled, np.zeros(len(scaled)), method="L-BFGS-B", jac="3-point")
    mirrored = np.append(-start.x[:-1], start.x[-1])
    second = minimize(of_scaled, mirrored, method="L-BFGS-B", jac="3-point")
    best = min(start.fun, second.fun)
    assert best == pytest.approx(model.objective_, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", first(3, range(6)))
def test_held_out_ridge_has_largest_likelihood_of_held_out_bags(seed):
    problem = small_problem(seed, sizes=(6, 3, 5, 4) * 4, n_features=2)
    X, bags = problem.X - problem.X.mean(axis=0), problem.y["bag"]
    X = X / np.sqrt(X.var(axis=0).sum())
    lower, upper = Bags.from_target(problem.y).count_range("rounding")
    norms = [np.linalg.norm(X[bags == bag].mean(axis=0)) for bag in range(16)]
    fold_of, total = np.argsort(np.argsort(norms)) % 3, dict.fromkeys(RIDGES, 0.0)

    def loss(plane, ridge, weights):
        logs = log_likelihood(X @ plane[:-1] + plane[-1], bags, lower, upper)
        return 0.5 * ridge * plane[:-1] @ plane[:-1] - weights @ logs

    for ridge, fold in product(RIDGES, range(3)):
        plane = minimize(loss, np.zeros(3), (ridge, 1.0 * (fold_of != fold))).x
        total[ridge] -= loss(plane, 0.0, 1.0 * (fold_of == fold))
    chosen = AggregateLogisticRegression().fit(problem.X, problem.y).ridge_
    assert total[chosen] == pytest.approx(max(total.values()), abs=1e-2)


def test_bag_without_weight_changes_no_ridge():
    problem = small_problem(0, sizes=(4, 5, 6, 3) * 3, n_features=2)
    has_weight = problem.y["bag"] != 5
    model = AggregateLogisticRegression()
    without = clone(model).fit(problem.X[has_weight], problem.y[has_weight])
    model.fit(problem.X, problem.y, np.where(has_weight, 1.0, 0.0))
    assert model.ridge_ == without.ridge_
    assert_allclose(model.decision_function(problem.X), without.decision_function(problem.X))


@pytest.mark.parametrize("seed", first(6, range(20)))
def test_likelihood_of_two_classes_depends_on_difference_of_scores(seed):
    bags = Bags.from_target(problem_of(seed)[1])
    scores = 10.0 ** (seed % 4 - 1) * np.random.RandomState(seed).normal(size=(len(bags.labels), 2))
    other = replace(bags, proportions=1.0 - bags.proportions)
    both = [CountLikelihood.from_bags(each, each, "rounding") for each in (bags, other)]
    value, slope = class_likelihood(both, scores)
    expected, of_difference = both[0].value_and_slope(scores[:, 0] - scores[:, 1])
    assert value == pytest.approx(expected, rel=1e-9)
    assert_allclose(slope, np.outer(of_difference, [1.0, -1.0]), atol=1e-8)


@pytest.mark.parametrize("seed", first(6, range(20)))
def test_fit_to_three_classes_equals_independent_maximization(seed):
    X, y, weights, ridge = problem_of(seed)
    bags = y["bag"]
    shares = np.random.RandomState(seed).dirichlet([0.5, 1.0, 2.0], len(np.unique(bags)))
    y = bag_target(bags, shares)
    model = AggregateLogisticRegression(ridge).fit(X, y, weights)
    targets = [binary_target(y, name) for name in model.classes_]
    ranges = [Bags.from_target(target).count_range("rounding") for target in targets]
    of_bags = np.bincount(bags, weights) / np.bincount(bags)
    _, unit, mean = loss_of(X, targets[0], weights, ridge)

    def loss(plane):
        plane = plane.reshape(-1, 3)
        scores, value = (X - mean) / unit @ plane[:-1] + plane[-1], 0.0
        for number, (lower, upper) in enumerate(ranges):
            odds = scores[:, number] - logsumexp(np.delete(scores, number, axis=1), axis=1)
            value += 0.5 * of_bags @ log_likelihood(odds, bags, lower, upper)
        return 0.5 * ridge * np.square(plane[:-1]).sum() - value

    plane = np.vstack([model.coef_.T * unit, model.intercept_ + model.coef_ @ mean]).ravel()
    assert model.objective_ == pytest.approx(loss(plane), rel=1e-8)
    better = minimize(loss, plane, method="L-BFGS-B", jac="3-point")
    assert better.fun >= model.objective_ * (1.0 - 1e-6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(model, "sample_probabilities")


@pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize("seed", first(2, range(6)))
def test_alternating_never_decreases_and_ends_at_same_maximum(seed):
    problem = small_problem(seed, sizes=(3, 5, 8, 6), n_features=2)
    direct = AggregateLogisticRegression().fit(problem.X, problem.y)
    loop = AggregateLogisticRegression(solver="clarabel", tol=1e-10, max_iter=2000)
    loop.fit(problem.X, problem.y)
    assert len(loop.history_) == loop.n_iter_ > 3
    assert np.diff(loop.history_.objectives).max() <= 1e-7
    assert loop.objective_ == pytest.approx(direct.objective_, rel=1e-5)
    assert_allclose(loop.predict_proba(problem.X), direct.predict_proba(problem.X), atol=0.01)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_scale_and_origin_change_no_probability(scale, kernel):
    problem = small_problem(1, sizes=(5, 8, 6, 9), n_features=3)
    model = AggregateLogisticRegression(kernel=kernel)
    first_fit = clone(model).fit(problem.X, problem.y).predict_proba(problem.X)
    moved = scale * (problem.X + 5.0)
    assert_allclose(clone(model).fit(moved, problem.y).predict_proba(moved), first_fit, atol=1e-5)


def test_tolerance_allows_all_counts_within_it():
    problem = small_problem(5, sizes=(8, 8, 8))
    y = bag_target(problem.y["bag"], [0.25, 0.5, 0.7])
    with pytest.raises(InputError, match="no labeling has the proportions"):
        AggregateLogisticRegression(epsilon=0.0).fit(problem.X, y)
    exact, wide, free = (
        AggregateLogisticRegression(epsilon=epsilon).fit(problem.X, y)
        for epsilon in ("rounding", "sampling", 1.0)
    )
    assert exact.objective_ > wide.objective_ > free.objective_ == pytest.approx(0.0, abs=1e-9)
    assert_allclose(free.coef_, 0.0, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_equal_proportions_give_one_probability_and_warning(share):
    problem = small_problem(0, sizes=(4, 8, 8))
    with pytest.warns(IllPosedWarning, match="same proportion"):
        model = AggregateLogisticRegression().fit(
            problem.X, bag_target(problem.y["bag"], [share] * 3)
        )
    assert not model.coef_.any()
    assert model.predict_proba(problem.X)[:, 1] == pytest.approx((20 * share + 1) / 22)
    assert not hasattr(model, "sample_probabilities")


def test_too_few_iterations_warn():
    problem = small_problem(0, sizes=(6, 9, 7))
    with pytest.warns(InaccurateSolutionWarning, match="lbfgs stopped"):
        model = AggregateLogisticRegression(max_iter=2).fit(problem.X, problem.y)
    assert model.n_iter_ == 2


def test_covariance_with_all_labels_is_that_of_logistic_regression():
    problem = small_problem(6, sizes=(1,) * 400, n_features=2)
    model = AggregateLogisticRegression().fit(problem.X, problem.labels)
    design = np.column_stack([problem.X, np.ones(400)])
    p, s2 = model.predict_proba(problem.X)[:, 1], problem.X.var(axis=0).sum()
    penalty = model.ridge_ * s2 * np.diag([1.0, 1.0, 0.0])
    curvature = np.linalg.inv(design.T @ ((p * (1.0 - p))[:, None] * design) + penalty)
    scores = ((problem.labels > 0) - p)[:, None] * design
    expected = curvature @ (scores.T @ scores * 400 / 397 + penalty) @ curvature
    assert_allclose(model.covariance_, expected, rtol=0.02, atol=1e-3 * expected.max())
    drawn = np.mean([model.sample_probabilities(problem.X, seed) for seed in range(400)], axis=0)
    assert_allclose(drawn, p, atol=0.05)


@pytest.mark.thorough
def test_group_intervals_have_nominal_coverage():
    covered = []
    for seed in range(15):
        random = np.random.RandomState(seed)
        X, bags = random.normal(size=(400, 2)), np.repeat(np.arange(50), 8)
        labels = np.where(random.uniform(size=400) < expit(X @ [1.5, 0.0] - 0.5), 1, -1)
        y = bag_target(bags, bag_proportions(labels, bags))
        model = AggregateLogisticRegression().fit(X, y)
        shares = group_rates(y, X[:, 0] > 0, model, X, y_true=labels, n_draws=50).groups
        covered.append(shares["true"].between(shares["ci_low"], shares["ci_high"]).to_numpy())
    assert 0.75 <= np.mean(covered) <= 0.99
