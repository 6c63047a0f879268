"""The published files of the real data sets: found in a cache folder, or fetched into it.

A file is where ``data_home`` says, or the environment variable ``PROPCVX_DATA``, or in the user's
cache folder; in that folder itself or its subfolder ``raw``.  Every file is checked against its
hash whenever it is opened.  A table that its publisher writes anew from time to time, with other
quotes and row names, is checked by the hash of its cells instead.
"""

from __future__ import annotations

import bz2
import csv
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from propcvx.checks import check_choice
from propcvx.datasets.readers import read_words
from propcvx.errors import InputError

FOLDER = "PROPCVX_DATA"
"""Environment variable with the folder of the files."""

ADVICE = f"name the folder that holds the files by data_home or {FOLDER}"
RETRIES = 2
"""How often a download that failed is tried again."""
ENDINGS = ("", ".bz2", ".gz")
"""What a copy may be compressed by; with gzip only a table that is known by its cells."""


class MissingDataError(InputError):
    """The file of a data set is missing and could not be fetched; the message has the reason."""


class DataFile(NamedTuple):
    """Where a file is published, and the hash of its content.

    Attributes
    ----------
    url : str
    sha256 : str
        Of the bytes, or of the cells, see :func:`hash_of_cells`.
    columns : str
        Names of the columns that the hash is of, with spaces between them; empty where it is of the
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
    """The folder of the files.

    Parameters
    ----------
    data_home : path, optional
        The folder; if not given, that of ``PROPCVX_DATA``, or the user's cache folder.

    Raises
    ------
    InputError
        If ``data_home`` is no path.
    MissingDataError
        If neither is given and pooch, which knows the cache folder, is not installed.
    """
    if data_home is not None and not isinstance(data_home, str | os.PathLike):
        raise InputError(f"data_home must be the path of a folder, got {data_home!r}.")
    return Path(data_home or os.environ.get(FOLDER) or _pooch().os_cache("propcvx")).expanduser()


def data_file(name: str, data_home: Any = None, *, download: bool = True) -> Path:
    """A file with the published content.

    Parameters
    ----------
    name : str
        A name in ``FILES``.  In its place a compressed copy will do, see ``ENDINGS``.
    data_home : path, optional
        See :func:`data_folder`.
    download : bool
        Whether to fetch it from its publisher where it is not there.  It appears in the folder
        only when it is whole and its hash is right.

    Raises
    ------
    MissingDataError
        If it is not there and not to be fetched, or cannot be.
    InputError
        If what is there has another hash.
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
    """The sha256 of the cells of some columns, whatever quotes, row names and endings a table has.

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
    anew = f"remove it, and it is fetched anew from {file.url}"
    try:
        if file.columns:
            digest = hash_of_cells(path, file.columns.split())
        else:
            with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, EOFError, ValueError, KeyError) as failure:
        raise InputError(f"{path} cannot be read: {failure}; {anew}") from failure
    if digest != file.sha256:
        raise InputError(
            f"{path} is not the file that was published: its content has the sha256 {digest}, "
            f"expected is {file.sha256}; {anew}"
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
