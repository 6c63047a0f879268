"""The table of solvers with their problem classes, and the rule of ``solver="auto"``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import cvxpy as cp

from propcvx.errors import UnsupportedSolverError
from propcvx.programs import (
    InvCalDual,
    LogisticModel,
    ProblemClass,
    Program,
    RestrictedMaster,
    RidgeRegression,
    SecondMomentFit,
    Structure,
    SVMDual,
)
from propcvx.solvers.solver import OptionsOf, Solution, Solver, did_you_mean, same_tolerance
from propcvx.solvers.specialized.closed_forms import run_eigenvalues, run_ridge
from propcvx.solvers.specialized.logistic import run_logistic
from propcvx.solvers.specialized.mkl_interior_point import run_mkl_interior_point
from propcvx.solvers.specialized.newton import run_newton_on_means, run_on_svm, solve_newton
from propcvx.solvers.specialized.scikit_learn import run_libsvm, solve_liblinear
from propcvx.solvers.through_cvxpy import BACKEND, run_cvxpy

QP = frozenset({ProblemClass.LP, ProblemClass.QP})
SOCP = QP | {ProblemClass.SOCP}
SDP = SOCP | {ProblemClass.SDP}
EXPONENTIAL = SOCP | {ProblemClass.EXPONENTIAL}
ALL_CONES = SDP | {ProblemClass.EXPONENTIAL, ProblemClass.POWER}
MILP = frozenset({ProblemClass.MILP})
MIQP = MILP | {ProblemClass.MIQP}


HIGHS_STEPS = 100_000
"""Iteration limit of HiGHS for quadratic programs, some of which do not end without it: a second
with tens of variables."""


def highs_options(tol: float) -> dict[str, Any]:
    """Return tolerances of at least 1e-10, the least of HiGHS, and an iteration limit."""
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")
    tolerances = dict.fromkeys((*names, "mip_feasibility_tolerance"), max(tol, 1e-10))
    return {**tolerances, "qp_iteration_limit": HIGHS_STEPS}


def scip_options(tol: float) -> dict[str, Any]:
    """Return the relative gap, and the violation of constraints in SCIP's own range."""
    return {"limits/gap": tol, "numerics/feastol": min(max(tol, 1e-9), 1e-3)}


# Names of options of solvers whose interfaces silently drop all others.
DAQP_OPTIONS = (
    "primal_tol dual_tol zero_tol pivot_tol progress_tol cycle_tol iter_limit fval_bound eps_prox "
    "eta_prox"
)
PROXQP_OPTIONS = "backend eps_abs eps_rel max_iter rho mu_eq mu_in"


def through_cvxpy(
    name: str,
    classes: frozenset[ProblemClass],
    license: str,
    tolerances: str | OptionsOf,
    known_options: str | None = None,
    *,
    time_limit: str = "",
    module: str | None = None,
) -> Solver:
    """Return a solver that CVXPY reaches, by CVXPY's name in small letters.

    Names of options are separated by spaces; ``tolerances`` are the options that get the tolerance,
    or a function that returns the options for it.
    """
    known = None if known_options is None else frozenset([BACKEND, *known_options.split()])
    return Solver(
        name,
        partial(run_cvxpy, cvxpy_name=name.upper()),
        same_tolerance(*tolerances.split()) if isinstance(tolerances, str) else tolerances,
        classes,
        known_options=known,
        time_limit=time_limit,
        module=module or name,
        package=module or name,
        license=license,
    )


PIQP_TOLERANCES = "eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel"

