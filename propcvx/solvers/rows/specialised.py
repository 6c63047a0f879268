"""Solvers of one structure each, which do not go through CVXPY."""

from __future__ import annotations

from propcvx.programs import LeastSquares, LogisticModel, RestrictedMaster, Structure, SVMDual
from propcvx.solvers.rows.row import Solver, same
from propcvx.solvers.specialised.least_squares import run_least_squares
from propcvx.solvers.specialised.libsvm import run_libsvm
from propcvx.solvers.specialised.logistic import run_logistic
from propcvx.solvers.specialised.mkl_interior_point import run_mkl_interior_point
from propcvx.solvers.specialised.newton import run_newton

_LIMIT = frozenset({"max_iter"})


def _is_svm(structure: Structure) -> bool:
    return isinstance(structure, SVMDual)


def _is_svm_with_bias(structure: Structure) -> bool:
    return isinstance(structure, SVMDual) and structure.bias


def _is_master(structure: Structure) -> bool:
    return isinstance(structure, RestrictedMaster)


def _is_logistic(structure: Structure) -> bool:
    return isinstance(structure, LogisticModel)


def _is_least_squares(structure: Structure) -> bool:
    return isinstance(structure, LeastSquares)


SPECIALISED = (
    Solver(
        "libsvm",
        run_libsvm,
        same("tol"),
        accepts=_is_svm_with_bias,
        known_options=None,
        licence="BSD-3-Clause",
    ),
    Solver(
        "newton",
        run_newton,
        same("tol"),
        accepts=_is_svm,
        known_options=_LIMIT,
        licence="BSD-3-Clause",
    ),
    Solver(
        "mkl_interior_point",
        run_mkl_interior_point,
        same("tol"),
        accepts=_is_master,
        known_options=_LIMIT,
        licence="BSD-3-Clause",
    ),
    Solver(
        "logistic",
        run_logistic,
        same("tol"),
        accepts=_is_logistic,
        known_options=_LIMIT,
        licence="BSD-3-Clause",
    ),
    Solver("lstsq", run_least_squares, same(), accepts=_is_least_squares, licence="BSD-3-Clause"),
)
