"""Running a cell: choose parameters on the training bags, fit, and judge on the test instances."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

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
                    by_size=protocol.error_weights == "size",
                    ties=protocol.ties,
                )
            ]
        except Exception as failure:  # the other cells must not be stopped by any error
            record["error"] = f"{type(failure).__name__}: {failure}"
    return {**record, "warnings": summary_of(caught), "seconds": processor_seconds() - start}


def task_of(cell: Cell) -> Task:
    """The data of a cell: the same for all methods, and for both kernels.

    Instances are shuffled first; then assigned to bags, and the bags divided into folds.

    Raises
    ------
    InputError
        If the data have no bags and ``bags="own"``.
    """
    random, protocol = cell.random("rows", of_bags=False), cell.protocol
    data = load(cell.data, random)
    order = random.permutation(len(data[0]))
    X, labels, *given = (part[order] for part in data)
    if protocol.bags == "random":
        bags = random_bags(labels, cell.bag_size, cell.random("bags"))
    elif protocol.bags == "equal":
        kept, bags = equal_proportion_bags(labels, cell.bag_size, cell.random("bags"))
        X, labels = X[kept], labels[kept]
    elif given:
        bags = given[0]
    else:
        raise InputError(f"bags='own' needs data with bags of their own, got {cell.data!r}.")
    whole = Sample.in_bags(X, labels, bags)
    if protocol.folds == 1:
        return Task(whole, whole)
    folds = BagKFold(protocol.folds, random_state=cell.random("folds"))
    train, test = list(folds.split(whole.X, whole.y))[cell.fold]
    by_bag = train[np.lexsort((train, whole.y["bag"][train]))]
    return Task(whole.take(by_bag), whole.take(test))


def fingerprint(task: Task) -> str:
    """Hash of the instances, bags and labels on both sides."""
    digest = hashlib.sha256()
    for sample in (task.train, task.test):
        for part in (sample.X, sample.y["bag"], sample.labels.astype(np.int8)):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
