"""Problems by the name of their data: a real set, or generated points, in random bags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx.checks import check_count
from propcvx.datasets import load_real, proportions_of, random_bags
from propcvx.errors import InputError
from propcvx.targets import bag_target

Array = NDArray[np.float64]

GENERATED = "generated"
"""The name of data that needs no file: two Gaussian classes that overlap, in five features."""


@dataclass(frozen=True, eq=False)
class BaggedSample:
    """Instances, their bags, and their labels -1 and +1 beside."""

    X: Array
    y: NDArray[np.void]
    labels: Array


def sample_in_bags(name: str, n_instances: int, bag_size: int, seed: int) -> BaggedSample:
    """Random instances of a data set, in random bags.

    Parameters
    ----------
    name : str
        Of a real set, as :func:`propcvx.datasets.load_real` takes it, or ``"generated"``.
    n_instances : int
        How many instances are drawn.
    bag_size : int
    seed : int
        Of the instances and the bags.

    Raises
    ------
    InputError
        If there is no such set, its file is not there, or it has fewer instances.
    """
    X, labels = _labeled(name, check_count("n_instances", n_instances), seed)
    if n_instances > len(X):
        raise InputError(f"n_instances must be at most {len(X)}, all of {name}, got {n_instances}.")
    drawn = np.sort(np.random.RandomState(seed).permutation(len(X))[:n_instances])
    X, labels = X[drawn], labels[drawn]
    bags = random_bags(labels, bag_size, random_state=seed)
    return BaggedSample(X, bag_target(bags, proportions_of(labels, bags)), labels)


def _labeled(name: str, n_instances: int, seed: int) -> tuple[Array, Array]:
    """Instances in [-1, 1], and their labels."""
    if name != GENERATED:
        try:
            data = load_real(name, random_state=seed)
        except InputError as error:
            raise InputError(f"{str(error).rstrip('.')}; {GENERATED!r} needs no file.") from error
        return data.X, data.y
    centers = np.outer([-1.0, 1.0], np.full(5, 0.5))
    X, index = make_blobs(n_instances, centers=centers, random_state=seed)
    return minmax_scale(X, (-1, 1)), np.where(index > 0, 1.0, -1.0)
