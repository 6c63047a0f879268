"""The target ``y`` that carries bags and their label proportions through scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propcvx.arrays import Array, Indices, Signs
from propcvx.checks import as_vector, check_proportion, check_same_order
from propcvx.errors import InputError

SHOWN = 5
"""Number of bags that a message names one by one."""

ONE_CLASS = "propcvx.binary_target(y, name) is the target of one of them against the rest"
"""Advice if there are several classes where two are needed."""

UNIT_SUM = 1e-6
"""Largest difference of the sum of a bag's proportions from one."""


def target_dtype(classes: tuple[int, ...] = (), metadata: Any = None) -> np.dtype[np.void]:
    """Return the dtype of a bag target: bag code, proportion, size of the whole bag, and label.

    Parameters
    ----------
    classes : tuple of int
        Shape of the proportion if each class has one; labels are then the numbers of the classes
        from 1 on, and signs otherwise; 0 where unknown.
    metadata : dict, optional
    """
    fields: Any = [
        ("bag", np.int64),
        ("proportion", np.float64, classes),
        ("size", np.int64),
        ("label", np.int64 if classes else np.int8),
    ]
    return np.dtype(fields, metadata=metadata or {})


BAG_DTYPE = target_dtype()
"""Fields of a bag target: bag code, proportion, size of the whole bag, label (0 = unknown)."""


def is_bag_target(y: Any) -> bool:
    """Check whether ``y`` is a target made by :func:`propcvx.bag_target` (or a slice of one)."""
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "names", None) != BAG_DTYPE.names:
        return False
    return bool(dtype == target_dtype(dtype["proportion"].shape))


def is_class_target(y: Any) -> bool:
    """Check whether ``y`` is a bag target made from a table, or a slice of one."""
    return is_bag_target(y) and y.dtype["label"] != BAG_DTYPE["label"]


def ids_of(y: NDArray[np.void]) -> tuple[Hashable, ...] | None:
    """Return the sorted ids of bags that a target carries; None if it has lost them."""
    return tuple(y.dtype.metadata["ids"]) if y.dtype.metadata else None


def names_of(codes: Indices, ids: Sequence[Hashable] | None) -> list[Hashable]:
    """Return the ids of bags, or their positions among the sorted ids if the ids are lost."""
    return codes.tolist() if ids is None else [ids[code] for code in codes]


def classes_of(y: NDArray[np.void]) -> NDArray[Any]:
    """Return the classes of a target: -1 and 1, or names; 0, 1, ... if it has lost the names."""
    if not is_class_target(y):
        return np.array([-1, 1])
    metadata = y.dtype.metadata
    names = metadata["classes"] if metadata else range(*y.dtype["proportion"].shape)
    plain = np.isscalar(names[0]) and len({type(name) for name in names}) == 1
    return np.array(names) if plain else np.fromiter(names, dtype=object, count=len(names))


