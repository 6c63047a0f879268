"""Programs on many solvers at several accuracies: one row for each run."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

import cvxpy as cp
import numpy as np
from tqdm import tqdm

from propcvx.checks import check_count, check_number
from propcvx.errors import (
    InputError,
    LicenceError,
    PropCVXError,
    ResidualsError,
    SolverError,
    UnsupportedSolverError,
)
from propcvx.laboratory.benchmarks import BENCHMARKS
from propcvx.laboratory.isolated import run_isolated
from propcvx.laboratory.programs import ProgramAt
from propcvx.programs import Program
from propcvx.solvers import Solver, find_solver, solvers_for
from propcvx.solvers.call import USABLE, leave_values
from propcvx.solvers.residuals import residuals_of
from propcvx.solvers.table import named_solver
from propcvx.solvers.through_cvxpy import BACKEND

Row = dict[str, Any]
Accuracy = str | float
Build = Callable[[], Program | cp.Problem]

ACCURACIES: Mapping[str, float | None] = MappingProxyType(
    {"default": None, "low": 1e-3, "high": 1e-9}
)
"""Tolerances that have names, as in qpbenchmark; None is the solver's default."""

RESIDUALS = ("primal_residual", "dual_residual", "duality_gap")
MEASURED = (
    *("problem_class", "maximised", "n_variables", "n_constraints", "status", "reason"),
    *("objective", "reference", "reference_solver", "difference", *RESIDUALS, "relative_gap"),
    *("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms", "iterations"),
)
"""Columns that are measured, and None before."""

FEASIBLE = 1e-5
"""An answer with integers whose residual is at most this counts as feasible."""

REPEATS = 3
"""How often a program is solved again; the fastest time counts."""

ENOUGH = 1.0
"""A solve that takes more seconds is not repeated."""

REFUSALS = {LicenceError: "no licence", UnsupportedSolverError: "refused", SolverError: "failed"}
"""Status of a run by the first class that its error has; ``"bad program"`` for all others."""


