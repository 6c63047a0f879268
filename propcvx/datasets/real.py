"""Real data sets of the paper's experiments, read from a folder of the files as published.

The environment variable ``PROPCVX_DATA`` names the folder that holds them, or one whose folder
``raw`` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import minmax_scale

from propcvx.errors import InputError

Array = NDArray[np.float64]

FOLDER = "PROPCVX_DATA"
"""Environment variable with the folder of the files."""


class MissingDataError(InputError):
    """The file of a data set is not there; the message says where it was looked for."""


class LabeledData(NamedTuple):
    """Instances, each attribute scaled to [-1, 1], and their labels -1 and +1."""

    X: Array
    y: Array


@dataclass(frozen=True)
class RealSet:
    """One real set.

    Attributes
    ----------
    file : str
        Name of the file, as its publisher has it.
    shape : tuple of int
        Instances and attributes.
    read : callable
        ``read(path)`` gives attributes, unscaled, and labels.
    """

    file: str
    shape: tuple[int, int]
    read: Callable[[Path], tuple[Array, Array]]


def load_real(name: str) -> LabeledData:
    """Read a real data set.

    Nominal attributes become the position of their value in the declared order; missing values
    are filled with the mode (nominal) or the mean (numeric) of their column.

    Parameters
    ----------
    name : str
        A name in ``REAL_SETS``.

    Raises
    ------
    InputError
        If there is no set of that name.
    MissingDataError
        If its file is not in the folder that ``PROPCVX_DATA`` names.
    """
    if name not in REAL_SETS:
        raise InputError(f"name must be one of {list(REAL_SETS)}, got {name!r}.")
    row = REAL_SETS[name]
    X, y = row.read(_path(name, row.file))
    if X.shape != row.shape:
        raise InputError(f"{row.file} should hold {row.shape} numbers for {name}, got {X.shape}.")
    return LabeledData(minmax_scale(X, (-1, 1)), y)


def _path(name: str, file: str) -> Path:
    folder = os.environ.get(FOLDER)
    if not folder:
        raise MissingDataError(
            f"the environment variable {FOLDER} does not name a folder that holds {file}, the "
            f"file of {name}"
        )
    places = [Path(folder) / file, Path(folder) / "raw" / file]
    found = [path for path in places if path.is_file()]
    if not found:
        raise MissingDataError(
            f"there is no {places[0]} and no {places[1]}, the file of {name}, in the folder of "
            f"{FOLDER}"
        )
    return found[0]


def _read_svmlight(path: Path) -> tuple[Array, Array]:
    X, y = load_svmlight_file(str(path))
    return X.toarray(), np.where(y > 0, 1.0, -1.0)


def _read_arff(path: Path, target: str, positive: str) -> tuple[Array, Array]:
    with path.open() as file:
        values, meta = arff.loadarff(file)
    columns = [_column(values[name], meta[name][1]) for name in meta.names() if name != target]
    return np.column_stack(columns), np.where(values[target] == positive.encode(), 1.0, -1.0)


def _column(values: NDArray[np.generic], declared: tuple[str, ...] | None) -> Array:
    """One attribute as numbers, without missing ones."""
    if declared is None:
        numbers = values.astype(np.float64)
        return np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
    counts = [int((values == value.encode()).sum()) for value in declared]
    codes = np.full(len(values), float(np.argmax(counts)))
    for code, value in enumerate(declared):
        codes[values == value.encode()] = code
    return codes


REAL_SETS: Mapping[str, RealSet] = MappingProxyType(
    {
        "heart": RealSet("heart_scale", (270, 13), _read_svmlight),
        "vote": RealSet(
            "vote.arff", (435, 16), lambda path: _read_arff(path, "Class", "republican")
        ),
        "australian": RealSet("australian", (690, 14), _read_svmlight),
        "cod-rna.t": RealSet("cod-rna.t.bz2", (271617, 8), _read_svmlight),
    }
)
"""Real sets by name."""
