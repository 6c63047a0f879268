"""The solvers of the package: those that CVXPY reaches, and those that know one structure."""

from __future__ import annotations

from typing import Any

from propcvx.programs import (
    LeastSquares,
    LogisticModel,
    ProblemClass,
    RestrictedMaster,
    Structure,
    SVMDual,
)
from propcvx.solvers.row import Solver, same, through_cvxpy
from propcvx.solvers.specialised.least_squares import run_least_squares
from propcvx.solvers.specialised.libsvm import run_libsvm
from propcvx.solvers.specialised.logistic import run_logistic
from propcvx.solvers.specialised.mkl_interior_point import run_mkl_interior_point
from propcvx.solvers.specialised.newton import run_newton
from propcvx.solvers.through_cvxpy import run_cold, run_scip

QP, SOCP, SDP = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
EXPONENTIAL, POWER = ProblemClass.EXPONENTIAL, ProblemClass.POWER
MILP, MIQP = ProblemClass.MILP, ProblemClass.MIQP


def highs_options(tol: float) -> dict[str, Any]:
    """HiGHS takes none below 1e-10."""
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")
    return dict.fromkeys((*names, "mip_feasibility_tolerance"), max(tol, 1e-10))


def scip_options(tol: float) -> dict[str, Any]:
    """The relative gap, and SCIP's own range for the violation of constraints."""
    return {"limits/gap": tol, "numerics/feastol": min(max(tol, 1e-9), 1e-3)}


def moreau_options(tol: float) -> dict[str, Any]:
    """Moreau has its tolerances in a record inside its settings."""
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return {"ipm_settings": dict.fromkeys(names, tol)}


# Names of options whose interfaces drop all others without a word.
_DAQP_OPTIONS = frozenset(
    {"primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol"}
    | {"iter_limit", "fval_bound", "eps_prox", "eta_prox"}
)
_PROXQP_OPTIONS = frozenset(
    {"backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"},
)
_QOCO_OPTIONS = frozenset(
    {"abstol", "abstol_inacc", "reltol", "reltol_inacc", "max_iters", "ruiz_iters", "ir_tol"}
    | {"max_ir_iters", "kkt_dynamic_reg", "kkt_static_reg_A", "kkt_static_reg_G"}
    | {"kkt_static_reg_P", "verbose", "algebra"}
)
_CVXOPT_OPTIONS = frozenset(
    {"abstol", "reltol", "feastol", "maxiters", "max_iters", "refinement", "kktreg", "kktsolver"}
    | {"debug", "use_correction", "show_progress"}
)
_SDPA_OPTIONS = frozenset(
    {"maxIteration", "epsilonStar", "epsilonDash", "lambdaStar", "omegaStar", "lowerBound"}
    | {"upperBound", "betaStar", "betaBar", "gammaStar", "isSymmetric", "isDimacs", "print"}
    | {"numThreads", "convMethod", "domainMethod", "rangeMethod", "frvMethod", "rho", "zeroPoint"}
    | {"mpfPrecision", "resultFile", "sdpaResult"}
)

THROUGH_CVXPY = (
    through_cvxpy(
        "clarabel",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=same("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        licence="Apache-2.0",
    ),
    through_cvxpy(
        "ecos",
        *(QP, SOCP, EXPONENTIAL),
        options_of=same("abstol", "reltol", "feastol"),
        licence="GPL-3.0-only",
    ),
    through_cvxpy(
        "scs",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=same("eps_abs", "eps_rel"),
        licence="MIT",
    ),
    through_cvxpy("osqp", QP, options_of=same("eps_abs", "eps_rel"), licence="Apache-2.0"),
    through_cvxpy(
        "piqp",
        QP,
        options_of=same("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        licence="BSD-2-Clause",
    ),
    through_cvxpy(
        "daqp",
        QP,
        options_of=same("primal_tol", "dual_tol"),
        known_options=_DAQP_OPTIONS,
        licence="MIT",
    ),
    # CVXPY's warm start of ProxQP calls an update that the solver does not have.
    through_cvxpy(
        "proxqp",
        QP,
        options_of=same("eps_abs"),
        run=run_cold,
        known_options=_PROXQP_OPTIONS,
        module="proxsuite",
        licence="BSD-2-Clause",
    ),
    through_cvxpy("highs", QP, MILP, options_of=highs_options, module="highspy", licence="MIT"),
    through_cvxpy(
        "scip",
        *(MILP, MIQP),
        options_of=scip_options,
        run=run_scip,
        module="pyscipopt",
        licence="Apache-2.0",
    ),
    through_cvxpy(
        "qoco",
        *(QP, SOCP),
        options_of=same("abstol", "reltol"),
        known_options=_QOCO_OPTIONS,
        licence="BSD-3-Clause",
    ),
    through_cvxpy("qpalm", QP, options_of=same("eps_abs", "eps_rel"), licence="LGPL-3.0-or-later"),
    through_cvxpy(
        "cvxopt",
        *(QP, SOCP, SDP),
        options_of=same("abstol", "reltol", "feastol"),
        known_options=_CVXOPT_OPTIONS,
        licence="GPL-3.0-or-later",
    ),
    through_cvxpy(
        "moreau",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=moreau_options,
        licence="Apache-2.0",
    ),
    through_cvxpy(
        "sdpa",
        *(QP, SOCP, SDP),
        options_of=same("epsilonStar", "epsilonDash"),
        known_options=_SDPA_OPTIONS,
        module="sdpap",
        package="sdpa-python",
        licence="GPL-2.0-only",
    ),
)
"""General solvers; any other that CVXPY reaches can be asked for by its name."""


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


def _specialised(name: str, run: Any, accepts: Any, known: frozenset[str] | None) -> Solver:
    own = {"accepts": accepts, "known_options": known, "licence": "BSD-3-Clause"}
    return Solver(name, run, same("tol"), **own)


_LIMIT = frozenset({"max_iter"})

SPECIALISED = (
    _specialised("libsvm", run_libsvm, _is_svm_with_bias, None),
    _specialised("newton", run_newton, _is_svm, _LIMIT),
    _specialised("mkl_interior_point", run_mkl_interior_point, _is_master, _LIMIT),
    _specialised("logistic", run_logistic, _is_logistic, _LIMIT),
    Solver("lstsq", run_least_squares, same(), accepts=_is_least_squares, licence="BSD-3-Clause"),
)
"""Solvers of one structure each, which do not go through CVXPY."""
