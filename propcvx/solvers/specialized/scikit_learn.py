r"""The SVM dual by LIBSVM (with a bias) and LIBLINEAR (without) of scikit-learn: any rank.

.. math::

    \max_{l \le v \le u} y^\top v - \tfrac12 \|F^\top v\|^2, \quad \text{the dual of }
    \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i (w^\top F_i + b))

If the gap of what they return is above the tolerance, steps of active sets
(:mod:`propcvx.solvers.specialized.active_set`) follow.

LIBSVM.  With a bias the problem does not depend on the origin.  The Gram matrix is computed from
centered features, as LIBSVM stores it in single precision: far from the origin all digits would
represent the offset.  Single precision leaves a relative gap of about 5e-9 if the product of C and
the largest entry of the matrix is near 10, 2e-7 near 1,000, and 4e-5 if all margins are hard.  With
C of 1e6 times the inverse mean square of the features, or more, its steps end at ``LIBSVM_STEPS``
with overlapping classes: the gap is above 1%, which :func:`propcvx.solvers.solve` raises.  On vote
with a Gaussian kernel, 348 instances, ten annealed restarts of alter-pSVM take the time of 340 fits
of ``SVC``.

LIBLINEAR changes one :math:`v_i` at a time, in a random order whose seed is fixed, and returns w
alone.  So v is 0 where the margin is above 1 and :math:`y_i C_i` where it is below, up to
LIBLINEAR's own tolerance; the steps compute the others.  With a Gaussian kernel, on a1a, a1a
standardized, dna, heart and vote, the gap falls below 1e-12 in two to five steps, for C up to 6
over the mean square of the features.  The steps fail on three of the five problems at 20 and on
four at 200.  With few features they often fail at any C.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from time import perf_counter
from typing import Any, cast

import cvxpy as cp
import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from propcvx.arrays import Array
from propcvx.programs import Program, SVMDual
from propcvx.solvers.solver import Solution
from propcvx.solvers.specialized.active_set import check_box, polish

LIBSVM_VIOLATION = 0.45
"""A gap of tol is asked for by a violation of the margins of tol to this power: 3e-4 for 1e-8.
What a tighter one lacks in single precision takes up to ``LIBSVM_STEPS`` steps and no gap falls: a
fit of alter-pSVM to vote takes 37 s with 1 and 1.2 s with 0.45.  With 0.4 some gaps of 1e-6 are
not reached."""
LIBSVM_STEPS = 1_000_000
"""Steps of one call, a second or two.  On 12 instances at a tolerance of 1e-8, 1e9 did not do."""


def run_libsvm(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    """Solve ``svm_dual`` by SMO to a relative duality gap of ``options["tol"]``.

    The other options are those of :class:`sklearn.svm.SVC`.  LIBSVM starts from v = 0 at every
    call, for any ``warm``.  Its own ``tol`` is the largest violation of a margin; the gap that
    it leaves, over the primal objective, is at most that over twice the mean loss of an instance.
    If the gap is above the tolerance, steps of
    :mod:`propcvx.solvers.specialized.active_set` follow.

    Raises
    ------
    UnsupportedSolverError
        If the box is not the box of a labeling and one C, or one C of each instance.
    """
    start, svm, values = perf_counter(), cast(SVMDual, program.structure), program.values
    C = check_box("libsvm", values)
    gram = svm.gram
    build_seconds = perf_counter() - start
    v, bias, iterations, status = _fit(gram, values["y"], C, options)
    others = {"status": status, "iterations": iterations, "build_seconds": build_seconds}
    return polish(svm, values, v, bias, options["tol"], **others)


def _fit(
    gram: Array, y: Array, C: Array, options: Mapping[str, Any]
) -> tuple[Array, float, int, str]:
    """Run LIBSVM, and return v, the bias, the number of steps, and the status.

    Instances with C = 0 are omitted; a v that LIBSVM's product of C and its weights has rounded is
    put on its bound.
    """
    v, nonzero, largest = np.zeros_like(y), np.flatnonzero(C), float(C.max())
    if len(nonzero) < len(y):
        gram = gram[np.ix_(nonzero, nonzero)]
    if len(np.unique(y[nonzero])) == 1:  # w = 0 and the bias alone classifies
        return v, float(y[nonzero[0]]), 0, cp.OPTIMAL
    unit = min(1.0, largest * float(gram.diagonal().mean()))  # below it, scores are as small
    settings = {
        "max_iter": LIBSVM_STEPS,
        **options,
        "tol": unit * options["tol"] ** LIBSVM_VIOLATION,
    }
    machine = SVC(C=largest, kernel="precomputed", **settings)
    machine._warn_from_fit_status = lambda: None  # the status reports the iteration limit
    with config_context(assume_finite=True, skip_parameter_validation=True):
        machine.fit(gram, y[nonzero], C[nonzero] / largest)
    v[nonzero[machine.support_]] = machine.dual_coef_[0]
    v = np.where(np.abs(v) >= C * (1.0 - 1e-14), y * C, v)
    status = cp.USER_LIMIT if machine.fit_status_ else cp.OPTIMAL
    return v, float(machine.intercept_[0]), int(machine.n_iter_.sum()), status


LIBLINEAR_VIOLATION = 0.25
"""A gap of tol is asked for by margins within tol to this power, 0.01 for 1e-8: the steps that
follow are faster than LIBLINEAR's last digits."""
LIBLINEAR_PASSES = 100
"""Passes over the instances; a large C takes thousands."""


def solve_liblinear(
    svm: Any, values: Mapping[str, Array], options: Mapping[str, Any], warm: Any
) -> Solution:
    """Solve ``svm_dual`` without a bias; every call makes a cold start, for any ``warm``.

    ``options`` are ``tol``, the relative duality gap to reach, and ``max_iter``.
    """
    y, C, tol = values["y"], check_box("liblinear", values), options["tol"] ** LIBLINEAR_VIOLATION
    limit, largest = options.get("max_iter", LIBLINEAR_PASSES), float(C.max()) or 1.0
    settings = {"loss": "hinge", "fit_intercept": False, "tol": tol, "max_iter": limit}
    machine = LinearSVC(C=largest, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap decides
        machine.fit(svm.features, y, C / largest)
    residuals = 1.0 - y * (svm.features @ machine.coef_[0])
    v = y * C * np.where(np.abs(residuals) <= tol, 0.5, residuals > 0.0)
    steps = int(machine.n_iter_)
    status = cp.OPTIMAL if steps < limit else cp.USER_LIMIT
    return polish(svm, values, v, 0.0, options["tol"], status=status, iterations=steps)
