"""Benchmarks of the SVM with many instances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from propcvx.experiments.bench.data import BenchData, real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers import solve

Array = NDArray[np.float64]

GAP = 1e-4
"""Relative duality gap to be certified."""


def svm_large(setting: Setting) -> Iterator[Measurement]:
    """The SVM by smoothed Newton steps, cold and warm, over one LinearSVC."""
    data = real_or_generated("cod-rna.t", 20_000 if setting.quick else None)
    flipped = data.y * np.where(np.random.default_rng(0).random(len(data.y)) < 0.01, -1.0, 1.0)
    repeats = min(setting.repeats, 7)
    yield _one(data, "cold", lambda: svm_dual(data.X), data.y, 1.0, 0.15, repeats)
    warm = _warmed(data, repeats + 1)
    yield _one(data, "warm, 1% of labels changed", warm, flipped, 1.0, 0.04, repeats)
    warm = _warmed(data, repeats + 1)
    yield _one(data, "warm, C grown by half", warm, data.y, 1.5, 0.04, repeats)


def _warmed(data: BenchData, count: int) -> Callable[[], Program]:
    """Programs that have just been solved for the true labels and C = 1, one at each call."""
    programs = []
    for _ in range(count):
        program = svm_dual(data.X).set(**svm_dual_parameters(data.y, 1.0))
        solve(program, "newton", tol=GAP, certify=False)
        programs.append(program)
    return programs.pop


def _one(
    data: BenchData,
    state: str,
    program_of: Callable[[], Program],
    labeling: Array,
    C: float,
    reach: float,
    repeats: int,
) -> Measurement:
    def newton() -> Program:
        program = program_of().set(**svm_dual_parameters(labeling, C))
        solve(program, "newton", tol=GAP, certify=False)
        return program

    def check(program: Program, machine: LinearSVC) -> Check:
        return at_most("relative duality gap", relative_gap(program, labeling, C), GAP)

    n, d = data.X.shape
    work = f"newton / LinearSVC(loss='hinge', C=1), {n:,} x {d}, {state}"
    return measure(
        "svm-large",
        work,
        newton,
        lambda: linear_svc(data),
        check,
        reach=reach,
        repeats=repeats,
        note=data.note,
    )


def linear_svc(data: BenchData) -> LinearSVC:
    """LIBLINEAR's answer, as it is with its default limit of iterations."""
    with warnings.catch_warnings():  # of the iteration limit
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(loss="hinge", C=1, dual=True).fit(data.X, data.y)


def relative_gap(program: Program, labeling: Array, C: float) -> float:
    """Duality gap of what ``svm_dual`` holds over its primal objective, from the definitions.

    Infinite where v is not feasible.
    """
    v = np.asarray(program.variables["v"].value)
    bias = float(np.asarray(program.constraints["balance"].dual_value))
    features = program.structure.features  # type: ignore[union-attr]
    alpha = v * labeling
    if min(alpha.min(), C - alpha.max()) < -1e-9 * C or abs(v.sum()) > 1e-9 * alpha.sum():
        return np.inf
    weights = features.T @ v
    losses = np.maximum(0.0, 1.0 - labeling * (features @ weights + bias))
    primal = 0.5 * weights @ weights + C * losses.sum()
    return float((primal - alpha.sum() + 0.5 * weights @ weights) / primal)


ROWS = (Benchmark("svm-large", "linear SVM with many instances, over one LinearSVC", svm_large),)
