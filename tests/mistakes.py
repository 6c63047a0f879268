"""Calls with wrong arguments, the class of the error of each, and parts of its message.

tests/test_bad_input.py makes every mistake, and docs/errors.md shows the messages.  Nothing here
needs pytest, or a solver that does not come with the package.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import cvxpy as cp
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from propcvx import (
    AlterPropSVM,
    BagKFold,
    BagMeans,
    ConvPropSVM,
    CuttingPlanes,
    InvCal,
    MeanMap,
    bag_error,
    bag_proportions,
    bag_target,
    certify,
    fit_grid,
    group_rates,
)
from propcvx.errors import (
    GramMatrixMemoryError,
    InconsistentBoundsError,
    InfeasibleLabelingError,
    InputError,
    UnsupportedSolverError,
)
from propcvx.labelings.losses import HINGE
from propcvx.programs import svm_dual
from propcvx.relaxation import Lifted, MixedInteger
from propcvx.relaxation.masters import MASTERS
from propcvx.svm.step import Separator

X = np.random.RandomState(0).randn(8, 3)
IDS = ["a"] * 4 + ["b"] * 4
Y = bag_target(IDS, [0.5, 0.25])
ALL = (InvCal, MeanMap, AlterPropSVM, ConvPropSVM)
MEANS, SVM, WEIGHTED = (InvCal, MeanMap), (AlterPropSVM, ConvPropSVM), (AlterPropSVM, MeanMap)


@dataclass(frozen=True)
class Mistake:
    """A call, what it raises, and parts of the message: what is wrong, what came, what would do.

    Where ``classes`` are given, the call takes one of them, and ``{cls}`` in a part is its name.
    """

    call: Callable[..., object]
    names: tuple[str, ...]
    error: type[Exception] = InputError
    classes: tuple[type, ...] = ()

    def cases(self) -> Iterator[tuple[str, "Mistake"]]:
        """The mistake made with each of its classes, by name; or the mistake itself."""
        if not self.classes:
            yield "", self
        for cls in self.classes:
            names = tuple(name.replace("{cls}", cls.__name__) for name in self.names)
            yield cls.__name__, Mistake(partial(self.call, cls), names, self.error)

    def says(self, message: str) -> bool:
        """Whether a message names all that it has to."""
        return all(name in message for name in self.names)


def target(*names, **options):
    """A call of ``bag_target``, with the bags "a" and "b" where it has no others."""
    options = {"bags": IDS, "proportions": [0.5, 0.25], **options}
    return Mistake(lambda: bag_target(**options), names)


def fitted(*names, classes=ALL, X=X, y=Y, error=InputError, **parameters):
    """A fit of each class."""
    return Mistake(lambda cls: cls(**parameters).fit(X, y), names, error, classes)


def wrong(name, *values, **more):
    """A fit of each class with each of some values of a parameter, which the message names."""
    return {
        f"{name}={value!r}": fitted(f"{name} must", repr(value), **{name: value}, **more)
        for value in values
    }


def calls(*names, call, error=InputError):
    """A call that takes each class."""
    return Mistake(call, names, error, ALL)


MAKE = "bag_target"
INFEASIBLE = ("1 of 2 bags", "bag 'a'", "nearest 2/4", "epsilon='rounding'")
NO_COUNT = {"y": bag_target(IDS, [0.4, 0.25]), "error": InfeasibleLabelingError}
UNSUPPORTED = {"error": UnsupportedSolverError}
GRAM = {"kernel": "precomputed"}
means = partial(fitted, classes=(MeanMap,))
alter = partial(fitted, classes=(AlterPropSVM,))
conv = partial(fitted, classes=(ConvPropSVM,))
WEIGHTED_HINGE = replace(HINGE, weights=np.arange(1.0, 9.0))


def own_master(features, C, solve, **changes):
    """A form of the restricted master whose answers are changed."""
    right = MASTERS["group"](features, C, solve)
    return lambda labelings: replace(right(labelings), **changes)


_BAGS = {
    "proportion above 1": target("proportions", "1.2", "bag 'b'", proportions=[0.5, 1.2]),
    "proportion is NaN": target("proportions", "got nan", "bag 'b'", proportions=[0.5, np.nan]),
    "proportion in percent": target("proportions", "64%", proportions={"a": 0.5, "b": "64%"}),
    "too few proportions": target("proportions", "2 bags", "(1,)", proportions=[0.5]),
    "bag without a proportion": target("without a proportion: ['b']", proportions={"a": 0.5}),
    "proportion without a bag": target("a bag: ['c']", proportions={"a": 0.5, "b": 0, "c": 1}),
    "bag ids of two types, proportions in an array": target("Pass a dict", bags=[1, "a"]),
    "no bags": target("bags", "got an empty sequence", bags=[], proportions=[]),
    "unknown label": target("labels", "got 2 at instance 2", labels=[0, 0, 2, 0, 0, 0, 0, 0]),
    "labels True, False and unknown": target(
        "{True: 1, False: -1}).fillna(0)", labels=pd.Series([True, None] * 4, dtype="boolean")
    ),
    "proportions of classes that do not sum to one": target(
        "sum to one", "got 0.9 in bag 'a'", proportions=[[0.5, 0.4, 0.0], [0, 0, 1]]
    ),
    "class in no bag": target("0 in every bag for [1]", proportions=[[1, 0, 0], [0.5, 0, 0.5]]),
    "bags of different classes": target(
        *("the same classes: one has ['x', 'y'], bag 'b' has {'x': 1.0}", "Write 0.0"),
        proportions={"a": {"x": 0.5, "y": 0.5}, "b": {"x": 1.0}},
    ),
    "repeated class names": target(
        "classes must be different names", proportions=np.eye(2), classes=["x", "x"]
    ),
    "unknown class as label": target(
        "[0, 1], or None", "{1: 'x'}", proportions=np.eye(2), labels=[0, "x", *[None] * 6]
    ),
    "labels against the proportion": alter(
        *("labels contradict the proportion of bag 'a'", "4 known positives"),
        y=bag_target(IDS, [0.5, 0.25], labels=[1] * 4 + [0] * 4),
    ),
}

_EACH = {
    "NaN in X": fitted("X contains NaN", X=np.where(X > 1.5, np.nan, X), error=ValueError),
    "y is None": fitted("y must be given", MAKE, y=None),
    "y shorter than X": fitted("X and y", "8 and 7", y=Y[:7]),
    "y of other fields": fitted(
        "y must", "('bag', 'p')", MAKE, y=np.zeros(8, dtype=[("bag", int), ("p", float)])
    ),
    "one class": fitted("y must have labels of two classes", "got 1", y=np.ones(8)),
    "y is a column of bags": fitted(
        "y must have labels of two classes", "got 4", MAKE, y=np.repeat(["n", "e", "s", "w"], 2)
    ),
    **wrong("kernel", "rbff"),
    **wrong("gamma", 0.0, "auto", kernel="rbf"),
    **wrong("degree", 0, kernel="poly"),
    **wrong("coef0", np.nan, kernel="poly"),
    **wrong("solver", None, **UNSUPPORTED),
    "misspelled solver": fitted(
        "got 'calrabel'", "did you mean 'clarabel'", solver="calrabel", **UNSUPPORTED
    ),
    **wrong("solver_tol", 0),
    "Gram matrix not square": fitted("Gram matrix", "square", "(8, 3)", **GRAM),
    "Gram matrix not symmetric": fitted("symmetric", X=np.triu(np.ones((8, 8))), **GRAM),
    "Gram matrix not positive semidefinite": fitted(
        "Gram matrix", "from -1 to 7", X=np.ones((8, 8)) - np.eye(8), **GRAM
    ),
    "Gram matrix beyond memory": means(
        *("Gram matrix of 300,000 instances", "kernel='linear'", "Nystroem"),
        X=np.zeros((300_000, 1)),
        y=bag_target(np.zeros(300_000, dtype=int), [0.5]),
        error=GramMatrixMemoryError,
        kernel="rbf",
    ),
    "kernel that gives NaN": fitted("finite", kernel=lambda A, B: np.full((8, 8), np.nan)),
    "sparse X with a kernel": fitted("X", "kernel='linear'", X=sp.csr_array(X), kernel="rbf"),
    "bags of another length in predict_proportions": calls(
        "bags", "got 2", call=lambda cls: cls().fit(X, Y).predict_proportions(X, [1, 2])
    ),
    "predict before fit": calls("{cls}", call=lambda cls: cls().predict(X), error=NotFittedError),
}

_MEANS = {
    **wrong("lam", 0, classes=(MeanMap,)),
    **wrong("C_p", 0, classes=(InvCal,)),
    **wrong("epsilon", -1, classes=(InvCal,)),
}

_ALTER = {
    **wrong("C", -1, np.nan, True, classes=SVM),
    **wrong(*("bag_weights", "count", [1.0], [1, 0], [1, np.inf]), classes=WEIGHTED),
    **wrong("tol", -1, classes=SVM[:1]),
    **wrong("C_p", -1, classes=SVM[:1]),
    **wrong("init", "kmeans", [1, -1], SVC(), classes=SVM[:1]),
    **wrong("n_init", 1.5, classes=SVM[:1]),
    **wrong("max_iter", 0, classes=SVM[:1]),
    **wrong("annealing", "no", classes=SVM[:1]),
    "init_weight=1.0": alter("init_weight must", "below 1; got 1.0", init_weight=1.0),
    "certify after a fit with weights in its loss": Mistake(
        lambda: certify(AlterPropSVM(instance_loss=WEIGHTED_HINGE).fit(X, Y), X, Y),
        ("X must", "hinge loss without weights"),
    ),
    "a loss with too many weights": alter(
        *("instance_loss must", "each of the 4 instances", "shape (8,)", "sample_weight of fit"),
        **{"X": X[:4], "y": bag_target(IDS[:4], [0.5]), "instance_loss": WEIGHTED_HINGE},
    ),
    **wrong("proportion_loss", "abs", classes=SVM[:1]),
    "init of several, one unknown": alter("init must", "'best'", init=["random", "best"]),
}

_CONV = {
    "proportion that no count has": conv(*INFEASIBLE, **NO_COUNT),
    **wrong("epsilon", "nearest", 1.1, classes=(ConvPropSVM,)),
    **wrong("intercept", "middle", classes=(ConvPropSVM,)),
    **wrong("relaxation", "sdp", classes=(ConvPropSVM,)),
    **wrong("rounding", "sign", classes=(ConvPropSVM,)),
    "max_cuts=0": conv("max_cuts must", "0", relaxation=CuttingPlanes(max_cuts=0)),
    "oracle='greedy'": conv("oracle must", "'greedy'", relaxation=CuttingPlanes(oracle="greedy")),
    "master='dual'": conv("master must", "'dual'", relaxation=CuttingPlanes(master="dual")),
    "tol=-1.0": conv("tol must", "-1.0", relaxation=CuttingPlanes(tol=-1.0)),
    "master that returns no weight": conv(
        *("master must return mu", "(0,)", "(1,)"),
        relaxation=CuttingPlanes(master=partial(own_master, mu=np.ones(0))),
    ),
    "master whose value is above its bound": conv(
        *("master", "lower bound 99", "above the upper bound"),
        relaxation=CuttingPlanes(master=partial(own_master, value=99.0)),
        error=InconsistentBoundsError,
    ),
    "rounding to other weights": conv(
        *("rounding must return weights", "(2,)", "(3,)"),
        rounding=lambda *parts: Separator(np.ones(8), np.ones(2)),
    ),
    "solver that cannot do the master": conv(
        "solver 'osqp'", "second-order cone program", solver="osqp", **UNSUPPORTED
    ),
    "sweep in three dimensions": conv(
        "at most 2 features; got 3", relaxation=CuttingPlanes(oracle="sweep")
    ),
    "a semidefinite matrix too large": conv(
        "order 10", "max_order=9", "cutting_planes", relaxation=Lifted(max_order=9)
    ),
    "too many instances for the exact program": conv(
        "8 instances", "max_instances=7", "'lifted'", relaxation=MixedInteger(max_instances=7)
    ),
    "too many labelings to list": conv(
        *("137,846,528,820", "another oracle"),
        X=np.zeros((40, 1)),
        y=bag_target([0] * 40, [0.5]),
        relaxation=CuttingPlanes(oracle="exhaustive"),
    ),
}

_BOUNDS = {
    **{
        f"{name} {form} C_p": Mistake(
            partial(certify, X, Y, C=0.1, C_p=C_p, **{name: value}),
            (f"{name} must be omitted {form} C_p", repr(value)),
        )
        for name, value, form, C_p in (
            ("proportion_loss", "squared", "without", None),
            ("bag_weights", "size", "without", None),
            ("epsilon", 0.1, "with", 1.0),
        )
    }
}

_PROGRAMS = {
    "a list for a constraint": Mistake(
        lambda: svm_dual(X).with_constraints(small=[cp.Variable(name="w") >= 0]),
        ("small must be a constraint of CVXPY", "got [", "w >= 0"),
    ),
    "an expression for an objective": Mistake(
        lambda: svm_dual(X).with_objective(cp.norm1(cp.Variable(8))),
        ("objective must", "got Expression(", "cvxpy.Minimize(expression)"),
    ),
}

_SCORES = {
    "predictions of another length": Mistake(lambda: bag_error(Y, [1, -1]), ("y_pred", "(2,)")),
    "names of classes as predictions": Mistake(
        lambda: bag_error(Y, ["yes"] * 8), ("y_pred must", "'yes'", "pass bag_target proportions")
    ),
    "bag error of labels": Mistake(lambda: bag_error([1, -1], [1, -1]), ("y_true", MAKE)),
    "more folds than bags with a proportion": Mistake(
        lambda: list(BagKFold(3).split(X, bag_target([0, 1, 2, 3] * 2, [0.5, 1, None, None]))),
        ("n_splits", "(2 of 4 bags)", "got 3", "fewer splits"),
    ),
}

PEOPLE = pd.DataFrame(X, columns=["age", "income", "rent"]).assign(region=IDS)
REGION, TABLE = PEOPLE["region"], PEOPLE[["age", "income", "rent"]]
SHARES = pd.Series({"a": 0.5, "b": 0.25}, name="share")
OTHER_ORDER = REGION.sort_index(ascending=False)
THIRDS = pd.DataFrame(0.33, index=["a", "b"], columns=["x", "y", "z"])


def shares_of(*names, error=InputError, **options):
    """A call of ``group_rates``, of a fit to the table and groups of it where it has no others."""
    options = {
        "y": Y,
        "groups": REGION,
        "estimator": MeanMap().fit(TABLE, Y),
        "X": TABLE,
        **options,
    }
    return Mistake(lambda: group_rates(**options), names, error)


_TABLES = {
    "a DataFrame with one column of proportions": target(
        "two classes or more", "proportions['share']", proportions=SHARES.to_frame()
    ),
    "one proportion per row": target("set_index(column)", proportions=REGION.map(SHARES)),
    "NaN for an unknown proportion": target(
        ".where(proportions.notna(), None)", proportions=SHARES.where(SHARES > 0.3)
    ),
    "a DataFrame for bags": target("MultiIndex.from_frame(bags)", bags=PEOPLE[["region"]]),
    "ids as numbers and as text": target(
        *("a proportion: [1, 2]", "a bag: ['1', '2']", "read_csv(dtype={column: str})"),
        **{"bags": [1] * 4 + [2] * 4, "proportions": {"1": 0.5, "2": 0.25}},
    ),
    "NA for an unknown label": target(
        "got None, NaN or NA", "fillna(0)", labels=pd.Series([1, None] * 4, dtype="Int8")
    ),
    "proportions of missing labels": Mistake(
        lambda: bag_proportions([1.0, np.nan] * 4, IDS), ("labels must", "Leave out instances")
    ),
    "a table of means in another order than proportions": Mistake(
        lambda: BagMeans(TABLE.groupby(REGION).mean(), SHARES[::-1], [4, 4]),
        ("proportions must", "order of means"),
    ),
    "a pipeline for certify": Mistake(
        lambda: certify(make_pipeline(StandardScaler(), ConvPropSVM()).fit(X, Y), X, Y),
        ("X must be", "model[-1]", "model[:-1].transform(X)"),
    ),
    "a pipeline for fit_grid": Mistake(
        lambda: list(fit_grid(make_pipeline(StandardScaler(), MeanMap()), X, Y, {})),
        ("estimator must", "GridSearchCV for any other"),
    ),
    "probabilities by cross_val_predict": Mistake(
        lambda: cross_val_predict(MeanMap(), X, Y, cv=BagKFold(2), method="predict_proba"),
        ("y must", "method='predict'", "propcvx.BagKFold(5).split(X, y)"),
    ),
    "proportions in the order of categories": target(
        "bags are categories", bags=pd.Categorical(["small", "large"] * 4, ["small", "large"])
    ),
    "rounded proportions of classes": target(
        "got 0.99 in bag 'a'", "div(proportions.sum(axis=1), axis=0)", proportions=THIRDS
    ),
    "bags in another order than X": Mistake(
        lambda: MeanMap().fit(TABLE, Y).predict_proportions(TABLE, OTHER_ORDER),
        ("bags must", "bags.loc[X.index]"),
    ),
    "weights in another order than X": Mistake(
        lambda: MeanMap().fit(TABLE, Y, sample_weight=pd.Series(1.0, index=OTHER_ORDER.index)),
        ("sample_weight must", "sample_weight.loc[X.index]"),
    ),
    "labels in another order than X": Mistake(
        lambda: MeanMap().fit(TABLE, Y).score(TABLE, pd.Series(1, index=OTHER_ORDER.index)),
        ("y must", "y.loc[X.index]"),
    ),
    "other columns in predict": Mistake(
        lambda: MeanMap().fit(TABLE, Y).predict(TABLE.rename(columns={"age": "years"})),
        ("feature names should match", "years"),
        ValueError,
    ),
    "True and False in score": Mistake(
        lambda: MeanMap().fit(TABLE, Y).score(TABLE, TABLE["income"] > 0), ("[-1, 1]", "got False")
    ),
    "groups without X": shares_of("X must have the 8 instances", "None", X=None),
    "predicted labels for groups": shares_of(
        "proportions of the bags", "the fitted classifier", estimator=np.ones(8)
    ),
}

MISTAKES: dict[str, dict[str, Mistake]] = {
    "Bags and proportions": _BAGS,
    "All classifiers": _EACH,
    "MeanMap and InvCal": _MEANS,
    "alter-pSVM, and parameters of several classifiers": _ALTER,
    "conv-pSVM": _CONV,
    "Bounds": _BOUNDS,
    "Programs": _PROGRAMS,
    "Splits and scores": _SCORES,
    "Tables": _TABLES,
}
"""The mistakes under headings."""
