"""Two bags on which the means of bags mislead, as in Figure 1 of the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propcvx.arrays import Array, Signs
from propcvx.bags.targets import bag_proportions, bag_target
from propcvx.checks import check_count
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
    r"""Make two bags whose means are on the wrong side of the separating line, as in Figure 1.

    Bag 0 has 60% positives, bag 1 has 40%.  The line :math:`x_1 + x_2 = 0` separates the classes,
    positives below it, and no point is nearer to it than 0.15.  Yet the mean of bag 0 is above
    the line and the mean of bag 1 below it, for every seed: a method that uses only the means of
    bags exchanges the two sides.

    Parameters
    ----------
    bag_size : int
        Instances in each bag, a multiple of 5.
    random_state : int, RandomState or None
        Seeds the points.

    Returns
    -------
    BaggedData
        ``X, labels, bags, proportions``, also by name.

    Examples
    --------
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
