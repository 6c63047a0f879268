"""Functions that put labeled instances into bags, and the proportions of these bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from propcvx.arrays import Array, Indices
from propcvx.checks import as_vector, check_count
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
    is_positive, random = _vector("labels", labels) > 0, check_random_state(random_state)
    positive = round(float(np.mean(is_positive)) * check_count("bag_size", bag_size))
    counts = np.array([positive, bag_size - positive])
    classes = [random.permutation(np.flatnonzero(mask)) for mask in (is_positive, ~is_positive)]
    n_bags = min(len(c) // n for c, n in zip(classes, counts, strict=True) if n)
    if n_bags == 0:
        raise InputError(
            f"labels must fill one bag of {counts[0]} positives and {counts[1]} negatives; got "
            f"{len(classes[0])} and {len(classes[1])}. Pass a smaller bag_size."
        )
    members = [c[: n_bags * n].reshape(n_bags, n) for c, n in zip(classes, counts, strict=True)]
    return np.hstack(members).ravel(), np.repeat(np.arange(n_bags), bag_size)


def _vector(name: str, values: ArrayLike) -> Array:
    vector = as_vector(values)
    if vector is None or not len(vector):
        raise InputError(f"{name} must be one finite number per instance; got {values!r:.200}.")
    return vector
