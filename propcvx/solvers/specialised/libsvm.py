r"""LIBSVM, through scikit-learn, for the SVM dual with a bias: kernels of any rank.

With a bias the problem is the same wherever the origin lies.  The Gram matrix is that of the
centred features, as LIBSVM keeps it in single precision: far from the origin all digits would be
those of the offset.  What is left of that is an error of about
:math:`10^{-7} \sqrt N C \max_i K_{ii}` in the margins, which the gap of the answer shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from propcvx.errors import UnsupportedSolverError
from propcvx.kernels import check_gram_memory
from propcvx.programs import Program
from propcvx.solvers.answer import Answer

Array = NDArray[np.float64]

MAX_ITER = 1_000_000
"""Steps of one call, a second or two.  On 12 instances at a tolerance of 1e-8, 1e9 did not do."""


def run_libsvm(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual`` by SMO, from v = 0 at every call.

    ``options`` are those of :class:`sklearn.svm.SVC`.  Its ``tol`` is the largest violation of a
    margin; the relative gap is at most that over the mean loss of an instance in units of C, and
    in practice a tenth of it.

    Raises
    ------
    UnsupportedSolverError
        If the box is not that of a labeling and one C.
    """
    start = perf_counter()
    svm: Any = program.structure
    y, lower, upper = (program.values[name] for name in ("y", "lower", "upper"))
    C = float(np.max(upper - lower))
    box = C * y
    if not (
        np.array_equal(lower, np.minimum(0.0, box)) and np.array_equal(upper - lower, abs(box))
    ):
        raise UnsupportedSolverError(
            "solver 'libsvm' needs the parameters of a labeling and one C in svm_dual, as "
            "svm_dual_parameters gives them; another solver takes any bounds."
        )
    check_gram_memory(len(y), "use a solver that needs none, such as 'newton' or 'osqp'")
    gram = svm.gram
    built = perf_counter()
    v, bias, iterations, status = _fit(gram, y, C, options)
    weights = v @ svm.centred
    residuals = y - svm.centred @ weights - bias
    duals = {
        "lower": np.maximum(-residuals, 0.0),
        "upper": np.maximum(residuals, 0.0),
        "balance": np.asarray(bias - svm.offset @ weights),
    }
    seconds = perf_counter() - built
    return Answer(status, {"v": v}, duals, built - start, seconds, iterations)


def _fit(
    gram: Array, y: Array, C: float, options: Mapping[str, Any]
) -> tuple[Array, float, int, str]:
    v = np.zeros_like(y)
    if abs(y.sum()) == len(y):  # one class: w = 0 and the bias alone classifies
        return v, float(y[0]), 0, cp.OPTIMAL
    machine = SVC(C=C, kernel="precomputed", **{"max_iter": MAX_ITER, **options})
    with warnings.catch_warnings():  # of the iteration limit, which the status tells
        warnings.simplefilter("ignore", ConvergenceWarning)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            machine.fit(gram, y)
    v[machine.support_] = machine.dual_coef_[0]
    status = cp.USER_LIMIT if machine.fit_status_ else cp.OPTIMAL
    return v, float(machine.intercept_[0]), int(machine.n_iter_.sum()), status
