r"""LIBLINEAR, through scikit-learn, for the SVM dual without a bias: kernels of any rank.

.. math::

    \max_{0 \le y_i v_i \le C_i} y^\top v - \tfrac12 \|F^\top v\|^2, \quad \text{the dual of }
    \min_w \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i w^\top F_i)

LIBLINEAR changes one :math:`v_i` at a time, in a random order whose seed is fixed, and returns w
alone.  So v is 0 where the margin is above 1 and :math:`y_i C_i` where it is below, up to
LIBLINEAR's own tolerance; steps of active sets
(:mod:`propcvx.solvers.specialized.active_set`) compute the others.

With a Gaussian kernel, on a1a, a1a standardized, dna, heart and vote, the gap falls below 1e-12 in
two to five steps, for C up to 6 over the mean square of the features.  The steps fail on three of
the five problems at 20 and on four at 200.  With few features they often fail at any C.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from propcvx.arrays import Array
from propcvx.solvers.solver import Solution
from propcvx.solvers.specialized.active_set import check_box, polish

VIOLATION = 0.25
"""A gap of tol is asked for by margins within tol to this power, 0.01 for 1e-8: the steps that
follow are faster than LIBLINEAR's last digits."""

MAX_ITER = 100
"""Passes over the instances; a large C takes thousands."""


def solve_liblinear(
    svm: Any, values: Mapping[str, Array], options: Mapping[str, Any], warm: Any
) -> Solution:
    """Solve ``svm_dual`` without a bias; every call makes a cold start, for any ``warm``.

    ``options`` are ``tol``, the relative duality gap to reach, and ``max_iter``.
    """
    y, C, tol = values["y"], check_box("liblinear", values), options["tol"] ** VIOLATION
    limit, largest = options.get("max_iter", MAX_ITER), float(C.max()) or 1.0
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
