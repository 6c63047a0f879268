"""The table of solvers: what each can solve, and what its options are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from propcvx.errors import InputError, UnsupportedSolverError
from propcvx.programs import (
    LeastSquares,
    LogisticModel,
    ProblemClass,
    Program,
    RestrictedMaster,
    Structure,
    SVMDual,
)
from propcvx.solvers.answer import Answer
from propcvx.solvers.specialised.least_squares import run_least_squares
from propcvx.solvers.specialised.libsvm import run_libsvm
from propcvx.solvers.specialised.logistic import run_logistic
from propcvx.solvers.specialised.mkl_interior_point import run_mkl_interior_point
from propcvx.solvers.specialised.newton import run_newton
from propcvx.solvers.through_cvxpy import run_cold, run_cvxpy, run_scip

QP, SOCP, SDP = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
EXPONENTIAL, POWER = ProblemClass.EXPONENTIAL, ProblemClass.POWER
MILP, MIQP = ProblemClass.MILP, ProblemClass.MIQP


@dataclass(frozen=True)
class Solver:
    """One row of the table, or a solver of your own to hand to ``solver=``.

    Attributes
    ----------
    name : str
        The name users give, in any case.
    run : callable
        ``run(program, options, warm) -> Answer`` solves the program for the values that its
        parameters have.  ``warm`` is ``Answer.warm`` of an earlier answer, or None.
    options_of : callable
        The options that ask for a tolerance.
    classes : frozenset of ProblemClass
        Classes of problem that it can solve, for general solvers.
    accepts : callable
        Whether it knows a structure, for specialised solvers.
    known_options : frozenset of str, optional
        Names of its options, others being refused; None where the solver refuses them itself.
    module : str
        The module that has to be importable.
    package : str
        What to ``pip install`` for that.
    """

    name: str
    run: Callable[[Program, dict[str, Any], Any], Answer]
    options_of: Callable[[float], dict[str, Any]]
    classes: frozenset[ProblemClass] = frozenset()
    accepts: Callable[[Structure], bool] = lambda structure: False
    known_options: frozenset[str] | None = frozenset()
    module: str = "propcvx"
    package: str = "propcvx"

    @property
    def installed(self) -> bool:
        """Whether the solver can be imported."""
        return find_spec(self.module) is not None

    def options(self, tol: float, given: Mapping[str, Any]) -> dict[str, Any]:
        """The solver's own options for a tolerance, with the given ones over them."""
        asked = self.options_of(tol)
        if self.known_options is not None:
            known = self.known_options | asked.keys()
            unknown = sorted(given.keys() - known)
            if unknown:
                raise InputError(
                    f"solver {self.name!r} has no options {unknown}; it has {sorted(known)}."
                )
        return {**asked, **given}

    def can_solve(self, program: Program) -> bool:
        """Whether the program is of a class, or has the structure, that it solves."""
        structure = program.structure
        if structure is not None and self.accepts(structure):
            return True
        return bool(self.classes) and program.problem_class in self.classes


def _cvxpy_row(
    name: str,
    *classes: ProblemClass,
    options_of: Callable[[float], dict[str, Any]],
    run: Callable[..., Answer] = run_cvxpy,
    known_options: frozenset[str] | None = None,
    module: str | None = None,
) -> Solver:
    module = module or name
    run = partial(run, cvxpy_name=name.upper())
    return Solver(
        name,
        run,
        options_of,
        frozenset(classes),
        known_options=known_options,
        module=module,
        package=module,
    )


@dataclass(frozen=True)
class _Same:
    """All these options at the tolerance."""

    names: tuple[str, ...]

    def __call__(self, tol: float) -> dict[str, Any]:
        return dict.fromkeys(self.names, tol)


def _same(*names: str) -> Callable[[float], dict[str, Any]]:
    return _Same(names)


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


def _highs_options(tol: float) -> dict[str, Any]:
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")
    return dict.fromkeys((*names, "mip_feasibility_tolerance"), max(tol, 1e-10))


def _scip_options(tol: float) -> dict[str, Any]:
    return {"limits/gap": tol, "numerics/feastol": min(max(tol, 1e-9), 1e-3)}


# Names of options whose interfaces drop all others without a word.
_DAQP_OPTIONS = frozenset(
    {"primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol"}
    | {"iter_limit", "fval_bound", "eps_prox", "eta_prox"}
)
_LIMIT = frozenset({"max_iter"})
_PROXQP_OPTIONS = frozenset(
    {"backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"},
)