def bag_target(
    bags: Sequence[Hashable] | ArrayLike,
    proportions: Mapping[Hashable, Any] | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
) -> NDArray[np.void]:
    """Write bags and proportions into a target ``y`` with one row per instance, Equation (1).

    Parameters
    ----------
    bags : sequence of hashable, length n_instances
        The id of the bag of each instance: any hashable value.  An instance is in one bag; join
        several groupings of the same instances as tables of means, see
        :meth:`propcvx.BagMeans.concat`.
    proportions : array of shape (n_bags,), dict or Series
        Proportion of positive instances of each bag, in [0, 1], or, with two classes, None if it is
        not known (NaN is refused).  An array is in the order of the sorted bag ids (categories of a
        pandas Categorical must be sorted, too); a dict or Series is keyed by bag id.  For several
        classes, a table with a row of proportions for each bag, which sum to one (of two classes,
        the second of the sorted names is positive): an array of shape (n_bags, n_classes), a
        DataFrame with bag ids as index and classes as columns, or ``{bag: {class: proportion}}``.
    labels : array of shape (n_instances,), optional
        Known labels: -1, +1, or 0 where unknown, so convert labels of which 0 means negative.
        With a table, labels are names of classes, None where unknown.
    classes : sequence of hashable, optional
        Names of the columns, if the table is an array; by default 0, 1, ...

    Returns
    -------
    y : structured array of shape (n_instances,)
        Fields ``bag`` (the bag's position among the sorted ids), ``proportion`` (NaN where it is
        not known), ``size`` (instances in the whole bag, which makes a split through a bag
        detectable) and ``label``.  The dtype has the sorted ids as metadata, which slices keep, so
        that messages can use your names of bags.  For several classes,
        ``proportion`` has the proportions of the sorted classes, whose names are metadata, too, and
        ``label`` is 0 where unknown, otherwise the number of the class, counted from 1.

    Raises
    ------
    InputError
        If ids and proportions do not match (the message names the ids), or a value is not valid.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> y = bag_target(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> y["proportion"]
    array([0.5, 0.5, 1. , 1. ])
    >>> y["size"]
    array([2, 2, 2, 2])
    >>> bag_target(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0}, labels=[1, 0, 0, 0])["label"]
    array([1, 0, 0, 0], dtype=int8)
    >>> bag_target(["a", "a", "b", "b"], {"a": 0.5, "b": None})["proportion"]
    array([0.5, 0.5, nan, nan])

    Three classes:

    >>> y = bag_target(["a", "a", "b"], {"a": {"x": 0.5, "y": 0.5, "z": 0.0},
    ...                                  "b": {"x": 0.0, "y": 0.0, "z": 1.0}})
    >>> y["proportion"]
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    check_same_order({"bags": bags, "labels": labels})
    ids, codes, p, names = _matched(bags, proportions, classes)
    sizes = np.bincount(codes)
    if names:
        numbers = class_numbers("labels", labels, names, len(codes))
    else:
        numbers = known_labels(labels, len(codes))
    metadata = {"ids": tuple(ids)} | ({"classes": tuple(names)} if names else {})
    y = np.empty(len(codes), dtype=target_dtype(p.shape[1:], metadata))
    y["bag"], y["proportion"], y["size"], y["label"] = codes, p[codes], sizes[codes], numbers
    return y


def _matched(
    bags: Any, proportions: Any, classes: Any
) -> tuple[list[Hashable], Indices, Array, list[Hashable]]:
    """Match ids and proportions: sorted ids, the code of each row, proportions, class names."""
    rows = _named_rows(proportions, classes)
    mapping = as_mapping("proportions", rows)
    ids, codes = encode_ids(bags, keyed=mapping is not None)
    if mapping is None:
        array = np.asarray(rows, dtype=object)
        if array.shape != (len(ids),):
            raise InputError(
                f"proportions must have one entry, or row, per bag: {len(ids)} bags "
                f"{some_of(ids)}; got an array of shape {array.shape}"
                f"{_OF_ROWS if array.shape == codes.shape else ''}."
            )
        mapping = dict(zip(ids, array, strict=True))
    missing, id_set = [bag for bag in ids if bag not in mapping], set(ids)
    unused = [bag for bag in mapping if bag not in id_set]
    if missing or unused:
        raise InputError(
            f"proportions and bags must name the same ids; bags without a proportion: "
            f"{some_of(missing)}; proportions without a bag: {some_of(unused)}. "
            f"{_OTHER_IDS}"
            f"{_OF_ROWS if len(ids) < len(mapping) == len(codes) else ''}."
        )
    values = [mapping[bag] for bag in ids]
    if any(isinstance(row, Mapping) for row in values):
        return ids, codes, *_class_proportions(ids, values)
    p = [
        np.nan if value is None else check_proportion(value, repr(bag))
        for bag, value in zip(ids, values, strict=True)
    ]
    return ids, codes, np.array(p), []


_OF_ROWS = (
    ". If each row has the proportion of its bag, pass "
    "pandas.Series(proportions).groupby(list(bags)).first()"
)
"""Advice if there are as many proportions as instances."""

_OTHER_IDS = (
    "Ids are the keys of a dict or the index of a Series or DataFrame (set_index(column)); 7, '7' "
    "and '007' differ, so read both files with read_csv(dtype={column: str}). Write None for an "
    "unknown proportion"
)
"""Advice if bags, or proportions, are missing."""


def _named_rows(proportions: Any, classes: Any) -> Any:
    """Convert a table to ``{class: proportion}`` for each bag; return other proportions unchanged.

    Parameters
    ----------
    proportions : DataFrame, array of shape (n_bags, n_classes), or other proportions
    classes : sequence of hashable, or None
        Names of the columns of an array.
    """
    if hasattr(proportions, "columns"):
        if not hasattr(proportions, "index"):
            raise InputError(
                "proportions must be a dict, an array, or a Series or DataFrame of pandas; got "
                f"{type(proportions)}; dict(table.iter_rows()) of a table of polars is a dict."
            )
        if not (proportions.index.is_unique and proportions.columns.is_unique):
            raise InputError("proportions must have one row per bag id and one column per class.")
        proportions = proportions.to_dict("index")
    array = np.asarray(proportions, dtype=object)
    if array.ndim == 2 and array.shape[1] > 1:
        names = _listed(range(array.shape[1]) if classes is None else classes)
        if len(names) != array.shape[1] or len(set(names)) < len(names):
            raise InputError(
                f"classes must be different names of the {array.shape[1]} columns of proportions; "
                f"got {some_of(names)}."
            )
        return [dict(zip(names, row, strict=True)) for row in array]
    if classes is not None:
        raise InputError(
            "classes must be omitted if proportions are one number per bag, or have names; it "
            f"names the columns of an array; got {classes!r:.200}."
        )
    return proportions


def _class_proportions(ids: Sequence[Hashable], rows: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Read the ``{class: proportion}`` of bags: an array and the classes, sorted if possible."""
    names = next(list(row) for row in rows if isinstance(row, Mapping))
    if len(names) < 2:
        raise InputError(
            f"proportions must be of two classes or more; got {names}; one proportion for each "
            f"bag is a number, as in the column proportions[{names[0]!r}] of a DataFrame."
        )
    with suppress(TypeError):
        names = sorted(names)
    p = np.empty((len(ids), len(names)))
    for k, (bag, row) in enumerate(zip(ids, rows, strict=True)):
        if not isinstance(row, Mapping) or set(row) != set(names):
            raise InputError(
                f"proportions must have for every bag the same classes: one has {names}, "
                f"bag {bag!r} has {row!r}. Write 0.0 where a class is not in a bag, and leave out "
                "the instances of a bag whose proportions are not known."
            )
        cells = {f"{bag!r}, class {name!r}": row[name] for name in names}
        p[k] = [check_proportion(value, cell, optional=False) for cell, value in cells.items()]
        if abs(fsum(p[k]) - 1.0) > UNIT_SUM:
            raise InputError(
                f"proportions must sum to one in every bag; got {fsum(p[k]):g} in bag {bag!r} "
                f"over the classes {names}; rounded rows of a DataFrame sum to one after "
                "proportions.div(proportions.sum(axis=1), axis=0)."
            )
    nowhere = [name for name, column in zip(names, p.T, strict=True) if not column.any()]
    if nowhere:
        raise InputError(f"proportions are 0 in every bag for {nowhere}; leave these classes out.")
    return p, [name.item() if isinstance(name, np.generic) else name for name in names]