GENERAL = (
    through_cvxpy(
        *("clarabel", ALL_CONES, "Apache-2.0", "tol_gap_abs tol_gap_rel tol_feas"),
        time_limit="time_limit",
    ),
    through_cvxpy("ecos", EXPONENTIAL, "GPL-3.0-only", "abstol reltol feastol"),
    through_cvxpy("scs", ALL_CONES, "MIT", "eps_abs eps_rel", time_limit="time_limit_secs"),
    through_cvxpy("osqp", QP, "Apache-2.0", "eps_abs eps_rel"),
    through_cvxpy("piqp", QP, "BSD-2-Clause", PIQP_TOLERANCES),
    through_cvxpy("daqp", QP, "MIT", "primal_tol dual_tol", DAQP_OPTIONS),
    through_cvxpy("proxqp", QP, "BSD-2-Clause", "eps_abs", PROXQP_OPTIONS, module="proxsuite"),
    through_cvxpy("highs", QP | MILP, "MIT", highs_options, module="highspy"),
    through_cvxpy(
        "scip", MIQP, "Apache-2.0", scip_options, time_limit="limits/time", module="pyscipopt"
    ),
)
"""General solvers; any other solver that CVXPY reaches can be called by its name."""


def specialized(
    name: str,
    run: Callable[[Program, dict[str, Any], Any], Solution],
    kind: type[Structure],
    where: Callable[[Any], bool] = lambda structure: True,
    known_options: frozenset[str] | None = frozenset({"max_iter"}),
) -> Solver:
    """Return a solver of the package for one structure, under a condition on it."""
    return Solver(
        name,
        run,
        same_tolerance("tol"),
        accepts=lambda value: isinstance(value, kind) and where(value),
        known_options=known_options,
        license="BSD-3-Clause",
    )


def is_one_svm(structure: Structure) -> bool:
    """Check whether a structure is one SVM: the SVM dual, or a master of one cut."""
    return isinstance(structure, SVMDual) or len(getattr(structure, "labelings", ())) == 1


def is_svm_without_bias(structure: Structure) -> bool:
    """Check whether a structure is one SVM without a bias."""
    return is_one_svm(structure) and not getattr(structure, "bias", False)


SPECIALIZED = (
    specialized(
        "libsvm", run_libsvm, SVMDual, lambda structure: structure.bias, known_options=None
    ),
    specialized("liblinear", partial(run_on_svm, solve_liblinear), Structure, is_svm_without_bias),
    specialized("newton", partial(run_on_svm, solve_newton), Structure, is_one_svm),
    specialized("newton_on_means", run_newton_on_means, InvCalDual),
    specialized("mkl_interior_point", run_mkl_interior_point, RestrictedMaster),
    specialized("ridge", run_ridge, RidgeRegression),
    specialized("eigenvalues", run_eigenvalues, SecondMomentFit),
    specialized("logistic", run_logistic, LogisticModel),
)
"""Solvers of one structure each, which do not go through CVXPY."""

SOLVERS: Mapping[str, Solver] = {solver.name: solver for solver in (*GENERAL, *SPECIALIZED)}
"""The table, by name."""

# docs/solvers.md has the measurements behind the rule.
PREFERRED: Mapping[ProblemClass, tuple[str, ...]] = {
    ProblemClass.LP: ("piqp", "clarabel"),
    ProblemClass.QP: ("piqp", "clarabel"),
    ProblemClass.SDP: ("scs", "clarabel"),
    ProblemClass.MILP: ("highs", "scip"),
    ProblemClass.MIQP: ("scip",),
}
"""Solvers that ``"auto"`` calls in turn, by class of problem; Clarabel for all other classes."""

TEACHING_SIZE = (1000, 64)
"""Number of instances and unknown weights up to which a program is solved through CVXPY."""

FEW_FEATURES = 0.1
"""Features per instance up to which a larger SVM is solved by Newton's method."""


def choose_solvers(program: Program) -> tuple[str, ...]:
    """Return names of solvers for a program, to be called in turn if one fails or stops early.

    - An SVM, a logistic model, a ridge regression or a master of one cut is solved through CVXPY up
      to 1,000 rows and 64 columns (``TEACHING_SIZE``), and the solver for its structure is last.
      Above this size it is first.
    - InvCal: the specialized solver is first with more than 1,000 bags and at most a tenth as many
      features.
    - Other specialized solvers are first at any size.  The master of several cuts is a new program
      at every cut, which takes longer to compile than to solve; a ridge of 0 needs the solution of
      least norm.

    Solvers that are not installed are omitted.  If none is installed, all are named.

    Parameters
    ----------
    program : Program

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from propcvx.solvers import choose_solvers
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual
    >>> choose_solvers(svm_dual(np.ones((300, 8))))
    ('piqp', 'clarabel', 'newton')
    >>> choose_solvers(svm_dual(np.ones((5000, 8))))
    ('newton', 'piqp', 'clarabel')
    """
    names = _ordered_names(program)
    return tuple(name for name in names if SOLVERS[name].installed) or names


