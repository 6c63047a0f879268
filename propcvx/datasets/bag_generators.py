"""Functions that put labeled instances into bags, and the proportions of these bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from propcvx.arrays import Array, Indices
from propcvx.checks import as_vector, check_count, check_number
from propcvx.errors import InputError


def random_bags(labels: ArrayLike, bag_size: int, random_state: Any = None) -> Indices:
    """Draw random bags of a fixed size, as in Section 6.2 of the paper.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        Only their number matters: bags do not depend on labels.
    bag_size : int
        Instances in a bag; the last bag is smaller if this does not divide their number.
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
    n_instances = len(_vector("labels", labels))
    bags = np.arange(n_instances) // check_count("bag_size", bag_size)
    return check_random_state(random_state).permutation(bags)


def bags_by_feature(values: ArrayLike, bag_size: int, random_state: Any = None) -> Indices:
    """Make bags of a fixed size along a feature: neighbors in its order share a bag.

    The proportions then depend on the feature, which violates the assumption of MeanMap.

    Parameters
    ----------
    values : array of shape (n_instances,)
        The feature.
    bag_size : int
        Instances in a bag; the last bag, of the largest values, may be smaller.
    random_state : int, RandomState or None
        Seeds the order of equal values.

    Returns
    -------
    bags : int array of shape (n_instances,)
        The bag of each instance, from 0.

    Examples
    --------
    >>> bags_by_feature([0.3, 0.1, 0.4, 0.2], bag_size=2)
    array([1, 0, 1, 0])
    """
    feature = _vector("values", values)
    ties = check_random_state(random_state).permutation(len(feature))
    bags = np.empty(len(feature), dtype=np.intp)
    bags[np.lexsort((ties, feature))] = np.arange(len(feature)) // check_count("bag_size", bag_size)
    return bags


def bags_by_cluster(X: ArrayLike, n_bags: int, random_state: Any = None) -> Indices:
    """Make bags that are the clusters of k-means, of different sizes.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    n_bags : int
        Number of clusters, at most the number of distinct instances.
    random_state : int, RandomState or None
        Seeds k-means.

    Returns
    -------
    bags : int array of shape (n_instances,)
        The bag of each instance, from 0.

    Examples
    --------
    >>> bags = bags_by_cluster([[0.0], [0.1], [9.0], [9.1]], n_bags=2, random_state=0)
    >>> bool(bags[0] == bags[1]), bool(bags[0] == bags[2])
    (True, False)
    """
    clusters = KMeans(check_count("n_bags", n_bags), n_init=10, random_state=random_state)
    return clusters.fit_predict(X).astype(np.intp)


def bags_with_proportions(
    labels: ArrayLike,
    bag_size: int,
    draw: Callable[[np.random.RandomState], float],
    random_state: Any = None,
) -> tuple[Indices, Indices]:
    """Draw bags of a fixed size whose proportions follow a distribution.

    Bags are filled one after the other until one class has too few instances left for the next.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        An instance is positive if its label is above 0.
    bag_size : int
        Instances in a bag.
    draw : callable
        ``draw(random) -> proportion of positives of the next bag``, in [0, 1]; the number of
        positives is rounded.
    random_state : int, RandomState or None
        Seeds the draws and the choice of instances.

    Returns
    -------
    instances, bags : int arrays of equal length
        The instances that were placed, and the bag of each, from 0.  The others are omitted.

    Examples
    --------
    >>> labels = np.repeat([1, -1], [40, 60])
    >>> chosen, bags = bags_with_proportions(labels, 10, lambda random: random.beta(2, 3), 0)
    >>> len(chosen) == len(bags) <= 100
    True
    """
    random = check_random_state(random_state)
    size = check_count("bag_size", bag_size)
    if not callable(draw):
        raise InputError(f"draw must be a function that draws a proportion; got {draw!r}.")
    is_positive = _vector("labels", labels) > 0
    positive = random.permutation(np.flatnonzero(is_positive))
    negative = random.permutation(np.flatnonzero(~is_positive))
    members: list[Indices] = []
    while True:
        p = check_number("draw", draw(random), 0.0, 1.0, closed="both")
        count = round(p * size)
        if count > len(positive) or size - count > len(negative):
            break
        members.append(np.concatenate([positive[:count], negative[: size - count]]))
        positive, negative = positive[count:], negative[size - count :]
    if not members:
        raise InputError(
            f"labels have {len(positive)} positives and {len(negative)} negatives, too few for one "
            f"bag of {size} with {count} positives."
        )
    return np.concatenate(members), np.repeat(np.arange(len(members)), size)


def equal_proportion_bags(
    labels: ArrayLike, bag_size: int, random_state: Any = None
) -> tuple[Indices, Indices]:
    """Draw bags of a fixed size that all have the overall proportion, as in Section 7.1.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        An instance is positive where its label is above 0.
    bag_size : int
        Instances in a bag.
    random_state : int, RandomState or None
        Seeds the choice of instances.

    Returns
    -------
    instances, bags : int arrays of equal length
        The instances that were placed, and the bag of each, from 0.  The few that do not fill
        another bag are omitted.

    Examples
    --------
    >>> from propcvx.datasets import bag_proportions
    >>> labels = np.repeat([1, -1], [8, 12])
    >>> chosen, bags = equal_proportion_bags(labels, 5, random_state=0)
    >>> bag_proportions(labels[chosen], bags)
    {0: 0.4, 1: 0.4, 2: 0.4, 3: 0.4}
    """
    prior = float(np.mean(_vector("labels", labels) > 0))
    return bags_with_proportions(labels, bag_size, lambda random: prior, random_state)


def _vector(name: str, values: ArrayLike) -> Array:
    vector = as_vector(values)
    if vector is None or not len(vector):
        raise InputError(f"{name} must be one finite number per instance; got {values!r:.200}.")
    return vector
