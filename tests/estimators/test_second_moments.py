"""Second moments inside bags: their expectation, the program, the direction, and its sign."""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from small_problems import small_problem

from propcvx import Bags, SecondMoments, bag_proportions, bag_target
from propcvx.datasets import equal_proportion_bags
from propcvx.errors import IllPosedWarning
from propcvx.estimators.second_moments import pooled_covariances, sign_of
from propcvx.programs import second_moments
from propcvx.solvers import solve
from propcvx.svm.training import set_weights

SPREAD = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 0.5]])
"""A root of the covariance within both classes."""


def in_equal_bags(n, share, size, known=0, apart=(1.5, 0.5, -1.0)):
    """Two classes of equal covariance in bags of one proportion, some labels known, all labels."""
    random = np.random.RandomState(0)
    labels = np.where(random.permutation(n) < round(share * n), 1, -1)
    X = random.randn(n, 3) @ SPREAD + np.outer(labels > 0, apart)
    chosen, bags = equal_proportion_bags(labels, size, 0)
    X, labels = X[chosen], labels[chosen]
    given = np.where(np.arange(len(labels)) < known, labels, 0)
    return X, bag_target(bags, bag_proportions(labels, bags), given), labels


# What the covariances are


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 0.5], [1.0, 0.0, 3.0, 1.0]], ids=str)
@pytest.mark.parametrize("positives", [1, 2])
def test_expected_covariance_equals_model(positives, weights):
    """Over all ways that the labels and two equally likely points of each class can fall."""
    points = {1: np.array([[0.0, 1.0], [2.0, 2.0]]), -1: np.array([[1.0, -3.0], [0.0, -1.0]])}
    labelings = [y for y in product((-1, 1), repeat=4) if y.count(1) == positives]
    covariances = []
    for labeling, which in product(labelings, product((0, 1), repeat=4)):
        rows = np.array([points[y][i] for y, i in zip(labeling, which, strict=True)])
        bags = set_weights(Bags.from_target(bag_target(np.zeros(4), [positives / 4])), weights)
        inside, between, _ = pooled_covariances(rows, bags)
        covariances.append(inside[0])
    share, (positive, negative) = positives / 4, (points[1], points[-1])
    within = share * np.cov(positive.T, ddof=0) + (1 - share) * np.cov(negative.T, ddof=0)
    delta = positive.mean(axis=0) - negative.mean(axis=0)
    expected = within + positives * (4 - positives) / 12 * np.outer(delta, delta)
    assert_allclose(np.mean(covariances, axis=0), expected, atol=1e-12)
    assert between[0] == positives * (4 - positives) / 12


def test_covariances_are_pooled_by_size_and_proportion():
    sizes, shares = (2, 2, 3, 3, 1, 1, 1, 1), [0.5, 0.5, 1 / 3, 2 / 3, 1.0, 1.0, 0.0, 0.4]
    bags = np.repeat(np.arange(8), sizes)
    rows = np.random.RandomState(0).randn(len(bags), 2)
    covariances, between, freedom = pooled_covariances(
        rows, Bags.from_target(bag_target(bags, shares))
    )
    covs = [np.cov(rows[bags == k].T) for k in range(4)]
    known = np.cov(rows[np.isin(bags, (4, 5))].T)  # two positives are one bag
    expected = [(covs[0] + covs[1]) / 2, known, covs[2], covs[3], np.cov(rows.T)]
    share, n = np.mean(np.array(shares)[bags]), len(bags)
    assert freedom.tolist() == [2, 1, 2, 2, n - 1]
    assert_allclose(covariances, expected)
    assert_allclose(between, [1 / 2, 0, 1 / 3, 1 / 3, share * (1 - share) * n / (n - 1)])


# The program


def covariances(seed, groups, r=4):
    roots = np.random.RandomState(seed).randn(groups, 6, r)
    return np.einsum("gij,gik->gjk", roots, roots)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_equals_general_solvers(solver, seed):
    pytest.importorskip(solver)
    d, weights = np.array([0.5, 0.3, 0.25, 0.1]), np.array([1.0, 4.0, 2.0, 9.0])
    program = second_moments(covariances(seed, 4), d, weights)
    closed, other = (solve(program, name, tol=1e-10) for name in ("auto", solver))
    assert closed.solver == "eigenvalues"
    values = np.linalg.eigvalsh(closed.variables["M"])
    assert values[0] == pytest.approx(0.0, abs=1e-9)  # the constraint is active
    assert values[-1] > 1.0
    for ours, theirs in ((closed.variables, other.variables), (closed.duals, other.duals)):
        for name in ours:
            assert_allclose(ours[name], theirs[name], atol=1e-3 * np.abs(theirs[name]).max())
    assert other.value == pytest.approx(closed.value, rel=1e-6)


# The direction


