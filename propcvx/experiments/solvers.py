"""A program on many solvers at several accuracies: one row each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

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
from propcvx.experiments.isolated import Report, run_isolated
from propcvx.experiments.programs import ProgramAt
from propcvx.programs import Program
from propcvx.solvers import SOLVERS, Answer, Solver, find_solver, portable
from propcvx.solvers.call import USABLE, leave_values
from propcvx.solvers.residuals import residuals_of
from propcvx.solvers.table import named_solver, suggestion
from propcvx.solvers.through_cvxpy import BACKEND

Row = dict[str, Any]
Accuracy = str | float
Build = Callable[[], Program | cp.Problem]

ACCURACIES: Mapping[str, float | None] = MappingProxyType(
    {"default": None, "low": 1e-3, "high": 1e-9}
)
"""Accuracies that have names, as in qpbenchmark: the tolerance, None for the solver's default."""

RESIDUALS = ("primal_residual", "dual_residual", "duality_gap")
COLUMNS = (
    *("program", "problem_class", "maximised", "n_variables", "n_constraints"),
    *("solver", "version", "accuracy", "tol", "canon_backend", "threads", "time_limit"),
    *("status", "reason", "objective", "reference", "reference_solver", "difference"),
    *(*RESIDUALS, "relative_gap"),
    *("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms", "iterations"),
)

FEASIBLE = 1e-5
"""Up to this violation an answer with integers is compared by its objective."""

REPEATS = 3
"""Times that a program is solved again, of which the fastest counts."""

ENOUGH = 1.0
"""A solve of more seconds is not repeated, and repeats end after so many."""

REFUSALS = (
    (LicenceError, "no licence"),
    (UnsupportedSolverError, "refused"),
    (SolverError, "failed"),
    (PropCVXError, "bad program"),
)
"""Statuses of errors, the first that fits."""


