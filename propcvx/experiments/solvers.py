"""A program on many solvers at several accuracies: one row each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
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
from propcvx.experiments.isolated import Tell, run_isolated
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

EMPTY: Row = dict.fromkeys(
    (
        *("program", "problem_class", "maximised", "n_variables", "n_constraints"),
        *("solver", "version", "accuracy", "tol", "canon_backend", "threads", "time_limit"),
        *("status", "reason", "objective", "reference", "reference_solver", "difference"),
        *("primal_residual", "dual_residual", "duality_gap", "relative_gap"),
        *("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms", "iterations"),
    )
)
"""The columns."""

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
          feasible points where the program's structure tells it.
        - Milliseconds by the clock: ``compile_ms``, ``solve_ms``, and in the solver alone with
          the problem compiled, the fastest of three: ``resolve_cold_ms``, and ``resolve_warm_ms``
          from where it ended; they are None after a first solve of more than a second.
          ``iterations``, where the solver tells.

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
    for measure in _measures(build, solvers, tols, threads, time_limit, canon_backend):
        rows.append(measure.row())
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
    rows = {_key(row): row for row in _read(file)}
    found = []
    for program in tqdm(programs, desc="programs", unit="program"):
        asked = []
        for measure in _measures(program, solvers, tols, threads, time_limit, canon_backend):
            named = {**measure.named, **asdict(program)}
            if _key(named) not in rows:
                rows[_key(named)] = {**measure.row(), **asdict(program)}
                _append(file, rows[_key(named)])
            asked.append(rows[_key(named)])
        found += _with_reference(asked, None)
    return found


@dataclass(frozen=True)
class Measure:
    """A run: the task of one process.

    Attributes
    ----------
    build : callable
        ``build()`` makes a fresh program.
    program : Program
        One that it has made, to ask what it is.
    solver : Solver
    accuracy : tuple of str and float
        Its name, and the tolerance; None for the solver's own default.
    threads : int
    time_limit : float
    backend : str or None
        CVXPY's ``canon_backend``, for solvers that it reaches.
    """

    build: Build
    program: Program
    solver: Solver
    accuracy: tuple[str, float | None]
    threads: int = 1
    time_limit: float = 60.0
    backend: str | None = None

    @property
    def named(self) -> Row:
        """What is known before it is run."""
        return {
            **EMPTY,
            "program": self.program.name,
            "solver": self.solver.name,
            "version": self.solver.version,
            "accuracy": self.accuracy[0],
            "tol": self.accuracy[1],
            "canon_backend": self.backend,
            "threads": self.threads,
            "time_limit": self.time_limit,
        }

    def row(self) -> Row:
        """Its row, without a reference."""
        try:
            find_solver(self.solver, self.program)
        except UnsupportedSolverError as error:
            status = "refused" if self.solver.installed else "not installed"
            return {**self.named, "status": status, "reason": str(error)}
        built_in = SOLVERS.get(self.solver.name) is self.solver
        row = portable(self.solver.name) if built_in else self.solver
        task = Task(self.build, row, self.accuracy[1], self.backend)
        return self.named | run_isolated(task, self.time_limit, self.threads)


@dataclass(frozen=True)
class Task:
    """What a process of its own does."""

    build: Build
    solver: str | Solver
    tol: float | None
    backend: str | None

    def __call__(self, tell: Tell) -> None:
        """Solve and measure, and tell what is known as soon as it is."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._measure(tell)
        except PropCVXError as error:
            status = next(name for kind, name in REFUSALS if isinstance(error, kind))
            tell({"status": status, "reason": str(error)})

    def _measure(self, tell: Tell) -> None:
        program = _as_program(self.build())
        tell(_size(program))
        row = find_solver(self.solver, program)
        options = row.default_options() if self.tol is None else row.options_of(self.tol)
        if self.backend is not None and row.classes:
            options[BACKEND] = self.backend
        answer = row.run(program, options, None)
        tell(_answered(program, answer))
        if _has_values(answer) and answer.solve_seconds <= ENOUGH:
            tell({"resolve_cold_ms": _again(row, program, options, None)})
            tell({"resolve_warm_ms": _again(row, program, options, answer.warm)})


