"""Free solvers beyond the core: the extra ``more-solvers``, and ECOS's branch and bound."""

from __future__ import annotations

from propcvx.programs import ProblemClass
from propcvx.solvers.rows.options import moreau_options, sdpa_options
from propcvx.solvers.rows.row import AttributesOf, KnownFailure, SameOption, same, through_cvxpy

QP, SOCP, SDP = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
EXPONENTIAL, POWER = ProblemClass.EXPONENTIAL, ProblemClass.POWER
MILP, MIQP, MICP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MICP

# Names of options whose interfaces drop all others without a word.
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

FURTHER = (
    through_cvxpy(
        "qoco",
        *(QP, SOCP),
        options_of=same("abstol", "reltol"),
        known_options=_QOCO_OPTIONS,
        failures=(
            KnownFailure("0.3.2", "constraints that contradict each other are a numerical error"),
        ),
        licence="BSD-3-Clause",
    ),
    through_cvxpy(
        "qpalm",
        QP,
        options_of=same("eps_abs", "eps_rel"),
        option_names=AttributesOf("qpalm:Settings"),
        licence="LGPL-3.0-or-later",
    ),
    through_cvxpy(
        "cvxopt",
        *(QP, SOCP, SDP),
        options_of=same("abstol", "reltol", "feastol"),
        known_options=_CVXOPT_OPTIONS,
        failures=(
            KnownFailure("1.3.3", "no answer ('unknown') to most SVM duals at tolerances of 1e-8"),
        ),
        licence="GPL-3.0-or-later",
    ),
    through_cvxpy(
        "moreau",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=moreau_options,
        licence="Apache-2.0",
        failures=(
            KnownFailure("0.4.1", "status 'user_limit' and value 0 for a plain SVM dual of 270"),
            KnownFailure("0.4.1", "'optimal' with a value wrong by 8% to 80% for lifted_svm_dual"),
        ),
    ),
    through_cvxpy(
        "sdpa",
        *(QP, SOCP, SDP),
        options_of=sdpa_options,
        known_options=_SDPA_OPTIONS,
        threads_of=SameOption("numThreads"),
        module="sdpap",
        package="sdpa-python",
        licence="GPL-2.0-only",
        failures=(
            KnownFailure(
                "0.2.3",
                "stops at 'optimal_inaccurate' far from the optimum of a norm minimised under a "
                "second-order cone, which CVXPY hands to it as semidefinite ones",
            ),
            KnownFailure(
                "0.2.3",
                "ends at 'optimal_inaccurate' with a duality gap of 2e-7 on lifted_svm_dual of 8, "
                "whatever the tolerance; sdpa-multiprecision reaches 2e-13",
            ),
        ),
    ),
    through_cvxpy(
        "ecos_bb",
        *(MILP, MIQP, MICP),
        options_of=same("abstol", "reltol", "feastol", "mi_rel_eps"),
        module="ecos",
        failures=(KnownFailure("2.0.14", "ends the process (signal 11) on psvm of 16 instances"),),
        unsafe=True,
        licence="GPL-3.0-only",
    ),
)
