"""Kernels: the Gram matrix, its factor, and the features of new instances."""

import warnings
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from propcvx import kernels
from propcvx.errors import GramMatrixMemoryError, InputError
from propcvx.kernels import FeatureMap, Kernel, check_gram, leading_dimensions


def histogram_intersection(X, Z):
    return np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)


KERNELS = {
    "linear": (Kernel(), lambda x, z: x @ z),
    "rbf": (Kernel("rbf", gamma=0.3), lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2))),
    "exponential": (
        Kernel("exponential", gamma=0.3),
        lambda x, z: np.exp(-0.3 * np.sqrt(np.sum((x - z) ** 2))),
    ),
    "poly": (Kernel("poly", gamma=0.3, degree=2, coef0=0.7), lambda x, z: (0.3 * x @ z + 0.7) ** 2),
    "callable": (Kernel(histogram_intersection), lambda x, z: np.minimum(x, z).sum()),
}


@pytest.fixture
def X():
    return np.random.RandomState(0).uniform(size=(10, 3))


@pytest.fixture
def Z():
    return np.random.RandomState(1).uniform(size=(4, 3))


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_its_formula(name, X, Z):
    kernel, formula = KERNELS[name]
    np.testing.assert_allclose(kernel(X, Z), [[formula(x, z) for z in Z] for x in X])


@pytest.mark.parametrize("name", KERNELS)
def test_features_are_a_factor_for_training_and_new_instances(name, X, Z):
    kernel, _ = KERNELS[name]
    features = FeatureMap.fit(X, kernel)
    np.testing.assert_allclose(features.features @ features.features.T, kernel(X, X), atol=1e-9)
    np.testing.assert_allclose(features.transform(X), features.features, atol=1e-7)
    inner = features.transform(Z) @ features.features.T
    np.testing.assert_allclose(inner, kernel(Z, X), atol=1e-7)


def test_precomputed_is_the_kernel_it_was_computed_with(X, Z):
    kernel, _ = KERNELS["rbf"]
    ours, theirs = FeatureMap.fit(kernel(X, X), Kernel("precomputed")), FeatureMap.fit(X, kernel)
    np.testing.assert_allclose(ours.features, theirs.features)
    np.testing.assert_allclose(ours.transform(kernel(Z, X)), theirs.transform(Z), atol=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5))
@settings(max_examples=50)
def test_a_gram_matrix_of_low_rank_has_few_features(seed, n, rank):
    factor = np.random.RandomState(seed).randn(n, rank)
    features = FeatureMap.fit(factor @ factor.T, Kernel("precomputed"))
    assert features.features.shape == (n, min(n, rank))
    np.testing.assert_allclose(
        features.features @ features.features.T, factor @ factor.T, atol=1e-8
    )
    weights = np.random.RandomState(seed + 1).randn(min(n, rank))
    dual = features.to_dual @ weights
    np.testing.assert_allclose(factor @ factor.T @ dual, features.features @ weights, atol=1e-7)


def test_columns_of_features_are_by_size(X):
    norms = np.linalg.norm(FeatureMap.fit(X, Kernel("rbf", gamma=2.0)).features, axis=0)
    assert (np.diff(norms) <= 1e-9).all()


def test_sparse_instances(X):
    for name in ("linear", "rbf"):
        kernel, _ = KERNELS[name]
        dense, sparse = FeatureMap.fit(X, kernel), FeatureMap.fit(sp.csr_array(X), kernel)
        np.testing.assert_allclose(sparse.features, dense.features)
        np.testing.assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X))


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "gauss"}, r"one of \('linear', 'rbf'.*\) or a callable, got 'gauss'"),
        ({"gamma": 0.0}, "gamma must be a positive number, got 0.0"),
        ({"gamma": -1.0}, "gamma must be a positive number, got -1.0"),
        ({"gamma": np.nan}, "gamma must be a positive number, got nan"),
        ({"gamma": np.inf}, "gamma must be a positive number, got inf"),
        ({"degree": 0}, "degree must be at least 1, got 0"),
    ],
)
def test_kernel_options_that_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Kernel(**{"name": "poly", **options})


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), r"square, one row and column per instance \(2, 2\), got shape \(2, 3\)"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric, got entries that differ by 0.1 from"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "semidefinite, got eigenvalues from -1 to 3"),
        (-np.eye(2), "semidefinite, got eigenvalues from -1 to -1"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite, got NaN or infinity"),
        (np.array([[np.inf, 0.0], [0.0, 1.0]]), "finite, got NaN or infinity"),
        (np.zeros((2, 2)), "must not be zero"),
    ],
)
@pytest.mark.parametrize("how", ["precomputed", "callable"])
def test_gram_matrices_that_are_refused(gram, message, how):
    kernel = Kernel("precomputed") if how == "precomputed" else Kernel(lambda X, Z: gram)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=message):
            FeatureMap.fit(gram, kernel)


def test_rounding_errors_in_a_gram_matrix_are_forgiven():
    factor = np.random.RandomState(0).randn(6, 2)
    noise = 1e-12 * np.random.RandomState(1).randn(6, 6)
    gram = factor @ factor.T + noise
    checked = check_gram(gram, 6)
    np.testing.assert_array_equal(checked, checked.T)
    assert FeatureMap.fit(gram, Kernel("precomputed")).features.shape == (6, 2)


def test_a_gram_matrix_beyond_memory_is_never_computed(monkeypatch, X):
    asked = []

    def kernel(X, Z):
        asked.append(len(X))
        return X @ Z.T

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=3 * 8 * 10**2))
    FeatureMap.fit(X, Kernel(kernel))
    assert asked == [10]
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=3 * 8 * 99))
    with pytest.raises(GramMatrixMemoryError, match=r"of 10 instances .*Nystroem") as caught:
        FeatureMap.fit(X, Kernel(kernel))
    assert asked == [10]
    assert isinstance(caught.value, MemoryError)
    FeatureMap.fit(X, Kernel("linear"))


def test_the_memory_needed_is_told_in_gigabytes(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8e9))
    with pytest.raises(GramMatrixMemoryError, match=r"100,000 .* need 240.0 GB, 8.0 GB .*; wait."):
        kernels.check_gram_memory(100_000, "wait")


# Leading dimensions


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(1, 6), st.floats(0.05, 1.0))
@settings(max_examples=60)
def test_leading_dimensions_keep_just_the_variance_asked_for(seed, n, r, variance):
    features = np.random.RandomState(seed).randn(n, r)
    dimensions = leading_dimensions(features, variance)
    total, kept = np.sum(features**2), np.sum(dimensions**2, axis=0)
    assert kept.sum() >= variance * total * (1 - 1e-9)
    assert kept[:-1].sum() < variance * total
    assert (np.diff(kept) <= 1e-9).all()
    off = dimensions.T @ dimensions - np.diag(kept)
    assert np.abs(off).max() <= 1e-9 * total
    values = np.linalg.eigvalsh(features @ features.T)[::-1]
    np.testing.assert_allclose(kept, values[: len(kept)], atol=1e-9 * total)


def test_all_of_the_variance_is_the_whole_factor(X):
    dimensions = leading_dimensions(X, 1.0)
    np.testing.assert_allclose(dimensions @ dimensions.T, X @ X.T, atol=1e-10)
