"""Readers of the published files: unscaled attributes as numbers, and labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from propcvx.arrays import Array

Table = dict[str, NDArray[Any]]

MISSING = ("", "NA", "None")
"""Strings that mean a missing value, or no value, in tables."""
ANSWERS = tuple(
    "age female collegeed famincr ideo pid7na bornagain religimp churchatd prayerfreq "  # noqa: SIM905
    "angryracism whiteadv fearraces racerare".split()
)
RACES = tuple("Asian,Black,Hispanic,Middle Eastern,Mixed,Native American,Other,White".split(","))  # noqa: SIM905
TRUMP_FEATURES = ANSWERS + RACES
"""The attributes of ``trump-2016``, in the order of its columns."""


def read_svmlight(path: Path) -> tuple[Array, Array]:
    """Read unscaled attributes, and labels."""
    X, y = load_svmlight_file(str(path))
    return X.toarray(), y


def read_arff(path: Path, target: str, positive: str) -> tuple[Array, Array]:
    """Read attributes, nominal ones as positions in the declared order, and labels -1, +1.

    Missing values are filled with the mode (nominal) or the mean (numeric) of their column.

    Parameters
    ----------
    path : Path
    target : str
        The attribute that is the label.
    positive : str
        The value of the attribute that is +1.
    """
    text = re.sub(r"(?im)^(@attribute\s+\S+\s+integer)\s*\[.*\]\s*$", r"\1", path.read_text())
    values, meta = arff.loadarff(StringIO(text))
    columns = [_column(values[name], meta[name][1]) for name in meta.names() if name != target]
    return np.column_stack(columns), np.where(values[target] == positive.encode(), 1.0, -1.0)


def read_wisconsin(path: Path) -> tuple[Array, Array]:
    """Read rows without missing values, with the sample number as attribute; malignant is +1."""
    rows = np.genfromtxt(path, delimiter=",", missing_values="?")
    rows = rows[~np.isnan(rows).any(axis=1)]
    return rows[:, :-1], np.where(rows[:, -1] == 4.0, 1.0, -1.0)


def contraception(table: Table) -> tuple[Array, Array]:
    """Build age, urban, and one column for each number of living children; users are +1."""
    X = [table["age"], table["urban"] == "Y", one_hot(table, ["livch"])]
    return np.column_stack(X).astype(np.float64), np.where(table["use"] == "Y", 1.0, -1.0)


def voters(path: Path) -> Table:
    """Read the respondents of ``TV16.csv`` who answered how they voted."""
    table = read_table(path)
    voted = ~np.isnan(table["votetrump"])
    return {name: column[voted] for name, column in table.items()}


def trump(table: Table) -> tuple[Array, Array]:
    """Build answers, with means for missing ones, and races; voters for Trump are +1."""
    answers = np.column_stack([table[name] for name in ANSWERS]).astype(np.float64)
    answers = np.where(np.isnan(answers), np.nanmean(answers, axis=0), answers)
    X = np.column_stack([answers, *(table["racef"] == race for race in RACES)])
    return X, np.where(table["votetrump"] == 1.0, 1.0, -1.0)


def prenatal(table: Table) -> tuple[Array, Array]:
    """Build two numbers of the community, and a column for each answer; modern care is +1."""
    categories = [name for name in table if table[name].dtype.kind == "U" and name != "prenat"]
    X = np.column_stack([table["pcInd81"], table["ssDist"], one_hot(table, categories)])
    return X, np.where(table["prenat"] == "Modern", 1.0, -1.0)


def ballots(path: Path) -> Table:
    """Read a row per ballot with a vote for the Democrat or the Republican as president."""
    table = read_table(path)
    counted = np.where(np.isin(table["PRS"], ["Democrat", "Republican"]), table["Nvoters"], 0)
    return {name: np.repeat(column, counted) for name, column in table.items()}


def votes(table: Table, columns: Sequence[str] | None = None) -> tuple[Array, Array]:
    """Build a column for each choice in other contests; ballots for the Republican are +1.

    Parameters
    ----------
    table : dict
        The result of :func:`ballots`.
    columns : sequence of str, optional
        The contests; by default all eight.
    """
    contests = [name for name in table if name.startswith("v_")] if columns is None else columns
    return one_hot(table, contests), np.where(table["PRS"] == "Republican", 1.0, -1.0)


def read_table(path: Path) -> Table:
    """Read the columns of a comma-separated file with a header by name, as numbers or words.

    A missing value is NaN among numbers, and empty among words.
    """
    return {name: _numbers_or_words(words) for name, words in read_words(path).items()}


def read_words(path: Path) -> Table:
    """Read the columns of such a file as words, without quotes; missing values are empty."""
    header, *rows = np.loadtxt(path, dtype=str, delimiter=",", comments=None, quotechar='"')
    columns = [np.where(np.isin(words, MISSING), "", words) for words in np.transpose(rows)]
    return dict(zip(header.tolist(), columns, strict=True))


def _numbers_or_words(words: NDArray[np.str_]) -> NDArray[Any]:
    """Convert words to whole numbers if all are, else to numbers if all are, else keep them."""
    for kind in (int, float):
        with suppress(ValueError):
            return np.where(words == "", "nan", words).astype(kind)
    return words


def one_hot(table: Table, columns: Sequence[str]) -> Array:
    """Build a column of zeros and ones for each value of each column, in sorted order."""
    codes = [np.unique(table[name], return_inverse=True)[1] for name in columns]
    return np.column_stack([np.eye(code.max() + 1)[code] for code in codes])


def _column(values: NDArray[np.generic], declared: tuple[str, ...] | None) -> Array:
    """Convert an attribute to numbers, with missing values filled."""
    if declared is None:
        numbers = values.astype(np.float64)
        return np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
    matches = values[:, None] == np.char.encode(declared)
    mode = matches.sum(axis=0).argmax()
    return np.where(matches.any(axis=1), matches.argmax(axis=1), mode)