def _measures(
    build: Build,
    solvers: Sequence[str | Solver] | None,
    tols: Sequence[Accuracy],
    threads: int,
    time_limit: float,
    backend: str | None,
) -> Iterator[Measure]:
    """Every solver at every accuracy, from checked arguments."""
    check_number("time_limit", time_limit, above=0.0)
    check_count("threads", threads)
    accuracies = [_named_accuracy(tol) for tol in tols]
    program = _as_program(build())
    for solver in _rows_of(solvers, program):
        for accuracy in accuracies:
            yield Measure(build, program, solver, accuracy, threads, time_limit, backend)


def _named_accuracy(tol: Accuracy) -> tuple[str, float | None]:
    if not isinstance(tol, str):
        return f"{check_number('tols', tol, above=0.0):g}", float(tol)
    if tol not in ACCURACIES:
        raise InputError(f"tols must be numbers or names of {list(ACCURACIES)}, got {tol!r}.")
    return tol, ACCURACIES[tol]


def _rows_of(solvers: Sequence[str | Solver] | None, program: Program) -> list[Solver]:
    """Rows of solvers that are named; those that can solve the program where none is."""
    if solvers is None:
        return [row for row in SOLVERS.values() if row.installed and row.can_solve(program)]
    rows = [named_solver(one) for one in solvers]
    for asked, row in zip(solvers, rows, strict=True):
        if row is None:
            raise UnsupportedSolverError(
                f"solvers must be among {sorted(SOLVERS)}, got {asked!r}{suggestion(asked)}."
            )
    return [row for row in rows if row is not None]


def _as_program(built: Program | cp.Problem) -> Program:
    return built if isinstance(built, Program) else Program(built, "problem")


def _size(program: Program) -> Row:
    """Class of a program, and how many unknowns and scalar constraints it has."""
    return {
        "problem_class": program.problem_class.name,
        "maximised": isinstance(program.problem.objective, cp.Maximize),
        "n_variables": sum(v.size for v in program.problem.variables()),
        "n_constraints": sum(c.size for c in program.problem.constraints),
    }


def _has_values(answer: Answer) -> bool:
    values = answer.variables.values()
    return answer.status in USABLE and all(value is not None for value in values)


def _answered(program: Program, answer: Answer) -> Row:
    """What is measured of an answer; residuals and gap are computed from its values alone."""
    told: Row = {
        "status": answer.status,
        "compile_ms": 1e3 * answer.build_seconds,
        "solve_ms": 1e3 * answer.solve_seconds,
        "iterations": None if answer.iterations is None else int(answer.iterations),
    }
    if not _has_values(answer):
        return {**told, "reason": "the solver has no answer"}
    leave_values(program, answer)
    told["objective"] = float(program.problem.objective.value)
    if program.structure is not None:
        told["relative_gap"] = program.structure.gap(program.values, answer.variables, answer.duals)
    try:
        return told | vars(residuals_of(program.problem))
    except ResidualsError as error:
        return told | {"reason": f"not checked: {error}"}


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
    named = {"reference": value, "reference_solver": best and best["solver"]}
    return [row | named | {"difference": _difference(row["objective"], value)} for row in rows]


def _difference(objective: float | None, reference: float | None) -> float | None:
    if objective is None or reference is None:
        return None
    return (objective - reference) / max(abs(reference), 1e-12)


def _best(rows: Sequence[Row]) -> Row | None:
    """The answer with the smallest residuals; with integers, the best that is feasible."""
    checked = [row for row in rows if row["duality_gap"] is not None]
    if checked:
        return min(checked, key=_error_of)
    answered = (row for row in rows if row["objective"] is not None)
    feasible = [row for row in answered if (row["primal_residual"] or 0.0) <= FEASIBLE]
    sign = -1.0 if any(row["maximised"] for row in feasible) else 1.0
    return min(feasible, key=lambda row: sign * row["objective"], default=None)


def _error_of(row: Row) -> float:
    """The largest of an answer's residuals and gap."""
    parts = [row[name] for name in ("primal_residual", "dual_residual", "duality_gap")]
    return float(np.nan_to_num(max(part for part in parts if part is not None), nan=np.inf))


KEY = (
    *("program", "instances", "data", "C", "bag_size", "seed"),
    *("solver", "accuracy", "canon_backend"),
)
"""The columns that say which run a row is of."""


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in KEY)


def _read(file: Path) -> list[Row]:
    if not file.exists():
        return []
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return [row for row in rows if _key(row)]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is not what 'propcvx solvers' wrote: {error!r}.") from error


def _append(file: Path, row: Row) -> None:
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error
