"""Solvers of the package's own requirements and of its extras ``solvers`` and ``exact``."""

from __future__ import annotations

from propcvx.programs import ProblemClass
from propcvx.solvers.rows.options import highs_options, scip_options
from propcvx.solvers.rows.row import AttributesOf, KnownFailure, same, through_cvxpy
from propcvx.solvers.through_cvxpy import run_cold, run_scip

QP, SOCP, SDP = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
EXPONENTIAL, POWER = ProblemClass.EXPONENTIAL, ProblemClass.POWER
MILP, MIQP = ProblemClass.MILP, ProblemClass.MIQP

# Names of options whose interfaces drop all others without a word.
_DAQP_OPTIONS = frozenset(
    {"primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol"}
    | {"iter_limit", "fval_bound", "eps_prox", "eta_prox"}
)
_PROXQP_OPTIONS = frozenset(
    {"backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"},
)

CORE = (
    through_cvxpy(
        "clarabel",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=same("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        option_names=AttributesOf("clarabel:DefaultSettings"),
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
    through_cvxpy(
        "osqp",
        QP,
        options_of=same("eps_abs", "eps_rel"),
        option_names=AttributesOf("osqp.ext_builtin:OSQPSettings"),
        licence="Apache-2.0",
    ),
    through_cvxpy(
        "piqp",
        QP,
        options_of=same("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        option_names=AttributesOf("piqp:Settings"),
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
    through_cvxpy(
        "highs",
        QP,
        MILP,
        options_of=highs_options,
        module="highspy",
        option_names=AttributesOf("highspy:HighsOptions"),
        licence="MIT",
        failures=(
            KnownFailure(
                "1.15.1",
                "on a few small SVM duals in a hundred it fails, or calls a program unbounded "
                "whose variables all have bounds (its issue 1363)",
            ),
        ),
    ),
    through_cvxpy(
        "scip",
        *(MILP, MIQP),
        options_of=scip_options,
        run=run_scip,
        module="pyscipopt",
        licence="Apache-2.0",
    ),
)