def compare_solvers(
    build: Build,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[Accuracy] = ("default", "low", "high"),
    *,
    threads: int = 1,
    time_limit: float = 60.0,
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
        Threads of BLAS, OpenMP and Rust in every process.
    time_limit : float
        Seconds of each run by the clock, from when its process has imported what it needs.
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
          ``solver``, ``version``, ``accuracy``, ``tol``, ``canon_backend``, ``threads``,
          ``time_limit``.
        - ``status``: CVXPY's word for the answer, or one of "no licence", "not installed",
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
        If an argument cannot be used; the message says what would do.

    Notes
    -----
    Processes begin as :mod:`multiprocessing` has it: in a script of your own, call this under
    ``if __name__ == "__main__":``.

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
    rows = []
    for named, run in _runs(build, solvers, tols, threads, time_limit, canon_backend):
        rows.append({**named, **run()})
        on_row(rows[-1])
    return _with_reference(rows, reference)


def compare_programs(
    programs: Sequence[ProgramAt],
    file: Path,
    solvers: Sequence[str | Solver] | None = None,
    tols: Sequence[Accuracy] = ("default", "low", "high"),
    *,
    threads: int = 1,
    time_limit: float = 60.0,
    canon_backend: str | None = None,
) -> list[Row]:
    """Run what a file does not have yet, and return the rows that were asked for.

    Parameters
    ----------
    programs : sequence of ProgramAt
    file : Path
        JSON lines; a row is added as soon as it is there, so that an interruption costs the run
        at work only.
    solvers, tols, threads, time_limit, canon_backend
        As in :func:`compare_solvers`.

    Returns
    -------
    list of dict
        Rows of :func:`compare_solvers` with the fields of ``ProgramAt``.

    Raises
    ------
    InputError
        If the file has something else, or cannot be written.
    """
    rows = _read(file)
    found = []
    for program in tqdm(programs, desc="programs", unit="program"):
        asked = []
        for named, run in _runs(program, solvers, tols, threads, time_limit, canon_backend):
            named |= asdict(program)
            if _key(named) not in rows:
                rows[_key(named)] = {**named, **run()}
                _append(file, rows[_key(named)])
            asked.append(rows[_key(named)])
        found += _with_reference(asked, None)
    return found


def _runs(
    build: Build,
    solvers: Sequence[str | Solver] | None,
    tols: Sequence[Accuracy],
    threads: int,
    time_limit: float,
    backend: str | None,
) -> Iterator[tuple[Row, Callable[[], Row]]]:
    """What is known of each run before it, and the run itself, from checked arguments."""
    check_number("time_limit", time_limit, above=0.0)
    check_count("threads", threads)
    accuracies = [_named_accuracy(tol) for tol in tols]
    program = _as_program(build())
    common = {"program": program.name, "canon_backend": backend, "threads": threads}
    for solver in _rows_of(solvers, program):
        known = {**common, "solver": solver.name, "version": solver.version}
        for accuracy, tol in accuracies:
            named = {**known, "accuracy": accuracy, "tol": tol, "time_limit": time_limit}
            task = Task(build, solver, tol, backend)
            run = partial(_run, task, program, time_limit, threads)
            yield {**dict.fromkeys(COLUMNS), **named}, run


def _run(task: Task, program: Program, time_limit: float, threads: int) -> Row:
    """Columns of one run, without a reference."""
    solver = task.solver
    try:
        find_solver(solver, program)
    except UnsupportedSolverError as error:
        return {"status": "refused" if solver.installed else "not installed", "reason": str(error)}
    built_in = SOLVERS.get(solver.name) is solver
    if built_in:
        task = replace(task, solver=portable(solver.name))
    return run_isolated(task, time_limit, threads)


@dataclass(frozen=True)
class Task:
    """What a process of its own does: solve and measure, and report what is known as soon as it is.

    Attributes
    ----------
    build : callable
        ``build()`` makes a fresh program.
    solver : Solver or str
    tol : float or None
        None for the solver's own default.
    backend : str or None
        CVXPY's ``canon_backend``, for solvers that it reaches.
    """

    build: Build
    solver: Any
    tol: float | None
    backend: str | None

    def __call__(self, report: Report) -> None:
        """Solve and measure."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._measure(report)
        except PropCVXError as error:
            status = next(name for kind, name in REFUSALS if isinstance(error, kind))
            report({"status": status, "reason": str(error)})

    def _measure(self, report: Report) -> None:
        program = _as_program(self.build())
        problem = program.problem
        report(
            {
                "problem_class": program.problem_class.name,
                "maximised": isinstance(problem.objective, cp.Maximize),
                "n_variables": sum(v.size for v in problem.variables()),
                "n_constraints": sum(c.size for c in problem.constraints),
            }
        )
        solver = find_solver(self.solver, program)
        options = solver.default_options() if self.tol is None else solver.options_of(self.tol)
        if self.backend is not None and solver.classes:
            options[BACKEND] = self.backend
        answer = solver.run(program, options, None)
        report(_answered(program, answer))
        if _has_values(answer) and answer.solve_seconds <= ENOUGH:
            report({"resolve_cold_ms": _again(solver, program, options, None)})
            report({"resolve_warm_ms": _again(solver, program, options, answer.warm)})


def _named_accuracy(tol: Accuracy) -> tuple[str, float | None]:
    if not isinstance(tol, str):
        return f"{check_number('tols', tol, above=0.0):g}", float(tol)
    if tol not in ACCURACIES:
        raise InputError(f"tols must be numbers or names of {list(ACCURACIES)}, got {tol!r}.")
    return tol, ACCURACIES[tol]


def _rows_of(solvers: Sequence[str | Solver] | None, program: Program) -> list[Solver]:
    """Solvers that are named; those that can solve the program where none is."""
    if solvers is None:
        return [row for row in SOLVERS.values() if row.installed and row.can_solve(program)]
    rows = []
    for asked in solvers:
        row = named_solver(asked)
        if row is None:
            raise UnsupportedSolverError(
                f"solvers must be among {sorted(SOLVERS)}, got {asked!r}{suggestion(asked)}."
            )
        rows.append(row)
    return rows


def _as_program(built: Program | cp.Problem) -> Program:
    return built if isinstance(built, Program) else Program(built, "problem")


def _has_values(answer: Answer) -> bool:
    values = answer.variables.values()
    return answer.status in USABLE and all(value is not None for value in values)


def _answered(program: Program, answer: Answer) -> Row:
    """What is measured of an answer; residuals and gap are computed from its values alone."""
    found: Row = {
        "status": answer.status,
        "compile_ms": 1e3 * answer.build_seconds,
        "solve_ms": 1e3 * answer.solve_seconds,
        "iterations": None if answer.iterations is None else int(answer.iterations),
    }
    if not _has_values(answer):
        return {**found, "reason": "the solver has no answer"}
    leave_values(program, answer)
    found["objective"] = float(program.problem.objective.value)
    if program.structure is not None:
        found["relative_gap"] = program.structure.gap(
            program.values, answer.variables, answer.duals
        )
    try:
        return found | vars(residuals_of(program.problem))
    except ResidualsError as error:
        return found | {"reason": f"not checked: {error}"}


def _again(row: Solver, program: Program, options: dict[str, Any], warm: Any) -> float:
    """Milliseconds in the solver of the fastest of some runs, the problem being compiled."""
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        seconds.append(row.run(program, dict(options), warm).solve_seconds)
    return 1e3 * min(seconds)


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
    """The answer with the smallest residuals; with integers, the best that is feasible."""
    measured = [row for row in rows if row["duality_gap"] is not None]
    if measured:
        return min(measured, key=_error_of)
    answered = (row for row in rows if row["objective"] is not None)
    feasible = [row for row in answered if (row["primal_residual"] or 0.0) <= FEASIBLE]
    sign = -1.0 if any(row["maximised"] for row in feasible) else 1.0
    return min(feasible, key=lambda row: sign * row["objective"], default=None)


def _error_of(row: Row) -> float:
    """The largest of an answer's residuals and gap."""
    parts = [row[name] for name in RESIDUALS if row[name] is not None]
    return float(np.nan_to_num(max(parts), nan=np.inf))


KEY = (
    *("program", "instances", "data", "C", "bag_size", "seed"),
    *("solver", "accuracy", "canon_backend"),
)
"""The columns that say which run a row is of."""


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in KEY)


def _read(file: Path) -> dict[tuple[object, ...], Row]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return {_key(row): row for row in map(json.loads, lines)}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is not what 'propcvx solvers' wrote: {error!r}.") from error


def _append(file: Path, row: Row) -> None:
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error
