"""Running a cell: choose parameters on the training bags, fit, and judge on the test instances."""

from __future__ import annotations

import csv
import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from propcvx.datasets import equal_proportion_bags, random_bags
from propcvx.errors import InputError
from propcvx.experiments.evaluation import (
    Sample,
    Task,
    evaluate,
    processor_seconds,
    summary_of,
)
from propcvx.experiments.reproduce.cells import PARTS, Cell
from propcvx.experiments.reproduce.data import load
from propcvx.model_selection import BagKFold

PLACE = ("data", "content", "bag_size", "repetition", "fold", "design")
"""The settings of a cell that its split depends on."""

NUMBERS = ("validation_error", "accuracy", "bag_error", "objective", "fit_seconds")
POINT = ("parameters", *NUMBERS, "chosen")
"""What is kept of each combination of parameters."""


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell.  A failure is part of the result; an interruption is not.

    Returns
    -------
    dict
        ``key`` and ``settings`` of the cell and its parts by their names; ``n_test``, the number of
        test instances; ``split``, the hash of the training and test data with their bags;
        ``seconds``, processor time of everything; ``warnings``, each category once; ``error``, what
        went wrong, or empty; and ``points``: for each combination of parameters, in the order of
        the grid, the attributes of :class:`propcvx.experiments.evaluation.Outcome` in ``POINT``.
    """
    start, design = processor_seconds(), cell.protocol.design
    record: dict[str, Any] = {"key": cell.key, **{name: getattr(cell, name) for name in PARTS}}
    record |= {"n_test": 0, "split": "", "error": "", "settings": cell.settings, "points": []}
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            task = task_of(cell)
            record |= {"n_test": len(task.test.labels), "split": fingerprint(task)}
            outcomes = evaluate(
                cell.configured,
                task,
                n_splits=design.inner_folds,
                random_state=cell.random(f"inner folds {cell.fold}"),
                scaled=design.scaling == "fold",
                by_size=design.error_weights == "size",
                ties=design.ties,
            )
            record["points"] = [
                {name: getattr(outcome, name) for name in POINT} for outcome in outcomes
            ]
        except Exception as failure:  # whatever it is, the other cells go on
            record["error"] = f"{type(failure).__name__}: {failure}"
    return {**record, "warnings": summary_of(caught), "seconds": processor_seconds() - start}


def task_of(cell: Cell) -> Task:
    """The data of a cell: the same for all methods, and for both kernels.

    Instances are shuffled first; then bags are drawn, and dealt into folds.

    Raises
    ------
    InputError
        If the data cannot be put into the bags asked for.
    """
    whole, n_folds = _sample(cell), cell.protocol.design.folds
    if n_folds == 1:
        return Task(whole, whole)
    folds = BagKFold(n_folds, random_state=cell.random("folds"))
    return Task(*(whole.take(part) for part in list(folds.split(whole.X, whole.y))[cell.fold]))


def _sample(cell: Cell) -> Sample:
    """All data of a repetition, in bags."""
    random = cell.random("rows", of_bags=False)
    X, labels, own = load(cell.data, random)
    order = random.permutation(len(labels))
    X, labels, own = X[order], labels[order], None if own is None else own[order]
    design, of_bags = cell.protocol.design, cell.random("bags")
    if design.bags == "own":
        if own is None:
            raise InputError(f"bags='own' needs data with bags of their own, got {cell.data!r}.")
        return Sample.in_bags(X, labels, own)
    if design.bags == "equal":
        kept, bags = equal_proportion_bags(labels, cell.bag_size, of_bags)
    else:
        drawn = random_bags(labels, cell.bag_size, of_bags)
        whole = len(labels) // cell.bag_size
        kept = np.flatnonzero((design.leftover == "keep") | (drawn < whole))
        bags = drawn[kept]
    return Sample.in_bags(X[kept], labels[kept], bags)


def fingerprint(task: Task) -> str:
    """Hash of the instances, bags and labels on both sides."""
    digest = hashlib.sha256()
    for sample in (task.train, task.test):
        for part in (sample.X, sample.y["bag"], sample.labels.astype(np.int8)):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


@cache
def fixed_splits() -> dict[str, str]:
    """Of each place, the hash of its training and test data: those of the experiment ``"quick"``.

    Whoever runs that benchmark can see by them that it is on the same splits.
    """
    text = files(__package__).joinpath("splits.csv").read_text()
    return {row["place"]: row["split"] for row in csv.DictReader(text.splitlines())}


def place_of(settings: Mapping[str, Any]) -> str:
    """What identifies a split among the settings of a cell."""
    part = {name: settings[name] for name in PLACE}
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]


def compared(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """How many splits of some results are fixed by hash, and how many of them are the same.

    Parameters
    ----------
    rows : iterable of mapping
        With ``settings``, as JSON, and ``split``.
    """
    found = {(place_of(json.loads(row["settings"])), row["split"]) for row in rows if row["split"]}
    known = [(place, split) for place, split in found if place in fixed_splits()]
    return len(known), sum(fixed_splits()[place] == split for place, split in known)
