"""Advice to scale columns, and the record of what a loop did."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from pandas import DataFrame
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propcvx import (
    AlterPropSVM,
    BagMeans,
    EcologicalRegression,
    bag_proportions,
    bag_target,
    fit_means,
)
from propcvx.errors import UnscaledWarning
from propcvx.estimators.scaling import scaling_advice, warn_if_unscaled
from propcvx.history import History, Round, StopReason


def test_history_converts_to_table_and_pickles():
    history = History([Round(3.0, "osqp", "optimal", 0.1, n_flips=4)] * 2, StopReason.CONVERGED)
    assert DataFrame(history)["n_flips"].tolist() == [4, 4]
    copied = pickle.loads(pickle.dumps(history))
    assert (copied, copied.stop_reason) == (history, StopReason.CONVERGED)
    assert all(reason.advice for reason in StopReason)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize(
    ("scales", "narrowest", "widest"),
    [((1, 1e4), "2", "2e+04"), ((1e-4, 1), "0.0002", "2"), ((1e6, 1e6), "2e+06", "2e+06")],
)
def test_columns_with_unlike_ranges_warn(scales, narrowest, widest, as_given):
    X = as_given(np.array([[-1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]) * scales)
    assert f"from {narrowest} to {widest}; scale them first" in scaling_advice(X)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_columns_with_similar_ranges_do_not_warn(as_given):
    X = np.array([[0.0, 7.0, 0.1], [300.0, 7.0, 0.9]])
    assert scaling_advice(as_given(X)) == ""
    assert scaling_advice(as_given(np.full((3, 2), 1e9))) == ""


@pytest.mark.parametrize("method", [EcologicalRegression(), AlterPropSVM(kernel="rbf")])
def test_unscaled_columns_warn_once(method):
    random = np.random.RandomState(0)
    bags = np.repeat(np.arange(10), 8)
    labels = np.where(random.normal(size=80) + 0.3 * (bags - 4.5) > 0, 1, -1)
    X = np.column_stack([random.uniform(18, 90, size=80), labels + random.normal(size=80)])
    X[:, 1] = X[:, 1] > 0
    y = bag_target(bags, bag_proportions(labels, bags))
    with pytest.warns(UnscaledWarning, match=r"ranges from 1 to 7\d.*, so that the widest decide"):
        method.fit(X, y)
    table = BagMeans(X[:10] * [10.0, 0.1], list(np.linspace(0.1, 0.9, 10)), sizes=[8] * 10)
    with pytest.warns(UnscaledWarning, match="decide"):
        fit_means(EcologicalRegression(), table)
    make_pipeline(StandardScaler(), method).fit(X, y)
    EcologicalRegression().fit(sp.csr_array(X), y)
    centered = StandardScaler().fit_transform(random.normal(size=(80, 9)))
    warn_if_unscaled(centered * 0.5 ** np.arange(9))  # as principal components
