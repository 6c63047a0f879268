"""The data of the experiments by name, read once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx import datasets
from propcvx.datasets.files import FILES, data_file
from propcvx.datasets.real import REAL_SETS, class_of, one_versus_rest

BALLOTS = "herron_lewis_counts.csv.gz"
N_BALLOTS = 25_600
"""Ballots drawn in a repetition."""


_Arrays = tuple[NDArray[Any], ...]
"""Instances, labels -1 and +1, and the bag of each where the data come with bags."""

_read = lru_cache(maxsize=2)(datasets.load_real)
_read_groups = lru_cache(maxsize=1)(datasets.load_ballots)


def _blobs() -> _Arrays:
    X, labels = make_blobs(60, n_features=4, centers=2, cluster_std=6.0, random_state=0)
    return minmax_scale(X, (-1, 1)), 2 * labels - 1


def _drawn(random: RandomState, data: _Arrays) -> _Arrays:
    """A sample of ballots."""
    chosen = random.permutation(len(data[0]))[:N_BALLOTS]
    return tuple(part[chosen] for part in data)


OTHER_DATA: Mapping[str, tuple[str | None, Callable[[RandomState], _Arrays]]] = {
    "figure1": (None, lambda random: datasets.make_two_bags(random_state=0)[:3]),
    "blobs": (None, lambda random: _blobs()),
    "contraception": ("contraception.csv", lambda random: datasets.load_contraception()[:3]),
    "trump-2016": ("TV16.csv", lambda random: datasets.load_trump_2016()[:3]),
    "guatemala-prenatal": ("guPrenat.csv", lambda random: datasets.load_guatemala_prenatal()[:3]),
    "ballots-groups": (BALLOTS, lambda random: _drawn(random, _read_groups()[:3])),
}
"""Data of the experiments that are not in the paper's Table 1: their file, and how they are made.

These are the data of Figure 1, and two overlapping classes for trials; women in their districts,
voters in their states, and births in their communities; a sample of ballots in groups by
congressional district, day of voting and two of the contests.
"""


def load(name: str, random: RandomState) -> _Arrays:
    """Data by name.

    Parameters
    ----------
    name : str
        A name in ``OTHER_DATA``, or as :func:`propcvx.datasets.load_real` takes it.
    random : RandomState
        Draws the negatives of one class against the rest, and samples.

    Raises
    ------
    InputError
        If there are no data of that name.
    """
    if name in OTHER_DATA:
        return OTHER_DATA[name][1](random)
    base, positive = class_of(name)
    data = _read(base)
    return data if positive is None else one_versus_rest(data, positive, random)


def content_hash(name: str) -> str:
    """What identifies the data of a name: the hash of the file, or ``"generated"``."""
    file = _file(name)
    return FILES[file].sha256 if file else "generated"


def require(name: str) -> None:
    """Fetch the file of a data set if it does not exist; raise an error if that fails."""
    file = _file(name)
    if file:
        data_file(file)


def _file(name: str) -> str | None:
    return OTHER_DATA[name][0] if name in OTHER_DATA else REAL_SETS[class_of(name)[0]].file
