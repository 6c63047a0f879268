"""What cannot be used, and what is said about it: one row per mistake."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

import propcvx.kernels
from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    InvCal,
    MeanMap,
    Start,
    bag_error,
    bag_target,
)
from propcvx.errors import (
    CutBagWarning,
    GramMatrixMemoryError,
    IllPosedWarning,
    InfeasibleLabelingError,
    InputError,
    PropCVXError,
    UnsupportedSolverError,
)

X = np.random.RandomState(0).randn(8, 3)
IDS = ["a"] * 4 + ["b"] * 4
Y = bag_target(IDS, [0.5, 0.25])
CLASSES = [MeanMap, InvCal, AlterPropSVM, ConvPropSVM]
each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
NUMBER = r" must be a finite number"
WHOLE = r" must be a whole number, at least 1, got "
METHODS = r"\['random', 'mean_map', 'inv_cal', 'conv'\]"
INIT = (
    r"init must be a method's name \('random', .*\), an estimator of propcvx, a Start or a list of "
    r"them, or a labeling of -1 and \+1 for the 8 instances, got "
)


@dataclass(frozen=True)
class Mistake:
    """A call, what it raises, and what the whole message has to match."""

    call: object
    error: type
    message: str


def check(call, error, message):
    with pytest.raises(error, match=rf"(?s)\A{message}\Z") as raised:
        call()
    assert type(raised.value) is error


def fit(clf, data=X, target=Y):
    return lambda: clf.fit(data, target)


# --- one class each ---------------------------------------------------------------------------

MISTAKES = {
    # bags and proportions
    "proportion above 1": Mistake(
        lambda: bag_target(IDS, [0.5, 1.2]),
        InputError,
        r"proportions must be shares in \[0, 1\], got 1.2 for bag 'b'.",
    ),
    "proportion below 0": Mistake(
        lambda: bag_target(IDS, {"a": -0.1, "b": 1.0}),
        InputError,
        r"proportions must be shares in \[0, 1\], got -0.1 for bag 'a'.",
    ),
    "proportion is NaN": Mistake(
        lambda: bag_target(IDS, [0.5, np.nan]),
        InputError,
        r"proportions must be shares in \[0, 1\], got nan for bag 'b'.",
    ),
    "proportion is a word": Mistake(
        lambda: bag_target(IDS, ["half", 0.5]),
        InputError,
        r"proportions must be numbers in \[0, 1\]: .*'half'.",
    ),
    "too few proportions": Mistake(
        lambda: bag_target(IDS, [0.5]),
        InputError,
        r"proportions must have one entry per bag: 2 bags \['a', 'b'\], got an array of shape "
        r"\(1,\).",
    ),
    "bag without a proportion": Mistake(
        lambda: bag_target(IDS, {"a": 0.5}),
        InputError,
        r"proportions and bags must name the same ids; bags without a proportion: \['b'\]; "
        r"proportions without a bag: \[\].",
    ),
    "proportion without a bag": Mistake(
        lambda: bag_target(IDS, {"a": 0.5, "b": 0.5, "c": 1.0}),
        InputError,
        r"proportions and bags must name .* proportions without a bag: \['c'\].",
    ),
    "bag id is NaN": Mistake(
        lambda: bag_target([1.0, np.nan], [0.5, 0.5]),
        InputError,
        r"bags must not contain None or NaN; give every instance a bag id.",
    ),
    "no bags": Mistake(
        lambda: bag_target([], []),
        InputError,
        r"bags must name the bag of each instance, got an empty sequence.",
    ),
    "unknown label": Mistake(
        lambda: bag_target(IDS, [0.5, 0.5], labels=[0, 0, 2, 0, 0, 0, 0, 0]),
        InputError,
        r"labels must be -1, \+1, or 0 where unknown, got 2 at instance 2.",
    ),
    "labels of another length": Mistake(
        lambda: bag_target(IDS, [0.5, 0.5], labels=[1]),
        InputError,
        r"labels must have one entry per instance \(8\), got shape \(1,\).",
    ),
    "labels against the proportion": Mistake(
        lambda: Bags.from_target(bag_target(IDS, [0.5, 0.25], labels=[1, 1, 1, 1, 0, 0, 0, 0])),
        InputError,
        r"labels contradict the proportion of bag .*4 known positives and 0 known negatives of 4, "
        r"with proportion 0.5.",
    ),
    "p n is no count": Mistake(
        fit(ConvPropSVM(), target=bag_target(IDS, [0.4, 0.25])),
        InfeasibleLabelingError,
        r"no labeling of bag .* within epsilon=0: p \* n = 0.4 \* 4 = 1.6 positives; .* is 2. "
        r"Pass the proportion 2/4, or epsilon of at least 0.1.",
    ),
    "epsilon too small": Mistake(
        fit(ConvPropSVM(epsilon=0.05), target=bag_target(IDS, [0.4, 0.25])),
        InfeasibleLabelingError,
        r"no labeling of bag .* within epsilon=0.05: .* or epsilon of at least 0.1.",
    ),
    "predictions of another length": Mistake(
        lambda: bag_error(Y, [1, -1]),
        InputError,
        r"y_pred must have one label per instance, shape \(8,\), got \(2,\).",
    ),
    # AlterPropSVM
    "C_p negative": Mistake(
        fit(AlterPropSVM(C_p=-1)), InputError, rf"C_p{NUMBER} at least 0, got -1."
    ),
    "init unknown": Mistake(
        fit(AlterPropSVM(init="kmeans")),
        InputError,
        rf"init must be one of {METHODS}, got 'kmeans'.",
    ),
    "init unknown in a Start": Mistake(
        fit(AlterPropSVM(init=[Start(), Start("kmeans")])),
        InputError,
        rf"init must be one of {METHODS}, got 'kmeans'.",
    ),
    "init empty": Mistake(
        fit(AlterPropSVM(init=[])),
        InputError,
        r"init must name at least one start, got an empty sequence.",
    ),
    "init is None": Mistake(fit(AlterPropSVM(init=None)), InputError, rf"{INIT}None."),
    "init too short": Mistake(fit(AlterPropSVM(init=[1, -1])), InputError, rf"{INIT}\[1, -1\]."),
    "init of other labels": Mistake(
        fit(AlterPropSVM(init=[0, 1] * 4)), InputError, rf"{INIT}\[0, 1, 0, 1, 0, 1, 0, 1\]."
    ),
    "init of names": Mistake(
        fit(AlterPropSVM(init=["random", "conv"])), InputError, rf"{INIT}\['random', 'conv'\]."
    ),
    "init another estimator": Mistake(
        fit(AlterPropSVM(init=SVC())), InputError, rf"{INIT}SVC\(\)."
    ),
    "n_init 0": Mistake(fit(AlterPropSVM(n_init=0)), InputError, rf"n_init{WHOLE}0."),
    "n_init 1.5": Mistake(fit(AlterPropSVM(n_init=1.5)), InputError, rf"n_init{WHOLE}1.5."),
    "repeats 0": Mistake(
        fit(AlterPropSVM(init=Start(repeats=0))), InputError, rf"repeats{WHOLE}0."
    ),
    "max_iter 0": Mistake(fit(AlterPropSVM(max_iter=0)), InputError, rf"max_iter{WHOLE}0."),
    "annealing is a word": Mistake(
        fit(AlterPropSVM(annealing="no")),
        InputError,
        r"annealing must be True or False, got 'no'.",
    ),
    "selection unknown": Mistake(
        fit(AlterPropSVM(selection="best")),
        InputError,
        r"selection must be one of \['objective', 'bag_error'\], got 'best'.",
    ),
    "selection without bags to hold out": Mistake(
        fit(
            AlterPropSVM(init=[Start(), Start("conv")], selection="bag_error"),
            target=bag_target([0] * 8, [0.5]),
        ),
        InputError,
        r"selection='bag_error' holds out bags and needs at least 2, got 1.",
    ),
    "proportion_loss unknown": Mistake(
        fit(AlterPropSVM(proportion_loss="abs")),
        InputError,
        r"proportion_loss must be one of \['absolute', 'squared'\], got 'abs'.",
    ),
    "solver of other problems": Mistake(
        fit(AlterPropSVM(solver="scip")),
        UnsupportedSolverError,
        r"solver 'scip' cannot solve svm_dual \(quadratic program\); \['clarabel', .*'libsvm'\] "
        r"can.",
    ),
    # ConvPropSVM
    "epsilon negative": Mistake(
        fit(ConvPropSVM(epsilon=-0.1)),
        InputError,
        rf"epsilon{NUMBER} at least 0 and at most 1, got -0.1.",
    ),
    "epsilon above 1": Mistake(
        fit(ConvPropSVM(epsilon=1.1)),
        InputError,
        rf"epsilon{NUMBER} at least 0 and at most 1, got 1.1.",
    ),
    "max_cuts 0": Mistake(fit(ConvPropSVM(max_cuts=0)), InputError, rf"max_cuts{WHOLE}0."),
    "variance 0": Mistake(
        fit(ConvPropSVM(variance=0)),
        InputError,
        rf"variance{NUMBER} above 0 and at most 1, got 0.",
    ),
    "intercept unknown": Mistake(
        fit(ConvPropSVM(intercept="centre")),
        InputError,
        r"intercept must be one of \['center', 'constant', 'none'\], got 'centre'.",
    ),
    "oracle unknown": Mistake(
        fit(ConvPropSVM(oracle="greedy")),
        InputError,
        r"oracle must be one of \['coordinate', 'exhaustive', 'sweep', 'mixed_integer'\], "
        r"got 'greedy'.",
    ),
    "dimensions unknown": Mistake(
        fit(ConvPropSVM(dimensions="pca")),
        InputError,
        r"dimensions must be one of \['eigen', 'features'\], got 'pca'.",
    ),
    "master unknown": Mistake(
        fit(ConvPropSVM(master="dual")),
        InputError,
        r"master must be one of \['epigraph', 'group', 'reduced_gradient'\], got 'dual'.",
    ),
    "solver that cannot do the master": Mistake(
        fit(ConvPropSVM(solver="osqp")),
        UnsupportedSolverError,
        r"solver 'osqp' cannot solve mkl_epigraph \(second-order cone program\); "
        r"\['clarabel', .*\] can.*",
    ),
    "sweep in three dimensions": Mistake(
        fit(ConvPropSVM(oracle="sweep")),
        InputError,
        r".*sweep.* needs at most 2 features, got 3.*",
    ),
    "too many labelings to list": Mistake(
        fit(
            ConvPropSVM(oracle="exhaustive"),
            np.zeros((40, 1)),
            bag_target([0] * 40, [0.5]),
        ),
        InputError,
        r"bags have 137,846,528,820 feasible labelings, more than the 1,000,000 that can be "
        r"listed; use smaller bags or another oracle.",
    ),
    # MeanMap and InvCal
    "lam 0": Mistake(fit(MeanMap(lam=0)), InputError, rf"lam{NUMBER} above 0, got 0."),
    "bag_weights of another length": Mistake(
        fit(MeanMap(bag_weights=[1.0])),
        InputError,
        r"bag_weights must be 'bag', 'size', or one positive number per bag \(2\), got \[1.0\].",
    ),
    "C_p 0": Mistake(fit(InvCal(C_p=0)), InputError, rf"C_p{NUMBER} above 0, got 0."),
    "tube negative": Mistake(
        fit(InvCal(epsilon=-1)), InputError, rf"epsilon{NUMBER} at least 0, got -1."
    ),
    "solver without exponential cones": Mistake(
        fit(MeanMap(solver="osqp")),
        UnsupportedSolverError,
        r"solver 'osqp' cannot solve conditional_exponential_model \(exponential cone program\); "
        r"\['clarabel', .*\] can.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    mistake = MISTAKES[name]
    assert issubclass(mistake.error, PropCVXError)
    check(mistake.call, mistake.error, mistake.message)


@pytest.mark.parametrize("cls", [AlterPropSVM, ConvPropSVM])
@pytest.mark.parametrize("C", [0, -1, np.nan, np.inf, "1", None, True])
def test_C_must_be_positive(cls, C):
    check(fit(cls(C=C)), InputError, rf"C{NUMBER} above 0, got {C!r}.")


@pytest.mark.parametrize("cls", [AlterPropSVM, ConvPropSVM])
def test_tol_must_not_be_negative(cls):
    check(fit(cls(tol=-1)), InputError, rf"tol{NUMBER} at least 0, got -1.")


@pytest.mark.parametrize("cls", [AlterPropSVM, MeanMap])
@pytest.mark.parametrize(
    "weights", [[1, 2, 3], [1, 0], [1, -1], [1, np.inf], ["a", "b"], None], ids=str
)
def test_bag_weights_must_be_positive_one_per_bag(cls, weights):
    message = r"bag_weights must be 'bag', 'size', or one positive number per bag \(2\), got .*\."
    check(fit(cls(bag_weights=weights)), InputError, message)
    named = r"bag_weights must be one of \['bag', 'size'\], got 'count'\."
    check(fit(cls(bag_weights="count")), InputError, named)


# --- all four classes -------------------------------------------------------------------------

SHARED = {
    "empty": Mistake(
        lambda cls: cls().fit(np.empty((0, 3)), Y[:0]),
        ValueError,
        r"Found array with 0 sample\(s\) .* minimum of 2 is required by {cls}.",
    ),
    "one instance": Mistake(
        lambda cls: cls().fit(X[:1], bag_target([0], [1.0])),
        ValueError,
        r"Found array with 1 sample\(s\) .* minimum of 2 is required by {cls}.",
    ),
    "NaN in X": Mistake(
        lambda cls: cls().fit(np.where(X > 1.5, np.nan, X), Y),
        ValueError,
        r"Input X contains NaN\.\n{cls} .*",
    ),
    "infinity in X": Mistake(
        lambda cls: cls().fit(np.where(X > 1.5, np.inf, X), Y),
        ValueError,
        r"Input X contains infinity .*",
    ),
    "X is a vector": Mistake(
        lambda cls: cls().fit(X[:, 0], Y), ValueError, r"Expected 2D array, got 1D array .*"
    ),
    "y is None": Mistake(
        lambda cls: cls().fit(X, None),
        InputError,
        r"y must be given .*: a bag target made by propcvx.bag_target, or labels.",
    ),
    "y shorter than X": Mistake(
        lambda cls: cls().fit(X, Y[:7]),
        InputError,
        r"X and y must have the same number of instances, got 8 and 7.",
    ),
    "labels longer than X": Mistake(
        lambda cls: cls().fit(X[:4], [0, 1] * 4),
        InputError,
        r"X and y must have the same number of instances, got 4 and 8.",
    ),
    "y of other fields": Mistake(
        lambda cls: cls().fit(X, np.zeros(8, dtype=[("bag", int), ("p", float)])),
        InputError,
        r"y must be a bag target with fields \('bag', 'proportion', 'size', 'label'\), got the "
        r"fields \('bag', 'p'\); make one with propcvx.bag_target.",
    ),
    "one class": Mistake(
        lambda cls: cls().fit(X, np.ones(8)),
        InputError,
        r"y must have labels of two classes, got 1 class. .*",
    ),
    "three classes": Mistake(
        lambda cls: cls().fit(X, np.arange(8) % 3),
        InputError,
        r"y must have labels of two classes, got 3 classes. Only binary .*",
    ),
    "continuous y": Mistake(
        lambda cls: cls().fit(X, X[:, 0]), ValueError, r"Unknown label type: continuous.*"
    ),
    "kernel unknown": Mistake(
        lambda cls: cls(kernel="rbff").fit(X, Y),
        InputError,
        r"kernel must be one of \('linear', 'rbf', 'exponential', 'poly', 'precomputed'\) or a "
        r"callable, got 'rbff'.",
    ),
    "gamma negative": Mistake(
        lambda cls: cls(kernel="rbf", gamma=-1).fit(X, Y),
        InputError,
        rf"gamma{NUMBER} above 0, got -1.",
    ),
    "gamma unknown": Mistake(
        lambda cls: cls(kernel="rbf", gamma="auto").fit(X, Y),
        InputError,
        r"gamma must be one of \['scale'\], got 'auto'.",
    ),
    "degree 0": Mistake(
        lambda cls: cls(kernel="poly", degree=0).fit(X, Y), InputError, rf"degree{WHOLE}0."
    ),
    "coef0 is NaN": Mistake(
        lambda cls: cls(kernel="poly", coef0=np.nan).fit(X, Y),
        InputError,
        rf"coef0{NUMBER}, got nan.",
    ),
    "solver unknown": Mistake(
        lambda cls: cls(solver="gurobi").fit(X, Y),
        UnsupportedSolverError,
        r"solver must be one of \['clarabel', .*\], got 'gurobi'; \['clarabel', .*\] can solve .*",
    ),
    "solver is None": Mistake(
        lambda cls: cls(solver=None).fit(X, Y),
        UnsupportedSolverError,
        r"solver must be one of \[.*\], got None; .* can solve .*",
    ),
    "no solver": Mistake(
        lambda cls: cls(solver=[]).fit(X, Y),
        UnsupportedSolverError,
        r"solver must name at least one solver, got an empty sequence.",
    ),
    "solver_tol 0": Mistake(
        lambda cls: cls(solver_tol=0).fit(X, Y),
        InputError,
        rf"solver_tol{NUMBER} above 0, got 0.",
    ),
    "Gram not square": Mistake(
        lambda cls: cls(kernel="precomputed").fit(X, Y),
        InputError,
        r"the Gram matrix must be square, .* \(8, 8\), got shape \(8, 3\).",
    ),
    "Gram not symmetric": Mistake(
        lambda cls: cls(kernel="precomputed").fit(np.triu(np.ones((8, 8))), Y),
        InputError,
        r"the Gram matrix must be symmetric, got entries that differ by 1 from their transpose.",
    ),
    "Gram not positive semidefinite": Mistake(
        lambda cls: cls(kernel="precomputed").fit(np.ones((8, 8)) - np.eye(8), Y),
        InputError,
        r"the Gram matrix must be positive semidefinite, got eigenvalues from -1 to 7; use a "
        r"valid kernel or add to its diagonal.",
    ),
    "Gram zero": Mistake(
        lambda cls: cls(kernel="precomputed").fit(np.zeros((8, 8)), Y),
        InputError,
        r"the Gram matrix must not be zero: .*",
    ),
    "kernel gives a vector": Mistake(
        lambda cls: cls(kernel=lambda A, B: np.ones(3)).fit(X, Y),
        InputError,
        r"the Gram matrix must be square, .*got shape \(3,\).",
    ),
    "kernel gives NaN": Mistake(
        lambda cls: cls(kernel=lambda A, B: np.full((8, 8), np.nan)).fit(X, Y),
        InputError,
        r"the Gram matrix must be finite, got NaN or infinity.",
    ),
    "sparse X with a kernel": Mistake(
        lambda cls: cls(kernel="rbf").fit(sp.csr_array(X), Y),
        InputError,
        r"X may be sparse with kernel='linear' only, got 'rbf'.",
    ),
    "other features in predict": Mistake(
        lambda cls: cls().fit(X, Y).predict(X[:, :2]),
        ValueError,
        r"X has 2 features, but {cls} is expecting 3 features as input.",
    ),
    "bags of another length in predict_proportions": Mistake(
        lambda cls: cls().fit(X, Y).predict_proportions(X, [1, 2]),
        InputError,
        r"bags must name the bag of each of the 8 instances, got 2.",
    ),
    "predict before fit": Mistake(
        lambda cls: cls().predict(X), NotFittedError, r"This {cls} instance is not fitted yet. .*"
    ),
    "score before fit": Mistake(
        lambda cls: cls().score(X, Y), NotFittedError, r"This {cls} instance is not fitted yet. .*"
    ),
}


@each_class
@pytest.mark.parametrize("name", SHARED)
def test_mistakes_of_all_classes(name, cls):
    mistake = SHARED[name]
    message = mistake.message.replace("{cls}", cls.__name__)
    check(lambda: mistake.call(cls), mistake.error, message)


@each_class
def test_gram_matrix_beyond_memory_is_refused_before_it_is_made(monkeypatch, cls):
    def forbidden(A, B):
        raise AssertionError("the Gram matrix was computed")

    memory = SimpleNamespace(available=1)
    monkeypatch.setattr(propcvx.kernels.psutil, "virtual_memory", lambda: memory)
    message = (
        r"the Gram matrix of 8 instances and its factor need .* GB, .* GB are available; use "
        r"kernel='linear', or put a feature map before it .*Nystroem.*"
    )
    check(fit(cls(kernel=forbidden)), GramMatrixMemoryError, message)
    assert issubclass(GramMatrixMemoryError, MemoryError)
    linear = cls(solver="osqp") if cls is AlterPropSVM else cls()
    linear.fit(X, Y)


def test_libsvm_needs_a_gram_matrix_even_for_the_linear_kernel(monkeypatch):
    memory = SimpleNamespace(available=1)
    monkeypatch.setattr(propcvx.kernels.psutil, "virtual_memory", lambda: memory)
    message = (
        r"the Gram matrix of 8 instances .* use a solver that needs no Gram matrix, such as 'osqp'."
    )
    check(fit(AlterPropSVM(solver="libsvm")), GramMatrixMemoryError, message)


@pytest.mark.parametrize("cls", [MeanMap, InvCal])
def test_labels_inside_bags_are_refused_where_only_means_are_seen(cls):
    known = bag_target(IDS, [0.5, 0.25], labels=[1, 0, 0, 0, 0, 0, 0, 0])
    message = (
        rf"labels of 1 instances? (is|are) known inside larger bags, and {cls.__name__} sees only "
        r"the mean of a bag; give .* a bag of .* own, or use AlterPropSVM or ConvPropSVM."
    )
    check(fit(cls(), target=known), InputError, message)
    for method in (AlterPropSVM(n_init=1, random_state=0), ConvPropSVM()):
        assert method.fit(X, known).labeling_[0] == 1.0


def test_following_the_advice_of_an_infeasible_epsilon_is_enough():
    for size in range(2, 12):
        for share in np.linspace(0.03, 0.97, 23):
            target = bag_target([0] * size, [share])
            try:
                Bags.from_target(target).count_range(0.0)
            except InfeasibleLabelingError as error:
                count, epsilon = str(error).split("Pass the proportion ")[1].split(", or epsilon")
                advised = float(epsilon.split("at least ")[1].rstrip("."))
                Bags.from_target(target).count_range(advised)
                numerator, denominator = map(int, count.split("/"))
                exact = bag_target([0] * size, [numerator / denominator])
                Bags.from_target(exact).count_range(0.0)


# --- odd, but usable --------------------------------------------------------------------------


@each_class
@pytest.mark.filterwarnings("error")
def test_pure_bags_are_labels(cls):
    """Bags of proportion 0 and 1 only are as good as labels."""
    labels = np.repeat([-1, 1], 4)
    separated = X + 3.0 * labels[:, None]
    clf = cls().fit(separated, bag_target(labels, [0.0, 1.0]))
    np.testing.assert_array_equal(clf.labeling_, labels)
    np.testing.assert_array_equal(clf.predict(separated), labels)


@pytest.mark.parametrize("cls", [MeanMap, InvCal])
def test_equal_proportions_are_warned_of_and_answered(cls):
    with pytest.warns(IllPosedWarning, match="use AlterPropSVM or ConvPropSVM"):
        clf = cls().fit(X, bag_target(IDS, [0.5, 0.5]))
    assert np.isfinite(clf.decision_function(X)).all()


@each_class
@pytest.mark.filterwarnings("ignore::propcvx.errors.IllPosedWarning")
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_bags_of_one_and_the_same_class_predict_it(cls, share):
    clf = cls().fit(X, bag_target(IDS, [share, share]))
    scores = clf.decision_function(X)
    assert np.isfinite(scores).all()
    if cls is not ConvPropSVM:  # its centred scores have the mean 0
        np.testing.assert_array_equal(clf.predict(X), 1 if share else -1)
    np.testing.assert_array_equal(clf.labeling_, 1.0 if share else -1.0)


@each_class
def test_features_without_any_information_are_answered(cls):
    clf = cls().fit(np.zeros((8, 3)), Y)
    assert len(set(clf.decision_function(np.zeros((4, 3))))) == 1


@each_class
@pytest.mark.filterwarnings("always::propcvx.errors.CutBagWarning")
def test_a_bag_that_was_cut_is_warned_of(cls):
    message = r"1 of 2 bags are incomplete \(the first has 3 of its 4 .*BagKFold"
    with pytest.warns(CutBagWarning, match=message):
        cls().fit(X[:7], Y[:7])


def test_p_n_between_counts_is_no_trouble_for_alter_psvm():
    clf = AlterPropSVM(n_init=1, random_state=0).fit(X, bag_target(IDS, [0.4, 0.25]))
    assert np.isfinite(clf.objective_)
