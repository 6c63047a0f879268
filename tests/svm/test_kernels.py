"""Kernels: the Gram matrix, its factor, and the features of new instances."""

import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from methods import each_method
from sklearn.base import clone
from small_problems import small_problem

from propcvx import AlterPropSVM, ConvPropSVM, InvCal, MeanMap, bag_target, certify
from propcvx.errors import GramMatrixMemoryError, IllPosedWarning, InputError
from propcvx.svm.kernels import BLOCK, FeatureMap, Kernel, check_gram


def histogram_intersection(X, Z):
    return np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)


KERNELS = {
    "linear": Kernel(),
    "rbf": Kernel("rbf", gamma=0.3),
    "exponential": Kernel("exponential", gamma=0.3),
    "poly": Kernel("poly", gamma=0.3, degree=2, coef0=0.7),
    "callable": Kernel(histogram_intersection),
}


@pytest.fixture
def X():
    return np.random.RandomState(0).uniform(size=(10, 3))


def factored(gram):
    return FeatureMap.fit(gram, Kernel("precomputed"))


@pytest.mark.parametrize("order", [slice(None), [3, 3, 9, 0, 3, 5, 0, 1]])
@pytest.mark.parametrize("name", KERNELS)
def test_features_factorize_gram_matrix(name, order, X):
    """In any order of the instances, some of which may be equal."""
    kernel, X = KERNELS[name], X[order]
    features = FeatureMap.fit(X, kernel).features
    gram = kernel(X, X)
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-9)
    if name != "linear":
        assert features.shape[1] == np.linalg.matrix_rank(gram)
        np.testing.assert_allclose(factored(gram).features, features)
    if name != "callable":
        sparse = FeatureMap.fit(sp.csr_array(X), kernel).features
        np.testing.assert_allclose(sparse, features)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5))
@examples(30)
def test_low_rank_gram_has_few_features(seed, n, rank):
    gram = low_rank(np.random.RandomState(seed), n, rank)
    feature_map = factored(gram)
    features = feature_map.features
    assert features.shape == (n, min(n, rank))
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-8)
    weights = np.random.RandomState(seed + 1).randn(min(n, rank))
    dual = feature_map.dual_coefficients(weights)
    assert np.count_nonzero(dual) <= min(n, rank)
    np.testing.assert_allclose(gram @ dual, features @ weights, atol=1e-7)


def test_gram_matrix_larger_than_block_equals_kernel():
    """Of low rank, full rank, and not semidefinite in the last rows alone."""
    random, n = np.random.RandomState(0), 2 * BLOCK + 3
    for gram in (low_rank(random, n, 5), low_rank(random, n, 5) + np.eye(n)):
        features = factored(gram).features
        np.testing.assert_allclose(features @ features.T, gram, atol=1e-8)
    gram = low_rank(random, n, 5)
    gram[-1, -2] = gram[-2, -1] = gram[-1, -2] + 100.0
    with pytest.raises(InputError, match="semidefinite; got eigenvalues from -"):
        factored(gram)


def low_rank(random, n, rank):
    factor = random.randn(n, rank)
    return factor @ factor.T


# What is refused, beside the mistakes in mistakes.py


def test_rounding_errors_in_gram_matrix_are_forgiven():
    gram = low_rank(np.random.RandomState(0), 6, 2) + 1e-12 * np.random.RandomState(1).randn(6, 6)
    checked = check_gram(gram, 6)
    np.testing.assert_array_equal(checked, checked.T)
    assert factored(gram).features.shape == (6, 2)


def test_gram_matrix_in_single_precision_is_accepted():
    """Its rounding errors make eigenvalues of -1e-8 times the largest, and Cholesky unstable."""
    X = np.random.RandomState(0).uniform(size=(300, 2))
    gram = Kernel("rbf")(X, X)
    rounded = gram.astype(np.float32).astype(float)
    assert np.linalg.eigvalsh(rounded)[0] < -1e-9
    features = factored(rounded).features
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-6)


@pytest.mark.parametrize("kernel", [Kernel("precomputed"), Kernel(lambda X, Z: X)])
def test_given_gram_matrix_is_not_changed(kernel, X):
    gram = KERNELS["rbf"](X, X)
    before = gram.copy()
    FeatureMap.fit(gram, kernel)
    np.testing.assert_array_equal(gram, before)


