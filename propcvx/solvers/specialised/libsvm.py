"""LIBSVM, through scikit-learn, for the SVM dual with a bias."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from propcvx.errors import UnsupportedSolverError
from propcvx.programs import Program
from propcvx.solvers.answer import Answer
from propcvx.solvers.specialised.svm_points import duals_of, parameters_of

Array = NDArray[np.float64]
TOL = 1e-3
"""LIBSVM's own tolerance, where none is asked for."""

MAX_ITER = 1_000_000
"""SMO below a tolerance of about 1e-6 may take 1e9 steps on a dozen instances; it stops here."""


def run_libsvm(program: Program, options: dict[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual`` by SMO; ``options`` are those of :class:`sklearn.svm.SVC`."""
    start = perf_counter()
    svm: Any = program.structure
    y, lower, upper = parameters_of(program)
    box = float(np.max(upper - lower))
    labeling = np.array_equal(np.stack([lower, upper]), np.sort([0.0 * y, box * y], axis=0))
    if not (svm.bias and labeling):
        raise UnsupportedSolverError(
            "solver 'libsvm' needs a bias, and the parameters of a labeling and one C in svm_dual, "
            "as svm_dual_parameters gives them; another solver takes any bounds."
        )
    features = svm.features - svm.features.mean(axis=0)
    gram = features @ features.T
    v, bias, iterations, status = _fit(gram, y, box, options)
    bias -= float(svm.features.mean(axis=0) @ (svm.features.T @ v))
    residuals = y - svm.features @ (svm.features.T @ v) - bias
    above = np.maximum(residuals, 0.0)
    duals = duals_of(above, above - residuals, bias)
    return Answer(status, {"v": v}, duals, 0.0, perf_counter() - start, iterations)


def _fit(gram: Array, y: Array, C: float, options: dict[str, Any]) -> tuple[Array, float, int, str]:
    if abs(y.sum()) == len(y):  # one class: w = 0 and the bias alone classifies
        return np.zeros_like(y), float(y[0]), 0, cp.OPTIMAL
    with warnings.catch_warnings():  # of the iteration limit, which the status tells
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(C=C, kernel="precomputed", **{"max_iter": MAX_ITER, **options})
        with config_context(assume_finite=True, skip_parameter_validation=True):
            machine.fit(gram, y)
    v = np.zeros_like(y)
    v[machine.support_] = machine.dual_coef_[0]
    status = cp.USER_LIMIT if machine.fit_status_ else cp.OPTIMAL
    return v, float(machine.intercept_[0]), int(machine.n_iter_.sum()), status
