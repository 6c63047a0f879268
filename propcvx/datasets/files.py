"""The published files of the real data sets: fetched into a cache folder, checked, and read.

The folder is ``data_home``, or the environment variable ``PROPCVX_DATA``, or the user's cache
folder; a file is in that folder or its subfolder ``raw``.  Every file is checked against its hash
when it is opened.  If a publisher rewrites a table from time to time, with other quotes and row
names, the hash of its cells is checked instead.
"""

from __future__ import annotations

import bz2
import csv
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from io import StringIO
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from propcvx.arrays import Array
from propcvx.checks import check_choice
from propcvx.errors import InputError

FOLDER = "PROPCVX_DATA"
"""Environment variable with the folder of the files."""
ADVICE = f"name the folder that holds the files by data_home or {FOLDER}"
RETRIES = 2
"""Number of further tries after a failed download."""
ENDINGS = ("", ".bz2", ".gz")
"""Endings of compressed copies; with gzip only a table that is checked by its cells."""


class MissingDataError(InputError):
    """The file of a data set is missing and could not be fetched; the message has the reason."""


class DataFile(NamedTuple):
    """The URL of a published file, and the hash of its content.

    Attributes
    ----------
    url : str
    sha256 : str
        Hash of the bytes, or of the cells, see :func:`hash_of_cells`.
    columns : str
        Names of the columns that are hashed, with spaces between them; empty for a hash of the
        bytes.
    """

    url: str
    sha256: str
    columns: str = ""


with files(__package__).joinpath("files.csv").open(encoding="utf-8") as _table:
    FILES: Mapping[str, DataFile] = MappingProxyType(
        {row.pop("name"): DataFile(**row) for row in csv.DictReader(_table)}
    )
"""Files by name, as ``files.csv`` lists them."""


def data_folder(data_home: Any = None) -> Path:
    """Return the folder of the files.

    Parameters
    ----------
    data_home : path, optional
        The folder; by default ``PROPCVX_DATA``, or the user's cache folder.

    Raises
    ------
    InputError
        If ``data_home`` is no path.
    MissingDataError
        If neither is set and pooch, which finds the cache folder, is not installed.
    """
    if data_home is not None and not isinstance(data_home, str | os.PathLike):
        raise InputError(f"data_home must be the path of a folder; got {data_home!r}.")
    return Path(data_home or os.environ.get(FOLDER) or _pooch().os_cache("propcvx")).expanduser()


def data_file(name: str, data_home: Any = None, *, download: bool = True) -> Path:
    """Return the path of a file with the published content.

    Parameters
    ----------
    name : str
        A name in ``FILES``.  A compressed copy is used, too, see ``ENDINGS``.
    data_home : path, optional
        See :func:`data_folder`.
    download : bool
        Whether to fetch a missing file from its publisher.  It appears in the folder only when it
        is complete and its hash is correct.

    Raises
    ------
    MissingDataError
        If the file is missing, and ``download`` is False or fails.
    InputError
        If the file has another hash.
    """
    file, folder = FILES[check_choice("name", name, FILES)], data_folder(data_home)
    for place, ending in product((folder, folder / "raw"), ENDINGS):
        path = place / (name + ending)
        if path.is_file():
            _check_content(path, file)
            return path
    if not download:
        raise MissingDataError(
            f"{name} is not in {folder}, nor in its subfolder raw; {ADVICE}, or let it be "
            f"fetched from {file.url}."
        )
    path = _fetched(name, file, folder)
    _check_content(path, file)
    return path


def hash_of_cells(path: Path, columns: Sequence[str]) -> str:
    """Hash the cells of columns by sha256, independently of quotes, row names and line endings.

    Parameters
    ----------
    path : Path
    columns : sequence of str
    """
    words = read_words(path)
    rows = zip(*(words[name] for name in columns), strict=True)
    text = "\n".join(",".join(cell.removesuffix(".0") for cell in row) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as absent:
        raise MissingDataError(
            "the package pooch fetches real data sets into a cache folder, and is not installed: "
            f"pip install pooch, or {ADVICE}."
        ) from absent
    return pooch


def _check_content(path: Path, file: DataFile) -> None:
    advice = f"remove it, and it is fetched again from {file.url}"
    try:
        if file.columns:
            digest = hash_of_cells(path, file.columns.split())
        else:
            with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, EOFError, ValueError, KeyError) as failure:
        raise InputError(f"{path} cannot be read: {failure}; {advice}") from failure
    if digest != file.sha256:
        raise InputError(
            f"{path} is not the file that was published: its content has the sha256 {digest}, "
            f"expected is {file.sha256}; {advice}"
        )


def _fetched(name: str, file: DataFile, folder: Path) -> Path:
    pooch = _pooch()
    hashes, urls = {name: None if file.columns else file.sha256}, {name: file.url}
    keeper = pooch.create(folder, "", registry=hashes, urls=urls, retry_if_failed=RETRIES)
    try:
        return Path(keeper.fetch(name, progressbar=True))
    except (OSError, ValueError) as failure:
        raise MissingDataError(
            f"{name} is not in {folder} and could not be fetched from {file.url}: {failure}. "
            f"Without network, put it there, or {ADVICE}."
        ) from failure


Table = dict[str, NDArray[Any]]


MISSING = ("", "NA", "None")
"""Strings that mean a missing value, or no value, in tables."""


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
