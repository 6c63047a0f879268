"""The average of methods: what is kept, and that it is their average."""

import numpy as np
import pytest
from sklearn.base import clone

from propcvx import ConvPropSVM, InvCal
from propcvx.experiments.averaging import AveragedMethods, averaged_methods, not_worse
from propcvx.experiments.evaluation import Method
from propcvx.experiments.methods import cheaper
from propcvx.experiments.programs import sample_in_bags


@pytest.fixture(scope="module")
def sample():
    return sample_in_bags("generated", 120, 8, 0)


@pytest.fixture(scope="module")
def methods():
    return [
        Method("InvCal", InvCal(), {"C_p": [0.1, 10.0], "epsilon": [0.0, 0.1]}),
        Method("conv-pSVM", ConvPropSVM(), {"C": [0.1, 1.0]}),
    ]


@pytest.fixture(scope="module")
def fitted(sample, methods):
    return AveragedMethods(methods, random_state=0).fit(sample.X, sample.y)


def test_what_a_standard_error_rules_out():
    best = np.array([0.1, 0.2, 0.1, 0.0])
    noisy = best + np.array([0.4, -0.3, 0.3, -0.2])  # 0.05 worse, standard error 0.17
    surely = best + 0.01  # always worse
    errors = np.array([noisy, best, surely, best])
    assert not_worse(errors).tolist() == [True, True, False, True]


def test_the_order_of_the_combinations_does_not_matter():
    random = np.random.default_rng(0)
    errors = random.random((30, 12))
    order = random.permutation(30)
    assert np.array_equal(not_worse(errors[order]), not_worse(errors)[order])


def test_a_combination_that_is_kept_is_no_worse_than_the_best(fitted):
    errors, kept = np.concatenate(fitted.errors_), np.concatenate(fitted.kept_)
    assert kept[np.argmin(errors.mean(axis=1))]
    assert errors.shape == (6, 15)  # four of InvCal and two of conv-pSVM, on each of the 15 bags
    excess = errors - errors[np.argmin(errors.mean(axis=1))]
    spread = np.sqrt(np.var(excess, axis=1, ddof=1) / 15)
    assert np.array_equal(kept, excess.mean(axis=1) <= spread + 1e-12)


def test_the_score_is_the_mean_over_methods_of_the_mean_over_parameters(fitted, sample, methods):
    means = []
    for method, kept in zip(methods, fitted.kept_, strict=True):
        names = list(method.grid)
        scores = []
        for k, values in enumerate(
            np.stack(np.meshgrid(*method.grid.values(), indexing="ij"), -1).reshape(-1, len(names))
        ):
            model = clone(method.estimator).set_params(**dict(zip(names, values, strict=True)))
            score = model.fit(sample.X, sample.y).decision_function(sample.X)
            if kept[k]:
                scores.append(score / np.sqrt(np.mean(score**2)))
        if scores:
            means.append(np.mean(scores, axis=0))
    assert np.allclose(fitted.decision_function(sample.X), np.mean(means, axis=0), atol=1e-6)


def test_a_clone_fits_the_same(fitted, sample):
    again = clone(fitted).fit(sample.X, sample.y)
    assert np.array_equal(again.decision_function(sample.X), fitted.decision_function(sample.X))


def test_labels_are_signs_and_far_better_than_chance(sample):
    model = averaged_methods(0)
    model.set_params(methods=[cheaper(method) for method in model.methods], n_splits=2)
    labels = model.fit(sample.X, sample.y).predict(sample.X)
    assert np.array_equal(labels, np.where(model.decision_function(sample.X) > 0, 1, -1))
    assert np.mean(labels == sample.labels) > 0.75
