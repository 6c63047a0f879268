"""Results files: JSON lines, one for each cell that ended, and all of them as a data frame.

A run only appends to the file, and waits for the disk after each cell.  So an interruption loses
only the cells that were being computed.  Every run needs a separate file.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pandas import DataFrame, concat
from pyarrow import parquet

import propcvx
from propcvx.errors import InputError
from reproduction.cells import PARTS, Cell, key_of
from reproduction.evaluation import NUMBERS, POINT

PACKAGES = ("numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "piqp", "osqp", "joblib")
"""Packages whose versions are kept with each result."""

OF_CELL = ("key", *PARTS, "split", "n_test", "error", "seconds", "finished")
JSON_OF_CELL = ("warnings", "run", "settings")
TEXTS = (*JSON_OF_CELL, "data", "kernel", "method", "split", "finished")
"""Columns with few different values, which Parquet stores as dictionaries."""

START = b'{"key": "'
"""The beginning of each line."""

Record = dict[str, Any]


@contextmanager
def appending(file: Path) -> Iterator[Callable[[Record], None]]:
    """A results file for one run, made where it is not there.

    Parameters
    ----------
    file : Path
        The file; its folder must exist.

    Yields
    ------
    callable
        ``add(record)`` keeps the result of a cell, as
        :func:`reproduction.tasks.run_cell` gives it.

    Raises
    ------
    InputError
        If it cannot be used as a results file.
    """
    run = {**versions(), **machine()}
    try:
        stream = file.open("a+b")
    except OSError as failure:
        raise InputError(f"{file} cannot be used as a results file: {failure}.") from failure

    def add(record: Record) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({**record, "finished": now, "run": run}) + "\n"
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())

    with stream:
        _records(file)
        stream.truncate(file.read_bytes().rfind(b"\n") + 1)
        yield add


def unfinished(cells: Sequence[Cell], file: Path) -> list[Cell]:
    """The cells that a results file does not have; those that failed count as missing.

    Parameters
    ----------
    cells : sequence of Cell
    file : Path
        As :func:`read_results` takes it.  It need not exist.
    """
    if not file.is_file():
        return [*cells]
    if file.suffix == ".parquet":
        results = read_results(file)
        done = set(results.loc[results["error"] == "", "key"])
    else:
        done = {record["key"] for record in _records(file) if not record["error"]}
    return [cell for cell in cells if cell.key not in done]


def read_results(*files: Path) -> DataFrame:
    """Results files, a row for each combination of parameters of each cell.

    Parameters
    ----------
    *files : Path
        Of ``python -m reproduction run``, or with the ending ``.parquet`` as
        :func:`write_parquet` has it.  Of a cell that is in several files, the last one has the
        result.

    Returns
    -------
    DataFrame
        Columns: ``key`` (hash of the settings), ``data``, ``kernel``, ``bag_size``, ``method``,
        ``repetition``, ``fold``, ``split`` (hash), ``n_test``, ``error``, ``warnings`` (JSON),
        ``seconds`` (of the cell), ``finished``, ``run`` (environment and command, JSON),
        ``settings`` (JSON); of the combination ``parameters`` (JSON), ``validation_error``,
        ``accuracy`` (fraction), ``bag_error``, ``auc``, ``log_loss``, ``explained``, ``objective``,
        ``fit_seconds`` and ``chosen``.  Cells are in the order of their keys, each with its last
        result; a cell that failed is one row with its ``error``, and without the numbers of
        combinations.

    Raises
    ------
    InputError
        If there is no such file, or it is no results file, or a package that reads it is not
        installed.
    """
    results = concat([_read(file).assign(file=place) for place, file in enumerate(files)])
    last = results["file"] == results.groupby("key")["file"].transform("max")
    return results[last].drop(columns="file").sort_values("key", kind="stable", ignore_index=True)


def _read(file: Path) -> DataFrame:
    if not file.is_file():
        raise InputError(f"there is no results file {file}.")
    if file.suffix == ".parquet":
        return _read_parquet(file)
    last = {record["key"]: record for record in _records(file)}
    failed = {"parameters": {}, "chosen": False}
    rows = []
    for record in last.values():
        texts = {name: _json(record[name]) for name in JSON_OF_CELL}
        for point in record["points"] or [failed]:
            rows.append({**record, **texts, **point, "parameters": _json(point["parameters"])})
    frame = DataFrame(rows, columns=[*OF_CELL, *JSON_OF_CELL, *POINT])
    return frame.astype(dict.fromkeys(NUMBERS, float))


def _read_parquet(file: Path) -> DataFrame:
    table = parquet.read_table(file)
    frame = table.to_pandas()
    keys = {text: key_of(text) for text in frame["settings"].unique()}
    frame.insert(0, "key", frame["settings"].map(keys).astype(str))
    frame["parameters"] = [
        _json({name: value for name, value in (point or {}).items() if value is not None})
        for point in table["parameters"].to_pylist()
    ]
    return frame.reindex(columns=[*OF_CELL, *JSON_OF_CELL, *POINT]).astype({"objective": float})


def write_parquet(results: DataFrame, output: Path) -> None:
    """Results in a compact form: without the keys, which the settings give; objectives in float32.

    Rows are in the order of data set, kernel, bag size and so on, which halves the file.  Each
    parameter has a typed column of its own, such as ``parameters.C``; it is null where a
    method has no such parameter.

    Parameters
    ----------
    results : DataFrame
        As :func:`read_results` gives them.
    output : Path
    """
    types = dict.fromkeys(JSON_OF_CELL, "category") | {"objective": "float32"}
    compact = results.drop(columns="key").astype(types)
    compact["parameters"] = [json.loads(text) or None for text in compact["parameters"]]
    compact.sort_values([*PARTS], kind="stable").to_parquet(
        output, compression="zstd", compression_level=19, use_dictionary=[*TEXTS], index=False
    )


def versions() -> dict[str, str]:
    """The versions that results come from."""
    versions = {"propcvx": propcvx.__version__, "python": platform.python_version()}
    return versions | {name: version(name) for name in PACKAGES}


def machine() -> dict[str, str]:
    """The machine that a run is started on, and its command."""
    known = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", known.read_text()) if known.is_file() else None
    return {
        "platform": platform.platform(),
        "processor": model[1] if model else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "command": shlex.join(["python", "-m", "reproduction", *sys.argv[1:]]),
        "commit": commit(),
    }


def commit() -> str:
    """The commit that last changed the package, or nothing where it is in no git repository."""
    ask = ["git", "-C", str(Path(propcvx.__file__).parent), "log", "-1", "--format=%h", "--", "."]
    with suppress(OSError):
        return subprocess.run(ask, capture_output=True, text=True).stdout.strip()
    return ""


def _records(file: Path) -> list[Record]:
    """The lines of a results file; a last one that was not written to its end is left out."""
    *lines, broken = file.read_bytes().split(b"\n")
    try:
        if broken[: len(START)] != START[: len(broken)]:
            raise ValueError("its last line is none of a results file")
        records = [json.loads(line) for line in lines]
        if not all({*OF_CELL, *JSON_OF_CELL, "points"} <= record.keys() for record in records):
            raise ValueError("it has other lines")
    except (ValueError, AttributeError) as failure:
        raise InputError(
            f"{file} cannot be used as a results file: {failure}; it must be one of propcvx "
            "reproduce, or a new one in a folder that is there."
        ) from failure
    return records


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
