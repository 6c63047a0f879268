"""Rows in the partitions of Dask collections, and passes over them.

A partition holds whole bags.  A pass calls a function with every partition; what it returns is
small, and the caller adds it up or puts it side by side.  Dask may keep something beside each
partition from one pass to the next: the labels, a bit for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.targets import bag_target, some_of
from propcvx.checks import as_vector
from propcvx.errors import InputError

Kept = Sequence[Any]


def added(tuples: Iterable[tuple[Any, ...]]) -> Any:
    """The sums of the first entries, of the second ones, and so on, in their order."""
    return reduce(lambda sums, more: tuple(map(add, sums, more)), tuples)


@dataclass(frozen=True)
class Frame:
    """What every pass is told about all rows.

    Attributes
    ----------
    n : int
        The number of rows.
    mean : array of shape (n_features,)
    unit : float
        What centred rows are multiplied by to have mean square one.
    sign : int
        -1 where positives are the majority: they are exchanged with the negatives.
    mean_weight : float
    """

    n: int = 0
    mean: Any = 0.0
    unit: float = 1.0
    sign: int = 1
    mean_weight: float = 1.0


@dataclass(frozen=True)
class Part:
    """A partition in memory.

    Attributes
    ----------
    features : DataFrame, array or sparse matrix of shape (n_rows, n_features)
    table : DataFrame
        With the columns ``bag`` and ``share``, and where there are any ``label`` and ``weight``.
    frame : Frame
    """

    features: Any
    table: Any
    frame: Frame

    @property
    def values(self) -> Array:
        """The features as an array."""
        dense = self.features.toarray() if sp.issparse(self.features) else self.features
        return np.asarray(dense, dtype=np.float64)

    @cached_property
    def rows(self) -> Array:
        """The same centred, in the unit, and with a column of ones."""
        values = self.values
        columns = np.ones((values.shape[1] + 1, len(values)))
        np.subtract(values.T, np.reshape(self.frame.mean, (-1, 1)), out=columns[:-1])
        columns[:-1] *= self.frame.unit
        return columns.T

    @cached_property
    def weights(self) -> Array:
        """The weights of the rows, relative to their mean."""
        if "weight" not in self.table:
            return np.ones(len(self.table))
        return np.asarray(self.table["weight"], dtype=np.float64) / self.frame.mean_weight

    @cached_property
    def bags(self) -> Bags:
        """The bags of the rows."""
        shares = self.table[["bag", "share"]].drop_duplicates()
        several = shares["bag"][shares["bag"].duplicated()].tolist()
        if several:
            raise InputError(
                "share must be the same in all rows of a bag, got several for the bags "
                f"{some_of(several)}."
            )
        known = shares["share"].astype(object).where(shares["share"].notna(), None)
        labels = self.table["label"].to_numpy() if "label" in self.table else None
        share_of = dict(zip(shares["bag"].tolist(), known, strict=True))
        bags = replace(
            Bags.from_target(bag_target(self.table["bag"].to_numpy(), share_of, labels)),
            mean_weight=self.frame.mean_weight,
            weights=self.weights if "weight" in self.table else None,
        ).with_rounded_shares()
        return bags if self.frame.sign > 0 else bags.swapped()

    @property
    def counted(self) -> Array:
        """The weights, 0 where neither the share of the bag nor the label is known."""
        known = self.table["share"].notna().to_numpy()
        if "label" in self.table:
            known = known | (self.table["label"].to_numpy() != 0)
        return np.where(known, self.weights, 0.0)


@dataclass
class Partitions:
    """The partitions, wherever Dask has them, and what the first pass returns about all rows.

    Attributes
    ----------
    parts : dict of int to pair of Delayed
        Features and table of each, by its number in the collections.
    frame : Frame
    passes : int
        Number of passes so far.
    means : array of shape (n_means, n_features)
        Means of the bags, for methods that see nothing else.
    bags : Bags
        The bags of these means, which are their rows.
    variance : float
        The total variance of the rows whose label or whose bag's share is known.
    extremes : array of shape (2 * n_partitions, n_features)
        The smallest and the largest values of each column.
    """

    parts: dict[int, tuple[Any, Any]]
    frame: Frame
    passes: int = 0
    means: Any = None
    bags: Any = None
    variance: float = 0.0
    extremes: Any = None

    def each(self, function: Callable[..., Any], kept: Kept | None, *arguments: Any) -> list[Any]:
        """What ``function(part, kept_beside_the_part, *arguments)`` returns for every part."""
        return list(dask.compute(*self._tasks(function, kept, arguments)))

    def sums(self, function: Callable[..., Any], kept: Kept | None, *arguments: Any) -> Any:
        """The sums over the parts of tuples of numbers and arrays."""
        return added(self.each(function, kept, *arguments))

    def keep(self, function: Callable[..., Any], kept: Kept | None, *arguments: Any) -> Any:
        """What is kept beside the parts from now on, and sums, where it returns such pairs."""
        pairs = dask.persist(*self._tasks(function, kept, arguments))
        return [pair[0] for pair in pairs], added(dask.compute(*(pair[1] for pair in pairs)))

    def _tasks(self, function: Callable[..., Any], kept: Kept | None, arguments: Any) -> list[Any]:
        self.passes += 1
        task = dask.delayed(partial(_in_part, function, self.frame, arguments), pure=False)
        beside = kept or [None] * len(self.parts)
        parts = zip(self.parts.items(), beside, strict=True)
        return [task(number, *pair, beside_it) for (number, pair), beside_it in parts]


def _in_part(
    function: Any, frame: Frame, arguments: Any, number: int, features: Any, table: Any, kept: Any
) -> Any:
    """What a function returns; an error in the data names the partition, counted from 0."""
    try:
        return function(Part(features, table, frame), kept, *arguments)
    except ValueError as error:
        raise InputError(f"partition {number}: {error}") from error


def survey(features: Any, bags: Any) -> Partitions:
    """Check two Dask collections, and make the first pass over them."""
    blocks, tables = _delayed(features), _delayed(bags)
    if len(blocks) != len(tables):
        raise InputError(
            f"features and bags must have the same partitions, got {len(blocks)} and {len(tables)};"
            " take both from one collection, frame[columns] and frame[['bag', 'share']]."
        )
    names = list(getattr(bags, "columns", ()))
    if not {"bag", "share"} <= {*names}:
        raise InputError(f"bags must have the columns 'bag' and 'share', got {names}.")
    pairs = dict(enumerate(zip(blocks, tables, strict=True)))
    partitions = Partitions(pairs, Frame())
    answers = zip(pairs, partitions.each(_survey, None, columns_of(features)), strict=True)
    answer_of = {number: answer for number, answer in answers if answer is not None}
    if not answer_of:
        raise InputError(f"features and bags have no rows in their {len(pairs)} partitions.")
    partitions.parts = {number: pairs[number] for number in answer_of}
    columns = zip(*answer_of.values(), strict=True)
    ids, moments, counted, majorities, weights, extremes, bag_sums, means = columns
    _check_whole(dict(zip(answer_of, ids, strict=True)))
    n, mean, variance = _total(moments)
    mean_weight = float(sum(weights)) / n
    p, sizes, masses, weighing = np.hstack(bag_sums)
    if np.isnan(p).all() or mean_weight <= 0.0:
        raise InputError(
            f"bags must have a share or a known label, and a weight above 0, in one of their "
            f"{n:.0f} rows."
        )
    partitions.frame = Frame(
        n=int(n),
        mean=mean,
        unit=1.0 / np.sqrt(variance) if variance > 0.0 else 1.0,
        sign=-1 if sum(majorities) > 0.0 else 1,
        mean_weight=mean_weight,
    )
    names = [name for of_part in ids for name in of_part]
    of_means = Bags.of_rows(names, p, sizes, masses / mean_weight, weighing)
    partitions.bags = replace(of_means, mean_weight=mean_weight)
    partitions.means, partitions.extremes = np.vstack(means), np.vstack(extremes)
    partitions.variance = _total(counted)[2]
    return partitions


def _survey(part: Part, kept: Any, columns: list[Hashable]) -> Any:
    """Check a part, and sum up what is needed about it; None where it is empty."""
    n, names = len(part.table), columns_of(part.features)
    if names != columns or part.features.shape[0] != n:
        raise InputError(
            f"features must have the columns {some_of(columns)} and a row for each of the {n} rows "
            f"of bags, got {some_of(names)} and {part.features.shape[0]} rows."
        )
    if n == 0:
        return None
    X = check_array(part.values, input_name="features")
    weights = as_vector(part.weights, n)
    if weights is None or weights.min() < 0.0:
        raise InputError(
            "weight must be a finite number of at least 0 in each row of bags, got "
            f"{part.table['weight'].tolist()!r:.60}."
        )
    bags, apart = part.bags, part.bags.with_known_apart()
    weighing = apart.membership @ (weights > 0.0)
    return (
        apart.names(apart.codes),
        _moments(X, np.ones(n)),
        _moments(X, part.counted),
        np.nansum((2.0 * bags.proportions - 1.0) * bags.sizes),
        weights.sum(),
        (X.min(axis=0), X.max(axis=0)),
        (apart.proportions, apart.sizes, apart.masses, weighing),
        apart.means_of(X),
    )


def _moments(X: Array, weights: Array) -> tuple[float, Array, float]:
    """Sum of the weights, weighted mean, and weighted sum of the squares about it."""
    n = float(weights.sum())
    mean = weights @ X / (n or 1.0)
    centred = X - mean
    return n, mean, float(weights @ np.einsum("ij,ij->i", centred, centred))


def _total(moments: Iterable[tuple[float, Array, float]]) -> tuple[float, Array, float]:
    """Sum of the weights, mean, and total variance, from the moments of the parts."""
    n, means, squares = map(np.array, zip(*moments, strict=True))
    total = float(n.sum()) or 1.0
    mean = n @ means / total
    return total, mean, float(squares.sum() + n @ np.square(means - mean).sum(axis=1)) / total


def _check_whole(ids: dict[int, list[Hashable]]) -> None:
    """Raise if a bag is in more than one partition."""
    partition_of: dict[Hashable, int] = {}
    for number, names in ids.items():
        for name in names:
            if partition_of.setdefault(name, number) != number:
                raise InputError(
                    f"bag {name!r} is cut between the partitions {partition_of[name]} and "
                    f"{number}, and a partition must hold whole bags: frame.shuffle('bag') brings "
                    "the rows of each bag together."
                )


def columns_of(features: Any) -> list[Hashable]:
    """The names of the columns, or their numbers."""
    return list(getattr(features, "columns", range(features.shape[1])))


def _delayed(collection: Any) -> list[Any]:
    """The partitions of a collection, by rows."""
    if not hasattr(collection, "to_delayed") or getattr(collection, "ndim", 0) != 2:
        raise InputError(
            "features and bags must be Dask collections with rows and columns, got "
            f"{type(collection).__name__}; what is in memory is for the estimators of propcvx."
        )
    if getattr(collection, "numblocks", (1, 1))[1:] > (1,):
        collection = collection.rechunk({1: -1})
    if hasattr(collection, "simplify"):  # reads only these columns, and joins no small partitions
        return list(collection.simplify().to_delayed(optimize_graph=False))
    return list(np.ravel(collection.to_delayed()))
