"""Every public function that takes X: with a DataFrame of all types in a pipeline, and sparse."""

import inspect
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from methods import each_method
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import propcvx
from propcvx import (
    BagKFold,
    BagShuffleSplit,
    MeanMap,
    RepeatedBagKFold,
    bag_error,
    bag_target,
    certify,
    check_fit,
    fit_grid,
    group_shares,
    plotting,
    proportions_of,
)
from propcvx.alternating.algorithm import Iterate
from propcvx.datasets import bags_by_cluster
from propcvx.history import StopReason
from propcvx.relaxation.comparison import compare_relaxations
from propcvx.svm.step import Separator

RANDOM = np.random.RandomState(0)
LABELS = RANDOM.permutation(np.repeat([-1, 1], 12))
BAGS = np.arange(24) // 4
Y = bag_target(BAGS, proportions_of(LABELS, BAGS))
FRAME = pd.DataFrame(
    {
        "age": np.where(np.arange(24) % 7 == 0, np.nan, LABELS + RANDOM.normal(size=24)),
        "income": pd.array([None, *RANDOM.randint(9, size=23)], dtype="Int64"),
        "city": RANDOM.choice(["Lyon", "Oslo", None], 24),
        "member": RANDOM.choice([True, False], 24),
        "level": pd.Categorical(RANDOM.choice(["low", "high"], 24), ["low", "high"]),
    },
    index=RANDOM.permutation(24),
)
MEAN_MAP = MeanMap(solver="logistic")
"""Fitted to many resamples, so without a program that CVXPY compiles each time."""
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
TRANSFORMER = ColumnTransformer(
    [
        ("numbers", NUMBERS, ["age", "income"]),
        (
            "words",
            OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
            ["city", "member", "level"],
        ),
    ]
).set_output(transform="pandas")
TABLE = TRANSFORMER.fit_transform(FRAME)
DENSE = TABLE.to_numpy()
GROUPS = RANDOM.choice(["old", "young"], 24)


class Given(NamedTuple):
    """What X is, as numbers too, what makes numbers of it, and the same of two columns."""

    X: Any
    numbers: Any
    before: tuple[Any, ...]
    plane: Any

    def model(self, method):
        return make_pipeline(*map(clone, self.before), method)

    def fitted(self):
        return self.model(clone(MEAN_MAP)).fit(self.X, Y)


PLANE = FRAME[["income", "member"]][1:]
TO_PLANE = ColumnTransformer([("scaled", StandardScaler(), ["income"])], remainder="passthrough")
POINTS = TO_PLANE.fit_transform(PLANE).astype(float)
PLAIN = Given(DENSE, DENSE, (), POINTS)
OTHERS = {
    "mixed": Given(FRAME, TABLE, (TRANSFORMER,), PLANE),
    "sparse": Given(sp.csr_array(DENSE), sp.csr_array(DENSE), (), sp.csr_array(POINTS)),
    "coordinates": Given(sp.coo_array(DENSE), sp.coo_array(DENSE), (), sp.coo_array(POINTS)),
}
ITERATE = Iterate(
    *(1, 0.1, LABELS[1:], Separator(LABELS[1:], np.array([1.0, 0.3]), 0.1, np.zeros(23))),
    *(1.0, 2, StopReason.MAX_ROUNDS),
)


def shares(given):
    model = given.fitted()
    first = group_shares(Y, GROUPS, model, given.X, n_resamples=20)
    second = group_shares(Y, GROUPS, model[-1], given.numbers)
    kept = [table.drop(columns=["low", "high"]) for table in (first.groups, first.cells)]
    return [*kept, second.groups]


def checked(given):
    """What does not depend on the folds, in which a pipeline scales anew."""
    check = check_fit(given.model(clone(MEAN_MAP)), given.X, Y, random_state=0)
    return [check.expected, check.majority, check.n_bags]


def table_of(given):
    (row,) = compare_relaxations(given.numbers, Y, 0.1, "diffrac")
    return [row["upper"]]


def boundary(given):
    before = (clone(TO_PLANE),) if isinstance(given.plane, pd.DataFrame) else ()
    model = make_pipeline(*before, MeanMap()).fit(given.plane if before else POINTS, Y[1:])
    ax = plotting.boundary(model, given.plane)
    line = next(each for each in ax.collections[::-1] if len(each.get_paths()) == 1)
    assert (ax.get_xlabel() == "income") == bool(before)
    return line.get_offsets()[:, 1]


