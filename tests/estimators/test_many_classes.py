"""More than two classes: targets, the labeling step, the SVM of Crammer and Singer, the fits."""

import pickle
from dataclasses import replace
from functools import cache
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from methods import each_method
from sklearn.base import clone
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    LabelingStart,
    MeanMap,
    bag_error,
    bag_target,
    certify,
    class_proportions_of,
    group_shares,
    one_class_target,
)
from propcvx.alternating.algorithm import alternate
from propcvx.alternating.crammer_singer import ClassPropSVM, CrammerSingerStep
from propcvx.bags.targets import classes_of, is_bag_target
from propcvx.errors import InputError
from propcvx.estimators.starts import Start
from propcvx.labelings.classes import best_classes, class_hinge, class_loss
from propcvx.labelings.losses import PROPORTION_LOSSES, constraint, epsilon_insensitive
from propcvx.plotting import boundary, coefficients
from propcvx.programs import crammer_singer
from propcvx.solvers import solve

ill_posed = pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")

ROWS = {"a": {"x": 0.5, "y": 0.5, "z": 0.0}, "b": {"x": 0.0, "y": 0.0, "z": 1.0}}


def class_problem(seed, sizes=(4, 3, 5, 4), n_classes=3, n_features=3, known=0.0, noise=0.7):
    """X, a bag target from a table, and the names of the true classes."""
    random = np.random.RandomState(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    codes = np.concatenate([np.arange(n_classes), random.randint(n_classes, size=len(index))])
    codes = random.permutation(codes[: len(index)])
    X = 2.0 * random.randn(n_classes, n_features)[codes] + noise * random.randn(
        len(index), n_features
    )
    names = np.array(["oak", "ash", "elm", "fir", "yew"])[codes]
    given = [name if random.uniform() < known else None for name in names]
    return X, bag_target(index, class_proportions_of(names, index), given), names


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "classes"),
    [
        (ROWS, None),
        (pd.DataFrame(ROWS).T, None),
        (pd.DataFrame(ROWS).T[["z", "x", "y"]].iloc[::-1], None),
        ([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], ["x", "y", "z"]),
        (np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]), ["z", "y", "x"]),
    ],
)
def test_every_form_of_a_table_gives_the_same_target(table, classes):
    y = bag_target(["b", "a", "a"], table, ["z", None, "y"], classes=classes)
    assert y["proportion"].tolist() == [[0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    assert y["label"].tolist() == [3, 0, 2]
    assert y["bag"].tolist() == [1, 0, 0]
    assert y["size"].tolist() == [1, 2, 2]
    for kept in (y, y[[2, 0]], pickle.loads(pickle.dumps(y))):
        assert is_bag_target(kept)
        assert kept.dtype.metadata == {"ids": ("a", "b"), "classes": ("x", "y", "z")}


def test_columns_without_names_are_numbered():
    y = bag_target([0, 0, 1], [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert classes_of(y).tolist() == [0, 1, 2]
    assert one_class_target(y, 1)["proportion"].tolist() == [0.0, 0.0, 1.0]
    assert classes_of(y.astype(y.dtype.descr)).tolist() == [0, 1, 2], "no metadata"


def damaged(field, value):
    y = bag_target(["a", "a", "b"], ROWS)
    y[field][0] = value
    return y


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (damaged("proportion", [0.4, 0.6, 0.0]), "one value per bag, got several in bag 'a'"),
        (damaged("proportion", [np.nan, 0.5, 0.0]), "bag 'a'"),
        (damaged("label", 4), r"a number of a class, \(1, 2, 3\)"),
        (damaged("label", -1), "a number of a class"),
        (bag_target(["a", "b"], ROWS)[:0], r"non-empty .* shape \(0,\)"),
    ],
)
def test_a_target_that_was_changed_is_refused(y, text):
    with pytest.raises(InputError, match=text):
        Bags.from_target(y, table=True)


class OfTwo(Start):
    """A start of one's own that knows -1 and +1 only."""

    def labeling(self, features, bags, random):
        return random.choice((-1.0, 1.0), len(features))


def test_what_is_for_two_classes_says_so():
    X, y, _ = class_problem(0)
    for call in (
        lambda: certify(X, y, kinds="enumeration", time_limit=1.0),
        lambda: Bags.from_target(y),
        lambda: AlterPropSVM(init=LabelingStart(np.ones(16))).fit(X, y),
        lambda: AlterPropSVM(polish="swaps").fit(X, y),
        lambda: AlterPropSVM(init=OfTwo()).fit(X, y),
        lambda: boundary(InvCal().fit(X[:, :2], y), X[:, :2]),
        lambda: coefficients([InvCal().fit(X, y)], "C_p"),
        lambda: AlterPropSVM(instance_loss="logistic").fit(X, y),
        lambda: AlterPropSVM(proportion_loss=constraint(0.1)).fit(X, y),
        lambda: group_shares(y, X[:, 0] > 0),
    ):
        with pytest.raises(InputError, match=r"class"):
            call()
    with pytest.raises(AttributeError) as failure:
        InvCal().fit(X, y).predict_proba(X)
    assert "two classes" in str(failure.value.__cause__)


# --- two classes by a table -------------------------------------------------------------------


@each_method("second_moments")
def test_a_table_of_two_columns_is_the_fit_of_two_classes(method):
    problem = small_problem(0, sizes=(4, 6, 5), n_features=3, known=0.0)
    bags, shares = problem.y["bag"], problem.bags.proportions
    table = {k: {"yes": share, "no": 1.0 - share} for k, share in enumerate(shares)}
    y = bag_target(bags, table)
    first, second = clone(method).fit(problem.X, problem.y), clone(method).fit(problem.X, y)
    assert second.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(
        second.decision_function(problem.X), first.decision_function(problem.X), atol=1e-6
    )
    assert second.predict(problem.X).tolist() == [
        "no" if k < 0 else "yes" for k in first.predict(problem.X)
    ]
    assert second.score(problem.X, y) == pytest.approx(first.score(problem.X, problem.y))
    np.testing.assert_allclose(
        second.predict_proba(problem.X), first.predict_proba(problem.X), atol=1e-6
    )


# --- the labeling step ------------------------------------------------------------------------


@cache
def all_labelings(n, n_classes):
    return np.array(list(product(range(1, n_classes + 1), repeat=n)))


@examples(150)
@given(
    seed=st.integers(0, 2**31 - 1),
    n_classes=st.integers(2, 4),
    loss=st.sampled_from([*PROPORTION_LOSSES, "squared of the nearest", "of each bag"]),
    scale=st.sampled_from([1e-6, 1e-2, 1.0, 1e2]),
    weight=st.sampled_from([0.0, 1e-3, 1.0, 7.0, 1e6]),
    whole=st.booleans(),
)
def test_labeling_step_is_the_best_of_all_labelings(seed, n_classes, loss, scale, weight, whole):
    """Whole scores are tied; with shares that no labels have, nearest counts have ties, too."""
    nearest = replace(PROPORTION_LOSSES["squared"], epsilon="rounding")
    others = {"of each bag": epsilon_insensitive([0.1, 0.3]), "squared of the nearest": nearest}
    random, loss = np.random.RandomState(seed), {**PROPORTION_LOSSES, **others}[loss]
    sizes = random.randint(1, 4, size=2)
    index, n = np.repeat([0, 1], sizes), sizes.sum()
    shares = random.multinomial(4, np.full(n_classes, 1 / n_classes), 2) / 4.0
    shares += 1e-9 * (shares.sum(axis=0) == 0)
    bags = Bags.from_target(
        bag_target(index, shares / shares.sum(axis=1, keepdims=True)), table=True
    )
    known = random.randint(1, n_classes + 1, size=n) * (random.uniform(size=n) < 0.2)
    bags, scores = replace(bags, labels=known), random.randn(n, n_classes)
    scores = np.round(scores) if whole else scale * scores
    weights, losses = weight * np.array([1.0, 3.0]), class_hinge(scores)
    rows = all_labelings(n, n_classes)
    rows = rows[((known == 0) | (rows == known)).all(axis=1)]
    counts = np.array([bags.counts_of(row) for row in rows])
    gaps = counts / sizes[:, None] - bags.proportions
    width = 0.0 if loss.dead_zone is None else np.broadcast_to(loss.dead_zone, 2)[:, None]
    beyond = np.maximum(0.0, np.abs(gaps) - width)  # the losses are even
    of_bags = 0.5 * loss.of(beyond).sum(axis=2)
    if loss.epsilon is not None:
        far = np.abs(sizes[:, None] * gaps).sum(axis=2)
        of_bags = np.where(far <= far.min(axis=0) + 1e-5, of_bags, np.inf)
    finite = [class_loss(loss, bags, each) for each in counts]
    np.testing.assert_allclose(np.where(np.isinf(of_bags), np.inf, finite), of_bags, atol=1e-15)
    values = losses[np.arange(n), rows - 1].sum(axis=1) + np.where(
        np.isinf(of_bags), np.inf, weights * np.where(np.isinf(of_bags), 0.0, of_bags)
    ).sum(axis=1)
    for ties in (None, random.randn(n, n_classes)):
        answer = best_classes(losses, bags, loss, weights, ties)
        place = np.flatnonzero((rows == answer).all(axis=1))
        assert len(place) == 1
        assert values[place[0]] == pytest.approx(values.min(), rel=1e-9, abs=1e-9 * scale)


def test_of_tied_labelings_the_preferred_one_is_taken():
    y = bag_target([0] * 6, [[1 / 3, 1 / 3, 1 / 3]])
    bags, before = Bags.from_target(y, table=True), np.array([3, 1, 2, 2, 1, 3])
    ties = (before[:, None] == [1, 2, 3]).astype(float)
    for scores in (np.zeros((6, 3)), np.tile([3.0, 1.0, 0.0], (6, 1))):
        answer = best_classes(
            class_hinge(scores), bags, PROPORTION_LOSSES["absolute"], np.array([99.0]), ties
        )
        np.testing.assert_array_equal(answer, before)


# --- the SVM ----------------------------------------------------------------------------------


def data_of_kind(kind):
    random = np.random.RandomState(0)
    codes = np.concatenate([np.arange(3), random.randint(0, 3, 57)])
    X = random.randn(60, {"few": 2, "more": 90}.get(kind, 4))
    X[:, 0] += codes + 20.0 * codes * (kind == "separable")
    if kind == "rare":
        codes = np.r_[0, 1, np.full(58, 2)]
    if kind == "equal rows":
        X = np.round(X[:, :1])
    if kind == "one point":
        X[:] = 1.0
    return X - X.mean(axis=0), np.eye(3)[codes]


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize(
    "kind", ["few", "some", "more", "separable", "rare", "equal rows", "one point"]
)
def test_the_interior_point_method_solves_the_program(kind, C):
    """Weak duality says so: the value of the plane and a bound that no plane is below."""
    X, Y = data_of_kind(kind)
    program = crammer_singer(X, 3).set(Y=Y, C=C)
    answer = solve(program, "multiclass_interior_point", tol=1e-6)
    assert answer.status == "optimal"
    W, b, alpha = answer.variables["W"], answer.variables["b"], answer.duals["margin"]
    assert alpha.min() >= 0.0
    np.testing.assert_allclose(alpha.sum(axis=1), C, rtol=1e-9)
    np.testing.assert_allclose(alpha.sum(axis=0), C * Y.sum(axis=0), rtol=1e-9)
    value = np.square(W).sum() + C * (Y * class_hinge(X @ W + b)).sum()
    bound = (alpha * (1 - Y)).sum() - 0.25 * np.square(X.T @ (C * Y - alpha)).sum()
    assert value == pytest.approx(answer.value, rel=1e-9)
    assert value - bound <= 1.1e-6 * value + 1e-9 * C
    if C in (1e-3, 1.0, 1e3):
        readable = solve(program, "clarabel", tol=1e-8, residuals=False, quiet=True)
        assert answer.value == pytest.approx(readable.value, rel=2e-6)


@pytest.mark.parametrize("counts", [(5, 5, 5), (9, 3, 3), (7, 7, 1), (8, 4, 3)])
def test_without_use_of_the_features_there_are_no_weights(counts):
    """At a tiny C the least loss is that of the best bias alone, 1 or 2 for each instance."""
    X, labeling = np.random.RandomState(0).randn(15, 2), np.repeat([1.0, 2.0, 3.0], counts)
    X -= np.repeat([X[labeling == k].mean(axis=0) for k in (1, 2, 3)], counts, axis=0)
    plane = CrammerSingerStep(X, n_classes=3)(labeling, 1e-9)
    losses = class_hinge(plane.scores)[np.arange(15), labeling.astype(int) - 1].sum()
    assert not plane.weights.any()
    assert losses == pytest.approx(min(15, 2 * (15 - max(counts))))


# --- Algorithm 1 ------------------------------------------------------------------------------


@ill_posed
@examples(12)
@given(
    seed=st.integers(0, 2**31 - 1),
    loss=st.sampled_from(list(PROPORTION_LOSSES)),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    kernel=st.sampled_from(["linear", "rbf"]),
    known=st.sampled_from([0.0, 0.3]),
)
def test_the_fit_is_a_descent_to_a_fixed_point(seed, loss, C, kernel, known):
    X, y, names = class_problem(seed, known=known)
    clf = AlterPropSVM(C, 3.0 * C, n_init=2, init="random", random_state=0, proportion_loss=loss)
    clf.set_params(kernel=kernel, gamma=0.3).fit(X, y)
    for before, after in zip(clf.history_, clf.history_[1:], strict=False):
        if before.C_star == after.C_star:
            assert after.objective <= before.objective * (1.0 + 1e-12)
    bags, numbers = Bags.from_target(y, table=True), clf.labeling_ + 1
    known = bags.labels > 0
    np.testing.assert_array_equal(numbers[known], bags.labels[known])
    np.testing.assert_array_equal(clf.transduce()[known], names[known])
    scores, weights = clf.decision_function(X), 3.0 * C * bags.sizes
    gram = scores - clf.intercept_
    norm = np.sum(clf.coef_**2) if kernel == "linear" else np.sum(gram * clf.dual_coef_.T)

    def value(labeling):
        errors = class_hinge(scores)[np.arange(len(X)), labeling.astype(int) - 1].sum()
        of_bags = class_loss(PROPORTION_LOSSES[loss], bags, bags.counts_of(labeling))
        return norm + C * errors + weights @ of_bags

    assert value(numbers) == pytest.approx(clf.objective_, rel=1e-6)
    better = best_classes(class_hinge(scores), bags, PROPORTION_LOSSES[loss], weights / C)
    assert value(better) >= clf.objective_ - 1.1e-4 * max(C, clf.objective_)


def test_no_labeling_is_better_than_the_best_end():
    """On a problem of five instances, from the best starts: the best end is the least of all."""
    X, y, _ = class_problem(3, sizes=(3, 2), n_features=2)
    bags, step = Bags.from_target(y, table=True), CrammerSingerStep(X, n_classes=3)
    problem = ClassPropSVM(bags, 1.0, 5.0 * np.ones(2), PROPORTION_LOSSES["absolute"])
    rows = all_labelings(5, 3).astype(float)
    values = [problem.objective(row, step(row, 1.0)) for row in rows]
    ends = [
        list(alternate(problem, step, row, [1.0]))[-1].objective
        for row in rows[np.argsort(values)[:20]]
    ]
    assert min(ends) == pytest.approx(min(values), rel=1e-5)
    assert max(ends) >= min(values) * (1.0 - 1e-5)


# --- the estimators ---------------------------------------------------------------------------


@each_method("second_moments")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_shapes_and_what_follows_from_the_scores(method, kernel):
    X, y, names = class_problem(0, sizes=(5,) * 8)
    given = X @ X.T if kernel == "precomputed" else X
    clf = clone(method).set_params(kernel=kernel).fit(given, y)
    weights = clf.coef_ if kernel == "linear" else clf.dual_coef_
    assert weights.shape == (3, 3 if kernel == "linear" else 40)
    assert clf.intercept_.shape == (3,)
    assert clf.classes_.tolist() == ["ash", "elm", "oak"]
    scores = clf.decision_function(given)
    assert scores.shape == (40, 3)
    predicted = clf.predict(given)
    np.testing.assert_array_equal(predicted, clf.classes_[scores.argmax(axis=1)])
    assert clf.score(given, names) == np.mean(predicted == names) > 0.6
    shares = clf.predict_proportions(given, y)
    truth = class_proportions_of(names, y["bag"])
    errors = [
        0.5 * sum(abs(shares[bag][name] - row[name]) for name in row) for bag, row in truth.items()
    ]
    assert bag_error(y, predicted) == pytest.approx(np.mean(errors)) == -clf.score(given, y)
    assert set(clf.transduce()) <= set(clf.classes_)


def test_names_of_classes_may_be_tuples():
    X, _, names = class_problem(0, sizes=(5,) * 8)
    index = np.repeat(np.arange(8), 5)
    clf, other = (
        MeanMap().fit(X, bag_target(index, class_proportions_of(given, index)))
        for given in (names, [tuple(name) for name in names])
    )
    for bag, shares in clf.predict_proportions(X, index).items():
        named = {tuple(name): share for name, share in shares.items()}
        assert other.predict_proportions(X, index)[bag] == named


@each_method("second_moments", "alter", "conv")
def test_a_method_without_a_program_is_one_versus_rest(method):
    X, y, _ = class_problem(1, sizes=(5,) * 6)
    if isinstance(method, EcologicalRegression):  # all classes have one strength
        method = clone(method).set_params(ridge=0.3)
    clf = clone(method).fit(X, y)
    for column, name in enumerate(clf.classes_):
        first = clone(method).fit(X, one_class_target(y, name))
        np.testing.assert_allclose(clf.coef_[column], first.coef_[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(
            clf.intercept_[column], first.intercept_[0], rtol=1e-3, atol=1e-3
        )


def supervised(names):
    classes, codes = np.unique(names, return_inverse=True)
    table = np.eye(len(classes))[codes]
    return bag_target(np.arange(len(names)), table, names, classes=classes.tolist())


@ill_posed
@each_method("second_moments")
def test_a_bag_for_each_label_is_the_supervised_case(method):
    X, _, names = class_problem(2, sizes=(5,) * 8)
    clf = clone(method).fit(X, supervised(names))
    assert clf.score(X, names) > 0.8
    with pytest.raises(InputError, match="labels among classes_"):
        clf.score(X, np.full(40, "yew"))
    with pytest.raises(InputError, match=r"two classes, got 3.*a table of their"):
        clone(method).fit(X, names)


@ill_posed
def test_with_all_labels_alternation_is_one_svm():
    X, _, names = class_problem(2, sizes=(5,) * 8)
    clf = AlterPropSVM(C=0.5, solver_tol=1e-8).fit(X, supervised(names))
    Y = (names[:, None] == clf.classes_).astype(float)
    assert clf.objective_ == pytest.approx(
        solve(crammer_singer(X, 3).set(Y=Y, C=0.5), "clarabel", residuals=False).value, rel=1e-6
    )


@ill_posed
@pytest.mark.parametrize(
    ("kernel", "seed", "discrete"),
    [("linear", 0, False), ("linear", 1, True), ("rbf", 0, True), ("precomputed", 1, False)],
)
@each_method("second_moments")
def test_permuted_rows_bags_and_classes_permute_the_answer(method, kernel, seed, discrete):
    X, y, names = class_problem(seed, sizes=(4, 4, 4, 5, 5))
    X = np.round(X) if discrete else X
    random = np.random.RandomState(seed)
    order, bags = random.permutation(len(X)), random.permutation(5)
    renamed = dict(zip(["oak", "ash", "elm"], random.permutation(["x", "y", "z"]), strict=True))
    shares = class_proportions_of(names, y["bag"])
    other = bag_target(
        bags[y["bag"][order]],
        {
            bags[k]: {renamed[name]: share for name, share in row.items()}
            for k, row in shares.items()
        },
    )
    method = clone(method).set_params(kernel=kernel)
    data, moved = X, X[order]
    if kernel == "precomputed":
        data, moved = X @ X.T, (X @ X.T)[np.ix_(order, order)]
    first, second = clone(method).fit(data, y), method.fit(moved, other)
    columns = [second.classes_.tolist().index(renamed[name]) for name in first.classes_]
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-12)
    np.testing.assert_allclose(
        second.decision_function(moved)[:, columns], first.decision_function(data)[order], atol=1e-9
    )


def test_equal_totals_of_classes_are_told_apart_by_the_bags():
    """Three bags, in which each class has each share once, so that no total tells them apart."""
    random = np.random.RandomState(0)
    X, bags = random.randn(12, 2), np.repeat([0, 1, 2], 4)
    table = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    clf = AlterPropSVM(init="random", n_init=2, annealing=False, random_state=0)
    scores = clf.fit(X, bag_target(bags, table, classes=["a", "b", "c"])).decision_function(X)
    for order in ([1, 0, 2], [2, 0, 1], [2, 1, 0]):
        renamed = bag_target(bags, table, classes=np.array(["a", "b", "c"])[order].tolist())
        again = clf.fit(X, renamed).decision_function(X)
        np.testing.assert_allclose(again[:, order], scores, atol=1e-9)


def test_number_of_jobs_does_not_matter():
    X, y, _ = class_problem(5)
    clf = AlterPropSVM(init="random", n_init=2, random_state=0)
    with joblib.parallel_config("threading"):
        first, second = (clone(clf).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize(
    "init", ["mixed", "random", "inv_cal", "mean_map", "conv", InvCal(C_p=3.0)]
)
@pytest.mark.parametrize("known", [0.0, 0.3])
def test_starts(init, known):
    X, y, names = class_problem(6, sizes=(4,) * 8, known=known)
    clf = AlterPropSVM(init=init, n_init=2, random_state=0).fit(X, y)
    assert clf.objective_ == clf.start_objectives_.min()
    assert clf.score(X, names) > 0.6


def test_a_fit_of_two_classes_follows_one_of_three():
    problem, (X, y, _) = small_problem(0, sizes=(6, 5, 7), n_features=3), class_problem(0)
    clf = InvCal(kernel="rbf").fit(X, y)
    clf.set_params(kernel="linear").fit(problem.X, problem.y)
    twin = InvCal().fit(problem.X, problem.y)
    np.testing.assert_array_equal(
        clf.decision_function(problem.X), twin.decision_function(problem.X)
    )
    assert hasattr(clf, "predict_proba")
    conv = ConvPropSVM().fit(problem.X, problem.y).set_params(epsilon="rounding")
    assert not hasattr(conv.fit(X, y), "relaxation_")
    np.testing.assert_array_equal(conv.predict(X), clone(conv).fit(X, y).predict(X))


def test_labels_predicted_for_a_target_must_be_its_classes():
    y = bag_target(["a", "a", "b"], ROWS)
    assert bag_error(y, ["x", "y", "z"]) == 0.0
    assert bag_error(y, ["x", "x", "z"]) == 0.25
    assert bag_error(y, ["x", "x", "z"], by_size=True) == pytest.approx(1 / 3)
    for predicted, text in ((["x", "x", "w"], "names of"), (["x", None, "z"], "have no unknown")):
        with pytest.raises(InputError, match=f"y_pred must( be)? {text}"):
            bag_error(y, predicted)