def bagged(n):
    problem = small_problem(2, (10,) * (n // 10), n_features=5)
    return problem.X, problem.y


@pytest.mark.parametrize("cls", [AlterPropSVM, ConvPropSVM, InvCal, MeanMap])
def test_method_beyond_memory_limit_raises(cls, monkeypatch):
    memory = SimpleNamespace(available=cls.gram_matrices * 8 * 40**2)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    cls(kernel="rbf").fit(*bagged(40))
    memory.available -= 1
    with pytest.raises(GramMatrixMemoryError, match=r"of 40 instances .*Nystroem"):
        cls(kernel="rbf").fit(*bagged(40))


@each_method()
def test_method_stays_below_requested_memory(method):
    """Beside Gram matrices, of 2 MB each, there may be a hundred vectors and what is imported."""
    X, y = bagged(500)
    clf = clone(method).set_params(kernel="rbf")
    tracemalloc.start()
    try:
        clf.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= clf.gram_matrices * 8 * 500**2 + 100 * 8 * 500


# Bounds and fits are of the Gram matrix, not of its factor alone


def large_instance(factor):
    X = np.random.RandomState(1).randn(6, 2)
    X[0] *= factor
    return X


def near_twins(apart):
    X = np.random.RandomState(2).randn(6, 2)
    X[1:3] = X[0] + [[apart, 0.0], [0.0, apart]]
    return X


@given(st.integers(0, 10_000), st.sampled_from([1e-9, 3e-6, 5e-6, 1e-5, 1e-3]))
@examples(30)
def test_omitted_part_of_gram_matrix_is_bounded(seed, distance):
    random = np.random.RandomState(seed)
    X = np.repeat(random.randn(10, 2), 2, axis=0) + distance * random.randn(20, 2)
    gram = Kernel("rbf")(X, X) * np.outer(*[np.exp(random.uniform(-9, 9, 20))] * 2)
    feature_map = factored(gram)
    size = np.sqrt(gram.diagonal())
    left = gram - feature_map.features @ feature_map.features.T
    assert (np.abs(left) <= 2e-10 * np.outer(size, size)).all()
    rounding = 1e-14 * gram.diagonal().max()
    assert np.linalg.eigvalsh(left)[-1] <= feature_map.omitted_norm + rounding
    assert feature_map.omitted_norm <= np.trace(left) + rounding


def test_instance_at_distance_keeps_gaussian_kernel_semidefinite():
    X, y = bagged(40)
    X[0] *= 1e8
    expected = np.exp(-0.2 * np.square(X - X[1]).sum(axis=1))
    np.testing.assert_allclose(Kernel("rbf", 0.2)(X, X)[:, 1], expected, rtol=1e-12)
    InvCal(kernel="rbf", gamma=0.2).fit(X, y)


def test_inexact_factor_lowers_bound_and_warns():
    X = near_twins(5e-6)
    y, options = bag_target(np.arange(6) // 3, [1 / 3, 2 / 3]), {"kernel": "rbf", "gamma": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", IllPosedWarning)
        certify(X, y, 1.0, bounds="enumeration", **options)
        twice = np.repeat(large_instance(1.0), 2, axis=0)
        ConvPropSVM(1e8, **options).fit(twice, bag_target([0, 1] * 6, [0.5, 0.5]))
    with pytest.warns(IllPosedWarning, match=r"omit .* by 0\.9\d+ with C = 1e\+08\."):
        assert not certify(X, y, 1e8, bounds="enumeration", **options).is_optimal


def test_warning_names_instances_below_rounding_errors():
    random = np.random.RandomState(0)
    gram = np.diag([1e12, *np.ones(9)])
    noise = random.randn(10, 10)
    noise[0] = noise[:, 0] = 0.0
    with pytest.warns(IllPosedWarning, match=r"in \d of 10 instances the features differ"):
        factored(gram + noise + noise.T)


@pytest.mark.parametrize("cls", [AlterPropSVM, ConvPropSVM, InvCal, MeanMap])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_fitted_estimator_copies_input_arrays(cls, kernel):
    X, y = bagged(20)
    X = Kernel("rbf")(X, X) if kernel == "precomputed" else X
    few = {"n_init": 1} if cls is AlterPropSVM else {}
    new, clf = X.copy(), cls(kernel=kernel, **few)
    before = clf.fit(X, y).decision_function(new)
    X *= 0.0
    np.testing.assert_array_equal(clf.decision_function(new), before)
