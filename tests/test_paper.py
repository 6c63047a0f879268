"""What the paper says, on its own data."""

import numpy as np
import pytest

from propcvx import AlterPropSVM, ConvPropSVM, CuttingPlanes, InvCal, MeanMap, bag_target
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


@pytest.fixture(scope="module")
def toy(data_dir):
    """Figure 1: two bags, proportions 0.6 and 0.4."""
    data = np.load(data_dir / "toy.npz")
    return data["X"], bag_target(data["bag_idx"], data["bag_prop"]), data["y"]


@pytest.mark.parametrize(
    ("clf", "accuracy"),
    [(MeanMap(), 0.0), (InvCal(), 0.0), (AlterPropSVM(random_state=0), 1.0), (ConvPropSVM(), 1.0)],
    ids=lambda value: type(value).__name__,
)
def test_figure_1(toy, clf, accuracy):
    X, y, labels = toy
    assert clf.fit(X, y).score(X, labels) == accuracy


@pytest.mark.parametrize("intercept", ["center", "none"])
def test_figure_1_is_solved_to_proved_optimality(toy, intercept):
    X, y, labels = toy
    planes = CuttingPlanes(oracle="sweep")
    clf = ConvPropSVM(relaxation=planes, intercept=intercept, solver_tol=1e-9).fit(X, y)
    assert clf.bounds_.gap < 1e-6
    np.testing.assert_array_equal(clf.labeling_, labels)
    if intercept == "none":  # the relaxation is tight: its value is that of the labels
        program = svm_dual(X, bias=False).set(**svm_dual_parameters(labels.astype(float), clf.C))
        value = solve(program, "clarabel", tol=1e-10).value
        assert clf.objective_ == pytest.approx(value, rel=1e-7)
        assert len(clf.history_) == 1


def test_alter_psvm_on_heart_in_bags_of_64(data_dir):
    """One fold of a split into bags of 64; the mean in the paper is 0.766."""
    data = np.load(data_dir / "heart_split.npz")
    train, test = data["train_idx"], data["test_idx"]
    y = bag_target(data["train_bag_idx"], data["train_bag_prop"])
    clf = AlterPropSVM(C=1.0, C_p=10.0, random_state=0).fit(data["X"][train], y)
    assert clf.score(data["X"][test], data["y"][test]) >= 0.78
