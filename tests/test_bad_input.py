"""Bad input, the table of mistakes among it, and input that is odd but usable."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from mistakes import IDS, MISTAKES, X, Y
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propcvx.svm.kernels
from propcvx import (
    AlterPropSVM,
    BagKFold,
    BagMeans,
    Bags,
    BagShuffleSplit,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    MeanMap,
    ProportionScaler,
    RepeatedBagKFold,
    SecondMoments,
    bag_proportions,
    bag_target,
    certify,
    check_fit,
    fit_means,
    group_rates,
    sampling_epsilon,
)
from propcvx.bags.metrics import bag_correlation, bag_error, bag_r2_score
from propcvx.datasets import (
    bags_by_cluster,
    bags_by_feature,
    equal_proportion_bags,
    load_real,
    make_two_bags,
    random_bags,
)
from propcvx.errors import (
    GramMatrixMemoryError,
    IllPosedWarning,
    InputError,
    SolverError,
    SplitBagWarning,
    UnsupportedSolverError,
)
from propcvx.labelings.losses import ProportionLoss, constraint
from propcvx.programs import Program, psvm, svm_dual, svm_dual_parameters
from propcvx.relaxation import Diffrac, MixedInteger, compare_relaxations
from propcvx.relaxation.oracles import SemidefiniteOracle
from propcvx.solvers import compare_solvers, solve

CLASSES = [MeanMap, InvCal, AlterPropSVM, ConvPropSVM]
each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)

CASES = {
    f"{name}-{cls}".rstrip("-"): case
    for entries in MISTAKES.values()
    for name, mistake in entries.items()
    for cls, case in mistake.cases()
}


# --- the table on the page --------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_mistake_raises_documented_message(case):
    with pytest.raises(case.error) as raised:
        case.call()
    assert type(raised.value) is case.error
    assert case.says(str(raised.value)), str(raised.value)


# --- further ones -----------------------------------------------------------------------------


class WithoutProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier that has labels only."""

    def fit(self, X, y):
        return self


