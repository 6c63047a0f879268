"""Putting labelled instances into bags, and the proportions that are then known of each bag."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from propcvx.checks import check_count
from propcvx.errors import InputError


def random_bags(labels: ArrayLike, bag_size: int, random_state: Any = None) -> NDArray[np.intp]:
    """Random bags of a fixed size, as in Section 6.2 of the paper.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        Only its length is used: bags are drawn without regard to the labels.
    bag_size : int
        Instances in a bag; the last bag is smaller where this does not divide their number.
    random_state : int, RandomState or None
        Seeds the shuffle.

    Returns
    -------
    bags : int array of shape (n_instances,)
        The bag of each instance, from 0.

    Examples
    --------
    >>> np.bincount(random_bags([1, -1, 1, -1, 1], bag_size=2, random_state=0))
    array([2, 2, 1])
    """
    n_instances = len(np.asarray(labels))
    bags = np.arange(n_instances) // check_count("bag_size", bag_size)
    return check_random_state(random_state).permutation(bags)


def proportions_of(
    labels: ArrayLike, bags: Sequence[Hashable] | ArrayLike
) -> dict[Hashable, float]:
    """Share of positive instances of each bag, as :func:`propcvx.bag_target` takes it.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        An instance is positive where its label is above 0.
    bags : sequence of hashable, length n_instances
        The bag each instance is in.

    Returns
    -------
    dict
        Keyed by bag id.

    Examples
    --------
    >>> proportions_of([1, -1, 1, 1], ["a", "a", "b", "b"])
    {'a': 0.5, 'b': 1.0}
    """
    positive = np.asarray(labels) > 0
    ids = bags.tolist() if isinstance(bags, np.ndarray) else list(bags)  # type: ignore[arg-type]
    if len(ids) != len(positive):
        raise InputError(
            f"bags must name the bag of each of the {len(positive)} instances, got {len(ids)}."
        )
    members: dict[Hashable, list[bool]] = {}
    for bag, label in zip(ids, positive, strict=True):
        members.setdefault(bag, []).append(bool(label))
    return {bag: float(np.mean(inside)) for bag, inside in members.items()}
