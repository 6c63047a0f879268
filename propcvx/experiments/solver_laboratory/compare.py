"""A program on many solvers at several accuracies: one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from propcvx.checks import check_count, check_number
from propcvx.errors import InputError, UnsupportedSolverError
from propcvx.experiments.solver_laboratory.isolated import Limits, run_isolated
from propcvx.experiments.solver_laboratory.measure import (
    Build,
    Measure,
    as_program,
)
from propcvx.programs import Program
from propcvx.solvers import SOLVERS, Solver, find_solver, portable
from propcvx.solvers.table import suggestion

Row = dict[str, Any]
Accuracy = str | float

ACCURACIES: Mapping[str, float | None] = MappingProxyType(
    {"default": None, "low": 1e-3, "high": 1e-9}
)
"""Accuracies that have names, as in qpbenchmark: the tolerance, None for the solver's default."""

EMPTY: Row = dict.fromkeys(
    (
        *("program", "problem_class", "maximised", "n_variables", "n_constraints"),
        *("solver", "version", "accuracy", "tol", "canon_backend"),
        *("threads", "time_limit", "memory_limit_mb"),
        *("status", "reason", "objective", "reference", "reference_solver", "difference"),
        *("primal_residual", "dual_residual", "duality_gap", "relative_gap"),
        *("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms", "iterations"),
        *("base_memory_mb", "peak_memory_mb", "known_failures"),
    )
)
"""The columns."""

FEASIBLE = 1e-5
"""Up to this violation an answer with integers is compared by its objective."""


