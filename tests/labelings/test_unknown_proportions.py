"""Bags without a proportion: from large-margin clustering over the transductive SVM to the SVM."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from methods import each_method
from sklearn.base import clone
from sklearn.svm import SVC
from small_problems import small_problem

from propcvx import AlterPropSVM, Bags, bag_error, bag_target
from propcvx.bags.metrics import least_error_bias


def partly_known(seed, sizes=(3, 4, 2), without=(1,), known=0.3, n_features=2):
    """A small problem in which the proportions of some bags are not known, some labels are."""
    problem = small_problem(seed, sizes, n_features, known)
    shares = problem.bags.proportions.astype(object)
    shares[list(without)] = None
    y = bag_target(problem.y["bag"], shares, problem.y["label"])
    return problem.X, y, problem.labels


def test_none_means_unknown_proportion():
    series = pd.Series({"a": 0.5, "b": np.nan})
    told = series.astype(object).where(series.notna(), None)
    for shares in ([0.5, None], {"b": None, "a": 0.5}, np.array([0.5, None]), told):
        y = bag_target("aab", shares)
        assert np.isnan(y["proportion"]).tolist() == [False, False, True]
        bags = Bags.from_target(y)
        assert bags.has_proportion.tolist() == [True, False]


# One bag of all instances


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_fit_to_all_labels_equals_svm(kernel, C):
    X, y, labels = partly_known(1, (12, 8), (0, 1), known=1.0)
    svc = SVC(C=C, kernel=kernel, gamma=0.5, tol=1e-8).fit(X, labels)
    clf = AlterPropSVM(C, kernel=kernel, gamma=0.5, random_state=0, solver_tol=1e-9)
    by_labels = clone(clf).fit(X, labels)
    clf.fit(X, y)
    assert np.array_equal(clf.transduction_, labels)
    assert by_labels.objective_ == pytest.approx(clf.objective_, rel=1e-7)
    coefficients = np.zeros(20)
    coefficients[svc.support_] = svc.dual_coef_[0]
    gram = X @ X.T if kernel == "linear" else clf.feature_map_.kernel(X, X)
    dual = np.abs(coefficients).sum() - 0.5 * coefficients @ gram @ coefficients
    assert clf.objective_ == pytest.approx(dual, rel=1e-7)


RANDOM = AlterPropSVM(1.0, 10.0, init="random", n_init=50, random_state=0)


# What goes by proportions


def test_metrics_ignore_bags_without_proportion():
    y = bag_target([0, 0, 1, 1, 1], [0.5, None])
    for rest in product((-1, 1), repeat=3):
        assert bag_error(y, [1, 1, *rest]) == 0.5
        assert bag_error(y, [1, -1, *rest], bag_weights="size") == 0.0
    scores = np.array([3.0, 1.0, 100.0, -50.0, 7.0])
    assert least_error_bias(scores, Bags.from_target(y)) == -2.0
    none = bag_target([0, 0], [None], [1, 0])
    assert least_error_bias(scores[:2], Bags.from_target(none)) == 0.0


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@each_method("second_moments", "ecological", random=RANDOM)
def test_every_method_learns_with_few_proportions(method):
    random = np.random.RandomState(0)
    labels = np.repeat([-1, 1], 20)
    X = random.normal(size=(40, 2)) + 4.0 * labels[:, None]
    bags = np.concatenate([np.tile([0, 0, 1, 1, 1], 4), np.tile([0, 1, 1, 2, 2], 4)])
    y = bag_target(bags, {0: 1 / 3, 1: None, 2: 1.0})
    model = clone(method).fit(X, y)
    assert np.mean(model.predict(X) == labels) >= 0.95
    labeled = bag_target(np.zeros(40), [None], labels * (np.arange(40) % 8 == 0))
    model = clone(method).fit(X, labeled)
    assert np.mean(model.predict(X) == labels) >= 0.95
    assert np.mean((model.predict_proba(X)[:, 1] > 0.5) == (labels > 0)) >= 0.95
