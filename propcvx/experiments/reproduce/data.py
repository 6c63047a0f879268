"""The data of the experiments by name, read once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx.datasets import make_two_bags
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
        A name as :func:`propcvx.datasets.load_real` takes it, or one in ``GENERATED``.
    random : RandomState
        Draws the negatives of one class against the rest.

    Raises
    ------
    InputError
        If there are no data of that name.
    """
    if name in GENERATED:
        return GENERATED[name]()
    if name == "contraception":
        return _contraception()
    base, positive = class_of(name)
    data = _read(base)
    return Source(*(data if positive is None else one_versus_rest(data, positive, random)))


def content_hash(name: str) -> str:
    """What identifies the data behind a name: the hash of the file, or how they are generated."""
    if name in GENERATED:
        return "generated"
    return FILES[REAL_SETS[class_of(name)[0]].file].sha256


def require(name: str) -> None:
    """Fetch the file of a data set where it is not there, or raise what is wrong."""
    if name not in GENERATED:
        data_file(REAL_SETS[class_of(name)[0]].file)


@lru_cache(maxsize=2)
def _read(name: str) -> LabeledData:
    return load_real(name)


@lru_cache(maxsize=1)
def _contraception() -> Source:
    X, labels, bags, _ = load_contraception()
    return Source(X, labels, bags)


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
