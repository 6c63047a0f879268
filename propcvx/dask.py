"""Rows in Dask data frames: tables of means, samples of whole bags, and predictions.

A table of means is all that EcologicalRegression and InvCal use; fit the other methods to a sample
of whole bags in memory.  This needs the extra ``propcvx[dask]``.

Examples
--------
>>> import dask.dataframe as dd
>>> import numpy as np
>>> import pandas as pd
>>> import propcvx.dask
>>> from propcvx import AlterPropSVM, InvCal, bag_target, fit_means
>>> random, bags = np.random.RandomState(0), np.repeat(np.arange(100), 50)
>>> labels = np.where(random.uniform(size=5000) < random.uniform(size=100)[bags], 1, -1)
>>> rows = pd.DataFrame(random.normal(size=(5000, 2)) + labels[:, None], columns=["u", "v"])
>>> rows["bag"], rows["proportion"] = bags, pd.Series(labels > 0).groupby(bags).transform("mean")
>>> frame = dd.from_pandas(rows, npartitions=4)  # or dd.read_parquet("rows")

Fit to the table of means, and predict all rows:

>>> by_means = fit_means(InvCal(), propcvx.dask.bag_means(frame))
>>> predicted = propcvx.dask.predict(by_means, frame[["u", "v"]])
>>> float((predicted.compute() == labels).mean())
0.92

Fit another method to a sample of whole bags:

>>> sample = propcvx.dask.sample_bags(frame, 20, random_state=0)
>>> y = bag_target(sample["bag"], sample.groupby("bag")["proportion"].first())
>>> by_svm = AlterPropSVM(random_state=0).fit(sample[["u", "v"]], y)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from propcvx.bags.targets import some_of
from propcvx.checks import check_count
from propcvx.errors import InputError, require_extra
from propcvx.estimators import BagMeans

with require_extra("dask", "propcvx.dask"):
    import dask.dataframe  # noqa: F401
    from pandas import DataFrame, Series


def bag_means(
    frame: Any,
    bag: Hashable = "bag",
    proportion: Hashable = "proportion",
    weight: Hashable | None = None,
) -> BagMeans:
    """Compute the table of means of the bags in one pass, for :func:`propcvx.fit_means`.

    Parameters
    ----------
    frame : Dask DataFrame
        A row for each instance.  All columns that are not named here are features.
    bag, proportion : hashable
        The columns of the bag and of its proportion, which is repeated in every row of the bag, and
        missing where it is not known.
    weight : hashable, optional
        The column of positive weights of the instances.

    Returns
    -------
    BagMeans
        The bags in the order of their sorted ids.

    Raises
    ------
    InputError
        If a feature or a weight is not finite, a bag has several proportions, or a row has no bag.
    """
    of_rows = (
        bag,
        proportion,
        weight,
        [name for name in frame.columns if name not in (bag, proportion, weight)],
    )
    rows = frame.map_partitions(_weighted, *of_rows, meta=_weighted(frame._meta, *of_rows))
    sums = {name: "sum" for name in rows.columns if isinstance(name, int)}
    functions: dict[Any, str] = {
        **sums,
        "lowest": "min",
        "highest": "max",
        "proportions": "sum",
        "size": "sum",
    }
    table = rows.groupby("bag", dropna=False).agg(functions).compute().sort_index()
    some = table["lowest"].notna()
    several = some & ((table["lowest"] < table["highest"]) | (table["proportions"] < table["size"]))
    if several.any() or table.index.isna().any():
        raise InputError(
            f"{bag!r} must be in each row, and {proportion!r} the same in all rows of a bag; got "
            f"rows without a bag, or several proportions in {some_of(list(table.index[several]))}."
        )
    *means, weights = (table[name].to_numpy() for name in sums)
    proportions = table["lowest"].astype(object).where(some, None).to_numpy()
    sizes, ids = table["size"].to_numpy(), table.index.tolist()
    of_weights = None if weight is None else weights / sizes
    of_bags = DataFrame(np.column_stack(means) / weights[:, None], columns=of_rows[-1])
    return BagMeans(of_bags, proportions, sizes, ids, of_weights)


def _weighted(part: Any, bag: Any, proportion: Any, weight: Any, columns: list[Hashable]) -> Any:
    """Return weighted features, weights, and the other terms of the sums over bags."""
    weights = np.ones(len(part)) if weight is None else part[weight].to_numpy(dtype=np.float64)
    X = check_array(part[columns], dtype=np.float64, input_name="frame", ensure_min_samples=0)
    if not (np.isfinite(weights) & (weights > 0.0)).all():
        raise InputError(f"{weight!r} must have positive numbers. Drop rows of weight 0.")
    rows = DataFrame(np.column_stack([weights[:, None] * X, weights]), part.index)
    extremes = {
        "lowest": part[proportion],
        "highest": part[proportion],
        "proportions": part[proportion].notna(),
    }
    return rows.assign(bag=part[bag], **extremes, size=1)


def sample_bags(
    frame: Any, n_bags: int, bag: Hashable = "bag", random_state: Any = None
) -> DataFrame:
    """Read a random sample of whole bags into memory.

    Parameters
    ----------
    frame : Dask DataFrame
        A row for each instance.
    n_bags : int
        The number of bags; all of them if there are fewer.
    bag : hashable, default="bag"
        The column of the bag.
    random_state : int, RandomState or None
        Seeds the choice, which depends on the ids of the bags alone.

    Returns
    -------
    pandas DataFrame
        All rows of these bags, in the order of the frame.
    """
    check_count("n_bags", n_bags)
    ids = np.sort(frame[bag].dropna().unique().compute())
    sample = check_random_state(random_state).permutation(ids)[:n_bags]
    return frame[frame[bag].isin(list(sample))].compute()


def predict(model: Any, features: Any) -> Any:
    """Predict the labels of a Dask DataFrame with a fitted estimator, partition by partition.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this or any other package.
    features : Dask DataFrame
        The columns that the model was fitted to.

    Returns
    -------
    Dask Series
    """
    return features.map_partitions(_labels, model, meta=("label", model.classes_.dtype))


def _labels(part: Any, model: Any) -> Any:
    labels = model.predict(part) if len(part) else np.empty(0, model.classes_.dtype)
    return Series(labels, part.index, name="label")