def encode_ids(bags: Any, keyed: bool) -> tuple[list[Hashable], Indices]:
    """Return the sorted ids, and the position of each instance's id among them."""
    if isinstance(bags, np.ndarray) and bags.dtype.kind in "iu" and bags.ndim == 1 and len(bags):
        numbers, codes = np.unique(bags, return_inverse=True)
        return numbers.tolist(), codes
    members, distinct = _list_ids(bags)
    try:
        distinct = sorted(distinct)
    except TypeError as error:
        if not keyed:
            raise InputError(
                "bags have ids that cannot be sorted, so proportions cannot be an array in "
                "sorted-id order. Pass a dict keyed by bag id."
            ) from error
    position = {bag: k for k, bag in enumerate(distinct)}
    dtype: Any = getattr(bags, "dtype", None)
    categories = dtype.categories if hasattr(dtype, "ordered") else distinct
    if not keyed and [bag for bag in categories if bag in position] != distinct:
        raise InputError(
            "bags are categories, whose order is not that of the sorted ids, so proportions cannot "
            "be an array. Pass a dict or a Series keyed by bag id."
        )
    return distinct, np.fromiter(map(position.__getitem__, members), np.intp, len(members))


def _list_ids(bags: Any) -> tuple[list[Any], list[Any]]:
    """Return the id of each instance, and the different ids."""
    if hasattr(bags, "columns"):
        raise InputError(
            "bags must have one bag id for each instance, as one column of a DataFrame has, or "
            f"pandas.MultiIndex.from_frame(bags) of several; got the columns {list(bags.columns)}."
        )
    try:
        members = bags.tolist() if hasattr(bags, "tolist") else list(bags)
        several = [member for member in members if not isinstance(member, Hashable)]
        if several:
            raise InputError(
                f"bags must have one bag id for each instance; got {several[0]!r:.200}. Pass "
                "an id per instance, not lists of instances; to use several groupings of the same "
                "instances, call fit_means(model, BagMeans.concat([...]))."
            )
        distinct = list(dict.fromkeys(members))
    except TypeError as error:
        raise InputError(
            f"bags must be a sequence with one hashable bag id per instance: {error}."
        ) from error
    if not members:
        raise InputError("bags must name the bag of each instance; got an empty sequence.")
    if any(map(_is_missing, distinct)):
        raise InputError("bags must not contain None or NaN. Give every instance a bag id.")
    return members, distinct


