"""LIBSVM, through scikit-learn, for the SVM dual with a bias."""

from __future__ import annotations

from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from propcvx.programs import Program
from propcvx.solvers.through_cvxpy import Run

Array = NDArray[np.float64]
_GRAMS: WeakKeyDictionary[cp.Problem, Array] = WeakKeyDictionary()


def is_svm_with_bias(program: Program) -> bool:
    """LIBSVM has no form without a bias."""
    return program.name == "svm_dual" and "balance" in program.constraints


def run_libsvm(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``svm_dual`` by SMO; ``options`` are those of :class:`sklearn.svm.SVC`."""
    start = perf_counter()
    gram = _gram(program)
    built = perf_counter()
    y, lower, upper = (np.asarray(program.parameters[k].value) for k in ("y", "lower", "upper"))
    box = float(np.max(upper - lower))
    v, bias, iterations = _fit(gram, y, box, options)
    _store(program, v, bias, gram @ v + bias - y)
    return Run(cp.OPTIMAL, built - start, perf_counter() - built, iterations)


def _gram(program: Program) -> Array:
    if program.problem not in _GRAMS:
        features = program.constants["features"]
        _GRAMS[program.problem] = features @ features.T
    return _GRAMS[program.problem]


def _fit(gram: Array, y: Array, C: float, options: dict[str, Any]) -> tuple[Array, float, int]:
    if abs(y.sum()) == len(y):  # one class: w = 0 and the bias alone classifies
        return np.zeros_like(y), float(y[0]), 0
    machine = SVC(C=C, kernel="precomputed", **options).fit(gram, y)
    v = np.zeros_like(y)
    v[machine.support_] = machine.dual_coef_[0]
    return v, float(machine.intercept_[0]), int(machine.n_iter_.sum())


def _store(program: Program, v: Array, bias: float, slope: Array) -> None:
    program.variables["v"].value = v
    duals = {"lower": np.maximum(slope, 0.0), "upper": np.maximum(-slope, 0.0), "balance": bias}
    for name, dual in duals.items():
        program.constraints[name].dual_variables[0].save_value(np.asarray(dual))
