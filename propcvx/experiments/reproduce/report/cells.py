"""The cells of a results file as a data frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propcvx.experiments.reproduce.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

OPTIONS = {"design": "design", "parameters": "estimator", "grid": "grid"}
"""Groups of settings, and what their columns begin with."""


def cell_frame(file: Path) -> DataFrame:
    """One row for each result of a file, whatever its options, in the order of their keys.

    Columns are those of the table ``results`` but for ``scores``, which are long, and for
    ``settings``, each of which has a column of its own: ``design.seed``, ``estimator.n_init``,
    ``grid.C``, empty where a method has no such parameter.  Chosen parameters are ``chosen.C`` and
    so on; grids, warnings and ``points`` are JSON.

    Parameters
    ----------
    file : Path

    Raises
    ------
    InputError
        If there is no such file.
    ModuleNotFoundError
        If pandas, which is in the extra ``experiments``, is not installed.
    """
    from pandas import DataFrame

    return DataFrame([_flat(row) for row in Store(file, read_only=True).rows()])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    settings = json.loads(row["settings"])
    left_out = ("settings", "scores", "parameters")
    flat = {name: value for name, value in row.items() if name not in left_out}
    flat |= _prefixed("chosen", json.loads(row["parameters"]))
    flat |= {"content": settings["content"], "version": str(settings["version"])}
    for group, prefix in OPTIONS.items():
        flat |= _prefixed(prefix, settings[group])
    return flat


def _prefixed(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{prefix}.{name}": json.dumps(value) if isinstance(value, list) else value
        for name, value in values.items()
    }
