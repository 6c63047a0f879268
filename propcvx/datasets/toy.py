"""Two bags on which the means of bags mislead, as in Figure 1 of the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propcvx.checks import check_count
from propcvx.errors import InputError
from propcvx.targets import proportions_of

Array = NDArray[np.float64]


class BaggedData(NamedTuple):
    """Instances in bags, the labels known beside.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
        Instances.
    labels : int array of shape (n_instances,)
        True labels -1, +1, for judging a method; not for fitting it.
    bags : int array of shape (n_instances,)
        The bag of each instance.
    proportions : dict
        Share of positives of each bag.
    """

    X: Array
    labels: NDArray[np.int8]
    bags: NDArray[np.intp]
    proportions: dict[Any, float]


class _Cloud(NamedTuple):
    """One class of one bag: its share of the bag, and a disc of points along the diagonal."""

    bag: int
    label: int
    fifths: int
    centre: float
    radius: float


# Of each bag the larger class is near the separating line and the smaller one far from it, on the
# other side.  Even at the worst the mean of a bag is with its smaller class:
# 3/5 (0.35 + 0.2) < 2/5 (1.2 - 0.35), and the classes are 2 (0.35 - 0.2) apart.
_CLOUDS = (
    _Cloud(bag=0, label=1, fifths=3, centre=-0.35, radius=0.2),
    _Cloud(bag=0, label=-1, fifths=2, centre=1.2, radius=0.35),
    _Cloud(bag=1, label=1, fifths=2, centre=-1.2, radius=0.35),
    _Cloud(bag=1, label=-1, fifths=3, centre=0.35, radius=0.2),
)


def make_two_bags(n_per_bag: int = 100, random_state: Any = None) -> BaggedData:
    r"""Two bags whose means are on the wrong side of the separating line, as in Figure 1.

    Bag 0 has 60% positives, bag 1 has 40%.  The line :math:`x_1 + x_2 = 0` separates the classes,
    positives below it, and no point is nearer to it than 0.15.  Yet the mean of bag 0 is above
    the line and that of bag 1 below it, for every seed: a method that only sees the means of
    bags gets the two sides the wrong way round.

    Parameters
    ----------
    n_per_bag : int
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
    if check_count("n_per_bag", n_per_bag) % 5:
        raise InputError(f"n_per_bag must be a multiple of 5, got {n_per_bag}.")
    random, fifth = check_random_state(random_state), n_per_bag // 5
    X = np.vstack([_points(cloud, cloud.fifths * fifth, random) for cloud in _CLOUDS])
    counts = [cloud.fifths * fifth for cloud in _CLOUDS]
    labels = np.repeat(np.array([cloud.label for cloud in _CLOUDS], dtype=np.int8), counts)
    bags = np.repeat(np.array([cloud.bag for cloud in _CLOUDS]), counts)
    return BaggedData(X, labels, bags, proportions_of(labels, bags))


def _points(cloud: _Cloud, count: int, random: RandomState) -> Array:
    """Points spread evenly over the disc of a cloud."""
    angle = random.uniform(0.0, 2.0 * np.pi, count)
    distance = cloud.radius * np.sqrt(random.uniform(0.0, 1.0, count))
    centre = cloud.centre / np.sqrt(2.0)
    return centre + distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
