"""Shares of groups: bounds against lists, estimates and their intervals."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from effort import first
from joblib import parallel_config
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from small_problems import all_labelings, small_problem

from propcvx import (
    BagKFold,
    EcologicalRegression,
    InvCal,
    MeanMap,
    bag_proportions,
    bag_target,
    group_rates,
)
from propcvx.errors import IllPosedWarning, InputError, UnreliableIntervalWarning
from propcvx.groups import estimates
from propcvx.groups.cells import Cells
from propcvx.labelings.feasible import FeasibleLabelings

SIZES = [(3, 3), (1, 4, 5), (6, 2), (2, 2, 2, 2)]


def in_groups(seed, n, n_groups=3):
    """A group of each instance, every group with one."""
    random = np.random.RandomState(seed)
    return random.permutation(
        np.append(np.arange(n_groups), random.randint(n_groups, size=n - n_groups))
    )


# Bounds


WEIGHTS = {
    "none": lambda random, n: np.ones(n),
    "equal": lambda random, n: np.full(n, 0.1),
    "tied": lambda random, n: random.choice([1.0, 2.0, 5.0], n),
    "unequal": lambda random, n: 10.0 ** random.uniform(-6, 6, n),
}


def weights_in(sets, labelings, weights):
    """Least and largest share of the weight of each set that is positive, over labelings."""
    shares = sets @ (weights * (np.asarray(labelings) > 0)).T / (sets @ weights)[:, None]
    return shares.min(axis=1), shares.max(axis=1)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("seed", first(4, range(8)))
def test_group_bounds_equal_enumeration(kind, seed):
    problem = small_problem(seed, SIZES[seed % 4], known=0.2 * (seed % 3))
    n, epsilon = len(problem.y), 0.3 * (seed % 2)
    code, numbers = in_groups(seed, n), WEIGHTS[kind](np.random.RandomState(seed), n)
    given = None if kind == "none" else numbers
    shares = group_rates(problem.y, code, sample_weight=given, epsilon=epsilon)
    table = pd.concat([shares.groups, shares.cells])
    cells = Cells.from_groups(code, None, problem.bags, given)
    feasible = FeasibleLabelings.from_bags(problem.bags, epsilon)
    least, most = weights_in(cells.sets, all_labelings(feasible), numbers)
    np.testing.assert_allclose(table.lower_bound, least, rtol=1e-9)
    np.testing.assert_allclose(table.upper_bound, most, rtol=1e-9)
    np.testing.assert_array_equal(table.n, cells.sets.sum(axis=1))


# Estimates


PROBLEM = small_problem(0, (6,) * 6, n_features=3)
X, Y, LABELS, BAGS = PROBLEM.X, PROBLEM.y, PROBLEM.labels, PROBLEM.y["bag"]
MEAN_MAP = MeanMap(solver="logistic")
"""Fitted to every resample, so without a program that CVXPY compiles each time."""
MODEL, CODE = clone(MEAN_MAP).fit(X, Y), np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))


def test_labeling_estimates_inside_bounds():
    table = group_rates(Y, CODE, LABELS, y_true=LABELS).groups
    np.testing.assert_array_equal(table.estimate, table["true"])
    whole = group_rates(Y, CODE, MODEL, X)
    for table in (whole.groups, whole.cells):
        assert (table.estimate >= table.lower_bound - 1e-6).all()
        assert (table.estimate <= table.upper_bound + 1e-6).all()
    total = (whole.groups.n * whole.groups.estimate).sum()
    assert total == pytest.approx(float((LABELS > 0).sum()), abs=1e-4)
    of_classes = group_rates(Y, LABELS > 0, MODEL, X).groups.estimate
    assert of_classes[True] > of_classes[False] + 0.2


# Intervals


@pytest.fixture(scope="module", params=[MEAN_MAP, EcologicalRegression()], ids=str)
def with_interval(request):
    """Of a classifier that is fitted to drawn bags, and of one that has a posterior."""
    model = clone(request.param).fit(X, Y)
    return model, group_rates(Y, CODE, model, X, n_draws=20)


def equal(first, second, atol=1e-6):
    pd.testing.assert_frame_equal(first, second, check_exact=False, rtol=0, atol=atol)


def test_interval_is_inside_bounds_and_reproducible(with_interval):
    model, answer = with_interval
    for table in (answer.groups, answer.cells):
        assert (table.lower_bound <= table.ci_low).all()
        assert (table.ci_low <= table.ci_high).all()
        assert (table.ci_high <= table.upper_bound).all()
    wider = group_rates(Y, CODE, model, X, n_draws=20, level=0.98)
    assert (wider.groups.ci_low <= answer.groups.ci_low).all()
    half = group_rates(Y, CODE, model, X, n_draws=20, level=0.5).groups
    assert (answer.groups.ci_low < half.ci_low).any()
    assert (half.ci_low < half.ci_high).any()
    with parallel_config(backend="threading"):
        again = group_rates(Y, CODE, model, X, n_draws=20, n_jobs=2)
    pd.testing.assert_frame_equal(again.cells, answer.cells)


def test_interval_is_independent_of_bag_names(with_interval):
    model, answer = with_interval
    names = np.array(["f", "b", "d", "a", "c", "e"])[BAGS]
    y = bag_target(names, bag_proportions(LABELS, names))
    other = group_rates(y, CODE, clone(model).fit(X, y), X, n_draws=20)
    equal(other.groups, answer.groups)
    renamed = answer.cells.rename(dict(zip(BAGS.tolist(), names, strict=True)), level=1)
    equal(other.cells, renamed.sort_index())


def test_exchanged_classes_have_complementary_rates(with_interval):
    model, answer = with_interval
    y = bag_target(BAGS, bag_proportions(-LABELS, BAGS))
    other = group_rates(y, CODE, clone(model).fit(X, y), X, n_draws=20).groups
    for mine, its in (
        ("lower_bound", "upper_bound"),
        ("estimate", "estimate"),
        ("upper_bound", "lower_bound"),
    ):
        np.testing.assert_allclose(1.0 - other[its], answer.groups[mine], atol=1e-6)


def test_drawn_bags_keep_their_weights_and_known_labels():
    y, ids = Y.copy(), np.unique(BAGS)
    y["label"] = (LABELS > 0) & (BAGS > 0)  # bag 0 tells that 0 is not a negative
    weights = dict(zip(ids.tolist(), 10.0 ** -np.arange(len(ids)), strict=True))
    model = InvCal(bag_weights=weights).fit(X, y)
    table = group_rates(y, CODE, model, X, n_draws=20).groups
    renumbered = dict(zip(ids[::-1].tolist(), weights.values(), strict=True))
    other = y.copy()
    other["bag"] = len(ids) - 1 - BAGS
    fitted = InvCal(bag_weights=renumbered).fit(X, other)
    equal(group_rates(other, CODE, fitted, X, n_draws=20).groups, table)
    listed = InvCal(bag_weights=list(weights.values())).fit(X, y)
    with pytest.raises(InputError, match="bag_weights must be keyed by bag id"):
        group_rates(y, CODE, listed, X, n_draws=20)


def test_two_class_table_has_second_class_intervals():
    yes = bag_proportions(LABELS, BAGS)
    shares = {bag: {"no": 1.0 - share, "yes": share} for bag, share in yes.items()}
    plain, table = (
        group_rates(y, CODE, clone(MEAN_MAP).fit(X, y), X, n_draws=20)
        for y in (Y, bag_target(BAGS, shares))
    )
    equal(table.groups, plain.groups)


def test_resample_keeps_number_of_proportions():
    y = Y.copy()
    y["proportion"][BAGS > 1] = np.nan
    table = group_rates(y, CODE, InvCal().fit(X, y), X, n_draws=40).groups
    assert (table["ci_low"] <= table["ci_high"]).all()


@pytest.mark.parametrize("searched", [False, True])
def test_pipeline_posterior_is_of_last_step(searched):
    steps = make_pipeline(MinMaxScaler((-1, 1)), EcologicalRegression()).fit(X, Y)
    ridges = {"ecologicalregression__ridge": ["evidence"]}
    search = GridSearchCV(steps, ridges, cv=BagKFold(2)).fit(X, Y)
    whole = group_rates(Y, CODE, search if searched else steps, X, n_draws=20)
    last = group_rates(Y, CODE, steps[-1], steps[:-1].transform(X), n_draws=20)
    equal(whole.groups, last.groups)


def test_contrast_is_difference_of_rates():
    answer = group_rates(Y, CODE, MODEL, X, y_true=LABELS, n_draws=40)
    difference, groups = answer.contrast(0, 2), answer.groups
    for name in ("estimate", "true"):
        assert difference[name] == groups[name][0] - groups[name][2]
    assert difference["lower_bound"] == groups.lower_bound[0] - groups.upper_bound[2]
    ends = np.quantile(answer.draws[0] - answer.draws[2], [0.05, 0.95])
    np.testing.assert_allclose(difference[["ci_low", "ci_high"]].astype(float), ends)
    opposite = -answer.contrast(2, 0)
    assert opposite["lower_bound"] == difference["upper_bound"]
    assert opposite["ci_low"] == pytest.approx(difference["ci_high"])
    assert "ci_low" not in group_rates(Y, CODE, MODEL, X).contrast(0, 1)
    with pytest.raises(InputError, match=r"among \[0, 1, 2\]; got 3"):
        answer.contrast(0, 3)


def test_true_and_false_may_be_beside_other_groups():
    groups = np.array([True, False, "unknown"], dtype=object)[CODE]
    answer, expected = group_rates(Y, groups, MODEL, X), group_rates(Y, CODE, MODEL, X)
    difference = answer.contrast(True, "unknown")
    assert difference["estimate"] == pytest.approx(expected.contrast(0, 2)["estimate"])


def test_multi_index_is_several_columns():
    columns = pd.DataFrame({"code": CODE, "word": WORDS})
    answer = group_rates(Y, pd.MultiIndex.from_frame(columns))
    pd.testing.assert_frame_equal(answer.groups, group_rates(Y, columns).groups)


def test_estimator_must_be_fitted():
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        group_rates(Y, CODE, EcologicalRegression(), X)


WORDS = np.array(["north", "south", "west"])[np.random.RandomState(0).randint(3, size=36)]
TABLE = pd.DataFrame({"noise": X[:, 0], "place": WORDS, "age": X[:, 1]})
ONE_HOT = np.column_stack([X[:, 0], *(word == WORDS for word in np.unique(WORDS))])


@pytest.mark.parametrize(
    ("columns", "groups", "expected"),
    [
        (TABLE, WORDS, True),
        (TABLE, {"place": WORDS, "old": X[:, 1] > 0.5}, True),
        (TABLE[["noise", "age"]], WORDS, False),
        (ONE_HOT, WORDS, True),
        (csr_matrix(ONE_HOT), WORDS, True),
        (csr_matrix(ONE_HOT[:, :1]), WORDS, False),
    ],
)
def test_columns_that_determine_groups_are_found(columns, groups, expected):
    assert estimates.in_columns(Cells.from_groups(groups, None, PROBLEM.bags), columns) is expected


def test_groups_outside_columns_warn():
    with pytest.warns(UnreliableIntervalWarning, match="columns of X do not determine the groups"):
        group_rates(Y, WORDS, MODEL, X, n_draws=20)


@pytest.mark.parametrize("n_done", [0, 19, 20])
def test_interruption_keeps_finished_draws(n_done):
    real, done = estimates._resample, []

    def interrupted(*args):
        if len(done) == n_done:
            raise KeyboardInterrupt
        done.append(1)
        return real(*args)

    with (
        patch.object(estimates, "_resample", interrupted),
        pytest.warns(UnreliableIntervalWarning, match=f"from {n_done} resamples"),
    ):
        table = group_rates(Y, CODE, MODEL, X, n_draws=40).groups
    assert (table[["ci_low", "ci_high"]].notna() == (n_done == 20)).all(axis=None)


@pytest.mark.parametrize("model", [MeanMap(), EcologicalRegression()])
@pytest.mark.parametrize("n_bags", [1, 4])
@pytest.mark.filterwarnings("ignore::propcvx.errors.IllPosedWarning")
def test_equal_proportions_give_no_interval(model, n_bags):
    X = np.random.RandomState(0).normal(size=(40, 2))
    y = bag_target(np.arange(40) % n_bags, [0.5] * n_bags)
    with pytest.warns(IllPosedWarning, match="intervals are NaN"):
        answer = group_rates(y, X[:, 0] > 0, model.fit(X, y), X, n_draws=20)
    assert answer.groups[["ci_low", "ci_high"]].isna().all(axis=None)
    assert answer.groups["estimate"].notna().all()


def test_group_rates_with_other_classes_raise():
    """Scikit-learn sorts the classes, and the second may be the other one."""
    for names in (["reject", "approve"], [0, 1]):
        model = GaussianNB().fit(X, np.array(names)[(LABELS > 0).astype(int)])
        with pytest.raises(InputError, match=r"the classes of y, \[-1, 1\], .* got one of \["):
            group_rates(Y, CODE, model, X)
    supervised = GaussianNB().fit(X, LABELS)
    assert group_rates(Y, CODE, supervised, X).groups["estimate"].notna().all()


# Groups


def test_groups_are_column_several_columns_or_function():
    problem = small_problem(0, (4, 4), n_features=3)
    ages, sexes = list("abababab"), np.array([0, 0, 1, 1, 0, 0, 1, 1])
    frame = pd.DataFrame({"age": ages, "sex": sexes}, index=range(10, 18))
    first = group_rates(problem.y, frame["age"])
    assert "<pre>" in first._repr_html_()
    assert first.groups.index.name == "age"
    assert list(first.groups.index) == ["a", "b"]
    assert first.cells.index.names == ["age", "bag"]
    both = group_rates(problem.y, frame)
    assert list(both.groups.index) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    pd.testing.assert_frame_equal(
        group_rates(problem.y, {"age": ages, "sex": sexes}).cells, both.cells
    )
    inside = group_rates(problem.y, lambda X: X[:, 0] > 0, X=problem.X)
    assert inside.groups.n[True] == (problem.X[:, 0] > 0).sum()


def test_table_result_names_its_class():
    names = np.where(LABELS > 0, "ok", "defect")
    y = bag_target(Y["bag"], bag_proportions(names, Y))
    shares, plain = group_rates(y, CODE, y_true=names), group_rates(Y, CODE, y_true=LABELS)
    assert str(shares) == f"Rates of 'ok'\n{plain}"
    with pytest.raises(InputError, match=r"y_true must be names of classes, \['defect', 'ok'\]"):
        group_rates(y, CODE, y_true=LABELS)


def test_missing_pandas_names_extra():
    with (
        patch.dict("sys.modules", {"pandas": None}),
        pytest.raises(InputError, match=r"group_rates needs .* pip install 'propcvx\[groups\]'"),
    ):
        group_rates(Y, CODE)
