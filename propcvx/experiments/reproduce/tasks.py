"""From a cell to its data: bags, the training fold and the test fold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from propcvx.bags import Bags
from propcvx.datasets import equal_proportion_bags, random_bags
from propcvx.errors import InputError
from propcvx.experiments.evaluation import Sample, Task
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.data import load
from propcvx.model_selection import BagKFold

Indices = NDArray[np.intp]


def task_of(cell: Cell) -> Task:
    """The data of a cell: the same for all methods, and for both kernels.

    Rows are shuffled first; then bags are drawn, and dealt into folds.

    Raises
    ------
    InputError
        If the data cannot be put into the bags asked for.
    """
    whole = _sample(cell)
    if cell.protocol.design.folds == 1:
        return Task(whole, whole)
    folds = BagKFold(cell.protocol.design.folds, random_state=cell.random("folds"))
    return Task(*(whole.take(rows) for rows in list(folds.split(whole.X, whole.y))[cell.fold]))


def inner_splits(cell: Cell, train: Sample, supervised: bool) -> Iterator[tuple[Indices, Indices]]:
    """The inner cross-validation on a training sample: whole bags, or instances with labels."""
    n_splits, random = cell.protocol.design.inner_folds, cell.random(f"inner folds {cell.fold}")
    if supervised:
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=random)
        return folds.split(train.X, train.labels)
    n_bags = Bags.from_target(train.y).n_bags
    return BagKFold(min(n_splits, n_bags), random_state=random).split(train.X, train.y)


def fingerprint(task: Task) -> str:
    """Hash of the instances, bags and labels on both sides."""
    digest = hashlib.sha256()
    for sample in (task.train, task.test):
        for part in (sample.X, sample.y["bag"], sample.labels.astype(np.int8)):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


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
        chosen, bags = equal_proportion_bags(labels, cell.bag_size, of_bags)
        return Sample.in_bags(X[chosen], labels[chosen], bags)
    bags = random_bags(labels, cell.bag_size, of_bags)
    if design.leftover == "drop":
        kept = bags < len(labels) // cell.bag_size
        X, labels, bags = X[kept], labels[kept], bags[kept]
    return Sample.in_bags(X, labels, bags)