def splits(splitter):
    return lambda given: [half for split in splitter.split(given.X, Y) for half in split]


CALLS = {
    "group_shares": shares,
    "certify": lambda given: certify(given.numbers, Y, 0.01, time_limit=5.0).labeling,
    "fit_grid": lambda given: [
        model.coef_ for model in fit_grid(MeanMap(), given.numbers, Y, {"lam": [0.1, 1.0]})
    ],
    "check_fit": checked,
    "compare_relaxations": table_of,
    "bags_by_cluster": lambda given: bags_by_cluster(given.numbers, 3, 0),
    "proportions": lambda given: (
        plotting.proportions(given.fitted(), given.X, Y).collections[0].get_offsets()
    ),
    "boundary": boundary,
    "annealing_frame": lambda given: (
        plotting.annealing_frame(ITERATE, given.plane).collections[-1].get_offsets()[:, 1]
    ),
    "annealing": lambda given: [len(plotting.annealing([ITERATE], given.plane)._repr_html_()) > 99],
    "BagKFold": splits(BagKFold(2, random_state=0)),
    "RepeatedBagKFold": splits(RepeatedBagKFold(2, n_repeats=2, random_state=0)),
    "BagShuffleSplit": splits(BagShuffleSplit(2, random_state=0)),
}


def test_every_public_function_of_X_is_called():
    modules = [
        *(
            propcvx,
            propcvx.estimators,
            propcvx.groups,
            propcvx.bags.model_selection,
            propcvx.plotting,
        ),
        *(propcvx.datasets, propcvx.relaxation.comparison),
    ]
    public = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and name in getattr(module, "__all__", [name])
        if getattr(value, "__module__", "").startswith("propcvx.")
    }
    functions = {name for name in public if inspect.isfunction(public[name])}
    named = {name for name in functions if "X" in inspect.signature(public[name]).parameters}
    splitters = {name for name in public if hasattr(public[name], "split")}
    assert named | splitters == set(CALLS)


@cache
def of_numbers(call):
    return list(CALLS[call](PLAIN))


@pytest.mark.parametrize("given", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
def test_it_has_the_answer_of_the_numbers(call, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", propcvx.errors.PropCVXWarning)
        answers = CALLS[call](given)
    for answer, expected in zip(answers, of_numbers(call), strict=True):
        np.testing.assert_allclose(answer, expected, atol=1e-6)


@pytest.mark.parametrize("given", OTHERS.values(), ids=OTHERS)
@each_method()
@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
def test_every_method_has_the_answers_of_the_numbers(method, given):
    first, other = given.model(method), PLAIN.model(clone(method))
    assert first.fit(given.X, Y).score(given.X, Y) == other.fit(DENSE, Y).score(DENSE, Y)
    for ask in ("decision_function", "predict", "predict_proba"):
        mine, its = getattr(first, ask)(given.X), getattr(other, ask)(DENSE)
        np.testing.assert_allclose(mine, its, atol=1e-5)
    table = given.X if not given.before else first[0].transform(given.X)
    assert first[-1].predict_proportions(table, BAGS) == other[-1].predict_proportions(DENSE, BAGS)


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize(
    ("X", "model"),
    [
        (FRAME, OTHERS["mixed"].model(MEAN_MAP)),
        (FRAME["city"].fillna("nowhere").tolist(), make_pipeline(CountVectorizer(), MEAN_MAP)),
    ],
    ids=["mixed", "texts"],
)
def test_intervals_do_not_depend_on_names_of_bags(X, model):
    """Of the texts many are equal, and in different groups."""
    names = np.array(list("fbdace"))[BAGS]
    y = bag_target(names, proportions_of(LABELS, names))
    tables = [
        group_shares(target, GROUPS, clone(model).fit(X, target), X, n_resamples=20).groups
        for target in (Y, y)
    ]
    np.testing.assert_allclose(*tables, atol=1e-6)


# A pandas user's calls that have an answer; those that have a message are in tests/mistakes.py.


def test_shares_and_errors_of_columns():
    region = pd.Series(np.array(list("fbdace"))[BAGS], FRAME.index)
    votes, predicted = (pd.Series(RANDOM.choice([-1, 1], 24), FRAME.index) for _ in range(2))
    true, told = ((column > 0).groupby(region).mean() for column in (votes, predicted))
    assert proportions_of(votes, region) == true.to_dict()
    error = (told - true).abs().mean()
    assert bag_error(bag_target(region, true), predicted) == pytest.approx(error)