def compare_solvers(
    build: Build,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[Accuracy] = ("default", "low", "high"),
    *,
    threads: int = 1,
    time_limit: float = 60.0,
    memory_limit_mb: float = 8192.0,
    reference: float | None = None,
    canon_backend: str | None = None,
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    r"""Solve one program with many solvers, each in a process of its own.

    Parameters
    ----------
    build : callable
        ``build()`` makes a fresh program: a :class:`propcvx.programs.Program` with its parameters
        set, or a ``cvxpy.Problem`` of your own.  It is called in every process; a function of a
        notebook or ``functools.partial`` will do.
    solvers : sequence of str or Solver, optional
        Names in ``propcvx.solvers.SOLVERS``, or rows of your own; all that are installed and can
        solve the program where not given.
    tols : sequence of str or float
        Names in ``ACCURACIES`` or tolerances, which become each solver's own options.
    threads : int
        Threads of BLAS, OpenMP and Rust in every process, and of solvers that have an option.
    time_limit : float
        Seconds of processor time of each run, for each thread, from when its process has imported
        what it needs.
    memory_limit_mb : float
        Resident memory of each process, in megabytes.
    reference : float, optional
        The optimal value, where it is known.
    canon_backend : str, optional
        Which part of CVXPY brings the program into the solver's form: "CPP", "SCIPY" or "COO";
        CVXPY chooses where it is not given.
    on_row : callable
        Called with each row as it is ready, before the reference is known.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``; None where there is nothing to say.

        - ``program``, ``problem_class``, ``maximised``, ``n_variables``, ``n_constraints``;
          ``solver``, ``version``, ``accuracy``, ``tol``, ``canon_backend``, and the limits.
        - ``status``: CVXPY's word for the answer, or one of "no licence", "not installed",
          "refused" (another class of problem), "failed", "bad program", "out of time",
          "out of memory", "crashed", with the ``reason``.
        - ``objective``; ``reference``, by default the value of the answer with the smallest
          residuals, that of ``reference_solver``, and the relative ``difference`` from it.
        - ``primal_residual``, ``dual_residual``, ``duality_gap``, absolute, computed from the
          values of the answer as in :class:`propcvx.solvers.Certificate`; ``relative_gap`` between
          feasible points where the program's structure tells it.
        - Milliseconds by the clock, less those that the thread waited for a processor that others
          used (on Linux, which tells): ``compile_ms``, ``solve_ms``, and in the solver alone with
          the problem compiled, the fastest of three: ``resolve_cold_ms``, and ``resolve_warm_ms``
          from where it ended; they are None after a first solve of more than a second.
          ``iterations``, where the solver tells.
        - ``peak_memory_mb`` of the whole process, of which it had ``base_memory_mb`` before the
          program was built.  ``known_failures``, what this solver was seen to do wrong.

    Raises
    ------
    InputError
        If an argument cannot be used; the message says what would do.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from propcvx.experiments import compare_solvers
    >>> def nearest():
    ...     x = cp.Variable(2, name="x")
    ...     return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) == 1])
    >>> rows = compare_solvers(nearest, ["clarabel", "osqp"], tols=["high"])
    >>> [(row["solver"], row["status"], round(row["objective"], 6)) for row in rows]
    [('clarabel', 'optimal', 0.5), ('osqp', 'optimal', 0.5)]
    """
    limits = Limits(
        check_number("time_limit", time_limit, above=0.0),
        check_number("memory_limit_mb", memory_limit_mb, above=0.0),
        check_count("threads", threads),
    )
    accuracies = [named_accuracy(tol) for tol in tols]
    program = as_program(build())
    rows = []
    for solver in solvers_of(solvers, program):
        for accuracy in accuracies:
            rows.append(one_row(build, program, solver, accuracy, limits, canon_backend))
            on_row(rows[-1])
    return referred(rows, reference)


def one_row(
    build: Build,
    program: Program,
    solver: Solver,
    accuracy: tuple[str, float | None],
    limits: Limits,
    backend: str | None = None,
) -> Row:
    """The row of one solver at one accuracy, without a reference."""
    row = _empty(program.name, solver, limits)
    row |= {"accuracy": accuracy[0], "tol": accuracy[1], "canon_backend": backend}
    task = Measure(build, portable_row(solver), accuracy[1], limits.threads, backend)
    return row | (_refusal(solver, program) or _measured(task, solver, limits))


def named_accuracy(tol: Accuracy) -> tuple[str, float | None]:
    """An accuracy's name, and its tolerance."""
    if not isinstance(tol, str):
        return f"{check_number('tols', tol, above=0.0):g}", float(tol)
    if tol not in ACCURACIES:
        raise InputError(f"tols must be numbers or names of {list(ACCURACIES)}, got {tol!r}.")
    return tol, ACCURACIES[tol]


def solvers_of(solvers: Sequence[str | Solver] | None, program: Program) -> list[Solver]:
    """Rows of solvers that are named; those that can solve the program where none is."""
    able = (row for row in SOLVERS.values() if row.installed and row.can_solve(program))
    names = list(able) if solvers is None else solvers
    found = [SOLVERS.get(n.lower()) if isinstance(n, str) else n for n in names]
    for name, row in zip(names, found, strict=True):
        if not isinstance(row, Solver):
            raise UnsupportedSolverError(
                f"solvers must be among {sorted(SOLVERS)}, got {name!r}{suggestion(name)}."
            )
    return [row for row in found if row is not None]


def referred(rows: list[Row], reference: float | None) -> list[Row]:
    """Rows with the reference and the differences from it."""
    best = None if reference is not None else _best(rows)
    value = reference if best is None else best["objective"]
    for row in rows:
        row["reference"] = value
        row["reference_solver"] = best and best["solver"]
        if value is not None and row["objective"] is not None:
            row["difference"] = (row["objective"] - value) / max(abs(value), 1e-12)
    return rows


def _best(rows: Sequence[Row]) -> Row | None:
    """The answer with the smallest residuals; with integers, the best that is feasible."""
    certified = [row for row in rows if row["duality_gap"] is not None]
    if certified:
        return min(certified, key=error_of)
    feasible = [
        row
        for row in rows
        if row["objective"] is not None and (row["primal_residual"] or 0.0) <= FEASIBLE
    ]
    return min(
        feasible,
        key=lambda row: -row["objective"] if row["maximised"] else row["objective"],
        default=None,
    )


def error_of(row: Row) -> float:
    """The largest of an answer's residuals and gap; infinite where there is none."""
    parts = [row[name] for name in ("primal_residual", "dual_residual", "duality_gap")]
    known = [part for part in parts if part is not None]
    return float(np.nan_to_num(max(known), nan=np.inf)) if known else np.inf


def _measured(task: Measure, solver: Solver, limits: Limits) -> Row:
    outcome = run_isolated(task, limits, others(solver))
    if not outcome.failure:
        return outcome.found
    return {**outcome.found, "status": outcome.failure, "reason": outcome.reason or None}


def _refusal(solver: Solver, program: Program) -> Row | None:
    """What is known without a run."""
    try:
        find_solver(solver, program)
    except UnsupportedSolverError as error:
        status = "refused" if solver.installed else "not installed"
        return {"status": status, "reason": str(error)}
    return None


def others(solver: Solver) -> list[str]:
    """Modules of all other solvers of the table."""
    modules = {row.module for row in SOLVERS.values()} - {solver.module, "propcvx"}
    return sorted(modules)


def portable_row(solver: Solver) -> str | Solver:
    """The name of a built-in row, any other row itself."""
    found: str | Solver = portable(solver.name) if SOLVERS.get(solver.name) is solver else solver
    return found


def _empty(program: str, solver: Solver, limits: Limits) -> Row:
    return {
        **EMPTY,
        "program": program,
        "solver": solver.name,
        "version": solver.version,
        "threads": limits.threads,
        "time_limit": limits.seconds,
        "memory_limit_mb": limits.megabytes,
        "known_failures": "; ".join(f"{one.version}: {one.what}" for one in solver.failures)
        or None,
    }
