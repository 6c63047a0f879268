"""The table of solvers: what each can solve, and what its options are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import cvxpy as cp

from propcvx.errors import InputError, UnsupportedSolverError
from propcvx.programs import ProblemClass, Program
from propcvx.solvers.specialised.active_set import run_active_set
from propcvx.solvers.specialised.least_squares import is_class_means, run_least_squares
from propcvx.solvers.specialised.libsvm import is_svm_with_bias, run_libsvm
from propcvx.solvers.specialised.mkl_interior_point import is_mkl_epigraph, run_mkl_interior_point
from propcvx.solvers.specialised.newton import is_svm, run_newton
from propcvx.solvers.through_cvxpy import Run, run_cvxpy

QP, SOCP, EXPONENTIAL = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.EXPONENTIAL
MILP, MIQP = ProblemClass.MILP, ProblemClass.MIQP


@dataclass(frozen=True)
class Solver:
    """One row of the table.

    Attributes
    ----------
    name : str
        The name users give.
    module : str
        The module that has to be importable.
    extra : str
        What to install: ``pip install <extra>``.
    run : callable
        ``run(program, options)`` solves in place: it leaves primal and dual values in the
        program's variables and constraints and returns a :class:`Run`.
    options_of : callable
        The options that ask for a tolerance.
    classes : frozenset of ProblemClass
        Classes of problem it can solve, for general solvers.
    accepts : callable
        Whether it can solve a program beyond those classes, for specialised solvers.
    known_options : frozenset of str or None
        Names of its options, for solvers whose interface drops others without a word.
    scale_free : bool
        Whether its tolerance is relative, or in units of the margin, not of the variables: the
        variables of ``svm_dual`` are as small as C.
    """

    name: str
    module: str
    extra: str
    run: Callable[[Program, dict[str, Any]], Run]
    options_of: Callable[[float], dict[str, Any]]
    classes: frozenset[ProblemClass] = frozenset()
    accepts: Callable[[Program], bool] = lambda program: False
    known_options: frozenset[str] | None = None
    scale_free: bool = False

    @property
    def installed(self) -> bool:
        """Whether the solver can be imported."""
        return find_spec(self.module) is not None

    def options(self, tol: float, given: Mapping[str, Any]) -> dict[str, Any]:
        """The solver's own options for a tolerance, with the given ones over them."""
        unknown = sorted(set(given) - (self.known_options or set(given)))
        if unknown:
            raise InputError(
                f"solver {self.name!r} has no options {unknown}; it has "
                f"{sorted(self.known_options or ())}."
            )
        return {**self.options_of(tol), **given}

    def can_solve(self, program: Program) -> bool:
        """Whether the program is of a class, or the one program, that it solves."""
        return program.problem_class in self.classes or self.accepts(program)


def _cvxpy_row(
    name: str,
    *classes: ProblemClass,
    options_of: Callable[[float], dict[str, Any]],
    module: str | None = None,
    extra: str = "propcvx",
    warm_start: bool = True,
    known_options: frozenset[str] | None = None,
) -> Solver:
    run = partial(run_cvxpy, cvxpy_name=name.upper(), warm_start=warm_start)
    return Solver(
        name,
        module or name,
        extra,
        run,
        options_of,
        classes=frozenset(classes),
        known_options=known_options,
    )


def _same(*names: str) -> Callable[[float], dict[str, Any]]:
    return lambda tol: dict.fromkeys(names, tol)


def _highs_options(tol: float) -> dict[str, Any]:
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")
    return dict.fromkeys((*names, "mip_feasibility_tolerance"), max(tol, 1e-10))


def _scip_options(tol: float) -> dict[str, Any]:
    return {"limits/gap": tol, "numerics/feastol": min(max(tol, 1e-9), 1e-3)}


def _run_scip(program: Program, options: dict[str, Any]) -> Run:
    """Run SCIP; where it stops at the gap it was asked for, CVXPY calls that inaccurate."""
    run = run_cvxpy(program, options, cvxpy_name="SCIP", warm_start=True)
    extra = program.problem.solver_stats.extra_stats or {}
    reached = extra.get("scip_status") == "gaplimit"
    return replace(run, status=cp.OPTIMAL) if reached else run


