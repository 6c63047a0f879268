"""Rows in parts: what a pass over them is, wherever they are.

A part is ``(X, y)`` or ``(X, y, sample_weight)`` and holds whole bags.  A pass calls a function
with every part; what it returns is small, and is added up or put side by side by the caller.
Something may be kept beside each part from one pass to another: the labels, a bit for each
instance.  Chunks are read again in every pass; on a cluster they stay where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names
from tqdm import tqdm

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.class_targets import is_class_target
from propcvx.bags.means import CountedBags, counted_bags
from propcvx.bags.targets import is_bag_target, some_of
from propcvx.checks import as_vector
from propcvx.errors import CutBagWarning, InputError

BLOCK = 4096
"""Rows whose centred copies are made at a time; they stay in a processor's cache."""

OnPart = Callable[..., Any]
Kept = Sequence[Any]

WHOLE = "a chunk must hold whole bags, as those of propcvx.parquet_chunks do"


class Parts(Protocol):
    """Rows in parts."""

    def each(self, function: OnPart, kept: Kept | None, *arguments: Any) -> list[Any]:
        """What ``function(part, kept_of_the_part, *arguments)`` returns for every part."""

    def keep(self, function: OnPart, kept: Kept | None, *arguments: Any) -> tuple[Kept, list[Any]]:
        """The same where it returns a pair, whose first half is kept beside the part."""


def added(tuples: Iterable[tuple[Any, ...]]) -> Any:
    """The sums of the first entries, of the second ones, and so on, in their order."""
    return reduce(lambda sums, more: tuple(map(add, sums, more)), tuples)


def summed(parts: Parts, function: OnPart, kept: Kept | None, *arguments: Any) -> Any:
    """The sums over the parts of tuples of numbers and arrays."""
    return added(parts.each(function, kept, *arguments))


@dataclass
class Chunks:
    """Parts that are read again in every pass.

    Attributes
    ----------
    source : iterable, or function without arguments that returns an iterator
        Of chunks ``(X, y)`` or ``(X, y, sample_weight)``.
    progress : bool
        Whether to show a bar for every pass.
    """

    source: Any
    progress: bool = False
    passes: int = 0
    sizes: list[int] | None = None

    def __post_init__(self) -> None:
        if not callable(self.source) and not isinstance(self.source, Iterable):
            raise InputError(
                "chunks must be a list of (X, y), another iterable that can be iterated again, or "
                f"a function that returns an iterator, got {type(self.source).__name__}."
            )
        if isinstance(self.source, Iterator):
            raise InputError(
                "chunks must be read several times, and an iterator such as a generator is empty "
                "the second time; pass the function that makes it, or a list."
            )

    def each(self, function: OnPart, kept: Kept | None, *arguments: Any) -> list[Any]:
        """See :class:`Parts`."""
        beside = iter(kept or ())
        return [function(part, next(beside, None), *arguments) for part in self]

    def keep(self, function: OnPart, kept: Kept | None, *arguments: Any) -> tuple[Kept, list[Any]]:
        """See :class:`Parts`."""
        pairs = self.each(function, kept, *arguments)
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def __iter__(self) -> Iterator[Any]:
        """Read the parts once more, and check that they are those of the first pass."""
        self.passes += 1
        read = self.source() if callable(self.source) else self.source
        read = read_ahead(iter(read))
        shown = tqdm(read, f"pass {self.passes}", disable=not self.progress, leave=False)
        sizes: list[int] = []
        for chunk in shown:
            sizes.append(_size_of(chunk, len(sizes)))
            if self.sizes is not None and sizes != self.sizes[: len(sizes)]:
                break
            yield chunk
        if self.sizes is None:
            self.sizes = sizes
        if not sizes or sizes != self.sizes:
            raise InputError(
                f"chunks must be the same each time that they are iterated: pass {self.passes} "
                f"has {len(sizes)} chunks with rows {some_of(sizes)}, the first had "
                f"{len(self.sizes)} with {some_of(self.sizes)}. Pass a list, or a function that "
                "returns a new iterator over the same chunks."
            )


