"""What cannot be used, and what is said about it: one row per mistake.

tests/test_bad_input.py checks every row, and docs/errors.md shows it.  Nothing here needs pytest,
or a solver that does not come with the package.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from propcvx import (
    AlterPropSVM,
    BagKFold,
    Bags,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    MeanMap,
    MethodStart,
    RandomStart,
    bag_error,
    bag_target,
)
from propcvx.errors import (
    GramMatrixMemoryError,
    InfeasibleLabelingError,
    InputError,
    UnsupportedSolverError,
)
from propcvx.model_selection import BagShuffleSplit
from propcvx.relaxation import RELAXATIONS, Lifted, MixedInteger
from propcvx.relaxation.oracles import ORACLES, CoordinateOracle
from propcvx.relaxation.rounding import ROUNDINGS

X = np.random.RandomState(0).randn(8, 3)
IDS = ["a"] * 4 + ["b"] * 4
Y = bag_target(IDS, [0.5, 0.25])
NO_VARIANCE = partial(CoordinateOracle.on_axes, variance=0)
ALL = (InvCal, MeanMap, AlterPropSVM, ConvPropSVM)


@dataclass(frozen=True)
class Mistake:
    """A call, what it raises, and the whole message.

    Where ``classes`` are given, the call takes one of them, and ``{cls}`` in the message is its
    name.  The message is a pattern only where part of it is the text of another library or depends
    on the machine: on the solvers that are installed, on the memory that is free.
    """

    call: Callable[..., object]
    error: type[Exception]
    message: str | re.Pattern[str]
    classes: tuple[type, ...] = ()

    def cases(self) -> Iterator[tuple[str, "Mistake"]]:
        """The row for each of its classes, by name, its call without arguments; or the row."""
        if not self.classes:
            yield "", self
        for cls in self.classes:
            text = self.pattern.replace("{cls}", cls.__name__)
            message = text if isinstance(self.message, str) else re.compile(text, re.DOTALL)
            yield cls.__name__, Mistake(partial(self.call, cls), self.error, message)

    @property
    def pattern(self) -> str:
        """The message as it is written in the row."""
        return self.message if isinstance(self.message, str) else self.message.pattern

    def says(self, message: str) -> bool:
        """Whether a message is the one of the row, from its first to its last character."""
        if isinstance(self.message, str):
            return message == self.message
        return self.message.fullmatch(message) is not None


def fit(clf, data=X, target=Y):
    """The call that fits an estimator."""
    return lambda: clf.fit(data, target)


def fit_each(data=X, target=Y, **parameters):
    """The call that fits an estimator of a class to come."""
    return lambda cls: cls(**parameters).fit(data, target)


def fit_many(cls):
    """Fit with a kernel to so many instances that no machine holds their Gram matrix."""
    n_instances = 300_000
    return cls(kernel="rbf").fit(np.zeros((n_instances, 1)), np.arange(n_instances) % 2)


MAKE = "make y with propcvx.bag_target(bags, proportions)."
TWO = "y must have labels of two classes, got"
ONLY_TWO = f"Only binary classification is supported. For names of bags, {MAKE}"
LENGTHS = "X and y must have the same number of instances, got "
SQUARE = "the Gram matrix must be square, one row and column per instance (8, 8), got shape "
METHODS = "['mixed', 'random', 'mean_map', 'inv_cal', 'conv']"
INIT = (
    f"init must be one of {METHODS}, a start, several of them, an estimator of propcvx, or a "
    "labeling of -1 and +1 for the 8 instances, got "
)
INFEASIBLE = (
    "no labeling has the proportions of 1 of 2 bags within epsilon={}: bag 'a' (p * n = 0.4 * 4 = "
    "1.6 positives, nearest 2/4). For all of them an epsilon of 0.1 suffices; epsilon='rounding' "
    "takes the nearest counts."
)
SOLVERS = r"\['\w+'(, '\w+')*\]"  # those that are installed

_BAGS = {
    "proportion above 1": Mistake(
        lambda: bag_target(IDS, [0.5, 1.2]),
        InputError,
        "proportions must be shares in [0, 1], got 1.2 for bag 'b'.",
    ),
    "proportion below 0": Mistake(
        lambda: bag_target(IDS, {"a": -0.1, "b": 1.0}),
        InputError,
        "proportions must be shares in [0, 1], got -0.1 for bag 'a'.",
    ),
    "proportion is NaN": Mistake(
        lambda: bag_target(IDS, [0.5, np.nan]),
        InputError,
        "proportions must be shares in [0, 1], got nan for bag 'b'.",
    ),
    "proportion is a word": Mistake(
        lambda: bag_target(IDS, ["half", 0.5]),
        InputError,
        "proportions must be numbers in [0, 1], got 'half' for bag 'a'.",
    ),
    "proportion in percent": Mistake(
        lambda: bag_target(IDS, {"a": 0.5, "b": "64%"}),
        InputError,
        "proportions must be numbers in [0, 1], got '64%' for bag 'b'.",
    ),
    "proportions of several numbers": Mistake(
        lambda: bag_target(IDS, [[0.5], [0.2, 0.3]]),
        InputError,
        "proportions must be numbers in [0, 1], got [0.5] for bag 'a'.",
    ),
    "too few proportions": Mistake(
        lambda: bag_target(IDS, [0.5]),
        InputError,
        "proportions must have one entry per bag: 2 bags ['a', 'b'], got an array of shape (1,).",
    ),
    "bag without a proportion": Mistake(
        lambda: bag_target(IDS, {"a": 0.5}),
        InputError,
        "proportions and bags must name the same ids; bags without a proportion: ['b']; "
        "proportions without a bag: [].",
    ),
    "proportion without a bag": Mistake(
        lambda: bag_target(IDS, {"a": 0.5, "b": 0.5, "c": 1.0}),
        InputError,
        "proportions and bags must name the same ids; bags without a proportion: []; "
        "proportions without a bag: ['c'].",
    ),
    "bag id is NaN": Mistake(
        lambda: bag_target([1.0, np.nan], [0.5, 0.5]),
        InputError,
        "bags must not contain None or NaN; give every instance a bag id.",
    ),
    "bag id is pandas.NA": Mistake(
        lambda: bag_target(["a", pd.NA], [0.5, 0.5]),
        InputError,
        "bags must not contain None or NaN; give every instance a bag id.",
    ),
    "bag ids of several types, proportions in an array": Mistake(
        lambda: bag_target([1, "a"], [0.5, 0.5]),
        InputError,
        "bags have ids that cannot be sorted, so proportions cannot be an array in sorted-id "
        "order; pass a dict keyed by bag id.",
    ),
    "bag ids are lists": Mistake(
        lambda: bag_target([[1], [2]], [0.5, 0.5]),
        InputError,
        "bags must have one bag id for each instance, got [1]; an instance is in one bag: bags do "
        "not overlap, and are not lists of their instances.",
    ),
    "bags are a number": Mistake(
        lambda: bag_target(1, [0.5]),
        InputError,
        "bags must be a sequence with one hashable bag id per instance: 'int' object is not "
        "iterable.",
    ),
    "no bags": Mistake(
        lambda: bag_target([], []),
        InputError,
        "bags must name the bag of each instance, got an empty sequence.",
    ),
    "unknown label": Mistake(
        lambda: bag_target(IDS, [0.5, 0.5], labels=[0, 0, 2, 0, 0, 0, 0, 0]),
        InputError,
        "labels must be -1, +1, or 0 where unknown, got 2 at instance 2.",
    ),
    "labels of another length": Mistake(
        lambda: bag_target(IDS, [0.5, 0.5], labels=[1]),
        InputError,
        "labels must have one entry per instance (8), got shape (1,).",
    ),
    "labels 0 for negatives": Mistake(
        lambda: bag_target(IDS * 3, [0.5, 0.25], labels=[0, 1, 1, 0, 0, 0, 0, 1] * 3),
        InputError,
        "labels have 1 for as many instances of every bag as its proportion says, and 0, which "
        "means unknown, for all others; pass -1 for negatives: 2 * labels - 1.",
    ),
    "labels True and False": Mistake(
        lambda: bag_target(IDS, [0.5, 0.25], labels=[True] * 4 + [False] * 4),
        InputError,
        "labels must be -1, +1, or 0 where unknown, got True and False; np.where(labels, 1, -1) "
        "has -1 for False.",
    ),
    "labels against the proportion": Mistake(
        lambda: Bags.from_target(bag_target(IDS, [0.5, 0.25], labels=[1, 1, 1, 1, 0, 0, 0, 0])),
        InputError,
        "labels contradict the proportion of bag 'a': 4 known positives and 0 known negatives of "
        "4, with proportion 0.5.",
    ),
}

_EACH = {
    "no instances": Mistake(
        lambda cls: cls().fit(np.empty((0, 3)), Y[:0]),
        ValueError,
        re.compile(r"Found array with 0 sample\(s\) .* minimum of 2 is required by {cls}\."),
        ALL,
    ),
    "one instance": Mistake(
        fit_each(X[:1], bag_target([0], [1.0])),
        ValueError,
        re.compile(r"Found array with 1 sample\(s\) .* minimum of 2 is required by {cls}\."),
        ALL,
    ),
    "NaN in X": Mistake(
        fit_each(np.where(X > 1.5, np.nan, X)),
        ValueError,
        re.compile(r"Input X contains NaN\.\n{cls} .*"),
        ALL,
    ),
    "infinity in X": Mistake(
        fit_each(np.where(X > 1.5, np.inf, X)),
        ValueError,
        re.compile(r"Input X contains infinity .*"),
        ALL,
    ),
    "X is a vector": Mistake(
        fit_each(X[:, 0]),
        ValueError,
        re.compile(r"Expected 2D array, got 1D array .*"),
        ALL,
    ),
    "y is None": Mistake(
        fit_each(target=None),
        InputError,
        "y must be given (requires y to be passed, but the target y is None): a bag target made "
        "by propcvx.bag_target, or labels.",
        ALL,
    ),
    "y shorter than X": Mistake(fit_each(target=Y[:7]), InputError, f"{LENGTHS}8 and 7.", ALL),
    "labels longer than X": Mistake(
        fit_each(X[:4], [0, 1] * 4), InputError, f"{LENGTHS}4 and 8.", ALL
    ),
    "y of other fields": Mistake(
        fit_each(target=np.zeros(8, dtype=[("bag", int), ("p", float)])),
        InputError,
        "y must be a bag target with fields ('bag', 'proportion', 'size', 'label'), got the fields "
        "('bag', 'p'); make one with propcvx.bag_target.",
        ALL,
    ),
    "one class": Mistake(
        fit_each(target=np.ones(8)),
        InputError,
        f"{TWO} 1 class. {ONLY_TWO}",
        ALL,
    ),
    "three classes": Mistake(
        fit_each(target=np.arange(8) % 3),
        InputError,
        f"{TWO} 3 classes. {ONLY_TWO}",
        ALL,
    ),
    "y is a column of bags": Mistake(
        fit_each(target=["north", "north", "east", "east", "south", "south", "west", "west"]),
        InputError,
        f"{TWO} 4 classes. {ONLY_TWO}",
        ALL,
    ),
    "y is a dict of shares": Mistake(
        fit_each(target={"a": 0.5, "b": 0.25}),
        InputError,
        f"y must have one row per instance, got a mapping; {MAKE}",
        ALL,
    ),
    "y is a column of shares": Mistake(
        fit_each(target=np.repeat([0.5, 0.25], 4)),
        InputError,
        re.compile(rf"Unknown label type: continuous\..* For shares, {re.escape(MAKE)}"),
        ALL,
    ),
    "continuous y": Mistake(
        fit_each(target=X[:, 0]),
        InputError,
        re.compile(rf"Unknown label type: continuous\..* For shares, {re.escape(MAKE)}"),
        ALL,
    ),
    "kernel unknown": Mistake(
        fit_each(kernel="rbff"),
        InputError,
        "kernel must be one of ('linear', 'rbf', 'exponential', 'poly', 'precomputed') or a "
        "callable, got 'rbff'.",
        ALL,
    ),
    "gamma negative": Mistake(
        fit_each(kernel="rbf", gamma=-1),
        InputError,
        "gamma must be a finite number above 0, got -1.",
        ALL,
    ),
    "gamma unknown": Mistake(
        fit_each(kernel="rbf", gamma="auto"),
        InputError,
        "gamma must be one of ['scale'], got 'auto'.",
        ALL,
    ),
    "degree 0": Mistake(
        fit_each(kernel="poly", degree=0),
        InputError,
        "degree must be a whole number, at least 1, got 0.",
        ALL,
    ),
    "coef0 is NaN": Mistake(
        fit_each(kernel="poly", coef0=np.nan),
        InputError,
        "coef0 must be a finite number, got nan.",
        ALL,
    ),
    "solver unknown": Mistake(
        fit_each(solver="abacus"),
        UnsupportedSolverError,
        re.compile(
            rf"solver must be 'auto', a Solver, or one of {SOLVERS}, got 'abacus'; "
            rf"{SOLVERS} can solve \w+\."
        ),
        ALL,
    ),
    "solver is None": Mistake(
        fit_each(solver=None),
        UnsupportedSolverError,
        re.compile(
            rf"solver must be 'auto', a Solver, or one of {SOLVERS}, got None; "
            rf"{SOLVERS} can solve \w+\."
        ),
        ALL,
    ),
    "no solver": Mistake(
        fit_each(solver=[]),
        UnsupportedSolverError,
        "solver must name at least one solver, got an empty sequence.",
        ALL,
    ),
    "solver_tol 0": Mistake(
        fit_each(solver_tol=0),
        InputError,
        "solver_tol must be a finite number above 0, got 0.",
        ALL,
    ),
    "Gram matrix not square": Mistake(
        fit_each(kernel="precomputed"), InputError, f"{SQUARE}(8, 3).", ALL
    ),
    "Gram matrix not symmetric": Mistake(
        fit_each(np.triu(np.ones((8, 8))), kernel="precomputed"),
        InputError,
        "the Gram matrix must be symmetric, got entries that differ by 1 from their transpose.",
        ALL,
    ),
    "Gram matrix not positive semidefinite": Mistake(
        fit_each(np.ones((8, 8)) - np.eye(8), kernel="precomputed"),
        InputError,
        "the Gram matrix must be positive semidefinite, got eigenvalues from -1 to 7; use a valid "
        "kernel or add to its diagonal.",
        ALL,
    ),
    "Gram matrix zero": Mistake(
        fit_each(np.zeros((8, 8)), kernel="precomputed"),
        InputError,
        "the Gram matrix must not be zero: no instance differs from another.",
        ALL,
    ),
    "Gram matrix beyond memory": Mistake(
        fit_many,
        GramMatrixMemoryError,
        re.compile(
            r"the Gram matrix of 300,000 instances and what is made of it need \d+\.\d GB, "
            r"\d+\.\d GB are available; use kernel='linear', or put a feature map before it "
            r"\(sklearn\.kernel_approximation\.Nystroem, RBFSampler\)\."
        ),
        ALL,
    ),
    "kernel that gives a vector": Mistake(
        fit_each(kernel=lambda A, B: np.ones(3)), InputError, f"{SQUARE}(3,).", ALL
    ),
    "kernel that gives NaN": Mistake(
        fit_each(kernel=lambda A, B: np.full((8, 8), np.nan)),
        InputError,
        "the Gram matrix must be finite, got NaN or infinity.",
        ALL,
    ),
    "sparse X with a kernel": Mistake(
        fit_each(sp.csr_array(X), kernel="rbf"),
        InputError,
        "X may be sparse with kernel='linear' only, got 'rbf'.",
        ALL,
    ),
    "other features in predict": Mistake(
        lambda cls: cls().fit(X, Y).predict(X[:, :2]),
        ValueError,
        re.compile(r"X has 2 features, but {cls} is expecting 3 features as input\."),
        ALL,
    ),
    "bags of another length in predict_proportions": Mistake(
        lambda cls: cls().fit(X, Y).predict_proportions(X, [1, 2]),
        InputError,
        "bags must name the bag of each of the 8 instances, got 2.",
        ALL,
    ),
    "labels 0 and 1 in score, after a fit to bags": Mistake(
        lambda cls: cls().fit(X, Y).score(X, [0, 1] * 4),
        InputError,
        "y must have labels among classes_ [-1, 1], got 0 too; pass -1 for the negative and 1 for "
        "the positive class.",
        ALL,
    ),
    "labels -1 and 1 in score, after a fit to labels 0 and 1": Mistake(
        lambda cls: cls().fit(X, [0, 1] * 4).score(X, [-1, 1] * 4),
        InputError,
        "y must have labels among classes_ [0, 1], got -1 too; pass 0 for the negative and 1 for "
        "the positive class.",
        ALL,
    ),
    "predict before fit": Mistake(
        lambda cls: cls().predict(X),
        NotFittedError,
        re.compile(r"This {cls} instance is not fitted yet\. .*"),
        ALL,
    ),
    "score before fit": Mistake(
        lambda cls: cls().score(X, Y),
        NotFittedError,
        re.compile(r"This {cls} instance is not fitted yet\. .*"),
        ALL,
    ),
    "transduce before fit": Mistake(
        lambda cls: cls().transduce(),
        NotFittedError,
        re.compile(r"This {cls} instance is not fitted yet\. .*"),
        ALL,
    ),
}

_SIMPLE = {
    "labels known inside bags": Mistake(
        fit_each(target=bag_target(IDS, [0.5, 0.25], labels=[1, -1, 0, 0, 0, 0, 0, 0])),
        InputError,
        "single labels are known inside larger bags (2 of them), and {cls} sees only the mean of a "
        "bag; give each of them a bag of its own, or use AlterPropSVM or ConvPropSVM.",
        (InvCal, MeanMap),
    ),
    "lam 0": Mistake(
        fit(MeanMap(lam=0)), InputError, "lam must be a finite number above 0, got 0."
    ),
    "C_p 0": Mistake(fit(InvCal(C_p=0)), InputError, "C_p must be a finite number above 0, got 0."),
    "tube of negative width": Mistake(
        fit(InvCal(epsilon=-1)), InputError, "epsilon must be a finite number at least 0, got -1."
    ),
    "solver without exponential cones": Mistake(
        fit(MeanMap(solver="osqp")),
        UnsupportedSolverError,
        re.compile(
            r"solver 'osqp' cannot solve conditional_exponential_model \(exponential cone "
            rf"program\); {SOLVERS} can\."
        ),
    ),
}

_SVM = (AlterPropSVM, ConvPropSVM)

_ALTER = {
    "C 0": Mistake(fit_each(C=0), InputError, "C must be a finite number above 0, got 0.", _SVM),
    "tol negative": Mistake(
        fit(AlterPropSVM(tol=-1)), InputError, "tol must be a finite number at least 0, got -1."
    ),
    "tol of cutting planes negative": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(tol=-1))),
        InputError,
        "tol must be a finite number at least 0, got -1.",
    ),
    "C_p negative": Mistake(
        fit(AlterPropSVM(C_p=-1)), InputError, "C_p must be a finite number at least 0, got -1."
    ),
    "bag_weights unknown": Mistake(
        fit_each(bag_weights="count"),
        InputError,
        "bag_weights must be one of ['bag', 'size'], got 'count'.",
        (AlterPropSVM, MeanMap),
    ),
    "bag_weights of another length": Mistake(
        fit_each(bag_weights=[1.0]),
        InputError,
        "bag_weights must be 'bag', 'size', or one positive number per bag (2), got [1.0].",
        (AlterPropSVM, MeanMap),
    ),
    "bag_weights without a bag": Mistake(
        fit_each(bag_weights={"a": 1.0}),
        InputError,
        "bag_weights must name every bag, got none of ['b'].",
        (AlterPropSVM, MeanMap),
    ),
    "init unknown": Mistake(
        fit(AlterPropSVM(init="kmeans")),
        InputError,
        f"init must be one of {METHODS}, got 'kmeans'.",
    ),
    "method of a start unknown": Mistake(
        fit(AlterPropSVM(init=[RandomStart(), MethodStart("kmeans")])),
        InputError,
        "method must be one of ['mean_map', 'inv_cal', 'conv'], got 'kmeans'.",
    ),
    "init empty": Mistake(
        fit(AlterPropSVM(init=[])),
        InputError,
        "init must name at least one start, got an empty sequence.",
    ),
    "init is None": Mistake(fit(AlterPropSVM(init=None)), InputError, f"{INIT}None."),
    "init too short": Mistake(fit(AlterPropSVM(init=[1, -1])), InputError, f"{INIT}[1, -1]."),
    "init of other labels": Mistake(
        fit(AlterPropSVM(init=[0, 1] * 4)), InputError, f"{INIT}[0, 1, 0, 1, 0, 1, 0, 1]."
    ),
    "init of several, one unknown": Mistake(
        fit(AlterPropSVM(init=["random", "best"])),
        InputError,
        f"init must be one of {METHODS}, got 'best'.",
    ),
    "init another estimator": Mistake(fit(AlterPropSVM(init=SVC())), InputError, f"{INIT}SVC()."),
    "n_init 0": Mistake(
        fit(AlterPropSVM(n_init=0)),
        InputError,
        "n_init must be a whole number, at least 1, got 0.",
    ),
    "n_init 1.5": Mistake(
        fit(AlterPropSVM(n_init=1.5)),
        InputError,
        "n_init must be a whole number, at least 1, got 1.5.",
    ),
    "repeats 0": Mistake(
        fit(AlterPropSVM(init=RandomStart(0))),
        InputError,
        "repeats must be a whole number, at least 1, got 0.",
    ),
    "max_iter 0": Mistake(
        fit(AlterPropSVM(max_iter=0)),
        InputError,
        "max_iter must be a whole number, at least 1, got 0.",
    ),
    "annealing is a word": Mistake(
        fit(AlterPropSVM(annealing="no")),
        InputError,
        "annealing must be True or False, got 'no'.",
    ),
    "polish is a flag": Mistake(
        fit(AlterPropSVM(polish=True)),
        InputError,
        "polish must be one of ['none', 'swaps', 'hops'], got True.",
    ),
    "selection unknown": Mistake(
        fit(AlterPropSVM(selection="best")),
        InputError,
        "selection must be one of ['objective', 'bag_error'], got 'best'.",
    ),
    "selection without bags to hold out": Mistake(
        fit(
            AlterPropSVM(init=[RandomStart(), MethodStart("conv")], selection="bag_error"),
            target=bag_target([0] * 8, [0.5]),
        ),
        InputError,
        "selection='bag_error' holds out bags and needs at least 2, got 1.",
    ),
    "proportion_loss unknown": Mistake(
        fit(AlterPropSVM(proportion_loss="abs")),
        InputError,
        "proportion_loss must be one of ['absolute', 'squared'], got 'abs'.",
    ),
    "solver of other problems": Mistake(
        fit(AlterPropSVM(solver="scip")),
        UnsupportedSolverError,
        re.compile(rf"solver 'scip' cannot solve svm_dual \(quadratic program\); {SOLVERS} can\."),
    ),
}

_CONV = {
    "proportion that no count has": Mistake(
        fit(ConvPropSVM(), target=bag_target(IDS, [0.4, 0.25])),
        InfeasibleLabelingError,
        INFEASIBLE.format("0"),
    ),
    "epsilon too small for the next count": Mistake(
        fit(ConvPropSVM(epsilon=0.05), target=bag_target(IDS, [0.4, 0.25])),
        InfeasibleLabelingError,
        INFEASIBLE.format("0.05"),
    ),
    "epsilon negative": Mistake(
        fit(ConvPropSVM(epsilon=-0.1)),
        InputError,
        "epsilon must be a finite number at least 0 and at most 1, got -0.1.",
    ),
    "epsilon is a word": Mistake(
        fit(ConvPropSVM(epsilon="nearest")),
        InputError,
        "epsilon must be one of ['rounding'], got 'nearest'.",
    ),
    "epsilon above 1": Mistake(
        fit(ConvPropSVM(epsilon=1.1)),
        InputError,
        "epsilon must be a finite number at least 0 and at most 1, got 1.1.",
    ),
    "max_cuts 0": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(max_cuts=0))),
        InputError,
        "max_cuts must be a whole number, at least 1, got 0.",
    ),
    "variance 0": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(oracle=NO_VARIANCE))),
        InputError,
        "variance must be a finite number above 0 and at most 1, got 0.",
    ),
    "intercept unknown": Mistake(
        fit(ConvPropSVM(intercept="centre")),
        InputError,
        "intercept must be one of ['center', 'constant', 'none'], got 'centre'.",
    ),
    "oracle unknown": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(oracle="greedy"))),
        InputError,
        f"oracle must be one of {list(ORACLES)}, got 'greedy'.",
    ),
    "relaxation unknown": Mistake(
        fit(ConvPropSVM(relaxation="sdp")),
        InputError,
        f"relaxation must be one of {list(RELAXATIONS)}, got 'sdp'.",
    ),
    "rounding unknown": Mistake(
        fit(ConvPropSVM(rounding="sign")),
        InputError,
        f"rounding must be one of {list(ROUNDINGS)}, got 'sign'.",
    ),
    "master unknown": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(master="dual"))),
        InputError,
        "master must be one of ['group', 'epigraph', 'reduced_gradient'], got 'dual'.",
    ),
    "solver that cannot do the master": Mistake(
        fit(ConvPropSVM(solver="osqp")),
        UnsupportedSolverError,
        re.compile(
            r"solver 'osqp' cannot solve mkl_group \(second-order cone program\); "
            rf"{SOLVERS} can\."
        ),
    ),
    "sweep in three dimensions": Mistake(
        fit(ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep"))),
        InputError,
        "a sweep over directions needs at most 2 features, got 3; use ExhaustiveOracle, "
        "MixedIntegerOracle or CoordinateOracle.",
    ),
    "a semidefinite matrix too large": Mistake(
        fit(ConvPropSVM(relaxation=Lifted(max_order=9))),
        InputError,
        "a semidefinite matrix of order 10 is above max_order=9; relaxation='cutting_planes' takes "
        "any size, and a larger max_order takes this one, in time that grows with the third power "
        "of the order.",
    ),
    "too many instances for the exact program": Mistake(
        fit(ConvPropSVM(relaxation=MixedInteger(max_instances=7))),
        InputError,
        "8 instances are above max_instances=7; relaxation='lifted' takes some hundreds and "
        "'cutting_planes' any number.",
    ),
    "too many labelings to list": Mistake(
        fit(
            ConvPropSVM(relaxation=CuttingPlanes(oracle="exhaustive")),
            np.zeros((40, 1)),
            bag_target([0] * 40, [0.5]),
        ),
        InputError,
        "bags have 137,846,528,820 feasible labelings, more than the 1,000,000 that can be listed; "
        "use smaller bags or another oracle.",
    ),
}

_SCORES = {
    "predictions of another length": Mistake(
        lambda: bag_error(Y, [1, -1]),
        InputError,
        "y_pred must have one label per instance, shape (8,), got (2,).",
    ),
    "bag error of labels": Mistake(
        lambda: bag_error([1, -1], [1, -1]),
        InputError,
        "y_true must be a bag target; make one with propcvx.bag_target.",
    ),
    "more folds than bags": Mistake(
        lambda: list(BagKFold(3).split(X, Y)),
        InputError,
        "n_splits must be from 2 to the number of bags (2), got 3.",
    ),
    "folds without y": Mistake(
        lambda: list(BagKFold(2).split(X)),
        InputError,
        "y must be given: bags are split by the bag target, not by X.",
    ),
    "one bag to hold out": Mistake(
        lambda: list(BagShuffleSplit().split(X, bag_target([0] * 8, [0.5]))),
        InputError,
        "y must have at least 2 bags to hold some out, got 1.",
    ),
}

MISTAKES: dict[str, dict[str, Mistake]] = {
    "Bags and proportions": _BAGS,
    "All four methods": _EACH,
    "MeanMap and InvCal": _SIMPLE,
    "alter-pSVM, and what others share with it": _ALTER,
    "conv-pSVM": _CONV,
    "Splits and scores": _SCORES,
}
"""The rows by what was wrong, under headings."""
