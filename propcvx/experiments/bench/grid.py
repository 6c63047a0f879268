"""Benchmark of a whole grid of fits against fits one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from propcvx.datasets import random_bags
from propcvx.estimators import AlterPropSVM, BagClassifier, fit_grid
from propcvx.experiments.bench.data import real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.experiments.evaluation import Sample
from propcvx.experiments.methods import paper_methods

SAME = 1e-9
"""Relative difference of objectives up to which they are the same."""


def grid(setting: Setting) -> Iterator[Measurement]:
    """The paper's grid of alter-pSVM on vote, with sharing and without."""
    method = next(m for m in paper_methods(0) if isinstance(m.estimator, AlterPropSVM))
    data = real_or_generated("vote", 48 if setting.quick else None)
    sample = Sample.in_bags(data.X, data.y, random_bags(data.y, 8, random_state=0))
    text = " x ".join(f"{len(values)} {name}" for name, values in method.grid.items())
    for kernel in ("linear", "rbf"):
        estimator = clone(method.estimator).set_params(kernel=kernel, gamma=0.1)

        def one_by_one(estimator: AlterPropSVM = estimator) -> list[BagClassifier]:
            return [
                clone(estimator).set_params(**parameters).fit(sample.X, sample.y)
                for parameters in ParameterGrid(method.grid)
            ]

        def together(estimator: AlterPropSVM = estimator) -> list[BagClassifier]:
            return list(fit_grid(estimator, sample.X, sample.y, method.grid))

        yield measure(
            "grid",
            f"fits one by one / fit_grid, {text}, N={len(data.y)} of vote, bags of 8, {kernel}",
            one_by_one,
            together,
            _same,
            reach=2.0,
            at_least=True,
            repeats=1 if setting.quick else 3,
            note=data.note,
        )


def _same(alone: list[BagClassifier], together: list[BagClassifier]) -> Check:
    """Whether both gave the same labels and objectives."""
    if any((a.labeling_ != b.labeling_).any() for a, b in zip(alone, together, strict=True)):
        return Check(False, "labels differ")
    objectives = np.array([[m.objective_ for m in side] for side in (alone, together)])
    apart = np.ptp(objectives, axis=0) / objectives.min(axis=0)
    return at_most("same labels, relative difference of objectives", float(apart.max()), SAME)


ROWS = (Benchmark("grid", "a grid of fits one by one over the same fits together", grid),)