_DAQP_OPTIONS = {"primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol"}
_DAQP_OPTIONS |= {"iter_limit", "fval_bound", "eps_prox", "eta_prox"}
_PROXQP_OPTIONS = {"backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"}

_ROWS = (
    _cvxpy_row(
        "clarabel",
        QP,
        SOCP,
        EXPONENTIAL,
        options_of=_same("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    ),
    _cvxpy_row("ecos", QP, SOCP, EXPONENTIAL, options_of=_same("abstol", "reltol", "feastol")),
    _cvxpy_row("scs", QP, SOCP, EXPONENTIAL, options_of=_same("eps_abs", "eps_rel")),
    _cvxpy_row("osqp", QP, options_of=_same("eps_abs", "eps_rel")),
    _cvxpy_row(
        "piqp",
        QP,
        options_of=_same("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        extra="propcvx[solvers]",
    ),
    _cvxpy_row(
        "daqp",
        QP,
        options_of=_same("primal_tol", "dual_tol"),
        extra="propcvx[solvers]",
        known_options=frozenset(_DAQP_OPTIONS),
    ),
    # CVXPY's warm start of ProxQP calls an update that the solver does not have.
    _cvxpy_row(
        "proxqp",
        QP,
        options_of=_same("eps_abs"),
        module="proxsuite",
        extra="propcvx[solvers]",
        warm_start=False,
        known_options=frozenset(_PROXQP_OPTIONS),
    ),
    _cvxpy_row(
        "highs", QP, MILP, options_of=_highs_options, module="highspy", extra="propcvx[solvers]"
    ),
    Solver(
        "scip",
        "pyscipopt",
        "propcvx[exact]",
        _run_scip,
        _scip_options,
        classes=frozenset({MILP, MIQP}),
    ),
    Solver(
        "libsvm",
        "sklearn",
        "propcvx",
        run_libsvm,
        _same("tol"),
        accepts=is_svm_with_bias,
        scale_free=True,
    ),
    Solver(
        "mkl_interior_point",
        "scipy",
        "propcvx",
        run_mkl_interior_point,
        _same("tol"),
        accepts=is_mkl_epigraph,
        known_options=frozenset({"tol", "max_iter"}),
        scale_free=True,
    ),
    Solver(
        "active_set",
        "scipy",
        "propcvx",
        run_active_set,
        _same("gap"),
        accepts=is_svm,
        scale_free=True,
    ),
    Solver("newton", "numpy", "propcvx", run_newton, _same("gap"), accepts=is_svm, scale_free=True),
    Solver("lstsq", "numpy", "propcvx", run_least_squares, _same(), accepts=is_class_means),
)

SOLVERS: dict[str, Solver] = {row.name: row for row in _ROWS}
"""The table, by name; :func:`register_solver` adds a row."""


def register_solver(row: Solver) -> None:
    """Add a row to the table, or replace the one of that name."""
    SOLVERS[row.name] = row


def solvers_for(program: Program) -> list[str]:
    """Names of the installed solvers that can solve a program."""
    return [row.name for row in SOLVERS.values() if row.installed and row.can_solve(program)]


def find_solver(name: str, program: Program) -> Solver:
    """The row of a solver, checked to be installed and able to solve the program.

    Raises
    ------
    UnsupportedSolverError
        Otherwise; the message says which solvers can.
    """
    row = SOLVERS.get(name.lower()) if isinstance(name, str) else None
    if row is None:
        raise UnsupportedSolverError(
            f"solver must be one of {sorted(SOLVERS)}, got {name!r}; {solvers_for(program)} can "
            f"solve {program.name}."
        )
    if not row.can_solve(program):
        raise UnsupportedSolverError(
            f"solver {row.name!r} cannot solve {program.name} ({program.problem_class.value}); "
            f"{solvers_for(program)} can."
        )
    if not row.installed:
        raise UnsupportedSolverError(
            f"solver {row.name!r} is not installed: pip install '{row.extra}'; "
            f"{solvers_for(program)} are installed and can solve {program.name}."
        )
    return row