def _ordered_names(program: Program) -> tuple[str, ...]:
    """Return the names, also of solvers that are not installed."""
    general = PREFERRED.get(program.problem_class, ("clarabel",))
    special = [row.name for row in SPECIALIZED if row.accepts and row.can_solve(program)]
    match program.structure:
        case SVMDual(features=features, bias=bias):
            n, weights = features.shape
            is_tall = weights <= FEW_FEATURES * n
            special = ["newton"] if is_tall else ["libsvm" if bias else "liblinear", "newton"]
        case LogisticModel(features=features):
            n, weights = features.shape
        case RidgeRegression(bag_means=features) if program.parameters["lam"].value:
            n, weights = features.shape
        case InvCalDual(bag_means=means):
            is_tall = means.shape[1] <= FEW_FEATURES * len(means)
            return (*special, *general) if is_tall and len(means) > TEACHING_SIZE[0] else general
        case RestrictedMaster(features=features, labelings=labelings):
            n, weights = features.shape
            if len(labelings) > 1:
                return ("mkl_interior_point", *general)
            is_tall = weights <= FEW_FEATURES * n
            special = ["newton" if is_tall else "liblinear", "mkl_interior_point"]
        case _:
            return (*special, *general)
    if n <= TEACHING_SIZE[0] and weights <= TEACHING_SIZE[1]:
        return (*general, *special)
    return (*special, *general)


def list_solvers(program: Program) -> list[str]:
    """Return the names of the installed solvers of the table that can solve a program.

    Examples
    --------
    >>> from propcvx.solvers import list_solvers
    >>> import numpy as np
    >>> from propcvx.programs import svm_primal
    >>> "clarabel" in list_solvers(svm_primal(np.eye(2)))
    True
    """
    return [
        solver.name for solver in SOLVERS.values() if solver.installed and solver.can_solve(program)
    ]


def named_solver(solver: Any) -> Solver | None:
    """Return the solver of a name, or the solver itself; None if there is none.

    Any other solver that CVXPY has installed has no options for a tolerance.
    """
    if not isinstance(solver, str):
        return solver if isinstance(solver, Solver) else None
    name = solver.lower()
    if name not in SOLVERS and name.upper() in cp.installed_solvers():
        limit = "TimeLimit" if name == "gurobi" else ""
        every = frozenset(ProblemClass)
        return through_cvxpy(name, every, "", "", time_limit=limit, module="cvxpy")
    return SOLVERS.get(name)


def find_solver(solver: str | Solver, program: Program) -> Solver:
    """Return the solver of a name, checked to be installed and able to solve the program.

    Parameters
    ----------
    solver : str or Solver
        A name in ``SOLVERS`` or of another solver that CVXPY has installed, or a solver.
    program : Program

    Returns
    -------
    Solver

    Raises
    ------
    UnsupportedSolverError
        Otherwise; the message names solvers that can.
    """
    row = named_solver(solver)
    if row is None:
        raise UnsupportedSolverError(
            f"solver must be 'auto', a Solver, or the name of one, in propcvx.solvers.SOLVERS or "
            f"installed with CVXPY; got {solver!r}{did_you_mean(str(solver).lower(), SOLVERS)}. "
            f"{list_solvers(program)} can solve {program.name}."
        )
    if not row.can_solve(program):
        reason = "" if row.classes else ": it supports one structure, which no variant has"
        raise UnsupportedSolverError(
            f"solver {row.name!r} cannot solve {program.name} ({program.problem_class.value})"
            f"{reason}. Use one of {list_solvers(program)}."
        )
    if not row.installed:
        raise UnsupportedSolverError(
            f"solver {row.name!r} is not installed. Run `pip install {row.package}`, or use one of "
            f"{list_solvers(program)}."
        )
    return row
