"""Data of benchmarks: the real set where it is at hand, a generated one of its shape elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.datasets import proportions_of, random_bags
from propcvx.datasets.files import MissingDataError
from propcvx.datasets.real import REAL_SETS, load_real
from propcvx.targets import bag_target

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BenchData:
    """Instances in [-1, 1], their labels -1 and +1, and a note where they were generated."""

    X: Array
    y: Array
    note: str


def real_or_generated(name: str, n_instances: int | None = None) -> BenchData:
    """A real set by name, or its first rows.

    Parameters
    ----------
    name : str
        A name in ``propcvx.datasets.real.REAL_SETS``.
    n_instances : int, optional
        How many rows to keep.
    """
    try:
        data = load_real(name, download=False)
        return BenchData(data.X[:n_instances], data.y[:n_instances], "")
    except MissingDataError as error:
        n, d = REAL_SETS[name].shape
        return generated(min(n, n_instances or n), d, f"generated, as {error}")


def generated(n_instances: int, n_features: int, note: str = "") -> BenchData:
    """Two overlapping Gaussian classes, scaled to [-1, 1]."""
    random = np.random.default_rng(0)
    y = random.choice((-1.0, 1.0), n_instances)
    X = random.normal(size=(n_instances, n_features)) + y[:, None] / np.sqrt(n_features)
    low, high = X.min(axis=0), X.max(axis=0)
    return BenchData(2.0 * (X - low) / (high - low) - 1.0, y, note)


def in_bags(labels: Array, bag_size: int) -> NDArray[np.void]:
    """The bag target of random bags of one size, with the proportions of the labels."""
    bags = random_bags(labels, bag_size, random_state=0)
    return bag_target(bags, proportions_of(labels, bags))


def bags_of(labels: Array, bag_size: int) -> Bags:
    """Those bags, validated."""
    return Bags.from_target(in_bags(labels, bag_size))
