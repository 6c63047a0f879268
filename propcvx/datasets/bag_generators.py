"""Functions that put labeled instances into bags, and the two bags of Figure 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from propcvx.arrays import Array, Indices, Signs
from propcvx.bags.targets import bag_proportions, bag_target
from propcvx.checks import as_vector, check_count
from propcvx.errors import InputError


class BaggedData(NamedTuple):
    """Instances in bags, with their labels.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
        Instances.
    labels : int array of shape (n_instances,)
        True labels -1, +1, to evaluate a method; not to fit it.
    bags : array of shape (n_instances,)
        The id of the bag of each instance.
    proportions : dict
        Proportion of positives of each bag.

    Examples
    --------
    >>> from propcvx import EcologicalRegression
    >>> from propcvx.datasets import make_two_bags
    >>> two = make_two_bags(random_state=0)
    >>> model = EcologicalRegression().fit(two.X, two.y)
    """

    X: Array
    labels: Signs
    bags: Any
    proportions: dict[Any, float]

    @classmethod
    def from_labels(cls, X: Array, labels: NDArray[Any], bags: NDArray[Any]) -> BaggedData:
        """Build from labeled instances in bags, with their proportions."""
        return cls(X, labels.astype(np.int8), bags, bag_proportions(labels, bags))

    @property
    def y(self) -> NDArray[np.void]:
        """The bag target, for fits: bags and proportions, without labels."""
        return bag_target(self.bags, self.proportions)


# Each class of a bag is a disc of points: bag, label, fifths of the bag, center along the diagonal,
# radius.  In each bag the majority class is near the separating line and the minority class far
# from it, on the other side.  For every seed the mean of a bag is on the side of its minority
# class: 3/5 (0.35 + 0.2) < 2/5 (1.2 - 0.35), and the classes are 2 (0.35 - 0.2) apart.
_DISCS = (
    (0, 1, 3, -0.35, 0.2),
    (0, -1, 2, 1.2, 0.35),
    (1, 1, 2, -1.2, 0.35),
    (1, -1, 3, 0.35, 0.2),
)


def make_two_bags(bag_size: int = 100, random_state: Any = None) -> BaggedData:
    r"""Make two bags whose means mislead, as in Figure 1: each is on the side of the other class.

    Bag 0 has 60% positives, bag 1 has 40%.  The line :math:`x_1 + x_2 = 0` separates the classes,
    positives below it, and no point is nearer to it than 0.15.  Yet the mean of bag 0 is above
    the line and the mean of bag 1 below it, for every seed: a method that uses only the means of
    bags exchanges the two sides.

    Parameters
    ----------
    bag_size : int, default=100
        Instances in each bag, a multiple of 5.
    random_state : int, RandomState or None
        Seeds the points.

    Returns
    -------
    BaggedData
        ``X, labels, bags, proportions``, also by name.

    Examples
    --------
    >>> from propcvx.datasets import make_two_bags
    >>> X, labels, bags, proportions = make_two_bags(random_state=0)
    >>> proportions
    {0: 0.6, 1: 0.4}
    >>> [bool(X[bags == bag].sum() > 0) for bag in proportions]
    [True, False]
    """
    if check_count("bag_size", bag_size) % 5:
        raise InputError(f"bag_size must be a multiple of 5; got {bag_size}.")
    random = check_random_state(random_state)
    points = []
    for _, _, fifths, center, radius in _DISCS:
        count = fifths * bag_size // 5
        angle = random.uniform(0.0, 2.0 * np.pi, count)
        distance = radius * np.sqrt(random.uniform(0.0, 1.0, count))
        offsets = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        points.append(center / np.sqrt(2.0) + offsets)
    counts = [len(disc) for disc in points]
    bags = np.repeat([disc[0] for disc in _DISCS], counts)
    labels = np.repeat([disc[1] for disc in _DISCS], counts)
    return BaggedData.from_labels(np.vstack(points), labels, bags)


def random_bags(labels: ArrayLike, bag_size: int, random_state: Any = None) -> Indices:
    """Draw random bags of a fixed size, as in Section 6.2 of the paper.

    Parameters
    ----------
    labels : array of shape (n_instances,)
        Numbers or names; only how many there are matters, as bags do not depend on labels.
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
    >>> import numpy as np
    >>> from propcvx.datasets import random_bags
    >>> np.bincount(random_bags([1, -1, 1, -1, 1], bag_size=2, random_state=0))
    array([2, 2, 1])
    """
    values = np.asarray(labels, dtype=object)
    if values.ndim != 1 or not len(values):
        raise InputError(f"labels must be one label per instance; got {labels!r:.200}.")
    bags = np.arange(len(values)) // check_count("bag_size", bag_size)
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
    >>> from propcvx.datasets import bags_by_feature
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
    >>> from propcvx.datasets import bags_by_cluster
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
    >>> import numpy as np
    >>> from propcvx.datasets import bag_proportions, equal_proportion_bags
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
