"""Published files as numbers: attributes as they are, unscaled, and labels."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

Array = NDArray[np.float64]


def read_svmlight(path: Path) -> tuple[Array, Array]:
    """Attributes, and labels as they are."""
    X, y = load_svmlight_file(str(path))
    return X.toarray(), y


def read_arff(path: Path, target: str, positive: str) -> tuple[Array, Array]:
    """Attributes, nominal ones as their position in the declared order, and labels -1, +1.

    Missing values are filled with the mode (nominal) or the mean (numeric) of their column.

    Parameters
    ----------
    path : Path
    target : str
        The attribute that is the label.
    positive : str
        Its value that is +1.
    """
    text = re.sub(r"(?im)^(@attribute\s+\S+\s+integer)\s*\[.*\]\s*$", r"\1", path.read_text())
    values, meta = arff.loadarff(StringIO(text))
    columns = [_column(values[name], meta[name][1]) for name in meta.names() if name != target]
    return np.column_stack(columns), np.where(values[target] == positive.encode(), 1.0, -1.0)


def read_wisconsin(path: Path) -> tuple[Array, Array]:
    """The rows without a missing value, the sample's number as first attribute; malignant is +1."""
    rows = np.genfromtxt(path, delimiter=",", missing_values="?")
    rows = rows[~np.isnan(rows).any(axis=1)]
    return rows[:, :-1], np.where(rows[:, -1] == 4.0, 1.0, -1.0)


def read_contraception(path: Path) -> tuple[Array, Array]:
    """Age, urban, and one column for each number of living children; users are +1."""
    table = read_table(path)
    X = [table["age"], table["urban"] == "Y", one_hot(table, ["livch"])]
    return np.column_stack(X).astype(np.float64), np.where(table["use"] == "Y", 1.0, -1.0)


def read_ballots(path: Path, columns: Sequence[str] | None = None) -> tuple[Array, Array]:
    """Votes in other contests, one column for each choice; ballots for the Republican are +1.

    Parameters
    ----------
    path : Path
    columns : sequence of str, optional
        The contests, all eight where not given.
    """
    table = ballots(path)
    contests = [name for name in table.dtype.names or () if name.startswith("v_")]
    return one_hot(table, columns or contests), np.where(table["PRS"] == "Republican", 1.0, -1.0)


def ballots(path: Path) -> NDArray[np.void]:
    """One row per ballot that has a vote for the Democrat or the Republican as president."""
    table = read_table(path)
    table = table[np.isin(table["PRS"], ["Democrat", "Republican"])]
    return np.repeat(table, table["Nvoters"])


def read_table(path: Path) -> NDArray[np.void]:
    """A comma-separated file with a header; quotation marks are left out."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        lines = (line.replace('"', "") for line in file)
        return np.genfromtxt(lines, delimiter=",", names=True, dtype=None, encoding="utf-8")


def one_hot(table: NDArray[np.void], columns: Sequence[str]) -> Array:
    """One column of zeros and ones for each value of each column, values in sorted order."""
    return np.column_stack(
        [table[name] == value for name in columns for value in np.unique(table[name])]
    ).astype(np.float64)


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
