"""A file of rows, one line of JSON each: what is there is not run again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from propcvx.errors import InputError

Row = dict[str, Any]


def key_of(row: Row, names: Sequence[str]) -> tuple[object, ...]:
    """The values that say which run a row is of."""
    return tuple(row[name] for name in names)


def read_rows(file: Path, names: Sequence[str]) -> list[Row]:
    """The rows of a file; none where it is not there.

    One that ends in ``.gz`` is read as what it holds.

    Raises
    ------
    InputError
        If a line is something else than a row with those names.
    """
    if not file.exists():
        return []
    try:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
        rows = [json.loads(line) for line in text.splitlines()]
        return [row for row in rows if key_of(row, names)]
    except (ValueError, KeyError, TypeError, gzip.BadGzipFile) as error:
        raise InputError(f"{file} is not what 'propcvx solvers' wrote: {error!r}.") from error


def append_row(file: Path, row: Row) -> None:
    """Add a row at the end.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error