@pytest.mark.parametrize(("share", "size"), [(0.5, 2), (0.25, 4), (0.5, 8), (0.75, 8)])
def test_second_moments_find_fisher_direction(share, size):
    X, y, labels = in_equal_bags(20000, share, size, known=10)
    model = SecondMoments().fit(X, y)
    fisher = np.linalg.solve(SPREAD.T @ SPREAD, [1.5, 0.5, -1.0])
    cosine = model.coef_[0] @ fisher / np.linalg.norm(model.coef_) / np.linalg.norm(fisher)
    assert cosine > 0.99
    all_labels = LinearDiscriminantAnalysis().fit(X, labels)
    assert np.mean(model.predict(X) == labels) > all_labels.score(X, labels) - 0.01
    values = np.linalg.eigvalsh(model.solution_.variables["M"])
    assert values[-2] < 0.2 * values[-1]
    assert np.var(model.decision_function(X)) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::propcvx.errors.IllPosedWarning")
def test_number_of_components_is_limited_by_rank_and_bags():
    X, y, _ = in_equal_bags(200, 0.5, 4)

    def number_of(given, rows=slice(None), weights=None):
        model = SecondMoments(n_components=given).fit(X[rows], y[rows], weights)
        return len(model.solution_.variables["M"])

    assert [number_of(given) for given in (None, 1, 2, 7, "auto")] == [3, 1, 2, 3, 3]
    assert [number_of("auto", y["bag"] < bags) for bags in (8, 19, 20, 29)] == [1, 1, 2, 2]
    assert number_of("auto", weights=np.where(y["bag"] < 14, 1e-3, 0.0)) == 1


# Its sign


def test_one_known_label_determines_sign():
    X, y, labels = in_equal_bags(4000, 0.5, 4)
    scores = np.abs(X @ np.linalg.solve(SPREAD.T @ SPREAD, [1.5, 0.5, -1.0]))
    far = int(np.argmax(scores))
    for label in (1, -1):
        y["label"] = np.where(np.arange(len(y)) == far, label, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = SecondMoments().fit(X, y)
        assert model.sign_from_ == "labels"
        assert model.predict(X[far : far + 1]) == label
        assert (np.mean(model.predict(X) == labels) > 0.8) == (label == labels[far])


def test_correlated_proportions_determine_sign():
    scores = np.array([-3.0, -1.0, -2.0, 0.0, 1.0, 1.0, 0.0, 4.0])
    y = bag_target(np.arange(8) // 2, [0.0, 0.5, 0.5, 1.0])
    random = np.random.RandomState(0)
    for sign in (1.0, -1.0):  # of four bags two standard errors are 1
        assert sign_of(sign * scores, Bags.from_target(y))[1] == "skewness"
    bags = np.arange(50) // 2
    shares = random.choice([0.0, 0.5, 1.0], 25)
    noise = random.randn(50)
    many = Bags.from_target(bag_target(bags, shares))
    for sign in (1.0, -1.0):
        result = sign_of(sign * (shares[bags] - shares.mean() + 0.1 * noise), many)
        assert result == (sign, "proportions")
    assert sign_of(noise, many)[1] == "skewness"


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_sign_by_skewness_warns(share):
    X, y, labels = in_equal_bags(20000, share, 4, apart=(3.0, 1.0, -2.0))
    with pytest.warns(IllPosedWarning, match="do not identify the positive side") as caught:
        model = SecondMoments().fit(X, y)
    assert len(caught) == 1
    assert model.sign_from_ == "skewness"
    assert np.mean(model.predict(X) == labels) > 0.9


@pytest.mark.parametrize(
    ("bags", "shares", "spread"),
    [
        pytest.param(np.zeros(12), [0.25], 1.0, id="one bag"),
        pytest.param(np.arange(12) % 3, [0.0] * 3, 1.0, id="one class"),
        pytest.param(np.arange(12), [0.25] * 12, 1.0, id="singleton bags"),
        pytest.param(np.arange(12) % 3, [0.25] * 3, 0.0, id="equal instances"),
    ],
)
def test_no_direction_predicts_one_class(bags, shares, spread):
    X = spread * small_problem(0, (4, 4, 4)).X + 1.0
    with pytest.warns(IllPosedWarning, match="do not differ more in any direction"):
        model = SecondMoments().fit(X, bag_target(bags, shares))
    assert set(model.predict(X)) == {-1}
    assert_allclose(model.coef_, 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 3.7])
def test_second_moments_warns_of_double_leading_eigenvalue(scale):
    square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    y = bag_target(np.repeat(np.arange(12), 2), np.full(12, 0.5))
    with pytest.warns(IllPosedWarning, match="two largest eigenvalues of M are equal"):
        SecondMoments(n_components=None).fit(scale * np.tile(square, (6, 1)), y)
