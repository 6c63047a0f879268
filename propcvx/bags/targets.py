"""The target ``y`` that carries bags and their label proportions through scikit-learn."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propcvx.arrays import Array, Indices, Signs
from propcvx.bags.class_targets import (
    BAG_DTYPE,
    class_numbers,
    class_shares,
    is_bag_target,
    is_class_target,
    named_rows,
    target_dtype,
)
from propcvx.checks import check_same_order, check_share
from propcvx.errors import InputError

NO_CHANCE = 5
"""With as many positives known, and as many labels unknown, no positive is missed by chance."""

SHOWN = 5
"""How many bags a message names one by one."""


def bag_target(
    bags: Sequence[Hashable] | ArrayLike | Sequence[Any],
    proportions: Mapping[Hashable, Any] | ArrayLike | Sequence[Any],
    labels: ArrayLike | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
) -> NDArray[np.void]:
    """Write bags and proportions into a target ``y`` with one row per instance, Equation (1).

    Parameters
    ----------
    bags : sequence of hashable, length n_instances
        The bag each instance is in.  Any hashable ids.  Of bags that cross, a list of several such
        lists or arrays, one for each grouping of the same instances.
    proportions : array of shape (n_bags,), dict or pandas Series
        Share of positive instances of each bag, in [0, 1], or None where it is not known.  An
        array is in the order of the sorted bag ids; a dict or Series is keyed by bag id.  A list of
        these for several groupings.  For several classes a table with a row of shares per bag,
        which sum to one: an array of shape (n_bags, n_classes), a DataFrame with bag ids as index
        and classes as columns, or ``{bag: {class: share}}``.
    labels : array of shape (n_instances,), optional
        Labels known beside the proportions: -1, +1, or 0 where unknown.  Labels that seem to have 0
        for negatives, because all positives are known and nothing else, are refused.  With a
        table they are names of classes, None where unknown.
    classes : sequence of hashable, optional
        Names of the columns of a table that is an array; 0, 1, ... without them.

    Returns
    -------
    y : structured array of shape (n_instances,)
        Fields ``bag`` (the bag's position among the sorted ids), ``proportion`` (NaN where it is
        not known), ``size`` (instances in the whole bag, which makes a split through a bag
        detectable) and ``label``.  Its dtype carries the sorted ids as metadata, which slices keep,
        so that messages can name bags as you do.  With P > 1 groupings, the first three fields have
        P entries, and the sorted ids of the second grouping come after those of the first, and so
        on; where an id is in two groupings, messages and results call all bags
        ``(number of the grouping, id)``.  From a table, ``proportion`` has the shares of the sorted
        classes, whose names are metadata, too, and ``label`` is 0 where unknown, else the number of
        the class from 1 on.

    Raises
    ------
    InputError
        If ids and proportions do not match (the message names the ids), or a value is not valid.

    Examples
    --------
    >>> y = bag_target(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> y["proportion"]
    array([0.5, 0.5, 1. , 1. ])
    >>> y["size"]
    array([2, 2, 2, 2])
    >>> bag_target(["a", "a", "b", "b"], {"a": 0.5, "b": None})["proportion"]
    array([0.5, 0.5, nan, nan])

    Of four voters, the shares are known by precinct and by age:

    >>> precinct, age = ["a", "a", "b", "b"], ["old", "young", "old", "young"]
    >>> bag_target([precinct, age], [{"a": 0.5, "b": 1.0}, {"old": 1.0, "young": 0.5}])["bag"]
    array([[0, 2],
           [0, 3],
           [1, 2],
           [1, 3]])

    Three classes:

    >>> y = bag_target(["a", "a", "b"], {"a": {"x": 0.5, "y": 0.5, "z": 0.0},
    ...                                  "b": {"x": 0.0, "y": 0.0, "z": 1.0}})
    >>> y["proportion"]
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    crossing: Any = bags if _are_groupings(bags) else ()
    grouped = {f"bags[{place}]": one for place, one in enumerate(crossing)} or {"bags": bags}
    check_same_order({**grouped, "labels": labels})
    if crossing:
        return _crossing_target(bags, proportions, labels)
    rows = named_rows(proportions, classes)
    ids, codes = _encode_ids(bags, keyed=as_mapping("proportions", rows) is not None)
    given, sizes = _match_proportions(ids, rows), np.bincount(codes)
    metadata: dict[str, Any] = {"ids": tuple(ids)}
    if any(isinstance(row, Mapping) for row in given):
        names, shares = class_shares(ids, given)
        dtype = target_dtype((), (len(names),), {**metadata, "classes": tuple(names)})
        known = class_numbers("labels", labels, names, len(codes))
    else:
        pairs = zip(given, map(repr, ids), strict=True)
        shares = np.array([np.nan if p is None else check_share(p, bag) for p, bag in pairs])
        dtype, known = target_dtype(metadata=metadata), known_labels(labels, len(codes))
        _check_zeros(known, codes, shares * sizes)
    y = np.empty(len(codes), dtype=dtype)
    y["bag"], y["proportion"], y["size"], y["label"] = codes, shares[codes], sizes[codes], known
    return y


def _are_groupings(bags: Any) -> bool:
    """Whether these are lists or arrays of ids, one for each grouping."""
    listed = isinstance(bags, list | tuple) and len(bags) > 0
    return listed and not any(isinstance(grouping, Hashable) for grouping in bags)


def _crossing_target(groupings: Any, proportions: Any, labels: Any) -> NDArray[np.void]:
    """The target of several groupings of the same instances."""
    several = isinstance(proportions, list | tuple) and len(proportions) == len(groupings)
    if not several or any(np.ndim(one) == 0 and as_mapping("", one) is None for one in proportions):
        raise InputError(
            f"bags must have one bag id for each instance, got {groupings[0]!r} as the first; or, "
            f"with {len(groupings)} groupings of the instances, proportions must be a list of as "
            f"many, the shares of the bags of each, got {proportions!r}."
        )
    parts = [bag_target(*part, labels) for part in zip(groupings, proportions, strict=True)]
    if len({len(part) for part in parts}) > 1:
        raise InputError(
            "bags must have groupings of the same instances, got groupings of "
            f"{[len(part) for part in parts]} instances."
        )
    if len(parts) == 1:
        return parts[0]
    if any(is_class_target(part) or np.isnan(part["proportion"]).any() for part in parts):
        raise InputError(
            "proportions must be one number for each bag where bags cross, got a table or None."
        )
    ids = [list(_ids_of(part)) for part in parts]
    every: list[Hashable] = list(chain(*ids))
    if len(set(every)) < len(every):
        every = [(place, one) for place, own in enumerate(ids) for one in own]
    y = np.empty(len(parts[0]), dtype=target_dtype((len(parts),), metadata={"ids": tuple(every)}))
    for field in ("bag", "proportion", "size"):
        y[field] = np.column_stack([part[field] for part in parts])
    y["bag"] += np.cumsum([0, *map(len, ids[:-1])])
    y["label"] = parts[0]["label"]
    return y


def groupings_of(y: NDArray[np.void]) -> list[NDArray[np.void]]:
    """The targets of single groupings, with the codes that their bags have among all."""
    metadata = dict(y.dtype.metadata or {})
    parts = np.empty((*y.dtype["bag"].shape, len(y)), dtype=target_dtype(metadata=metadata))
    for field in BAG_DTYPE.names or ():
        parts[field] = y[field].T
    return list(parts)


def proportions_of(
    labels: ArrayLike, bags: Sequence[Hashable] | ArrayLike
) -> dict[Hashable, float]:
    """Share of positive instances of each bag, Equation (2), as :func:`bag_target` takes it.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        An instance is positive where its label is above 0.
    bags : sequence of hashable, length n_instances, or bag target
        The bag each instance is in; the target of several groupings has the bags of all.

    Returns
    -------
    dict
        Keyed by bag id.

    Examples
    --------
    >>> proportions_of([1, -1, 1, 1], ["a", "a", "b", "b"])
    {'a': 0.5, 'b': 1.0}
    """
    check_same_order({"bags": bags, "labels": labels})
    positive = np.asarray(labels) > 0
    if is_bag_target(bags):
        y = np.asarray(bags)
        if y.dtype["bag"].shape:
            each = [proportions_of(labels, own) for own in groupings_of(y)]
            return dict(chain(*(shares.items() for shares in each)))
        bags = _ids_in(y)
    ids, codes = _encode_ids(bags, keyed=True)
    if len(codes) != len(positive):
        raise InputError(
            f"bags must name the bag of each of the {len(positive)} instances, got {len(codes)}."
        )
    shares = np.bincount(codes, weights=positive) / np.bincount(codes)
    return dict(zip(ids, shares.tolist(), strict=True))


def class_proportions_of(
    labels: ArrayLike,
    bags: Sequence[Hashable] | ArrayLike,
    classes: Sequence[Hashable] | ArrayLike | None = None,
) -> dict[Hashable, dict[Hashable, float]]:
    """Share of each class in each bag, as :func:`bag_target` takes it for several classes.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        Names of classes.
    bags : sequence of hashable, length n_instances, or bag target
        The bag each instance is in.
    classes : sequence of hashable, optional
        All classes, where some may be in no bag; those of the labels without it.

    Returns
    -------
    dict of dict
        Keyed by bag id and class.

    Examples
    --------
    >>> class_proportions_of(["x", "z", "x", "y"], ["a", "a", "b", "b"])
    {'a': {'x': 0.5, 'y': 0.0, 'z': 0.5}, 'b': {'x': 0.5, 'y': 0.5, 'z': 0.0}}
    """
    check_same_order({"bags": bags, "labels": labels})
    given = np.asarray(labels)
    names = np.asarray(np.unique(given) if classes is None else classes).tolist()
    columns = {name: proportions_of(np.where(given == name, 1, -1), bags) for name in names}
    return {
        bag: {name: column[bag] for name, column in columns.items()} for bag in columns[names[0]]
    }


def _ids_in(y: Any) -> Any:
    """The bag of each row of a target, by its code where the target has lost the ids."""
    if not y.dtype.metadata:
        return y["bag"]
    ids = _ids_of(y)
    return [ids[code] for code in y["bag"]]


def _ids_of(y: Any) -> tuple[Hashable, ...]:
    """The sorted ids that a target carries."""
    return tuple(y.dtype.metadata["ids"])


def as_mapping(argument: str, values: Any) -> Mapping[Hashable, Any] | None:
    """What is keyed by bag id, a dict or a pandas Series; None where it is neither."""
    if isinstance(values, Mapping):
        return values
    if hasattr(values, "to_dict"):
        if not values.index.is_unique:
            raise InputError(f"{argument} must have one entry per bag id, got repeated ids.")
        return dict(values.to_dict())
    return None


def _encode_ids(bags: Any, keyed: bool) -> tuple[list[Hashable], Indices]:
    """Sorted ids, and the position of each instance's id among them."""
    if isinstance(bags, np.ndarray) and bags.dtype.kind in "iu" and bags.ndim == 1 and len(bags):
        numbers, codes = np.unique(bags, return_inverse=True)
        return numbers.tolist(), codes
    if hasattr(bags, "columns"):
        raise InputError(
            "bags must have one bag id for each instance, as one column of a DataFrame has, got "
            f"the columns {list(bags)}."
        )
    try:
        members = bags.tolist() if hasattr(bags, "tolist") else list(bags)
        several = [member for member in members if not isinstance(member, Hashable)]
        if several:
            raise InputError(
                f"bags must have one bag id for each instance, got {several[0]!r}; bags are not "
                "lists of their instances, and bags that cross are a list of groupings."
            )
        distinct = list(dict.fromkeys(members))
    except TypeError as error:
        raise InputError(
            f"bags must be a sequence with one hashable bag id per instance: {error}."
        ) from error
    if not members:
        raise InputError("bags must name the bag of each instance, got an empty sequence.")
    if any(map(_is_missing, distinct)):
        raise InputError("bags must not contain None or NaN; give every instance a bag id.")
    try:
        distinct = sorted(distinct)
    except TypeError as error:
        if not keyed:
            raise InputError(
                "bags have ids that cannot be sorted, so proportions cannot be an array in "
                "sorted-id order; pass a dict keyed by bag id."
            ) from error
    position = {bag: k for k, bag in enumerate(distinct)}
    return distinct, np.fromiter(map(position.__getitem__, members), np.intp, len(members))


def _is_missing(member: Hashable) -> bool:
    try:
        return member is None or bool(member != member)
    except TypeError:  # pandas.NA is equal to nothing, nor different
        return True


def _match_proportions(ids: list[Hashable], proportions: Any) -> list[Any]:
    """What is given for each of the sorted bags."""
    mapping = as_mapping("proportions", proportions)
    if mapping is None:
        given = np.asarray(proportions, dtype=object)
        if given.shape != (len(ids),):
            raise InputError(
                f"proportions must have one entry, or row of shares, per bag: {len(ids)} bags "
                f"{some_of(ids)}, got an array of shape {given.shape}."
            )
        return list(given)
    _check_same_ids(ids, mapping)
    return [mapping[bag] for bag in ids]


_OTHER_IDS = {
    (True, True): "of a Series or DataFrame the index has the ids, where set_index(column) puts "
    "them",
    (True, False): "write None for a proportion that is not known",
    (False, True): "proportions.loc[sorted(set(bags))] of a Series or DataFrame leaves these out, "
    "and {bag: proportions[bag] for bag in set(bags)} of a dict",
}
"""What would do where bags, or proportions, are missing."""


def _check_same_ids(ids: list[Hashable], given: Collection[Hashable]) -> None:
    missing = [bag for bag in ids if bag not in given]
    named = set(ids)
    unused = [bag for bag in given if bag not in named]
    if missing or unused:
        raise InputError(
            f"proportions and bags must name the same ids; bags without a proportion: "
            f"{some_of(missing)}; proportions without a bag: {some_of(unused)}; "
            f"{_OTHER_IDS[bool(missing), bool(unused)]}."
        )


def known_labels(labels: ArrayLike | None, n_instances: int) -> Signs:
    """Labels -1, +1, or 0 where unknown, as all are where none are given."""
    if labels is None:
        return np.zeros(n_instances, dtype=np.int8)
    known = np.asarray(labels)
    if known.dtype == bool:
        raise InputError(
            "labels must be -1, +1, or 0 where unknown, got True and False; "
            "np.where(labels, 1, -1) has -1 for False."
        )
    if known.shape != (n_instances,):
        raise InputError(
            f"labels must have one entry per instance ({n_instances}), got shape {known.shape}."
        )
    wrong = ~np.isin(known, (-1, 0, 1))
    if wrong.any():
        raise InputError(
            f"labels must be -1, +1, or 0 where unknown, got {known[wrong].tolist()[0]!r} at "
            f"instance {int(np.argmax(wrong))}."
        )
    return known.astype(np.int8)


def _check_zeros(labels: Signs, codes: Indices, positives: Array) -> None:
    """Labels are 0 where unknown, and not where negative."""
    counts = np.bincount(codes, weights=labels > 0)
    complete = (np.abs(counts - positives) <= 0.5).all() and not (labels < 0).any()
    if complete and min(np.sum(labels > 0), np.sum(labels == 0)) >= NO_CHANCE:
        raise InputError(
            "labels have 1 for as many instances of every bag as its proportion says, and 0, which "
            "means unknown, for all others; pass -1 for negatives: 2 * labels - 1."
        )


def some_of(ids: Sequence[Hashable]) -> str:
    """The first few of some ids, for a message."""
    shown = ", ".join(repr(bag) for bag in ids[:SHOWN])
    return f"[{shown}{', ...' if len(ids) > SHOWN else ''}]"