_ROWS = (
    _cvxpy_row(
        "clarabel",
        *(QP, SOCP, SDP, EXPONENTIAL, POWER),
        options_of=_same("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    ),
    _cvxpy_row("ecos", QP, SOCP, EXPONENTIAL, options_of=_same("abstol", "reltol", "feastol")),
    _cvxpy_row("scs", *(QP, SOCP, SDP, EXPONENTIAL, POWER), options_of=_same("eps_abs", "eps_rel")),
    _cvxpy_row("osqp", QP, options_of=_same("eps_abs", "eps_rel")),
    _cvxpy_row(
        "piqp",
        QP,
        options_of=_same("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
    ),
    _cvxpy_row(
        "daqp",
        QP,
        options_of=_same("primal_tol", "dual_tol"),
        known_options=_DAQP_OPTIONS,
    ),
    # CVXPY's warm start of ProxQP calls an update that the solver does not have.
    _cvxpy_row(
        "proxqp",
        QP,
        options_of=_same("eps_abs"),
        run=run_cold,
        known_options=_PROXQP_OPTIONS,
        module="proxsuite",
    ),
    _cvxpy_row("highs", QP, MILP, options_of=_highs_options, module="highspy"),
    Solver(
        "scip",
        run_scip,
        _scip_options,
        frozenset({MILP, MIQP}),
        known_options=None,
        module="pyscipopt",
        package="pyscipopt",
    ),
    Solver("libsvm", run_libsvm, _same("tol"), accepts=_is_svm_with_bias, known_options=None),
    Solver("newton", run_newton, _same("tol"), accepts=_is_svm, known_options=_LIMIT),
    Solver(
        "mkl_interior_point",
        run_mkl_interior_point,
        _same("tol"),
        accepts=_is_master,
        known_options=_LIMIT,
    ),
    Solver("logistic", run_logistic, _same("tol"), accepts=_is_logistic, known_options=_LIMIT),
    Solver("lstsq", run_least_squares, _same(), accepts=_is_least_squares),
)

BUILT_IN: Mapping[str, Solver] = {row.name: row for row in _ROWS}
"""The rows of the package itself."""

SOLVERS: dict[str, Solver] = dict(BUILT_IN)
"""The table, by name; :func:`register_solver` adds a row."""


def register_solver(row: Solver) -> None:
    """Add a row to the table, or replace the one of that name, in any case."""
    SOLVERS[row.name.lower()] = row


def solvers_for(program: Program) -> list[str]:
    """Names of the installed solvers that can solve a program."""
    return [row.name for row in SOLVERS.values() if row.installed and row.can_solve(program)]


def find_solver(solver: str | Solver, program: Program) -> Solver:
    """The row of a solver, checked to be installed and able to solve the program.

    Raises
    ------
    UnsupportedSolverError
        Otherwise; the message says which solvers can.
    """
    row = SOLVERS.get(solver.lower()) if isinstance(solver, str) else solver
    if not isinstance(row, Solver):
        raise UnsupportedSolverError(
            f"solver must be 'auto', a Solver, or one of {sorted(SOLVERS)}, got {solver!r}; "
            f"{solvers_for(program)} can solve {program.name}."
        )
    if not row.can_solve(program):
        raise UnsupportedSolverError(
            f"solver {row.name!r} cannot solve {program.name} ({program.problem_class.value})"
            f"{_why(row, program)}; {solvers_for(program)} can."
        )
    if not row.installed:
        raise UnsupportedSolverError(
            f"solver {row.name!r} is not installed: pip install {row.package}; "
            f"{solvers_for(program)} are installed and can solve {program.name}."
        )
    return row


def portable(solver: Any) -> Any:
    """The solver, as a process that has only the package's own rows can find it."""
    if isinstance(solver, str):
        row = SOLVERS.get(solver.lower())
        return solver if row is None or BUILT_IN.get(row.name) is row else row
    if isinstance(solver, list | tuple):
        return type(solver)(portable(part) for part in solver)
    return solver


def _why(row: Solver, program: Program) -> str:
    """What a specialised solver misses."""
    if row.classes:
        return ""
    if program.attached is not None and program.structure is None:
        return ": it was changed since it was built, and the solver knows the original alone"
    return ": the solver knows another structure alone"
