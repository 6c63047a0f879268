"""Tables of means, samples and predictions of Dask data frames."""

import numpy as np
import pandas as pd
import pytest
from small_problems import small_problem

from propcvx import AlterPropSVM, EcologicalRegression, InvCal, fit_means
from propcvx.errors import InputError

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
on_dask = pytest.importorskip("propcvx.dask")

pytestmark = pytest.mark.process

FEATURES = ["a", "b", "c"]


def rows_of(problem, **columns):
    columns_of_bags = {"bag": problem.y["bag"], "proportion": problem.y["proportion"]}
    return pd.DataFrame(problem.X, columns=FEATURES).assign(**columns_of_bags, **columns)


def in_partitions(rows):
    return dd.from_pandas(rows.sample(frac=1.0, random_state=0), npartitions=5, sort=False)


@pytest.fixture
def problem():
    return small_problem(0, sizes=range(1, 31), n_features=3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", [InvCal(solver_tol=1e-12), EcologicalRegression()])
def test_bag_means_of_split_bags_equal_fit_in_memory(problem, method, weighted):
    weights = np.random.default_rng(0).uniform(0.5, 3.0, len(problem.X)) if weighted else None
    problem.y["proportion"][problem.y["bag"] == 7] = np.nan
    rows = rows_of(problem, **({"weight": weights} if weighted else {}))
    table = on_dask.bag_means(in_partitions(rows), weight="weight" if weighted else None)
    in_memory = method.fit(problem.X, problem.y, sample_weight=weights)
    coef, intercept = in_memory.coef_, in_memory.intercept_
    fitted = fit_means(method, table)
    assert table.ids == list(range(30))
    assert fitted.coef_ == pytest.approx(coef, rel=1e-9, abs=1e-12)
    assert fitted.intercept_ == pytest.approx(intercept, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("proportion", 0.123, "several proportions in .18"),
        ("proportion", np.nan, "several proportions in .18"),
        ("bag", np.nan, "rows without a bag"),
        ("a", np.nan, "contains NaN"),
        ("weight", 0.0, "'weight' must have positive numbers"),
    ],
)
def test_bag_means_of_invalid_rows_raises(problem, column, value, message):
    rows = rows_of(problem, weight=1.0)
    rows[column] = rows[column].astype(float)
    rows.loc[len(rows) - 1, column] = value
    with pytest.raises(ValueError, match=message):
        on_dask.bag_means(in_partitions(rows), weight="weight")


def test_sample_bags_are_whole_and_reproducible(problem):
    rows = rows_of(problem)
    sample = on_dask.sample_bags(in_partitions(rows), 10, random_state=3)
    again = on_dask.sample_bags(dd.from_pandas(rows, npartitions=2), 10, random_state=3)
    pd.testing.assert_frame_equal(sample.sort_index(), again.sort_index())
    assert sample["bag"].nunique() == 10
    assert len(sample) == rows["bag"].isin(sample["bag"]).sum()
    assert len(on_dask.sample_bags(in_partitions(rows), 99)) == len(rows)
    with pytest.raises(InputError, match="n_bags"):
        on_dask.sample_bags(in_partitions(rows), 0)


def test_predict_command_equals_estimator(problem):
    rows = rows_of(problem)
    model = AlterPropSVM(random_state=0).fit(rows[FEATURES], problem.y)
    frame = in_partitions(rows)
    frame = frame[frame["bag"] < 20]
    labels = on_dask.predict(model, frame[FEATURES]).compute()
    assert labels.to_numpy().tolist() == model.predict(frame[FEATURES].compute()).tolist()
    nothing = frame[frame["bag"] > 99]
    assert len(on_dask.predict(model, nothing[FEATURES]).compute()) == 0
