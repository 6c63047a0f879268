"""Tables of what the paper leaves open, as docs/results/tables.parquet has it tried."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import report_tables
from report_tables import difference_text, small_and_large
from reproduction import PRESETS, Protocol, Selection
from reproduction.entries import (
    PLACE,
    REPETITION,
    accuracies_of,
    planned,
    points_of,
    printed,
)
from reproduction.report import rows_table

SINGLE_VALUES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "MeanMap": {
        "`likelihoods=mean`": {"likelihood": "mean"},
        "`likelihoods=sum`": {"likelihood": "sum"},
    },
    "conv-pSVM": {
        "`intercepts=center`": {"intercept": "center"},
        "`intercepts=constant`": {"intercept": "constant"},
        "`cuts=1`": {"relaxation__max_cuts": 1},
        "`cuts=2`": {"relaxation__max_cuts": 2},
    },
}
"""What bag error chooses in the tables, and the paper leaves open: a single value of it."""


@dataclass(frozen=True)
class Trial:
    """Cells of an experiment that were run with other options, too.

    Attributes
    ----------
    flags : str
        The options as ``python -m reproduction run`` takes them.
    protocol : Protocol
    experiment : str
    selection : Selection
    """

    flags: str
    protocol: Protocol
    experiment: str
    selection: Selection


def _set(name: str, value: Any) -> tuple[str, Protocol]:
    text = ",".join(f"{v:g}" for v in value) if isinstance(value, tuple) else value
    return f"--set {name}={text}", Protocol().with_options(**{name: value})


def _first(**parts: Sequence[Any]) -> Selection:
    return Selection(repetitions=[0], **parts)


_QUICK = {
    "data": ["heart", "vote"],
    "bag_sizes": [8, 32, 64],
    "methods": ["MeanMap", "InvCal", "conv-pSVM"],
}

TRIALS = (
    Trial("--preset authors-program", PRESETS["authors-program"], "table-linear", _first(**_QUICK)),
    Trial(*_set("error_weights", "size"), "table-linear", _first(**_QUICK)),
    Trial(*_set("ties", "last"), "table-linear", _first(**_QUICK)),
    Trial(*_set("inner_folds", 100), "table-linear", _first(**_QUICK | {"bag_sizes": [32, 64]})),
    Trial(
        *_set("MeanMap_bias", False),
        "table-linear",
        _first(methods=["MeanMap"], bag_sizes=[2, 8, 32, 64]),
    ),
    Trial(
        *_set("gaussian", "exponential"),
        "table-rbf",
        _first(data=["heart", "vote"], bag_sizes=[2, 8, 32, 64], methods=["MeanMap", "InvCal"]),
    ),
    Trial(
        *_set("C_p_times", "size"),
        "table-linear",
        Selection(
            data=["heart", "vote", "australian", "colic"],
            bag_sizes=[32, 64],
            methods=["alter-pSVM"],
        ),
    ),
    *(
        Trial(
            *_set("InvCal_C_p", (0.1 * size, 1.0 * size, 10.0 * size)),
            "table-large",
            _first(methods=["InvCal"], bag_sizes=[size]),
        )
        for size in (2048, 4096, 8192)
    ),
)


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    return {"results_single_values": single_values_table(), "results_trials": trials_table()}


def single_values_table() -> str:
    """Mean difference to print with one value instead of the several of the tables.

    The fits are the same; bag error chooses among those that have the value.  In brackets the
    entries within two printed deviations.
    """
    rows = []
    for method, choices in SINGLE_VALUES.items():
        tables = {
            kernel: stored[stored["method"] == method]
            for kernel, stored in {
                "linear": report_tables.points_of("table-linear"),
                "Gaussian": report_tables.points_of("table-rbf"),
            }.items()
        }
        for text, kept in {"as in the tables": {}, **choices}.items():
            row = {"method": method, "with": text}
            for kernel, points in tables.items():
                small, large = small_and_large(_done(_keeping(points, kept))).values()
                row[f"{kernel}, bags of 2 to 16"] = difference_text(small)
                row[f"{kernel}, bags of 32, 64"] = difference_text(large)
            rows.append(row)
    return rows_table(rows)


def trials_table() -> str:
    """Mean difference to print of cells run with other options: in the tables, and with them."""
    return rows_table(row for trial in TRIALS for row in _rows_of(trial))


def _done(points: pd.DataFrame) -> pd.DataFrame:
    """The entries of which a repetition is done, beside print."""
    repeated = accuracies_of(points)["accuracy"].groupby(PLACE, sort=False)
    entries = repeated.agg(accuracy="mean", repetitions="size")
    return entries.join(printed()).reset_index()


def _keeping(points: pd.DataFrame, kept: Mapping[str, Any]) -> pd.DataFrame:
    """The points that have these values, with the one of them that bag error would choose."""
    known = points[points["done"]]
    has = {text: kept.items() <= json.loads(text).items() for text in known["parameters"].unique()}
    known = known[known["parameters"].map(has)]
    errors = known["validation_error"].round(9).groupby(known["key"])
    return known.assign(chosen=known.index.isin(errors.idxmin()))


def _rows_of(trial: Trial) -> list[dict[str, Any]]:
    """A row for each method, of the entries that both have."""
    cells = planned([trial.experiment], trial.protocol, trial.selection)
    stored = report_tables.points_of(trial.experiment).merge(cells[[*REPETITION, "fold"]])
    tables, others = _done(stored), _done(points_of(report_tables.results(), cells))
    places = pd.MultiIndex.from_frame(others[PLACE])
    both = tables[pd.MultiIndex.from_frame(tables[PLACE]).isin(places)]
    return [
        {
            "options": f"`{trial.flags}`",
            "data": _listed(group["data"]),
            "bags of": _listed(group["bag_size"]),
            "repetitions": _listed(group["repetitions"]),
            "method": method,
            "in the tables": difference_text(group),
            "with them": difference_text(others.merge(group[PLACE], on=PLACE)),
        }
        for method, group in both.groupby("method", sort=False)
    ]


def _listed(values: pd.Series) -> str:
    return ", ".join(map(str, values.unique()))
