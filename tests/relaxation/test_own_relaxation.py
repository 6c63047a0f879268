"""What can be swapped in conv-pSVM: relaxation, master, oracle, rounding; and what is refused."""

import pickle
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.base import clone
from small_problems import best_value, small_problem

from propcvx import ConvPropSVM, CuttingPlanes, bag_target, certify
from propcvx.errors import InconsistentBoundsError, InputError, SolverError
from propcvx.history import History
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import labeling_upper_bound
from propcvx.relaxation.oracles import Cut, ExhaustiveOracle
from propcvx.svm.step import LabelingSVM

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")

PROBLEM = small_problem(1)
X, Y, FEASIBLE = PROBLEM.X, PROBLEM.y, FeasibleLabelings.from_bags(PROBLEM.bags, 0.0)
BEST = best_value(X, FEASIBLE, 1.0)


def test_bounds_of_rounds_never_worsen():
    rounds, planes = [], CuttingPlanes(oracle="eigenvalue", max_cuts=7, tol=0.0)
    planes.relax(X, FEASIBLE, 1.0, on_round=rounds.append)
    lowers, uppers = [each.lower for each in rounds], [each.upper for each in rounds]
    assert 0.0 < lowers[0] < lowers[-1] <= BEST * (1.0 + 1e-9)
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    bounds = ConvPropSVM(1.0, intercept="none", relaxation=planes).fit(X, Y).bounds_
    assert bounds.lower == pytest.approx(lowers[-1], rel=1e-6)
    assert bounds.upper >= BEST * (1.0 - 1e-9)