def read_ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The same items; a thread reads the next one while the caller works on the one before."""
    end = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item


def _size_of(chunk: Any, number: int) -> int:
    """The number of rows, of X and y."""
    if not (isinstance(chunk, tuple | list) and len(chunk) in (2, 3)):
        raise InputError(
            f"chunk {number} must be (X, y) or (X, y, sample_weight), got {type(chunk).__name__}."
        )
    sizes = [None if one is None else np.shape(one)[0] for one in chunk]
    if sizes[0] != sizes[1]:
        raise InputError(f"chunk {number} has {sizes[0]} rows of X and {sizes[1]} of y.")
    return int(sizes[0] or 0)


def rows_of(part: Any) -> Array:
    """The instances of a part as an array."""
    X = part[0].toarray() if sp.issparse(part[0]) else part[0]
    return np.asarray(X) if np.asarray(X).dtype.kind == "f" else np.asarray(X, dtype=np.float64)


def weight_of(part: Any) -> Any:
    """The weights of its instances, None where all weigh one."""
    return part[2] if len(part) > 2 else None


def checked(part: Any) -> tuple[Any, Bags, Any]:
    """The instances of a part, its whole bags, and the names of its columns."""
    X = check_array(part[0], accept_sparse="csr", dtype=[np.float64, np.float32])
    y = part[1]
    if not is_bag_target(y) or is_class_target(y) or y.dtype["bag"].shape:
        raise InputError(
            "y of a chunk must be made by propcvx.bag_target, with one number as the share of each "
            f"bag, got {getattr(y, 'dtype', type(y).__name__)}."
        )
    bags = bags_of(y)
    if not bags.whole.all():
        cut = int(np.argmin(bags.whole))
        rows, size = bags.sizes[cut], y["size"][bags.index == cut][0]
        raise InputError(
            f"bag {bags.name(cut)} has {rows} of its {size} rows in this one: {WHOLE}."
        )
    weight = weight_of(part)
    if weight is not None:
        given = as_vector(weight, bags.n_instances)
        if given is None or given.min() < 0.0:
            raise InputError(
                "sample_weight must be one finite number per instance, none of them negative, got "
                f"{weight!r}."
            )
    return X, bags, _get_feature_names(part[0])


def extremes(part: Any, kept: Any) -> Array:
    """The smallest and the largest value of each column."""
    X = rows_of(part)
    return np.array([X.min(axis=0), X.max(axis=0)])


def bags_of(y: NDArray[np.void]) -> Bags:
    """The bags of a part; those that are cut are told by ``whole``."""
    with catch_warnings():
        simplefilter("ignore", CutBagWarning)
        return Bags.from_target(y)


@dataclass(frozen=True)
class Moments:
    """Number, mean, and sum of squares about the mean, of rows; they can be added."""

    n: float
    mean: Array
    squares: float

    def __add__(self, other: Moments) -> Moments:
        n, apart = self.n + other.n, other.mean - self.mean
        between = self.n * other.n / n * float(apart @ apart)
        return Moments(n, self.mean + other.n / n * apart, self.squares + other.squares + between)


def survey(part: Any, kept: Any) -> dict[str, Any]:
    """Check a part, and sum up what is needed of it."""
    X, bags, columns = checked(part)
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    given = weight_of(part)
    weights = np.ones(len(X)) if given is None else np.asarray(given, dtype=np.float64)
    apart = replace(bags, weights=None if given is None else weights).with_known_apart()
    shared, mean = bags.with_share, np.full(len(X), 1.0 / len(X)) @ X
    centred = X - mean
    positives = float(bags.proportions[shared] @ bags.sizes[shared])
    return {
        "bags": bags.names(bags.codes),
        "columns": (X.shape[1], None if columns is None else list(columns)),
        "moments": Moments(float(len(X)), mean, float(np.vdot(centred, centred))),
        "majority": 2.0 * positives - float(bags.sizes[shared].sum()),
        "weights": (weights.sum(), weights.min(), weights.max()),
        "names": apart.names(apart.codes),
        "means": apart.means_of(X),
        "table": np.array(
            [
                apart.proportions,
                apart.sizes,
                apart.masses,
                apart.membership @ (apart.relative_weights > 0.0),
            ]
        ),
    }


@dataclass(frozen=True)
class Frame:
    """How the whole looks at a part: what every pass is told.

    Attributes
    ----------
    n : int
        Number of instances of all parts.
    mean : array of shape (n_features,)
    unit : float
        What centred instances are multiplied by to have mean square one.
    sign : int
        -1 where positives are the majority: they are exchanged with the negatives.
    mean_weight : float
    weighted : bool
        Whether the weights of instances differ.
    """

    n: int
    mean: Array
    unit: float
    sign: int
    mean_weight: float
    weighted: bool

    def relative_weights(self, part: Any) -> Array:
        """The weights of the instances of a part."""
        if not self.weighted:
            return np.ones(len(part[1]))
        return np.asarray(weight_of(part), dtype=np.float64) / self.mean_weight

    def bags_of(self, part: Any) -> Bags:
        """The bags of a part."""
        weights = self.relative_weights(part) if self.weighted else None
        bags = replace(bags_of(part[1]), mean_weight=self.mean_weight, weights=weights)
        bags = bags.with_rounded_shares()
        return bags if self.sign > 0 else bags.swapped()

    def blocks(self, part: Any) -> Iterator[tuple[slice, Array]]:
        """A few rows of a part at a time, centred, in the unit, with a column of ones."""
        X = rows_of(part)
        for first in range(0, len(X), BLOCK):
            block = slice(first, min(first + BLOCK, len(X)))
            columns = np.ones((X.shape[1] + 1, block.stop - first))
            np.subtract(X[block].T, self.mean[:, None], out=columns[:-1])
            columns[:-1] *= self.unit
            yield block, columns.T


@dataclass(frozen=True)
class Summary:
    """What the first pass finds of all parts.

    Attributes
    ----------
    frame : Frame
    names : list of str or None
        The columns.
    means : array of shape (n_rows, n_features)
        The table for methods that see only the means of bags.
    bags : CountedBags
        Its rows.
    """

    frame: Frame
    names: Any
    means: Array
    bags: CountedBags

    @classmethod
    def of(cls, parts: Parts) -> Summary:
        """The first pass."""
        found = parts.each(survey, None)
        _check_columns([one["columns"] for one in found])
        _check_whole([one["bags"] for one in found])
        moments = reduce(add, (one["moments"] for one in found))
        sums, least, most = np.array([one["weights"] for one in found]).T
        mean_weight, weighted = float(sums.sum()) / moments.n, bool(least.min() < most.max())
        names = [name for one in found for name in one["names"]]
        p, counts, masses, weighing = np.hstack([one["table"] for one in found])
        if np.isnan(p).all() or mean_weight <= 0.0:
            raise InputError(
                "chunks must have a bag with a proportion or a known label, and a sample_weight "
                f"above zero; they have {moments.n:.0f} rows without."
            )
        bags = counted_bags(names, p, counts, masses / mean_weight, weighing)
        size = np.sqrt(moments.squares / moments.n)
        unit = 1.0 / size if size > 0.0 else 1.0
        sign = -1 if sum(one["majority"] for one in found) > 0.0 else 1
        return cls(
            Frame(int(moments.n), moments.mean, unit, sign, mean_weight, weighted),
            found[0]["columns"][1],
            np.vstack([one["means"] for one in found]),
            replace(bags, mean_weight=mean_weight),
        )


def _check_columns(columns: list[tuple[int, Any]]) -> None:
    for number, one in enumerate(columns):
        if one != columns[0]:
            (n, names), (first, first_names) = one, columns[0]
            raise InputError(
                f"chunk {number} has other columns than the first: {n} "
                f"{names or 'without names'} and not {first} {first_names or 'without names'}."
            )


def _check_whole(bags: list[list[Hashable]]) -> None:
    counts = Counter(name for names in bags for name in names)
    cut = [name for name, chunks in counts.items() if chunks > 1]
    if cut:
        inside = [number for number, names in enumerate(bags) if cut[0] in names]
        raise InputError(
            f"bags {some_of(cut)} are cut, {cut[0]!r} between chunks {some_of(inside)}: {WHOLE}; "
            "a Dask collection is repartitioned by its bags with shuffle('bag')."
        )


def packed(labeling: Array) -> NDArray[np.uint8]:
    """A bit for each label."""
    return np.packbits(labeling > 0.0)


def unpacked(bits: NDArray[np.uint8], block: slice) -> Array:
    """The labels -1.0 and +1.0 of the rows of a block, which starts at a multiple of eight."""
    some = np.unpackbits(bits[block.start // 8 : -(-block.stop // 8)])
    return np.asarray(2.0 * some[: block.stop - block.start] - 1.0, dtype=np.float64)
