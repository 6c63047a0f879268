"""Leading dimensions: what the coordinate oracle looks along."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from propcvx.relaxation.oracles.sorting import leading_dimensions


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(1, 6), st.floats(0.05, 1.0))
@settings(max_examples=30)
def test_leading_dimensions_keep_just_the_variance_asked_for(seed, n, r, variance):
    features = np.random.RandomState(seed).randn(n, r)
    before = features.copy()
    dimensions = leading_dimensions(features, variance)
    np.testing.assert_array_equal(features, before)
    total, kept = np.sum(features**2), np.sum(dimensions**2, axis=0)
    assert kept.sum() >= variance * total * (1 - 1e-9)
    assert kept[:-1].sum() < variance * total
    assert (np.diff(kept) <= 1e-9).all()
    off = dimensions.T @ dimensions - np.diag(kept)
    assert np.abs(off).max() <= 1e-9 * total
    values = np.linalg.eigvalsh(features @ features.T)[::-1]
    np.testing.assert_allclose(kept, values[: len(kept)], atol=1e-9 * total)


def test_dimensions_of_equal_variance_are_orthogonal():
    """The Gram matrix I, whose eigenvalues are all the same."""
    dimensions = leading_dimensions(np.eye(60), 0.5)
    np.testing.assert_allclose(dimensions.T @ dimensions, np.eye(30), atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([(30, 6), (20, 20), (8, 30)]))
@settings(max_examples=20)
def test_order_and_rotation_change_signs_at_most(seed, shape):
    random = np.random.RandomState(seed)
    features, order = random.randn(*shape), random.permutation(shape[0])
    rotation = np.linalg.qr(random.randn(shape[1], shape[1]))[0]
    ours = leading_dimensions(features, 0.5)[order]
    theirs = leading_dimensions(features[order] @ rotation, 0.5)
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, signs * theirs, atol=1e-7)
