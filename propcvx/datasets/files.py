"""The published files of the real data sets: found in a cache folder, or fetched into it.

A file is where ``data_home`` says, or the environment variable ``PROPCVX_DATA``, or in the user's
cache folder; in that folder itself or its subfolder ``raw``.  Every file is checked against its
hash whenever it is opened.
"""

from __future__ import annotations

import bz2
import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from propcvx.checks import check_choice
from propcvx.errors import InputError

FOLDER = "PROPCVX_DATA"
"""Environment variable with the folder of the files."""

RETRIES = 2
"""How often a download that failed is tried again."""

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_ARFF = "https://raw.githubusercontent.com/renatopp/arff-datasets/master/classification"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


class MissingDataError(InputError):
    """The file of a data set is not there and could not be fetched; the message says why."""


@dataclass(frozen=True)
class DataFile:
    """A file as its publisher has it.

    Attributes
    ----------
    url : str
        Where it is published.
    sha256 : str
        Hash of its content.
    """

    url: str
    sha256: str


_HASHES = {
    f"{_LIBSVM}/binary": {
        "heart_scale": "5defa0a4c4c5bdaf3f55ae3828310252e8565c13ee37ce279e0b86d82e7f4ce9",
        "australian": "25a5d45d53b5db7c402f1bf58aea5ed5f0387ad525ec7f0131585f1f63033b38",
        "a1a": "eb54c45f1bdb51286f803dd092eb8202b44637a858fc6c4e533a2d64a0d94b4e",
        "cod-rna.t": "58cff16df896436b06343df78ccaef37a6979d819abbcadbec3cb16b93938df6",
    },
    f"{_LIBSVM}/multiclass": {
        "dna.scale": "f74937ccb8908628058ae1819d4d46c960ce64383f622c994d4f2e6e21026494",
        "satimage.scale": "df08755887b968a272b84247fa0b1543b8cd623442fbc1c7943144e459ef2eb6",
    },
    _ARFF: {
        "heart-c.arff": "e423f3346777c3b51f8b7448f88c75d27ae86ee83758f01a27af9ffa3cd7bcfb",
        "colic.arff": "b4d703215840e9d40b93a3e3c578774f93867ff7758cbc2466e445cff0a25d98",
        "vote.arff": "d4317c3312a6dde5617b0b464ad6e02aef485b302625e5cb39c1e9eb01307fa4",
        "credit-a.arff": "3c9c079d1086bf3f56d9853777117d72966221b7ce5efde4fd30359fe6669529",
        "breast-w.arff": "e34b01d1c3213c26d54445278879143d718770aa59f3a363668f45b8fb3b3ed4",
    },
}
"""Hashes of files by name, by the folder in which they are published."""

FILES: Mapping[str, DataFile] = MappingProxyType(
    {
        **{
            name: DataFile(
                f"{folder}/{name.replace('-', '.') if folder == _ARFF else name}", sha256
            )
            for folder, hashes in _HASHES.items()
            for name, sha256 in hashes.items()
        },
        "breast-cancer-wisconsin.data": DataFile(
            f"{_UCI}/breast-cancer-wisconsin/breast-cancer-wisconsin.data",
            "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
        ),
        "contraception.csv": DataFile(
            "https://vincentarelbundock.github.io/Rdatasets/csv/mlmRev/Contraception.csv",
            "6e454b61e51a0df29550d81c44fdd1bd4145573f6232b6f4d065361ad69813a5",
        ),
        "herron_lewis_counts.csv.gz": DataFile(
            "https://raw.githubusercontent.com/kuriwaki/ticketsplit-JOP/master/data/palmbeach/"
            "herron_lewis_counts.csv.gz",
            "3c3bdb1c299b47ae01cc93d91471cd07136eb4beda6ae1771a6c62351a9b1fd5",
        ),
    }
)
"""Files by name."""


def data_folder(data_home: Any = None) -> Path:
    """The folder of the files.

    Parameters
    ----------
    data_home : path, optional
        The folder; where not given, what ``PROPCVX_DATA`` names, or the user's cache folder.

    Raises
    ------
    InputError
        If ``data_home`` is no path.
    MissingDataError
        If it comes to the cache folder and pooch is not installed, which knows it.
    """
    if data_home is not None and not isinstance(data_home, str | os.PathLike):
        raise InputError(f"data_home must be the path of a folder, got {data_home!r}.")
    return Path(data_home or os.environ.get(FOLDER) or _pooch().os_cache("propcvx")).expanduser()


def data_file(name: str, data_home: Any = None, *, download: bool = True) -> Path:
    """A file with the published content.

    Parameters
    ----------
    name : str
        A name in ``FILES``.  In its place a copy compressed by bzip2 will do, ``name + ".bz2"``.
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
    places = [
        place / (name + ending) for place in (folder, folder / "raw") for ending in ("", ".bz2")
    ]
    found = [path for path in places if path.is_file()]
    if found:
        return _checked(found[0], file)
    if not download:
        raise MissingDataError(
            f"there is no {name} in {folder}, nor in its subfolder raw; name another folder by "
            f"data_home or {FOLDER}, or let it be fetched from {file.url}"
        )
    return _fetched(name, file, folder)


def _pooch() -> Any:
    try:
        return import_module("pooch")
    except ImportError as absent:
        raise MissingDataError(
            "the package pooch fetches real data sets into a cache folder, and is not installed: "
            f"pip install pooch, or name the folder that holds the files by data_home or {FOLDER}."
        ) from absent


def _checked(path: Path, file: DataFile) -> Path:
    anew = f"remove it, and it is fetched anew from {file.url}"
    try:
        with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, EOFError) as failure:
        raise InputError(f"{path} cannot be read: {failure}; {anew}") from failure
    if found != file.sha256:
        raise InputError(
            f"{path} is not the file that was published: its content has the sha256 {found}, "
            f"expected is {file.sha256}; {anew}"
        )
    return path


def _fetched(name: str, file: DataFile, folder: Path) -> Path:
    pooch, is_new = _pooch(), not folder.exists()
    keeper = pooch.create(
        folder,
        base_url="",
        registry={name: f"sha256:{file.sha256}"},
        urls={name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        return Path(keeper.fetch(name, downloader=pooch.HTTPDownloader(progressbar=True)))
    except (OSError, ValueError) as failure:
        if is_new:
            with suppress(OSError):  # which says that something is in it
                folder.rmdir()
        raise MissingDataError(
            f"{name} is not in {folder} and could not be fetched from {file.url}: {failure}. "
            f"Without network, put the file into that folder, or name the folder that holds it by "
            f"data_home or {FOLDER}."
        ) from failure
