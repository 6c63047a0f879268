"""Running a cell: choose parameters on the training bags, fit, and judge on the test instances."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.arrays import Array
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import equal_proportion_bags, random_bags
from propcvx.errors import InputError
from reproduction.cells import PARTS, Cell
from reproduction.data import load
from reproduction.evaluation import Sample, Task, evaluate, processor_seconds, summary_of


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell.  A failure is part of the result; an interruption is not.

    Returns
    -------
    dict
        ``key`` and ``settings`` of the cell and its parts by their names; ``n_test``, the number of
        test instances; ``split``, the hash of the training and test data with their bags;
        ``seconds``, processor time of everything; ``warnings``, each category once; ``error``, what
        went wrong, or empty; and ``points``, as :func:`reproduction.evaluation.evaluate` gives
        them.
    """
    start, protocol = processor_seconds(), cell.protocol
    record: dict[str, Any] = {"key": cell.key, **{name: getattr(cell, name) for name in PARTS}}
    record |= {"n_test": 0, "split": "", "error": "", "settings": cell.settings, "points": []}
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            task = task_of(cell)
            record |= {"n_test": len(task.test.labels), "split": fingerprint(task)}
            record["points"] = [
                *evaluate(
                    cell.configured,
                    task,
                    n_splits=protocol.inner_folds,
                    random_state=cell.random(f"inner folds {cell.fold}"),
                    scaled=protocol.scaling == "fold",
                    by_size=protocol.error_weights == "size",
                    ties=protocol.ties,
                )
            ]
        except Exception as failure:  # the other cells must not be stopped by any error
            record["error"] = f"{type(failure).__name__}: {failure}"
    return {**record, "warnings": summary_of(caught), "seconds": processor_seconds() - start}


def task_of(cell: Cell) -> Task:
    """The data of a cell: the same for all methods, and for both kernels.

    Instances are shuffled first; then bags are drawn, and dealt into folds, or with
    ``bags="inside"`` the other way round.

    Raises
    ------
    InputError
        If the data cannot be put into the bags asked for.
    """
    n_folds = cell.protocol.folds
    if cell.protocol.bags == "inside":
        X, labels, *_ = _shuffled(cell)
        test = np.arange(len(X)) % n_folds == cell.fold
        return Task(*(_in_random_bags(cell, X[part], labels[part]) for part in (~test, test)))
    whole = _sample(cell if cell.protocol.bags != "once" else replace(cell, repetition=0))
    if n_folds == 1:
        return Task(whole, whole)
    folds = BagKFold(n_folds, random_state=cell.random("folds"))
    train, test = list(folds.split(whole.X, whole.y))[cell.fold]
    by_bag = train[np.lexsort((train, whole.y["bag"][train]))]
    return Task(whole.take(by_bag), whole.take(test))


def _shuffled(cell: Cell) -> list[NDArray[Any]]:
    """The arrays of the data of a repetition, in random order."""
    random = cell.random("rows", of_bags=False)
    data = load(cell.data, random)
    order = random.permutation(len(data[0]))
    return [part[order] for part in data]


def _sample(cell: Cell) -> Sample:
    """All data of a repetition, in bags."""
    X, labels, *bags = _shuffled(cell)
    if cell.protocol.bags == "own":
        if not bags:
            raise InputError(f"bags='own' needs data with bags of their own, got {cell.data!r}.")
        return Sample.in_bags(X, labels, bags[0])
    if cell.protocol.bags == "equal":
        kept, equal = equal_proportion_bags(labels, cell.bag_size, cell.random("bags"))
        return Sample.in_bags(X[kept], labels[kept], equal)
    return _in_random_bags(cell, X, labels)


def _in_random_bags(cell: Cell, X: Array, labels: Array) -> Sample:
    bags = random_bags(labels, cell.bag_size, cell.random("bags"))
    is_kept = (bags < len(labels) // cell.bag_size) | (cell.protocol.leftover == "keep")
    return Sample.in_bags(X[is_kept], labels[is_kept], bags[is_kept])


def fingerprint(task: Task) -> str:
    """Hash of the instances, bags and labels on both sides."""
    digest = hashlib.sha256()
    for sample in (task.train, task.test):
        for part in (sample.X, sample.y["bag"], sample.labels.astype(np.int8)):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
