"""Functions that take X: with a DataFrame of all types in a pipeline, and sparse."""

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import propcvx
from propcvx import (
    BagKFold,
    MeanMap,
    bag_proportions,
    bag_target,
    certify,
    check_fit,
    fit_grid,
    group_rates,
    plotting,
)
from propcvx.datasets import bags_by_cluster

RANDOM = np.random.RandomState(0)
LABELS = RANDOM.permutation(np.repeat([-1, 1], 12))
BAGS = np.arange(24) // 4
Y = bag_target(BAGS, bag_proportions(LABELS, BAGS))
FRAME = pd.DataFrame(
    {
        "age": np.where(np.arange(24) % 7 == 0, np.nan, LABELS + RANDOM.normal(size=24)),
        "income": pd.array([None, *RANDOM.randint(9, size=23)], dtype="Int64"),
        "city": RANDOM.choice(["Lyon", "Oslo", None], 24),
    },
    index=RANDOM.permutation(24),
)
MEAN_MAP = MeanMap(solver="logistic")
"""Fitted to many resamples, so without a program that CVXPY compiles each time."""
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
TRANSFORMER = ColumnTransformer(
    [
        ("numbers", NUMBERS, ["age", "income"]),
        ("words", OneHotEncoder(sparse_output=False), ["city"]),
    ]
).set_output(transform="pandas")
TABLE = TRANSFORMER.fit_transform(FRAME)
DENSE = TABLE.to_numpy()
GROUPS = RANDOM.choice(["old", "young"], 24)


class Given(NamedTuple):
    """What X is, as numbers too, and what makes numbers of it."""

    X: Any
    numbers: Any
    before: tuple[Any, ...] = ()

    def model(self):
        return make_pipeline(*map(clone, self.before), clone(MEAN_MAP))

    def fitted(self):
        return self.model().fit(self.X, Y)


PLAIN = Given(DENSE, DENSE)
OTHERS = {
    "mixed": Given(FRAME, TABLE, (TRANSFORMER,)),
    "sparse": Given(sp.csr_array(DENSE), sp.csr_array(DENSE)),
}


def rates(given):
    table = group_rates(Y, GROUPS, given.fitted(), given.X, n_draws=20)
    return [table.groups[["lower_bound", "upper_bound", "estimate"]], table.cells["estimate"]]


def checked(given):
    """What does not depend on the folds, in which a pipeline scales anew."""
    check = check_fit(given.model(), given.X, Y, random_state=0)
    return [check.expected_accuracy, check.majority_accuracy, check.n_bags]


CALLS = {
    "predict_proba": lambda given: given.fitted().predict_proba(given.X),
    "group_rates": rates,
    "check_fit": checked,
    "certify": lambda given: certify(given.numbers, Y, 0.01, time_limit=5.0).labeling,
    "fit_grid": lambda given: [
        model.coef_ for model in fit_grid(MeanMap(), given.numbers, Y, {"lam": [0.1, 1.0]})
    ],
    "bags_by_cluster": lambda given: bags_by_cluster(given.numbers, 3, 0),
    "proportions": lambda given: (
        plotting.proportions(given.fitted(), given.X, Y).collections[0].get_offsets()
    ),
    "BagKFold": lambda given: [
        half for split in BagKFold(2, random_state=0).split(given.X, Y) for half in split
    ],
}


@cache
def of_numbers(call):
    return list(CALLS[call](PLAIN))


@pytest.mark.parametrize("given", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
def test_frame_or_sparse_X_gives_answer_of_array(call, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", propcvx.errors.PropCVXWarning)
        answers = CALLS[call](given)
    for answer, expected in zip(answers, of_numbers(call), strict=True):
        np.testing.assert_allclose(answer, expected, atol=1e-6)