LONG = np.linspace(0.1, 0.9, 10_000).tolist()
ONES, TWO = np.ones(8), [[0.0], [1.0]]
DUAL = svm_dual(X).set(**svm_dual_parameters(np.tile([-1.0, 1.0], 4), 1.0))
COMPLEX = cp.Problem(cp.Minimize(cp.norm(cp.Variable(2, complex=True))))
LOOSE = {"y": ONES, "lower": -ONES, "upper": ONES}
MEAN_MAP = MeanMap().fit(X, Y)
TABLE = bag_target(IDS, [{"x": 0.5, "y": 0.5}, {"x": 0.25, "y": 0.75}])
FRAME = pd.DataFrame({"id": IDS, "label": 0, "x": X[:, 0]})
AGAINST = bag_target(IDS, [[0.5, 0.5, 0], [0, 0, 1]], [0] * 4 + [None] * 4)
MANY = bag_target(np.arange(32) // 8, [0.5] * 4)
THIRDS = bag_target(IDS, np.eye(3)[:2] / 2 + 1 / 6)
NOTHING, PARTLY = bag_target(IDS, [None, None]), bag_target(IDS, [0.5, None])
FALLING = ProportionLoss("falling", np.negative, lambda gaps: -gaps)


def of_columns(names):
    """A table of means with columns of these names."""
    return BagMeans(pd.DataFrame([[0.0, 1.0]], columns=list(names)), [0.5], [3])


rates, conv, named = (
    partial(group_rates, Y, IDS),
    partial(ConvPropSVM, 1.0),
    partial(cp.Variable, ()),
)


def relaxed(relaxation):
    return lambda: conv(relaxation=relaxation).fit(X, Y)


def split(splitter):
    return lambda: list(splitter.split(X, Y))


def weighted(*weights):
    return lambda: MeanMap().fit(X, Y, sample_weight=weights)


REFUSED = [
    # targets
    (lambda: bag_target(["a", pd.NA], [0.5]), "bags must not contain None or NaN"),
    (lambda: bag_target([[1], [2]], [0.5, 0.5]), r"bags .*got \[1\]"),
    (lambda: bag_target(1, [0.5]), "bags must be a sequence"),
    (lambda: bag_target(IDS, [0.5, 0.5], classes=["x", "y"]), "columns of an array"),
    (lambda: bag_target(IDS, pd.DataFrame(np.eye(2), list("aa"))), "one row per bag id"),
    (lambda: bag_target(FRAME["id"], [0.5, 0.5], FRAME["label"][::-1]), "labels.loc.bags.index"),
    (lambda: bag_target(["a", "a"], pd.Series([0.5, 0.5])), "the index of a Series.* If each row"),
    (lambda: bag_target("aa", pd.Series([0.5, 0.5], ["a", "a"])), r"groupby\(level=0\).first"),
    (lambda: bag_target(["a"], 0.5), r"got an array of shape \(\)"),
    (lambda: bag_target(IDS, np.eye(2), classes=LONG), "classes must be"),
    (lambda: Bags.from_target([1, -1]), "got dtype list. Make one with propcvx.bag_target"),
    (lambda: Bags.from_target(Y[:0]), r"non-empty vector of instances; got shape \(0,\)"),
    (lambda: bag_proportions([1, 1, -1], [0, 0]), "3 instances; got 2"),
    (lambda: sampling_epsilon(Y, 1), r"level must be .* got 1"),
    # splits and scores
    (split(BagShuffleSplit(test_size=0.0)), "test_size must be a finite number above 0"),
    (lambda: next(BagKFold(2).split(X)), "y must be given"),
    (lambda: next(BagShuffleSplit().split(X, bag_target([0] * 8, [0.5]))), "y must have .* 2 bags"),
    (split(BagShuffleSplit(0)), "n_splits must be a whole number, at least 1; got 0"),
    (split(RepeatedBagKFold(2, n_repeats=0)), "n_repeats must be a whole number, at least 1"),
    (split(BagKFold(1)), r"from 2 to the number of bags \(2\); got 1"),
    (split(BagKFold("5")), "n_splits must be a whole number"),
    (lambda: bag_r2_score(Y, ONES[:3]), r"y_proba must have probabilities in \[0, 1\] in shape"),
    (lambda: bag_r2_score(Y, 1.5 * ONES), "y_proba must have probabilities"),
    (lambda: bag_error(NOTHING, ONES), "y_true has no bag with a proportion"),
    (lambda: bag_error(TABLE, ["x"] * 7 + ["w"]), "y_pred must be names of"),
    (lambda: bag_error(TABLE, ["x"] * 7 + [None]), "y_pred must have no unknown"),
    (lambda: bag_correlation(THIRDS, np.full((8, 3), 1 / 3)), "must have two classes; got 3"),
    # fits
    (lambda: MeanMap(bag_weights={"a": 1.0}).fit(X, Y), r"bag_weights must .*\['b'\]"),
    (weighted(-1, *ONES[1:]), r"sample_weight must be .* shape \(8,\)"),
    (weighted(*0 * ONES), "sample_weight must be"),
    (weighted(*LONG), "sample_weight must be"),
    (lambda: InvCal(epsilon="sampling").fit(X, Y), "Set scaled_epsilon=True"),
    (lambda: InvCal(epsilon="rounding", scaled_epsilon=True).fit(X, Y), r"one of \['sampling'\]"),
    (lambda: conv([0.1, 1.1]).fit(X, Y), "epsilon must be .*, or one for each of the 2 bags"),
    (lambda: conv({"a": 0.1}).fit(X, Y), r"epsilon must name every bag; missing: \['b'\]"),
    (lambda: AlterPropSVM(proportion_loss=constraint([0.1])).fit(X, Y), "epsilon must be"),
    (lambda: conv().fit(X, bag_target(IDS, [0.3, 1.0])), r"0\.3 \* 4 = 1\.2 .* nearest 1/4"),
    (lambda: replace(FALLING, dead_zone="sampling"), "must not fall from 0"),
    (lambda: AlterPropSVM(solver="newton", solver_options={"max": 1}).fit(X, Y), "options .'max'"),
    (lambda: AlterPropSVM(init=[]).fit(X, Y), "init must name at least one start"),
    (lambda: InvCal(kernel="precomputed").fit(np.zeros((8, 8)), Y), "must not be zero"),
    (lambda: AlterPropSVM().fit(X, AGAINST), "class 0 .*bag 'a': 4 known positives"),
    (lambda: SecondMoments().fit(X, PARTLY, [0.0] * 4 + [1.0] * 4), "above 0 in a bag with a prop"),
    (lambda: SecondMoments(n_components=0).fit(X, Y), "n_components must be"),
    (lambda: ProportionScaler().fit(np.vstack([X, X]), Y), "X and y must have the same .*16 and 8"),
    (lambda: MEAN_MAP.score(X, ["yew"] * 8), "y must"),
    (lambda: MEAN_MAP.score(X, Y, ONES), "sample_weight must be None with a bag target"),
    (lambda: InvCal().fit(X, NOTHING), "one bag with proportion 0.5, and allow a tolerance"),
    (lambda: conv().fit(X, NOTHING), "one bag with proportion 0.5, and allow a tolerance"),
    (lambda: AlterPropSVM(init=ONES).fit(X, THIRDS), "two classes"),
    # relaxations and certificates
    (lambda: certify(X, THIRDS, bounds="enumeration"), "two classes"),
    (relaxed(MixedInteger(time_limit=0)), "time_limit must be a finite number above 0"),
    (relaxed(Diffrac(max_order=6)), r"order \d+ is above max_order=6; .*'cutting_planes'"),
    (relaxed(CuttingPlanes(oracle=partial(SemidefiniteOracle, max_order=6))), "above max_order=6"),
    (lambda: certify(X[:1], bag_target([0], [1.0])), "two instances or more; got 1"),
    (lambda: certify(X, Y, 0.0), "C must"),
    (lambda: certify(X, Y, tol=-1.0), "tol must"),
    (lambda: certify(X, Y, time_limit=0.0), "time_limit must"),
    (lambda: certify(X, Y, C_p=-1.0), "C_p must"),
    (lambda: certify(X, Y, bounds="guess"), "bounds must be one of"),
    (lambda: certify(np.eye(32), MANY, bounds="enumeration"), "at most 20,000 labelings, .*; use"),
    (lambda: certify(X, Y, bounds=[weighted]), "bounds must be one of"),
    (lambda: certify(X, Y, intercept="bias"), "intercept must"),
    (lambda: certify(X, Y, init=[1.0, -1.0]), "init must be a labeling of -1"),
    (lambda: certify(X, Y, init=np.zeros(8)), "init must be a labeling of -1"),
    (lambda: certify(X, Y, init="best"), "init must be a labeling of -1"),
    (lambda: certify(X, NOTHING), "one bag with proportion 0.5, and allow a tolerance"),
    (
        lambda: certify(X, Y, bounds=["diffrac"]),
        "it must bound the hinge loss; got the square loss",
    ),
    (lambda: certify(X, Y, bounds=[CuttingPlanes]), r"got the class CuttingPlanes; Cutting"),
    (
        lambda: certify(X, Y, C_p=1.0, proportion_loss=FALLING),
        "proportion_loss must not be negative; got .*falling",
    ),
    (lambda: compare_relaxations(X, Y, relaxations="lift"), "s must be one of .*'lifted'"),
    (lambda: compare_relaxations(X, Y, -1.0), "C must"),
    (lambda: compare_relaxations(X, Y, y_true=[1, -1]), "y_true must"),
    # programs and solvers
    (lambda: Program(cp.Problem(cp.Minimize(named("x") + named("x")))), "several variables of the"),
    (lambda: svm_dual(X).set(gamma=1.0), "'?gamma'? (does|is) not .*svm_dual"),
    (lambda: svm_dual(X).set(y=["a"] * 8), "'?y'? (does|is) not .*svm_dual"),
    (lambda: solve(DUAL, "newton", max_itr=3), "'max_itr'.*you mean 'max_iter'"),
    (lambda: psvm(X, Bags.from_target(Y), 1.0, ONES[:2], FALLING, value=-1), "value must be"),
    (lambda: solve(svm_dual(X), "clarabel"), r"parameters without a value, \['y', 'lo"),
    (lambda: DUAL.with_objective(cp.Minimize(-cp.square(named("z")))), "(?s)not convex.*DCP.* -"),
    (lambda: DUAL.with_constraints(a=named("z") * named("u") <= 1), "(?s)not convex.*DCP.*a: z"),
    (lambda: solve(svm_dual(X).set(**LOOSE), "libsvm"), "needs .* svm_dual_parameters"),
    (lambda: solve(svm_dual(X, bias=False).set(**LOOSE), "liblinear"), "svm_dual_parameters"),
    (lambda: solve(DUAL, []), "solver must name at least one solver"),
    (lambda: solve(DUAL, tol=0.0), "tol must be"),
    (lambda: solve(DUAL, ["clarabel", "scip"]), "'scip' cannot"),
    (lambda: solve(DUAL, ("scs", {"max_iters": 5})), "a list of names and pairs"),
    (lambda: compare_solvers(DUAL, ["OPSQ"]), "did you mean 'osqp'"),
    (lambda: compare_solvers(DUAL, ["clarabel"], tols=[-1.0]), "tols must be a finite number"),
    # tables of means
    (lambda: BagMeans(TWO, [0.5, 1.0], [3]), "sizes must be the number of instances of each"),
    (lambda: BagMeans(TWO, [0.5, 1.0], [3, 0]), "whole numbers of at least 1"),
    (lambda: BagMeans(TWO, [0.5, 1.0], LONG), "sizes must be"),
    (lambda: BagMeans(TWO, [0.5], [3, 3]), "proportions must have one entry"),
    (lambda: BagMeans(TWO, [0.5, 1.0], [3, 3], ["a", "a"]), "ids must name each bag once"),
    (lambda: BagMeans(TWO, {"a": 0.5, "b": 1.0}, [3, 3]), r"the keys \['a', 'b'\]; ids="),
    (lambda: BagMeans(TWO, {"a": 0.5}, [3, 3], ["a", "b"]), r"missing: \['b'\]"),
    (lambda: fit_means(InvCal(), BagMeans(TWO, [0.5, 1.5], [3, 3])), r"be numbers in \[0, 1\]"),
    (lambda: fit_means(InvCal(kernel="rbf"), BagMeans(TWO, [0.5, 0.7], [3, 3])), "kernel must be"),
    (lambda: fit_means(MeanMap(), BagMeans(TWO, [0.5, 0.7], [3, 3])), "needs the instances"),
    (lambda: fit_means(InvCal(), FRAME), "table must be a BagMeans.*; got DataFrame"),
    (lambda: BagMeans(TWO, pd.Series([0.5, 0.7], ["b", "a"]), [3, 3]), r"the keys \['b', 'a'\]"),
    (lambda: BagMeans.concat([]), "tables must be one or more BagMeans"),
    (lambda: BagMeans.concat([of_columns("xz"), of_columns("zx")]), r"\['x', 'z'\], \['z', 'x'\]"),
    # checks of fits, and rates of groups
    (lambda: check_fit(InvCal(), X, ONES), "y must be a bag target with fields"),
    (lambda: check_fit(InvCal(), X, bag_target([0] * 8, [0.5])), "at least 2 bags with"),
    (lambda: check_fit(WithoutProbabilities(), X, Y), "needed is a classifier .* WithoutProbabil"),
    (
        lambda: check_fit(FrozenEstimator(MEAN_MAP), X, Y),
        "that learns from bags.*Pass its `.estimator`",
    ),
    (lambda: check_fit(GaussianNB(), X, Y), "a classifier that learns from bags.*GaussianNB"),
    (lambda: group_rates(Y, {}), "must have a column; got none"),
    (lambda: group_rates(Y, IDS[:3]), r"each of the 8 instances; got shape \(3,\)"),
    (lambda: group_rates(Y, [None, *IDS[1:]]), r"groups must not be missing; got .* at row 0"),
    (lambda: group_rates(Y, pd.Categorical(IDS, list("abc"))), r"empty: \['c'\]"),
    (lambda: group_rates(Y, lambda X: X[:, 0] > 0), "X must be given; got None"),
    (lambda: group_rates(THIRDS, IDS), "class"),
    (lambda: group_rates(ONES, IDS), "y must be a bag target; got ndarray"),
    (lambda: rates(ONES[:5]), r"labels must have one entry per instance \(8\)"),
    (lambda: rates(0 * ONES), "estimator must have the proportions of the bags"),
    (lambda: rates(StandardScaler()), "estimator must be a labeling, or a classifier"),
    (lambda: rates([1, 1, *[-1] * 3, 1, -1, -1], n_draws=20), "n_draws must be 0 without"),
    (lambda: rates(MEAN_MAP, X, n_draws=3), "n_draws must be .* at least 20"),
    (lambda: rates(MEAN_MAP, X, n_draws=20, level=1.0), "level must be"),
    (lambda: group_rates(Y, FRAME["id"][::-1], MEAN_MAP, FRAME), r"groups.loc\[X.index\]"),
    (lambda: rates(MEAN_MAP, X[:3]), "X must have the 8 instances of y"),
    (lambda: rates(y_true=0 * ONES), "y_true must have no unknown labels; got 8."),
    (lambda: rates(sample_weight=np.arange(8)), "sample_weight must be one number above 0 .* 8"),
    (lambda: compare_solvers(svm_dual(X)), "svm_dual has parameters without a value"),
    (lambda: solve(COMPLEX), "program must have real variables; got complex"),
    # data
    (lambda: make_two_bags(12), "bag_size"),
    (lambda: random_bags([1, -1], 0), "bag_size"),
    (lambda: random_bags(5, 3), "labels"),
    (lambda: bags_by_feature([1.0, np.nan], 2), "values"),
    (lambda: bags_by_cluster([[0.0]], 0), "n_bags"),
    (lambda: equal_proportion_bags(["a", "b"], 2), "labels"),
    (
        lambda: equal_proportion_bags([1, -1], 4),
        "must fill one bag of 2 positives and 2 negatives; got",
    ),
    (lambda: load_real("dna-4"), r"name must be one of .*'heart'.*'dna-3'"),
    (lambda: load_real("heart", data_home=5), "data_home must be the path of a folder; got 5"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_raises_short_message(call, message):
    with pytest.raises((InputError, UnsupportedSolverError), match=message) as raised:
        call()
    assert len(str(raised.value)) < 1000


# --- what needs a machine or an answer of its own ---------------------------------------------


@each_class
def test_linear_kernel_needs_gram_matrix_only_for_libsvm(monkeypatch, cls):
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
def test_singleton_bags_of_one_class_predict_that_class(cls, share):
    clf = cls().fit(X, bag_target(IDS, [share, share]))
    scores = clf.decision_function(X)
    assert np.isfinite(scores).all()
    if cls is AlterPropSVM:  # there is no separator then, and no error
        assert clf.objective_ == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(clf.coef_, 0.0, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), 1 if share else -1)
    np.testing.assert_array_equal(clf.transduction_, 1.0 if share else -1.0)


def test_mean_map_with_one_bag_raises():
    with pytest.warns(IllPosedWarning, match="do not identify .* .condition number inf"):
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
    with pytest.raises(SolverError, match=r"piqp failed .* bound of .* Rescale the problem"):
        AlterPropSVM(1e31, 1e31, init="random", annealing=False, solver="piqp").fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda: group_rates(Y[1:], np.arange(7)),
        lambda: make_pipeline(StandardScaler(), InvCal()).fit(X[1:], Y[1:]),
        lambda: cross_val_score(InvCal(), X, Y.copy(), cv=4),
    ],
    ids=["decorated", "pipeline", "search"],
)
def test_warning_points_at_caller_line(call):
    with pytest.warns(SplitBagWarning) as caught:
        call()
    assert caught[0].filename == __file__
