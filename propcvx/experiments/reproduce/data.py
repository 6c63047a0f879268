"""The data of the experiments by name, read once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx.datasets import BaggedData, load_ballots, make_two_bags
from propcvx.datasets.files import FILES, data_file
from propcvx.datasets.real import (
    REAL_SETS,
    LabeledData,
    class_of,
    load_contraception,
    load_real,
    one_versus_rest,
)


class Source(NamedTuple):
    """Instances, labels -1 and +1, and the bag of each where the data come with bags."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    bags: NDArray[Any] | None = None


def load(name: str, random: RandomState) -> Source:
    """Data by name.

    Parameters
    ----------
    name : str
        A name as :func:`propcvx.datasets.load_real` takes it, or in ``GENERATED`` or ``NATURAL``.
    random : RandomState
        Draws the negatives of one class against the rest, and samples.

    Raises
    ------
    InputError
        If there are no data of that name.
    """
    if name in GENERATED:
        return GENERATED[name]()
    if name in NATURAL:
        return NATURAL[name].load(random)
    base, positive = class_of(name)
    data = _read(base)
    return Source(*(data if positive is None else one_versus_rest(data, positive, random)))


def content_hash(name: str) -> str:
    """What identifies the data behind a name: the hash of the file, or how they are generated."""
    return "generated" if name in GENERATED else FILES[_file(name)].sha256


def require(name: str) -> None:
    """Fetch the file of a data set where it is not there, or raise what is wrong."""
    if name not in GENERATED:
        data_file(_file(name))


def n_instances(name: str) -> int:
    """About how many instances there are."""
    if name in GENERATED:
        return 100
    if name in NATURAL:
        return NATURAL[name].n_instances
    base, positive = class_of(name)
    row = REAL_SETS[base]
    return row.shape[0] if positive is None else 2 * row.shape[0] // row.n_classes


def _file(name: str) -> str:
    return NATURAL[name].file if name in NATURAL else REAL_SETS[class_of(name)[0]].file


@lru_cache(maxsize=2)
def _read(name: str) -> LabeledData:
    return load_real(name)


def _contraception(random: RandomState) -> Source:
    X, labels, bags, _ = load_contraception()
    return Source(X, labels, bags)


def _ballots(random: RandomState) -> Source:
    X, labels = _read("ballots")
    drawn = random.permutation(len(labels))[:N_BALLOTS]
    return Source(X[drawn], labels[drawn])


def _ballots_in_groups(random: RandomState) -> Source:
    X, labels, bags, _ = _groups_of_ballots()
    drawn = random.permutation(len(labels))[:N_BALLOTS]
    return Source(X[drawn], labels[drawn], bags[drawn])


@lru_cache(maxsize=1)
def _groups_of_ballots() -> BaggedData:
    return load_ballots()


def _two_bags() -> Source:
    X, labels, bags, _ = make_two_bags(random_state=0)
    return Source(X, labels, bags)


def _blobs() -> Source:
    X, labels = make_blobs(60, n_features=4, centers=2, cluster_std=6.0, random_state=0)
    return Source(minmax_scale(X, (-1, 1)), 2 * labels - 1)


GENERATED: Mapping[str, Callable[[], Source]] = MappingProxyType(
    {"figure1": _two_bags, "blobs": _blobs}
)
"""Data that need no file: those of Figure 1, and two overlapping classes for trying things out."""


@dataclass(frozen=True)
class Natural:
    """A set outside the paper.

    Attributes
    ----------
    file : str
        A name in ``propcvx.datasets.files.FILES``.
    n_instances : int
    load : callable
        ``load(random)`` gives the data, or a sample of them.
    """

    file: str
    n_instances: int
    load: Callable[[RandomState], Source]


BALLOTS = "herron_lewis_counts.csv.gz"
N_BALLOTS = 25_600
"""Ballots drawn in a repetition: 50 bags of 512, of which 40, 20,480 ballots, are for training."""

NATURAL: Mapping[str, Natural] = MappingProxyType(
    {
        "contraception": Natural("contraception.csv", 1934, _contraception),
        "ballots-sample": Natural(BALLOTS, N_BALLOTS, _ballots),
        "ballots-groups": Natural(BALLOTS, N_BALLOTS, _ballots_in_groups),
    }
)
"""Women in their districts; a sample of ballots without bags of its own, and one in groups by
congressional district, day of voting and two of the contests."""