def _is_missing(member: Hashable) -> bool:
    try:
        return member is None or bool(member != member)
    except TypeError:  # pandas.NA is equal to nothing, nor different
        return True


def as_mapping(argument: str, values: Any) -> Mapping[Hashable, Any] | None:
    """Return values keyed by bag id, from a dict or a pandas Series; None for other types."""
    if isinstance(values, Mapping):
        return values
    if hasattr(values, "to_dict"):
        if not values.index.is_unique:
            raise InputError(
                f"{argument} must have one entry per bag id; got repeated ids. If the entries of "
                "an id are equal, pass .groupby(level=0).first()."
            )
        items = values.items()  # to_dict has None for pandas.NA
        return {bag: x.item() if isinstance(x, np.generic) else x for bag, x in items}
    return None


def known_labels(labels: ArrayLike | None, n_instances: int) -> Signs:
    """Check labels -1, +1, or 0 where unknown; all 0 if there are none."""
    if labels is None:
        return np.zeros(n_instances, dtype=np.int8)
    values = np.asarray(labels)
    if values.dtype in (bool, object) and any(isinstance(value, bool) for value in values.tolist()):
        raise InputError(
            "labels must be -1, +1, or 0 where unknown; got True or False. Convert a Series with "
            "`labels.map({True: 1, False: -1}).fillna(0)`."
        )
    if values.shape != (n_instances,):
        raise InputError(
            f"labels must have one entry per instance ({n_instances}); got shape {values.shape}."
        )
    if values.dtype.kind in "Of" and any(map(_is_missing, values.tolist())):
        raise InputError(
            "labels must be -1, +1, or 0 where unknown; got None, NaN or NA. Replace missing "
            "values with 0, for example `labels.fillna(0)`."
        )
    wrong = ~np.isin(values, (-1, 0, 1))
    if wrong.any():
        raise InputError(
            f"labels must be -1, +1, or 0 where unknown; got {values[wrong].tolist()[0]!r} at "
            f"instance {int(np.argmax(wrong))}."
        )
    return values.astype(np.int8)


def class_numbers(
    argument: str, labels: Any, names: Sequence[Hashable], n_instances: int
) -> NDArray[Any]:
    """Return the class number of each instance from 1 on; 0 for None and NaN, which are unknown."""
    number = {name: k for k, name in enumerate(names, start=1)}
    values = [None] * n_instances if labels is None else _listed(labels)
    numbers = [0 if _is_missing(label) else number.get(label, -1) for label in values]
    if len(numbers) != n_instances or -1 in numbers:
        strange = {k: label for k, label in enumerate(values) if numbers[k] < 0}
        raise InputError(
            f"{argument} must be names of classes, {list(names)}, or None where unknown, one per "
            f"instance ({n_instances}); got {len(values)} with {str(strange)[:200]} among them."
        )
    return np.array(numbers, dtype=np.int64)


