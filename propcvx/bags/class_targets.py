"""Targets ``y`` of more than two classes: a row of shares for each bag."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.arrays import Array, Signs
from propcvx.checks import check_share
from propcvx.errors import InputError

UNIT_SUM = 1e-6
"""How far the sum of the shares of a bag may be from one."""


def target_dtype(
    groupings: tuple[int, ...] = (), classes: tuple[int, ...] = (), metadata: Any = None
) -> np.dtype[np.void]:
    """Fields of a bag target: bag code, proportion, size of the whole bag, and label.

    Parameters
    ----------
    groupings : tuple of int
        Shape of the first three: empty, or the number of groupings where bags cross.
    classes : tuple of int
        Shape of the proportion where it has the share of each class; labels are then the numbers of
        the classes from 1 on, and signs otherwise; 0 where unknown.
    metadata : dict, optional
    """
    fields: Any = [
        ("bag", np.int64, groupings),
        ("proportion", np.float64, groupings or classes),
        ("size", np.int64, groupings),
        ("label", np.int64 if classes else np.int8),
    ]
    return np.dtype(fields, metadata=metadata or {})


BAG_DTYPE = target_dtype()
"""Fields of a bag target: bag code, share of +1, size of the whole bag, label (0 = unknown)."""


def is_bag_target(y: Any) -> bool:
    """Whether ``y`` is a target made by :func:`propcvx.bag_target` (or a slice of one)."""
    dtype = getattr(y, "dtype", None)
    if dtype is None or dtype.names != BAG_DTYPE.names:
        return False
    groupings, shares = dtype["bag"].shape, dtype["proportion"].shape
    return bool(dtype == target_dtype(groupings, () if groupings else shares))


def is_class_target(y: Any) -> bool:
    """Whether ``y`` is a bag target made from a table, or a slice of one."""
    return is_bag_target(y) and y.dtype["label"] != BAG_DTYPE["label"]


def classes_of(y: NDArray[np.void]) -> NDArray[Any]:
    """The names of the classes of a target from a table; 0, 1, ... where it has lost them."""
    known = y.dtype.metadata
    names = known["classes"] if known else range(*y.dtype["proportion"].shape)
    plain = np.isscalar(names[0]) and len({type(name) for name in names}) == 1
    return np.array(names) if plain else np.fromiter(names, dtype=object, count=len(names))


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
    one = np.empty(len(y), dtype=target_dtype(metadata=known and {"ids": known["ids"]}))
    one["bag"], one["size"] = y["bag"], y["size"]
    one["proportion"] = y["proportion"][:, names.index(name)]
    one["label"] = against_rest(y["label"], names.index(name) + 1)
    return one


def against_rest(labels: NDArray[Any], number: int) -> Signs:
    """Labels 1 for the class of a number and -1 for the others, 0 where unknown."""
    return np.where(labels == number, 1, -np.sign(labels)).astype(np.int8)


def named_rows(proportions: Any, classes: Any) -> Any:
    """A table as ``{class: share}`` for each bag, keyed as it is; other proportions as they are.

    Parameters
    ----------
    proportions : DataFrame, array of shape (n_bags, n_classes), or other proportions
    classes : sequence of hashable, or None
        Names of the columns of an array.
    """
    if hasattr(proportions, "columns"):
        if not (proportions.index.is_unique and proportions.columns.is_unique):
            raise InputError("proportions must have one row per bag id and one column per class.")
        proportions = proportions.to_dict("index")
    array = np.asarray(proportions, dtype=object)
    if array.ndim == 2 and array.shape[1] > 1:
        names = _listed(range(array.shape[1]) if classes is None else classes)
        if len(names) != array.shape[1] or len(set(names)) < len(names):
            raise InputError(
                f"classes must be different names of the {array.shape[1]} columns of proportions, "
                f"got {names}."
            )
        return [dict(zip(names, row, strict=True)) for row in array]
    if classes is not None:
        raise InputError(
            "classes names the columns of an array with a row of shares per bag, and proportions "
            "are one number per bag, or have names themselves."
        )
    return proportions


def class_shares(ids: Sequence[Hashable], rows: Sequence[Any]) -> tuple[list[Any], Array]:
    """The classes, sorted if they can be, and their shares from the ``{class: share}`` of bags."""
    names = next(list(row) for row in rows if isinstance(row, Mapping))
    if len(names) < 2:
        raise InputError(
            f"proportions must be of two classes or more, got {names}; one share for each bag is a "
            f"number, as in the column proportions[{names[0]!r}] of a DataFrame."
        )
    with suppress(TypeError):
        names = sorted(names)
    shares = np.empty((len(ids), len(names)))
    for k, (bag, row) in enumerate(zip(ids, rows, strict=True)):
        if not isinstance(row, Mapping) or set(row) != set(names):
            raise InputError(
                f"proportions must give every bag a share of the same classes: one has {names}, "
                f"bag {bag!r} has {row!r}; write 0.0 where a class is not in a bag."
            )
        for column, name in enumerate(names):
            of = f"{bag!r}, class {name!r}"
            shares[k, column] = check_share(row[name], of, optional=False)
        if abs(fsum(shares[k]) - 1.0) > UNIT_SUM:
            raise InputError(
                f"proportions must sum to one in every bag, got {fsum(shares[k]):g} in bag {bag!r} "
                f"over the classes {names}; rounded shares of a DataFrame sum to one after "
                "proportions.div(proportions.sum(axis=1), axis=0)."
            )
    nowhere = [name for name, column in zip(names, shares.T, strict=True) if not column.any()]
    if nowhere:
        raise InputError(f"proportions are 0 in every bag for {nowhere}; leave these classes out.")
    return [name.item() if isinstance(name, np.generic) else name for name in names], shares


def class_numbers(
    argument: str, labels: Any, names: Sequence[Hashable], n_instances: int
) -> NDArray[Any]:
    """The number of the class of each instance from 1 on; 0 for None and NaN, which are unknown."""
    number = {name: k for k, name in enumerate(names, start=1)}
    given = [None] * n_instances if labels is None else _listed(labels)
    found = [0 if one is None or one != one else number.get(one, -1) for one in given]
    if len(found) != n_instances or -1 in found:
        strange = {k: one for k, one in enumerate(given) if found[k] < 0}
        raise InputError(
            f"{argument} must be names of classes, {list(names)}, or None where unknown, one per "
            f"instance ({n_instances}), got {len(given)} with {str(strange)[:200]} among them."
        )
    return np.array(found, dtype=np.int64)


def _listed(values: Any) -> list[Any]:
    """A sequence as a list, of Python's own types if it is an array."""
    return list(values.tolist() if hasattr(values, "tolist") else values)