def compare_solvers(
    build: Build | None = None,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[Accuracy] = ("default", "low", "high"),
    *,
    threads: int = 1,
    time_limit: float = 60.0,
    reference: float | None = None,
    canon_backend: str | None = None,
    done: Sequence[Row] = (),
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    r"""Solve one program, or those of ``BENCHMARKS``, with many solvers, each in a process.

    Parameters
    ----------
    build : callable, optional
        ``build()`` makes a fresh program: a :class:`propcvx.programs.Program` with its parameters
        set, or a ``cvxpy.Problem`` of your own.  It is called in every process; it may be defined
        in a notebook, or be a ``functools.partial``.  By default, the problems of
        :mod:`propcvx.laboratory.benchmarks`, one after the other.
    solvers : sequence of str or Solver, optional
        Names in ``propcvx.solvers.SOLVERS``, or solvers of your own.  By default, all that are
        installed and can solve the program.
    tols : sequence of str or float
        Names in ``ACCURACIES`` or tolerances, which become each solver's own options.
    threads : int
        Threads of BLAS, OpenMP and Rust in every process.
    time_limit : float
        Seconds of each run by the clock, counted from when its process has imported the package.
    reference : float, optional
        The optimal value of the program, where it is known.
    canon_backend : str, optional
        Which part of CVXPY brings the program into the solver's form: "CPP", "SCIPY" or "COO".
        By default, CVXPY chooses.
    done : sequence of dict
        Rows of an earlier call with the same programs; these runs are not repeated.
    on_row : callable
        Called with each new row as soon as it is measured, before the reference is known.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``; None where a value does not exist.

        - ``program``, ``problem_class``, ``maximised``, ``n_variables``, ``n_constraints``;
          ``solver``, ``version``, ``accuracy``, ``tol``, ``canon_backend``, ``threads``,
          ``time_limit``.
        - ``status``: CVXPY's status of the answer, or one of "no licence", "not installed",
          "refused" (another class of problem), "failed", "bad program", "out of time",
          "crashed", with the ``reason``.
        - ``objective``; ``reference``, by default the value of the answer with the smallest
          residuals, that of ``reference_solver``, and the relative ``difference`` from it.
        - ``primal_residual``, ``dual_residual``, ``duality_gap``, absolute, computed from the
          values of the answer as in :class:`propcvx.solvers.Residuals`; ``relative_gap`` between
          feasible points where the program's structure has it.
        - Milliseconds by the clock: ``compile_ms``, ``solve_ms``, and in the solver alone with
          the problem compiled, the fastest of three: ``resolve_cold_ms``, and ``resolve_warm_ms``
          from where it ended; they are None after a first solve of more than a second.
          ``iterations``, where the solver counts them.

    Raises
    ------
    InputError
        If an argument cannot be used; the message says which values can.

    Notes
    -----
    Processes start as :mod:`multiprocessing` requires: in a script of your own, call this under
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from propcvx.laboratory import compare_solvers
    >>> def nearest():
    ...     x = cp.Variable(2, name="x")
    ...     return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) == 1])
    >>> rows = compare_solvers(nearest, ["clarabel", "osqp"], tols=["high"])
    >>> [(row["solver"], row["status"], round(row["objective"], 6)) for row in rows]
    [('clarabel', 'optimal', 0.5), ('osqp', 'optimal', 0.5)]
    """
    if build is None:
        given: dict[str, Any] = {"solvers": solvers, "tols": tols, "threads": threads}
        given |= {"time_limit": time_limit, "canon_backend": canon_backend, "on_row": on_row}
        known = {name: [row for row in done if row["program"] == name] for name in BENCHMARKS}
        parts = [compare_solvers(b.named, done=known[b.name], **given) for b in BENCHMARKS.values()]
        return [row for part in parts for row in part]
    check_number("time_limit", time_limit, above=0.0)
    check_count("threads", threads)
    accuracies = [_named_accuracy(tol) for tol in tols]
    program = Program.of(build())
    names = solvers_for(program) if solvers is None else solvers
    chosen = [named_solver(name) or find_solver(name, program) for name in names]
    earlier, rows = {_run_of(row): row for row in done}, []
    for solver, (accuracy, tol) in product(chosen, accuracies):
        row = {
            "program": program.name,
            "solver": solver.name,
            "version": solver.version,
            "accuracy": accuracy,
            "tol": tol,
            "canon_backend": canon_backend,
            "threads": threads,
            "time_limit": time_limit,
            **dict.fromkeys(MEASURED),
        }
        rows.append(earlier.get(_run_of(row), row))
        if rows[-1] is row:
            try:
                find_solver(solver, program)
                task = partial(measure, build, solver, tol, canon_backend)
                row |= run_isolated(task, time_limit, threads)
            except UnsupportedSolverError as error:
                status = "refused" if solver.installed else "not installed"
                row |= {"status": status, "reason": str(error)}
            on_row(row)
    return _with_reference(rows, reference)


def compare_programs(programs: Sequence[ProgramAt], file: Path, **arguments: Any) -> list[Row]:
    """Compare solvers on several programs, and keep the rows in a file.

    Runs that the file has are not repeated.  Each new row is written as soon as it is measured, so
    that an interruption loses one run only.

    Parameters
    ----------
    programs : sequence of ProgramAt
    file : Path
        JSON lines; made where it does not exist.
    **arguments
        Of :func:`compare_solvers`.

    Returns
    -------
    list of dict
        Rows of :func:`compare_solvers` for these programs, with the fields of ``ProgramAt``.

    Raises
    ------
    InputError
        If the file has other contents, or cannot be written.
    """
    rows = list[Row]()
    try:
        kept = file.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error
    with kept:
        done = _read(kept)
        for program in tqdm(programs, desc="programs", unit="program"):
            values = asdict(program)

            def keep(row: Row, values: Row = values) -> None:
                print(json.dumps(row | values), file=kept, flush=True)

            before = done[tuple(values.values())]
            compared = compare_solvers(program, done=before, on_row=keep, **arguments)
            rows += [row | values for row in compared]
    return rows


def _read(kept: TextIO) -> dict[tuple[Any, ...], list[Row]]:
    """Rows of a file, by the fields of their program."""
    names, rows = [field.name for field in fields(ProgramAt)], defaultdict(list)
    kept.seek(0)
    try:
        for row in map(json.loads, kept):
            rows[tuple(row[name] for name in names)].append(row)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{kept.name} is not what 'propcvx solvers' wrote: {error!r}.") from error
    return rows


def measure(
    build: Build, solver: Solver, tol: float | None = None, backend: str | None = None
) -> Iterator[Row]:
    """Solve and measure in this process.

    Parameters
    ----------
    build : callable
        ``build()`` makes a fresh program.
    solver : Solver
    tol : float, optional
        By default, that of the solver.
    backend : str, optional
        CVXPY's ``canon_backend``, for solvers that it reaches.

    Yields
    ------
    dict
        Columns of a row, as soon as they are measured.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from _measurements(Program.of(build()), solver, tol, backend)
    except PropCVXError as error:
        statuses = (status for kind, status in REFUSALS.items() if isinstance(error, kind))
        yield {"status": next(statuses, "bad program"), "reason": str(error)}


def _measurements(
    program: Program, solver: Solver, tol: float | None, backend: str | None
) -> Iterator[Row]:
    problem = program.problem
    yield {
        "problem_class": program.problem_class.name,
        "maximised": isinstance(problem.objective, cp.Maximize),
        "n_variables": sum(v.size for v in problem.variables()),
        "n_constraints": sum(c.size for c in problem.constraints),
    }
    options = solver.default_options() if tol is None else solver.options_of(tol)
    if backend is not None and solver.classes:
        options[BACKEND] = backend
    answer = solver.answer(program, options, None)
    yield {
        "status": answer.status,
        "compile_ms": 1e3 * answer.build_seconds,
        "solve_ms": 1e3 * answer.solve_seconds,
        "iterations": None if answer.iterations is None else int(answer.iterations),
    }
    if answer.status not in USABLE or any(v is None for v in answer.variables.values()):
        yield {"reason": "the solver has no answer"}
        return
    leave_values(program, answer)
    yield {"objective": float(problem.objective.value)}
    if program.structure is not None:
        gap = program.structure.gap(program.values, answer.variables, answer.duals)
        yield {"relative_gap": gap}
    try:
        residuals = residuals_of(problem)
        yield {name: getattr(residuals, name) for name in RESIDUALS}
    except ResidualsError as error:
        yield {"reason": f"not checked: {error}"}
    if answer.solve_seconds <= ENOUGH:
        yield {"resolve_cold_ms": _again(solver, program, options, None)}
        yield {"resolve_warm_ms": _again(solver, program, options, answer.warm)}


def _again(solver: Solver, program: Program, options: dict[str, Any], warm: Any) -> float:
    """Milliseconds in the solver of the fastest of some runs of a compiled problem."""
    answers = (solver.answer(program, dict(options), warm) for _ in range(REPEATS))
    return 1e3 * min(answer.solve_seconds for answer in answers)


def _run_of(row: Row) -> tuple[object, ...]:
    """What tells the runs of a program apart."""
    return row["solver"], row["accuracy"], row["canon_backend"]


def _named_accuracy(tol: Accuracy) -> tuple[str, float | None]:
    if not isinstance(tol, str):
        return f"{check_number('tols', tol, above=0.0):g}", float(tol)
    if tol not in ACCURACIES:
        raise InputError(f"tols must be numbers or names of {list(ACCURACIES)}, got {tol!r}.")
    return tol, ACCURACIES[tol]


def _with_reference(rows: list[Row], reference: float | None) -> list[Row]:
    """Rows with the reference and the differences from it."""
    best = None if reference is not None else _best(rows)
    value = reference if best is None else best["objective"]
    for row in rows:
        row |= {"reference": value, "reference_solver": best and best["solver"]}
        if row["objective"] is not None and value is not None:
            row["difference"] = (row["objective"] - value) / max(abs(value), 1e-12)
    return rows


def _best(rows: Sequence[Row]) -> Row | None:
    """The answer with the smallest residuals; with integers, the best feasible answer."""
    measured = [row for row in rows if row["duality_gap"] is not None]
    if measured:
        errors = np.array([[row[name] for name in RESIDUALS] for row in measured], dtype=float)
        return measured[int(np.argmin(np.nan_to_num(errors, nan=np.inf).max(axis=1)))]
    answered = (row for row in rows if row["objective"] is not None)
    feasible = [row for row in answered if (row["primal_residual"] or 0.0) <= FEASIBLE]
    sign = -1.0 if any(row["maximised"] for row in feasible) else 1.0
    return min(feasible, key=lambda row: sign * row["objective"], default=None)