def _listed(values: Any) -> list[Any]:
    """Convert a sequence to a list, of Python's own types if it is an array."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def some_of(ids: Sequence[Hashable]) -> str:
    """Format the first few of some ids for a message."""
    text = ", ".join(repr(bag) for bag in ids[:SHOWN])
    return f"[{text}{', ...' if len(ids) > SHOWN else ''}]"


def bag_proportions(
    labels: ArrayLike,
    bags: Sequence[Hashable] | ArrayLike,
    classes: Sequence[Hashable] | ArrayLike | None = None,
) -> dict[Hashable, Any]:
    """Compute the proportion of positives in each bag, Equation (2), for :func:`bag_target`.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        Numbers, positive if above 0; or names of classes.
    bags : sequence of hashable, length n_instances, or bag target
        The bag of each instance.
    classes : sequence of hashable, optional
        All classes, which may be numbers; by default the distinct names in ``labels``.

    Returns
    -------
    dict
        Keyed by bag id; with names or ``classes`` each value is a dict keyed by class.

    Examples
    --------
    >>> from propcvx import bag_proportions
    >>> bag_proportions([1, -1, 1, 1], ["a", "a", "b", "b"])
    {'a': 0.5, 'b': 1.0}
    >>> bag_proportions(["x", "z", "x", "y"], ["a", "a", "b", "b"])
    {'a': {'x': 0.5, 'y': 0.0, 'z': 0.5}, 'b': {'x': 0.5, 'y': 0.5, 'z': 0.0}}
    """
    check_same_order({"bags": bags, "labels": labels})
    values, numbers = _listed(labels), as_vector(labels)
    has_names = classes is not None or any(isinstance(value, str) for value in values)
    if any(map(_is_missing, values)) or (numbers is None and not has_names):
        raise InputError(
            "labels must be a finite number for each instance, above 0 where it is positive, or "
            f"the name of its class; got {labels!r:.200}. Leave out instances without a label."
        )
    if not has_names:
        return _proportions(np.asarray(numbers) > 0.0, bags)
    names = sorted(set(values)) if classes is None else _listed(classes)
    columns = [_proportions(np.array([value == name for value in values]), bags) for name in names]
    return {
        bag: {name: column[bag] for name, column in zip(names, columns, strict=True)}
        for bag in columns[0]
    }


def _proportions(
    positive: NDArray[np.bool_], bags: Sequence[Hashable] | ArrayLike
) -> dict[Hashable, float]:
    if is_bag_target(bags):
        y = np.asarray(bags)
        present, codes = np.unique(y["bag"], return_inverse=True)
        ids = names_of(present, ids_of(y))
    else:
        ids, codes = encode_ids(bags, keyed=True)
    if len(codes) != len(positive):
        raise InputError(
            f"bags must name the bag of each of the {len(positive)} instances; got {len(codes)}."
        )
    proportions = np.bincount(codes, positive) / np.bincount(codes)
    return dict(zip(ids, proportions.tolist(), strict=True))


def binary_target(y: NDArray[np.void], name: Hashable) -> NDArray[np.void]:
    """Convert the target of several classes to the target of one class against all others.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target` from a table.
    name : hashable
        The name of the class that becomes +1.

    Returns
    -------
    y : bag target of shape (n_instances,)

    Examples
    --------
    >>> from propcvx import bag_target, binary_target
    >>> y = bag_target([0, 1, 1], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], classes=["x", "y", "z"])
    >>> binary_target(y, "z")["proportion"]
    array([0. , 0.5, 0.5])
    """
    names = classes_of(y).tolist() if is_class_target(y) else []
    if name not in names:
        raise InputError(f"y must be a target with the class {name!r}; got the classes {names}.")
    number, ids = names.index(name) + 1, ids_of(y)
    target = np.empty(len(y), dtype=target_dtype(metadata=ids and {"ids": ids}))
    target["bag"], target["size"] = y["bag"], y["size"]
    target["proportion"] = y["proportion"][:, number - 1]
    target["label"] = against_rest(y["label"], number)
    return target


def against_rest(labels: NDArray[Any], number: int) -> Signs:
    """Return labels 1 for the class of a number and -1 for the others, 0 where unknown."""
    return np.where(labels == number, 1, -np.sign(labels)).astype(np.int8)