class InPlace:
    """A relaxation that scales what it is given, which belongs to the fit."""

    def relax(self, features, feasible, C, *, solve, on_round):
        features /= features.std(axis=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", ["center", "constant", "none"])
def test_arrays_passed_to_parts_are_read_only(intercept, kernel):
    given = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        ConvPropSVM(1.0, intercept=intercept, kernel=kernel, relaxation=InPlace()).fit(given, Y)
    np.testing.assert_array_equal(given, X)
    given += 1.0  # which is the user's as before


# --- what an oracle returns is checked ----------------------------------------------------------

WRONG = {
    "a labeling that is not feasible: bag 1 has 3 positives": lambda cut: Cut(
        -cut.labeling, cut.value
    ),
    "a labeling that is not feasible: it must": lambda cut: Cut(0.5 * cut.labeling, cut.value),
    "a labeling that is not feasible: it changes the known label of instance": lambda cut: Cut(
        np.roll(cut.labeling.reshape(2, 4), 1, axis=1).ravel(), cut.value
    ),
    "a labeling that is not feasible": lambda cut: replace(cut, others=(np.zeros(8),)),
    "the value .* with a labeling whose value is": lambda cut: Cut(cut.labeling, 1.01 * cut.value),
    "finite value": lambda cut: Cut(cut.labeling, np.nan),
    "labeling of shape": lambda cut: Cut(cut.labeling[1:], cut.value),
    "the bound .*, below the value": lambda cut: Cut(cut.labeling, cut.value, 0.9 * cut.value),
}


@pytest.mark.parametrize("message", WRONG)
def test_invalid_cut_of_oracle_raises(message):
    class Wrong(ExhaustiveOracle):
        def __call__(self, alpha):
            return WRONG[message](super().__call__(alpha))

    y = bag_target([0] * 4 + [1] * 4, [0.5, 0.25], [0, 0, 0, 0, 0, 1, 0, 0])
    with pytest.raises(InputError, match=f"Wrong (returned|must return) {message}"):
        ConvPropSVM(relaxation=CuttingPlanes(oracle=Wrong)).fit(X, y)


# --- what a relaxation returns is checked --------------------------------------------------------


class Own:
    """A relaxation of one's own: that of exact cutting planes, with some fields spoiled."""

    def __init__(self, **spoiled):
        self.spoiled = spoiled

    def relax(self, features, feasible, C, *, solve, on_round):
        planes = CuttingPlanes(oracle="exhaustive", max_cuts=3)
        right = planes.relax(features, feasible, C, solve=solve)
        return replace(right, **self.spoiled)


WRONG_RESULTS = [
    (Own(lower=1e3), "Own: the lower bound 1000 is above the upper bound"),
    (Own(lower=np.nan), "Own must return finite lower"),
    (Own(upper=-np.inf), "Own must return finite upper"),
    (Own(value="optimal"), r"Own must return value of shape \(\)"),
    (Own(lower=np.ones(1)), r"Own must return lower of shape \(\); got shape \(1,\)"),
    (Own(alpha=np.full(8, np.inf)), "Own must return finite alpha"),
    (Own(alpha=np.full(8, "0.5")), r"Own must return alpha of shape \(8,\); got .* <U3"),
    (Own(weights=-np.ones(3), vectors=np.ones((3, 8))), "Own must return weights >= 0"),
    (Own(weights=np.ones(2), vectors=np.ones((3, 8))), r"must return weights of shape \(3,\)"),
    (Own(labelings=np.ones((2, 8))), "Own returned a labeling that is not feasible: bag 0"),
    (Own(history=History()), "Own must return weights >= 0 and a history of at least one round"),
]


@pytest.mark.parametrize(("relaxation", "message"), WRONG_RESULTS)
def test_invalid_relaxation_result_raises(relaxation, message):
    with pytest.raises(InputError, match=message):
        ConvPropSVM(relaxation=relaxation).fit(X, Y)


def test_inconsistent_lower_bound_raises():
    """The second is not above its own upper bound; the search finds a better labeling."""
    liar = Own(lower=1.01 * BEST, upper=2.0 * BEST)
    with pytest.raises(InputError, match="Own: the lower bound 1000 is above the upper bound"):
        certify(X, Y, bounds=Own(lower=1e3))
    with pytest.raises(InconsistentBoundsError, match="Own"):
        certify(X, Y, bounds=[liar, "branch_and_bound"], intercept="none")
    with pytest.raises(InconsistentBoundsError, match="Own"):
        ConvPropSVM(relaxation=liar, rounding="best", intercept="none").fit(X, Y)


# --- relaxations of one's own beside the package's -----------------------------------------------


def test_custom_relaxation_has_bounds_and_certificate():
    clf = ConvPropSVM(1.0, relaxation=Own(), solver_tol=1e-6, intercept="none").fit(X, Y)
    assert 0.0 < clf.bounds_.lower <= BEST * (1 + 1e-9)
    result = certify(X, Y, bounds=[Own()], intercept="none")
    assert result.lower == pytest.approx(clf.bounds_.lower, rel=1e-6)
    assert "Own" in {event.bound for event in result.history}
    assert isinstance(pickle.loads(pickle.dumps(clf)).relaxation, Own)


# --- bounds are not forgotten, and cost no fit --------------------------------------------------


@pytest.fixture
def solver_raises(monkeypatch):
    """Let the solver of the SVM of a labeling raise an error."""

    def raises(error):
        monkeypatch.setattr(LabelingSVM, "alpha", Mock(side_effect=error))

    return raises


NO_ANSWER = SolverError("no answer", "stub", "solver_error")


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_upper_bound_uses_best_multiple(scale, solver_raises):
    solver_raises(NO_ANSWER)
    labeling = PROBLEM.labels.astype(float)
    along = X.T @ labeling
    multiples = np.linspace(0.0, 1.0, 20_001)[:, None] * along
    hinges = np.maximum(0.0, 1.0 - labeling * (multiples @ X.T)).sum(axis=1)
    best = (0.5 * np.square(multiples).sum(axis=1) + hinges).min()
    bound = labeling_upper_bound(X, labeling, 1.0, weights=scale * along)
    assert best * (1.0 - 1e-4) <= bound <= best * (1.0 + 1e-9)


def test_interruption_in_last_certificate_keeps_fit(solver_raises):
    clf = ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep"))
    reference = clf.fit(X, Y).bounds_
    solver_raises(NO_ANSWER)
    clf.fit(X, Y)
    assert clf.bounds_.lower == reference.lower
    assert reference.upper <= clf.bounds_.upper <= 8.0
    solver_raises(KeyboardInterrupt)
    interrupted = clone(clf)
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, Y)
    assert interrupted.bounds_ is None
    assert interrupted.predict(X).shape == (8,)
