"""LIBSVM, through scikit-learn, for the SVM dual with a bias."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from propcvx.errors import UnsupportedSolverError
from propcvx.kernels import check_gram_memory
from propcvx.programs import Program
from propcvx.solvers.through_cvxpy import Run

Array = NDArray[np.float64]
MAX_ITER = 1_000_000
"""SMO below a tolerance of about 1e-6 may take 1e9 steps on a dozen instances; it stops here."""

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
    if not np.array_equal(np.stack([lower, upper]), np.sort([0.0 * y, box * y], axis=0)):
        raise UnsupportedSolverError(
            "solver 'libsvm' needs the parameters of a labeling and one C in svm_dual, as "
            "svm_dual_parameters gives them; another solver takes any bounds."
        )
    v, bias, iterations, status = _fit(gram, y, box, options)
    _store(program, v, bias, gram @ v + bias - y)
    return Run(status, built - start, perf_counter() - built, iterations)


def _gram(program: Program) -> Array:
    if program.problem not in _GRAMS:
        features = program.constants["features"]
        check_gram_memory(len(features), "use a solver that needs no Gram matrix, such as 'osqp'")
        _GRAMS[program.problem] = features @ features.T
    return _GRAMS[program.problem]


def _fit(gram: Array, y: Array, C: float, options: dict[str, Any]) -> tuple[Array, float, int, str]:
    if abs(y.sum()) == len(y):  # one class: w = 0 and the bias alone classifies
        return np.zeros_like(y), float(y[0]), 0, cp.OPTIMAL
    with warnings.catch_warnings():  # of the iteration limit, which the status tells
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(C=C, kernel="precomputed", **{"max_iter": MAX_ITER, **options}).fit(gram, y)
    v = np.zeros_like(y)
    v[machine.support_] = machine.dual_coef_[0]
    status = cp.USER_LIMIT if machine.fit_status_ else cp.OPTIMAL
    return v, float(machine.intercept_[0]), int(machine.n_iter_.sum()), status


def _store(program: Program, v: Array, bias: float, slope: Array) -> None:
    program.variables["v"].value = v
    duals = {"lower": np.maximum(slope, 0.0), "upper": np.maximum(-slope, 0.0), "balance": bias}
    for name, dual in duals.items():
        program.constraints[name].dual_variables[0].save_value(np.asarray(dual))
