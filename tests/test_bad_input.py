"""The table of mistakes, and input that is odd but usable."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from mistakes import IDS, MISTAKES, X, Y
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propcvx.svm.kernels
from propcvx import (
    AlterPropSVM,
    BagMeans,
    ConvPropSVM,
    InvCal,
    MeanMap,
    bag_target,
    group_shares,
)
from propcvx.errors import (
    CutBagWarning,
    GramMatrixMemoryError,
    IllPosedWarning,
    InputError,
    PropCVXError,
    SolverError,
)

CLASSES = [MeanMap, InvCal, AlterPropSVM, ConvPropSVM]
each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)

CASES = {
    f"{name}-{cls}".rstrip("-"): case
    for entries in MISTAKES.values()
    for name, mistake in entries.items()
    for cls, case in mistake.cases()
}


# --- the table --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_mistakes(case):
    with pytest.raises(case.error) as raised:
        case.call()
    assert type(raised.value) is case.error
    assert case.says(str(raised.value)), str(raised.value)


def test_errors_are_in_the_tree_or_from_scikit_learn():
    assert issubclass(InputError, ValueError)
    errors = {case.error for case in CASES.values()}
    assert {e for e in errors if not issubclass(e, PropCVXError)} == {ValueError, NotFittedError}


LONG = np.linspace(0.1, 0.9, 10_000).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: MeanMap().fit(X, Y, sample_weight=LONG),
        lambda: MeanMap(bag_weights=LONG).fit(X, Y),
        lambda: MeanMap(lam=LONG).fit(X, Y),
        lambda: ConvPropSVM(epsilon=LONG).fit(X, Y),
        lambda: AlterPropSVM(init=LONG).fit(X, Y),
        lambda: bag_target(IDS, np.eye(2), classes=LONG),
        lambda: bag_target([LONG, LONG], LONG),
        lambda: BagMeans([[0.0], [1.0]], [0.5, 0.7], LONG),
    ],
    ids=["sample_weight", "bag_weights", "lam", "epsilon", "init", "classes", "bags", "sizes"],
)
def test_a_message_shows_some_of_a_long_list(call):
    with pytest.raises(InputError) as raised:
        call()
    assert len(str(raised.value)) < 1000


# --- what needs a machine or an answer of its own ---------------------------------------------


@each_class
def test_the_linear_kernel_needs_a_gram_matrix_only_for_libsvm(monkeypatch, cls):
    memory = SimpleNamespace(available=1)
    monkeypatch.setattr(propcvx.checks.psutil, "virtual_memory", lambda: memory)
    if cls is AlterPropSVM:
        with pytest.raises(GramMatrixMemoryError, match="use a solver that needs none"):
            cls(solver="libsvm").fit(X, Y)
        cls(solver="osqp").fit(X, Y)
    else:
        cls().fit(X, Y)


# --- odd, but usable --------------------------------------------------------------------------


@each_class
@pytest.mark.filterwarnings("ignore::propcvx.errors.IllPosedWarning")
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_bags_of_one_and_the_same_class_predict_it(cls, share):
    clf = cls().fit(X, bag_target(IDS, [share, share]))
    scores = clf.decision_function(X)
    assert np.isfinite(scores).all()
    if cls is AlterPropSVM:  # there is no separator then, and no error
        assert clf.objective_ == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(clf.coef_, 0.0, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), 1 if share else -1)
    np.testing.assert_array_equal(clf.labeling_, 1.0 if share else -1.0)


@each_class
def test_features_without_any_information_are_answered(cls):
    clf = cls().fit(np.zeros((8, 3)), Y)
    assert len(set(clf.decision_function(np.zeros((4, 3))))) == 1


def test_one_bag_is_too_little_for_mean_map():
    with pytest.warns(IllPosedWarning, match="hardly determine .* .condition number inf"):
        assert MeanMap().fit(X, bag_target([0] * 8, [0.5])).condition_number_ == np.inf


def test_positives_alone_may_be_known():
    """Where they are not all of a bag's positives, 0 can only mean unknown."""
    for labels in ([1, 1] + 22 * [0], [1, 0, 0, 0, 1, 0, 0, 0] * 3, [1, 1, 0, 0, 0, 0, 0, 0] * 3):
        assert (bag_target(IDS * 3, [0.5, 0.25], labels)["label"] == labels).all()
    assert (bag_target(IDS, [1.0, 1.0], [1] * 8)["label"] == 1).all()
    assert (bag_target(IDS, [0.0, 0.0], [0] * 8)["label"] == 0).all()


@pytest.mark.parametrize("keyed", [dict, pd.Series])
def test_bag_weights_may_be_keyed_by_bag(keyed):
    """Other bags than those of a fold may be there, and an order is not needed."""
    bags, shares = ["c"] * 3 + ["a"] * 3 + ["b"] * 2, {"c": 1 / 3, "a": 2 / 3, "b": 0.5}
    y = bag_target(bags, shares)
    weights = keyed({"c": 1.0, "z": 9.0, "b": 2.0, "a": 5.0})
    for given, rows in (([5.0, 2.0, 1.0], slice(8)), ([5.0, 2.0], slice(3, 8))):
        named, listed = (MeanMap(bag_weights=w).fit(X[rows], y[rows]) for w in (weights, given))
        np.testing.assert_array_equal(named.class_means_, listed.class_means_)


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
def test_piqp_prints_nothing(capfd):
    """PIQP of bounds that are none."""
    with pytest.raises(SolverError, match=r"piqp failed .* bound of .* scale the problem"):
        AlterPropSVM(1e31, 1e31, init="random", annealing=False, solver="piqp").fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda: group_shares(Y[1:], np.arange(7)),
        lambda: make_pipeline(StandardScaler(), InvCal()).fit(X[1:], Y[1:]),
        lambda: cross_val_score(InvCal(), X, Y.copy(), cv=4),
    ],
    ids=["decorated", "pipeline", "search"],
)
def test_a_warning_points_at_the_callers_line(call):
    with pytest.warns(CutBagWarning) as caught:
        call()
    assert caught[0].filename == __file__
