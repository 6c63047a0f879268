"""Tables of what the paper leaves open, as docs/results/tables.sqlite has it tried."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from report_tables import all_rows

from propcvx.experiments.reproduce import PRESETS, Cell, Design, Protocol, Selection, plan
from propcvx.experiments.reproduce.entries import Entry, entries_of, grouped
from propcvx.experiments.reproduce.evaluate import choose
from propcvx.experiments.reproduce.report.choices import difference_text, small_and_large
from propcvx.experiments.tables import markdown_table

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
        The options as ``propcvx reproduce`` takes them.
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
    rows = [
        [method, text, *_differences(method, kept)]
        for method, choices in SINGLE_VALUES.items()
        for text, kept in {"as in the tables": {}, **choices}.items()
    ]
    sizes = ("bags of 2 to 16", "bags of 32, 64")
    groups = [f"{kernel}, {size}" for kernel in ("linear", "Gaussian") for size in sizes]
    return markdown_table(["method", "with", *groups], rows)


def trials_table() -> str:
    """Mean difference to print of cells run with other options: in the tables, and with them."""
    head = ["options", "data", "bags of", "repetitions", "method", "in the tables", "with them"]
    return markdown_table(head, [row for trial in TRIALS for row in _rows_of(trial)])


def _differences(method: str, kept: Mapping[str, Any]) -> list[str]:
    """Of the linear and the Gaussian kernel, of small and of large bags."""
    texts = []
    for table in ("table-linear", "table-rbf"):
        cells, rows = _cells_and_rows(table, method)
        entries = _done(table, cells, [_keeping(row, kept) for row in rows])
        texts += [difference_text(part) for part in small_and_large(entries)]
    return texts


@cache
def _cells_and_rows(table: str, method: str) -> tuple[list[Cell], list[dict[str, Any]]]:
    cells = plan(table, selection=Selection(methods=[method]))
    keys = {cell.key for cell in cells}
    return cells, [row for row in all_rows() if row["key"] in keys]


def _keeping(row: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a cell, had bag error chosen among the combinations that have these values."""
    points = [p for p in json.loads(row["points"]) if kept.items() <= p["parameters"].items()]
    chosen = points[choose(np.array([p["validation_error"] for p in points]), Design())]
    return {**row, "points": json.dumps(points), "accuracy": chosen["accuracy"]}


def _rows_of(trial: Trial) -> list[list[str]]:
    """A row for each method, of the entries that both have."""
    tables, others = (_entries(trial, protocol) for protocol in (Protocol(), trial.protocol))
    both = [entry for place, entry in tables.items() if place in others]
    rows = []
    for method, group in grouped(both, lambda entry: entry.method).items():
        places = (_listed(getattr(entry, part) for entry in group) for part in ("data", "bag_size"))
        repetitions = _listed(len(entry.accuracies) for entry in group)
        with_them = [others[_place(entry)] for entry in group]
        differences = map(difference_text, (group, with_them))
        rows.append([f"`{trial.flags}`", *places, repetitions, method, *differences])
    return rows


def _entries(trial: Trial, protocol: Protocol) -> dict[tuple[Any, ...], Entry]:
    cells = plan(trial.experiment, protocol, trial.selection)
    return {_place(entry): entry for entry in _done(trial.experiment, cells, all_rows())}


def _done(experiment: str, cells: Sequence[Cell], rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
    return [entry for entry in entries_of(experiment, cells, rows) if entry.accuracies]


def _place(entry: Entry) -> tuple[Any, ...]:
    return entry.method, entry.data, entry.bag_size


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, dict.fromkeys(values)))
