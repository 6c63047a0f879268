"""Answers depend on the data alone: not on the order of rows, nor on names of bags or classes."""

from dataclasses import dataclass, replace
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    CuttingPlanes,
    EcologicalRegression,
    InvCal,
    LabelingStart,
    MeanMap,
    SecondMoments,
    bag_proportions,
    bag_target,
    certify,
)
from propcvx.bags.ordering import _ranks, in_canonical_order
from propcvx.errors import InfeasibleLabelingError
from propcvx.labelings.losses import ProportionLoss, epsilon_insensitive
from propcvx.svm.training import weighted

TOO_MANY = ProportionLoss(
    "too many", lambda gap: np.maximum(gap, -0.1 * gap), lambda gap: cp.maximum(gap, -0.1 * gap)
)
TOO_FEW = ProportionLoss(
    "too few", lambda gap: np.maximum(-gap, 0.1 * gap), lambda gap: cp.maximum(-gap, 0.1 * gap)
)


@dataclass(frozen=True)
class Posed:
    """Instances in bags; what is given of bags is keyed by their ids."""

    X: np.ndarray
    ids: np.ndarray
    shares: dict
    known: np.ndarray
    start: np.ndarray
    weights: np.ndarray | None = None

    @property
    def y(self):
        return bag_target(self.ids, self.shares, self.known)

    @property
    def bags(self):
        bags = Bags.from_target(self.y)
        return bags if self.weights is None else weighted(bags, self.weights)

    @property
    def of_bags(self):
        """A number of each bag, which goes with its instances."""
        return {
            bag: round(0.2 + 0.01 * np.sum(np.square(self.X[self.ids == bag]).round(6)) % 0.3, 9)
            for bag in np.unique(self.ids).tolist()
        }

    def permuted(self, order, names):
        """The rows in another order, the bags with other names."""
        weights = None if self.weights is None else self.weights[order]
        shares = {names[bag]: share for bag, share in self.shares.items()}
        rows = self.X[order], names[self.ids][order], shares, self.known[order], self.start[order]
        return Posed(*rows, weights)

    def exchanged(self):
        """The same with the other class called positive."""
        shares = {bag: None if share is None else 1 - share for bag, share in self.shares.items()}
        return replace(self, shares=shares, known=-self.known, start=-self.start)


TIED = ("labels", "weights")
"""Kinds in which instances with the same row may be known to differ."""

KINDS = ("shares", "labels", "weights", "some shares", "no shares")


def posed(kind, seed, *, discrete):
    """Four bags of 20 instances, of which some may be equal."""
    problem, random = small_problem(seed, (3, 4, 6, 7), n_features=3), np.random.RandomState(seed)
    X, ids = np.round(problem.X) if discrete else problem.X, problem.y["bag"]
    shares = bag_proportions(problem.labels, ids)
    if kind == "some shares":
        shares[2] = None
    if kind == "no shares":
        shares = dict.fromkeys(range(4))
    known = np.where(np.arange(20) % 4 == 0, problem.labels, 0)
    if kind not in ("labels", "some shares", "no shares"):
        known = 0 * known
    weights = random.choice([0.0, 0.5, 1.0, 3.0], 20) if "weights" in kind else None
    return Posed(X, ids, shares, known, random.choice([-1.0, 1.0], 20), weights)


METHODS = {
    "mean_map": lambda posed: MeanMap(bag_weights="size"),
    "inv_cal": lambda posed: InvCal(epsilon=posed.of_bags, scaled_epsilon=True, solver_tol=1e-9),
    "ecological": lambda posed: EcologicalRegression(bag_weights=posed.of_bags),
    "second_moments": lambda posed: SecondMoments(n_components=2),
    "alter": lambda posed: AlterPropSVM(n_init=1, random_state=0),
    "alter, start": lambda posed: AlterPropSVM(
        init=LabelingStart(posed.start), bag_weights=posed.of_bags, proportion_loss="constraint"
    ),
    "alter, tolerances": lambda posed: AlterPropSVM(
        init="conv", proportion_loss=epsilon_insensitive(posed.of_bags)
    ),
    "alter, random": lambda posed: AlterPropSVM(
        C=0.3, C_p=0.5, init="random", n_init=2, annealing=False, random_state=0
    ),
    "conv": lambda posed: ConvPropSVM(
        relaxation=CuttingPlanes(max_cuts=3, oracle="coordinate_features")
    ),
    "conv, tolerances": lambda posed: ConvPropSVM(
        epsilon=posed.of_bags, rounding="best", relaxation=CuttingPlanes(max_cuts=2)
    ),
    "conv, constant": lambda posed: ConvPropSVM(
        intercept="constant", relaxation=CuttingPlanes(max_cuts=2, oracle="exhaustive")
    ),
}
KERNELS = ("rbf", "precomputed")
CASES = [
    *product(METHODS, KINDS, ["linear"], [False]),
    *product(METHODS, TIED, ["linear"], [True]),
    *product(("mean_map", "alter", "alter, random", "conv"), ["labels"], KERNELS, [False]),
    *product(("inv_cal", "alter, start", "conv"), ["weights"], KERNELS, [False]),
]


