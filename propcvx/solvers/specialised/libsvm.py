"""LIBSVM, through scikit-learn, for the SVM dual with a bias."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
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
from propcvx.solvers.specialised.gram import gram_of
from propcvx.solvers.specialised.svm_points import parameters_of, store_svm
from propcvx.solvers.through_cvxpy import Run
from propcvx.solvers.warm import leave_end, take_end

Array = NDArray[np.float64]
TOL = 1e-3
"""LIBSVM's own tolerance, where none is asked for."""

MAX_ITER = 1_000_000
"""SMO below a tolerance of about 1e-6 may take 1e9 steps on a dozen instances; it stops here."""


@dataclass(frozen=True)
class Answer:
    """One answer: v, K v, the bias, and C."""

    v: Array
    scores: Array
    bias: float
    C: float


def is_svm_with_bias(program: Program) -> bool:
    """LIBSVM has no form without a bias."""
    return program.name == "svm_dual" and "balance" in program.constraints


def run_libsvm(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``svm_dual`` by SMO; ``options`` are those of :class:`sklearn.svm.SVC`.

    LIBSVM starts from v = 0 at every call.  Where the last answer, in proportion to C, already
    meets its stopping rule for the new parameters, that is the answer, after 0 iterations.
    """
    start = perf_counter()
    gram = gram_of(program).matrix
    built = perf_counter()
    y, lower, upper = parameters_of(program)
    box = float(np.max(upper - lower))
    if not np.array_equal(np.stack([lower, upper]), np.sort([0.0 * y, box * y], axis=0)):
        raise UnsupportedSolverError(
            "solver 'libsvm' needs the parameters of a labeling and one C in svm_dual, as "
            "svm_dual_parameters gives them; another solver takes any bounds."
        )
    iterations, status = 0, cp.OPTIMAL
    answer = _in_proportion(take_end(program, Answer), y, box, options)
    if answer is None:
        v, bias, iterations, status = _fit(gram, y, box, options)
        answer = Answer(v, gram @ v, bias, box)
    if status == cp.OPTIMAL:
        leave_end(program, answer)
    store_svm(program, answer.v, answer.bias, y - answer.scores - answer.bias)
    seconds = perf_counter() - built
    return Run(status, built - start, seconds, iterations, scores=answer.scores)


def _in_proportion(
    last: Answer | None, y: Array, C: float, options: dict[str, Any]
) -> Answer | None:
    r"""The last answer in proportion to C, if it meets LIBSVM's stopping rule for y and C.

    With :math:`r = y - K v`, the rule is that the largest r among the instances whose score may
    rise is at most the smallest among those whose score may fall, plus the tolerance.
    """
    if last is None:
        return None
    factor = C / last.C
    v, scores = factor * last.v, factor * last.scores
    alpha, residuals = v * y, y - scores
    if alpha.min() < 0.0:
        return None
    below, above = alpha < C * (1.0 - 1e-12), alpha > 0.0
    rising, falling = np.where(y > 0, (below, above), (above, below))
    if not (rising.any() and falling.any()):
        return None
    highest, lowest = residuals[rising].max(), residuals[falling].min()
    if highest - lowest > options.get("tol", TOL):
        return None
    return Answer(v, scores, float(highest + lowest) / 2, C)


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
