"""Targets ``y`` of more than two classes: a row of shares for each bag."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.errors import InputError

BAG_DTYPE = np.dtype(
    [("bag", np.int64), ("proportion", np.float64), ("size", np.int64), ("label", np.int8)]
)
"""Fields of a bag target: bag code, share of +1, size of the whole bag, label (0 = unknown)."""

UNIT_SUM = 1e-6
"""How far the sum of the shares of a bag may be from one."""

_Rows = Mapping[Hashable, Mapping[Hashable, Any]]
_Table = _Rows | NDArray[Any]  # as these, or a row for each of the sorted ids


def class_dtype(n_classes: int, metadata: dict[str, Any] | None = None) -> np.dtype[np.void]:
    """Fields of a bag target of so many classes.

    Bag code, share of each class, size of the whole bag, and label: 0 where it is unknown, else the
    number of the class from 1 on.
    """
    fields = f"i8, ({n_classes},)f8, i8, i8"
    dtype = np.dtype(fields, metadata=metadata or {})
    dtype.names = BAG_DTYPE.names
    return dtype


def is_class_target(y: Any) -> bool:
    """Whether ``y`` is a bag target made from a table, or a slice of one."""
    dtype = getattr(y, "dtype", None)
    if dtype is None or "proportion" not in (dtype.names or ()):
        return False
    shape = dtype["proportion"].shape
    return len(shape) == 1 and dtype == class_dtype(*shape)


def classes_of(y: NDArray[np.void]) -> NDArray[Any]:
    """The names of the classes of a target from a table; 0, 1, ... where it has lost them."""
    known = y.dtype.metadata
    return as_names(known["classes"] if known else range(*y.dtype["proportion"].shape))


def two_classes(y: NDArray[np.void]) -> NDArray[np.void]:
    """The target of two classes that one with a table of two columns says the same as.

    The second class is the positive one.
    """
    names = classes_of(y).tolist()
    if len(names) != 2:
        raise InputError(
            f"y has {len(names)} classes, {names}, and two can be handled here; "
            "propcvx.one_class_target(y, name) is the target of one of them against the rest."
        )
    return one_class_target(y, names[1])


def one_class_target(y: NDArray[np.void], name: Hashable) -> NDArray[np.void]:
    """The target of one class, which is then +1, against all others.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target` from a table.
    name : hashable
        Of the class.

    Returns
    -------
    y : bag target of shape (n_instances,)

    Examples
    --------
    >>> from propcvx import bag_target
    >>> y = bag_target([0, 1, 1], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], classes=["x", "y", "z"])
    >>> one_class_target(y, "z")["proportion"]
    array([0. , 0.5, 0.5])
    """
    names = classes_of(y).tolist() if is_class_target(y) else []
    if name not in names:
        raise InputError(f"y must be a target with the class {name!r}, got the classes {names}.")
    known = y.dtype.metadata
    dtype = np.dtype(BAG_DTYPE, metadata={"ids": known["ids"]}) if known else BAG_DTYPE
    one = np.empty(len(y), dtype=dtype)
    one["bag"], one["size"] = y["bag"], y["size"]
    one["proportion"] = y["proportion"][:, names.index(name)]
    one["label"] = np.where(y["label"] == names.index(name) + 1, 1, -np.sign(y["label"]))
    return one


def as_names(names: Sequence[Hashable]) -> NDArray[Any]:
    """Names of classes as a vector, of objects where they have several types."""
    array = np.fromiter(names, dtype=object, count=len(names))
    plain = {type(name) for name in names} in ({int}, {float}, {str}, {bool})
    return np.array(array.tolist()) if plain else array


def as_table(proportions: Any) -> _Table | None:
    """What has a row of shares for each bag: a DataFrame, dicts in a dict, a 2-d array; or None."""
    if hasattr(proportions, "columns"):
        if not (proportions.index.is_unique and proportions.columns.is_unique):
            raise InputError("proportions must have one row per bag id and one column per class.")
        return dict(proportions.to_dict("index"))
    if isinstance(proportions, Mapping):
        rows = dict(proportions)
        return rows if any(isinstance(row, Mapping) for row in rows.values()) else None
    array = np.asarray(proportions, dtype=object)
    return array if array.ndim == 2 and array.shape[1] > 1 else None


def class_target(
    ids: Sequence[Hashable], codes: Indices, table: _Table, labels: Any, classes: Any
) -> NDArray[np.void]:
    """The target of :func:`propcvx.bag_target` from a table that has a row for every bag.

    Parameters
    ----------
    ids : sequence of hashable
        Of the bags, sorted.
    codes : int array of shape (n_instances,)
        The bag of each instance, by its position.
    table : mapping of mappings, or array of shape (n_bags, n_classes)
    labels : array of shape (n_instances,), or None
        Names of classes, None where the label is unknown.
    classes : sequence of hashable, or None
        Names of the columns of an array.
    """
    given, shares = _columns(ids, table, classes)
    names = np.fromiter(given, dtype=object, count=len(given)).tolist()
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    order = _sorted(names)
    names, shares = [names[k] for k in order], _checked(ids, names, shares)[:, order]
    metadata = {"ids": tuple(ids), "classes": tuple(names)}
    y = np.empty(len(codes), dtype=class_dtype(len(names), metadata))
    y["bag"], y["proportion"], y["size"] = codes, shares[codes], np.bincount(codes)[codes]
    y["label"] = 0 if labels is None else class_numbers("labels", labels, names, len(codes))
    return y


def class_numbers(
    argument: str, labels: Any, names: Sequence[Hashable], n_instances: int
) -> NDArray[np.int64]:
    """The number of the class of each instance from 1 on; 0 for None and NaN, which are unknown."""
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(given) != n_instances:
        raise InputError(
            f"{argument} must have one entry per instance ({n_instances}), got {len(given)}."
        )
    number = {name: k for k, name in enumerate(names, start=1)}
    found = [0 if one is None or one != one else number.get(one) for one in given]
    if None in found:
        place = found.index(None)
        raise InputError(
            f"{argument} must be names of classes, {list(names)}, or None where unknown, got "
            f"{given[place]!r} at instance {place}."
        )
    return np.array(found, dtype=np.int64)


def _columns(
    ids: Sequence[Hashable], table: _Table, classes: Any
) -> tuple[list[Any], NDArray[Any]]:
    """Names of the classes, and the shares of the sorted bags."""
    if isinstance(table, Mapping):
        if classes is not None:
            raise InputError("classes names the columns of an array; a dict or a frame has names.")
        names = list(table[ids[0]]) if isinstance(table[ids[0]], Mapping) else []
        for bag in ids:
            row = table[bag]
            if not isinstance(row, Mapping) or set(row) != set(names):
                raise InputError(
                    f"proportions must give every bag a share of the same classes: bag {ids[0]!r} "
                    f"has {names}, bag {bag!r} has {list(row) if isinstance(row, Mapping) else row}"
                    "; write 0.0 where a class is not in a bag."
                )
        return names, np.array([[table[bag][name] for name in names] for bag in ids], dtype=object)
    names = list(range(table.shape[1])) if classes is None else list(classes)
    if table.shape != (len(ids), len(names)) or len(set(names)) < len(names):
        raise InputError(
            f"proportions must have a row for each of the {len(ids)} bags and a column for each of "
            f"the {len(set(names))} classes {names}, got shape {table.shape}."
        )
    return names, table


def _checked(ids: Sequence[Hashable], names: list[Any], shares: NDArray[Any]) -> Array:
    """Shares as numbers that sum to one in every bag, exactly."""
    if len(names) < 2:
        raise InputError(f"proportions must be of two classes or more, got {names}.")
    try:
        numbers = shares.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"proportions must be numbers in [0, 1]: {error}.") from error
    in_range = (numbers >= 0.0) & (numbers <= 1.0)
    if not in_range.all():
        bag, column = np.argwhere(~in_range)[0]
        raise InputError(
            f"proportions must be numbers in [0, 1], got {shares[bag, column]!r} for class "
            f"{names[column]!r} in bag {ids[bag]!r}."
        )
    sums = np.array([fsum(row) for row in numbers])
    bag = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[bag] - 1.0) > UNIT_SUM:
        raise InputError(
            f"proportions must sum to one in every bag, got {sums[bag]:g} in bag {ids[bag]!r} over "
            f"the classes {names}."
        )
    nowhere = [name for name, column in zip(names, numbers.T, strict=True) if not column.any()]
    if nowhere:
        raise InputError(f"proportions are 0 in every bag for {nowhere}; leave these classes out.")
    return numbers


def _sorted(names: list[Any]) -> list[int]:
    """The order of sorted names; as they came where they cannot be sorted."""
    try:
        return sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        return list(range(len(names)))