def fitted(method, task, kernel):
    """A fitted method, its instances, and new ones, as the kernel wants them."""
    X, new = task.X, np.random.RandomState(0).normal(size=(5, 3))
    if kernel == "precomputed":
        X, new = (np.sum(rows[:, None] * X, axis=-1) for rows in (X, new))  # to the last digit
    model = METHODS[method](task).set_params(kernel=kernel)
    return model.fit(X, task.y, task.weights), X, new


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize(
    ("method", "kind", "kernel", "discrete"),
    CASES,
)
def test_an_answer_depends_on_neither_rows_nor_names_nor_classes(method, kind, kernel, discrete):
    task, random = posed(kind, 3, discrete=discrete), np.random.RandomState(4)
    order, names = random.permutation(20), random.permutation(9)
    first, X, new = fitted(method, task, kernel)
    second, moved, there = fitted(method, task.permuted(order, names).exchanged(), kernel)
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-9)
    for ours, theirs in ((X[order], moved), (new, there)):
        scores = first.decision_function(ours)
        assert -second.decision_function(theirs) == pytest.approx(scores, rel=1e-9, abs=1e-9)
        likely = first.predict_proba(ours)
        assert second.predict_proba(theirs)[:, ::-1] == pytest.approx(likely, abs=1e-6)
    if not discrete:  # or labels of equal rows may be exchanged
        np.testing.assert_array_equal(-second.transduction_, first.transduction_[order])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precomputed", [False, True])
@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=10)
def test_the_canonical_order_is_one_order(kind, precomputed, seed):
    """Of few distinct rows; exchanging equal instances with their weights changes nothing."""
    random = np.random.RandomState(seed)
    task = posed(kind, seed, discrete=True)
    moved = task.permuted(random.permutation(20), random.permutation(9))
    first, second = (
        in_canonical_order(
            each.bags, each.X @ each.X.T if precomputed else each.X, precomputed=precomputed
        )
        for each in (task, moved)
    )
    assert np.array_equal(np.sort(first.rows), np.arange(20))
    assert np.array_equal(task.X[first.rows], moved.X[second.rows])
    assert np.array_equal(first.membership.toarray(), second.membership.toarray())
    assert first.sign == second.sign
    for name in ("proportions", "labels"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    if task.weights is not None:
        assert np.array_equal(first.weights, second.weights)
        assert np.allclose(first.weights * first.mean_weight, task.weights[first.rows])


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_is_of_the_positives_as_they_came(seed):
    """Shares that no count has, and a loss that is not symmetric."""
    problem = small_problem(seed, (3, 4, 5, 6), n_features=3)
    bags, start = problem.y["bag"], LabelingStart(problem.labels)
    shares = np.random.RandomState(seed).uniform(size=4)
    given = {"C": 1.0, "C_p": 0.5, "init_weight": 0.0}
    first = AlterPropSVM(init=start, proportion_loss=TOO_MANY, **given)
    second = AlterPropSVM(init=LabelingStart(-problem.labels), proportion_loss=TOO_FEW, **given)
    first.fit(problem.X, bag_target(bags, shares))
    second.fit(problem.X, bag_target(bags, 1.0 - shares))
    np.testing.assert_array_equal(
        second.decision_function(problem.X), -first.decision_function(problem.X)
    )
    sizes = np.bincount(bags)
    gaps = np.bincount(bags, first.transduction_ > 0) / sizes - shares
    hinge = np.maximum(0.0, 1.0 - first.transduction_ * first.decision_function(problem.X)).sum()
    value = 0.5 * np.square(first.coef_).sum() + hinge + 0.5 * sizes @ TOO_MANY.of(gaps)
    assert first.objective_ == pytest.approx(value, rel=1e-6)


def test_exchanged_classes_are_certified_alike():
    problem = small_problem(1, (3, 4))
    exchanged = bag_target(problem.y["bag"], 1.0 - problem.bags.proportions)
    first = certify(problem.X, problem.y, C=0.1, C_p=1.0, loss=TOO_MANY)
    second = certify(problem.X, exchanged, C=0.1, C_p=1.0, loss=TOO_FEW)
    assert first.upper == second.upper
    np.testing.assert_array_equal(second.labeling, -first.labeling)


@pytest.mark.parametrize("seed", range(5))
def test_exchanged_classes_are_alike_with_weights_of_known_labels(seed):
    """There are as many positives as negatives, so the known labels alone tell the classes."""
    random = np.random.RandomState(seed)
    X, weights = random.normal(size=(24, 2)), random.uniform(0.5, 1.5, 24)
    known = np.where(np.isin(np.arange(24), [0, 5, 9]), 1, 0)
    scores = [
        AlterPropSVM(init="random", n_init=1, random_state=1)
        .fit(X, bag_target(np.arange(24) // 8, [0.5] * 3, sign * known), sample_weight=weights)
        .decision_function(X)
        for sign in (1, -1)
    ]
    assert scores[0] == pytest.approx(-scores[1], rel=1e-9, abs=1e-9)


def test_a_message_speaks_of_the_classes_as_they_came():
    y = bag_target(np.repeat(["north", "south"], 10), {"north": 0.63, "south": 1.0})
    with pytest.raises(InfeasibleLabelingError, match=r"0\.63 \* 10 = 6\.3 .* nearest 6/10"):
        ConvPropSVM().fit(np.random.RandomState(0).randn(20, 2), y)


@pytest.mark.parametrize("n_values", [1, 2, 9, 10**6])
def test_ranks_are_those_of_whole_rows(n_values):
    rows = np.random.RandomState(0).randint(n_values, size=(200, 3)) - n_values // 2.0
    expected = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(_ranks(rows), expected)
