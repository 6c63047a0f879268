"""Results files as one data frame."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propcvx.errors import InputError
from propcvx.experiments.reproduce.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame


def read_results(file: Path) -> DataFrame:
    """A results file, a row for each combination of parameters of each cell.

    Parameters
    ----------
    file : Path
        Of ``propcvx reproduce``, or as ``propcvx report`` writes it with the ending ``.parquet``.

    Returns
    -------
    DataFrame
        Columns: ``key`` (hash of the settings), ``data``, ``kernel``, ``bag_size``, ``method``,
        ``repetition``, ``fold``, ``split`` (hash), ``n_test``, ``error``, ``warnings``,
        ``seconds`` (of the cell), ``finished``, ``run`` (environment and command, JSON),
        ``settings`` (JSON); of the combination ``parameters`` (JSON), ``validation_error``,
        ``accuracy`` (share), ``bag_error``, ``objective``, ``fit_seconds`` and ``chosen``.  A cell
        that failed is one row with its ``error``, and without numbers.

    Raises
    ------
    InputError
        If there is no such file, or it is none of these.
    """
    try:
        from pandas import read_parquet
    except ImportError as failure:
        raise InputError(
            "reading results needs pandas: pip install 'propcvx[experiments]'."
        ) from failure
    if not file.is_file():
        raise InputError(f"there is no results file {file}.")
    return read_parquet(file) if file.suffix == ".parquet" else _of_store(file)


def _of_store(file: Path) -> DataFrame:
    from pandas import DataFrame

    rows = Store(file, read_only=True).rows()
    how = "mode=ro" if file.with_name(f"{file.name}-wal").exists() else "immutable=1"
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True)) as connection:
        runs = dict(connection.execute("SELECT run, environment FROM runs"))
    frame = DataFrame([point for row in rows for point in _points(row, runs[row["run"]])])
    return frame.astype({"objective": float, "accuracy": float}) if rows else frame


def _points(row: dict[str, Any], run: str) -> list[dict[str, Any]]:
    left_out = ("points", "scores", "accuracy_chosen_by_test")
    cell = {name: value for name, value in row.items() if name not in left_out} | {"run": run}
    empty: dict[str, Any] = {
        "parameters": {},
        "validation_error": None,
        "accuracy": None,
        "bag_error": None,
    }
    rows = []
    for point in json.loads(row["points"]) or [empty | {"objective": None}]:
        parameters = json.dumps(point["parameters"], sort_keys=True)
        own = {"parameters": parameters, "chosen": parameters == row["parameters"]}
        rows.append(cell | point | own)
    return rows
