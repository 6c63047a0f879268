"""One solver on one program, measured: what a process of the laboratory does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from propcvx.clock import reading
from propcvx.errors import (
    CertificateError,
    LicenceError,
    PropCVXError,
    SolverError,
    UnsupportedSolverError,
)
from propcvx.experiments.solver_laboratory.nursery import Tell
from propcvx.experiments.solver_laboratory.working_time import working_seconds
from propcvx.programs import Program
from propcvx.solvers import Answer, Solver, find_solver
from propcvx.solvers.call import USABLE, leave_values
from propcvx.solvers.certificates import certify
from propcvx.solvers.rows.row import merged
from propcvx.solvers.through_cvxpy import BACKEND

Build = Callable[[], Program | cp.Problem]

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


@dataclass(frozen=True)
class Measure:
    """The task of one process.

    Attributes
    ----------
    build : callable
        ``build()`` makes a fresh program.
    solver : str or Solver
    tol : float or None
        The tolerance; None for the solver's own default.
    threads : int
        What solvers with an option for it are held to.
    backend : str or None
        CVXPY's ``canon_backend``, for solvers that it reaches.
    """

    build: Build
    solver: str | Solver
    tol: float | None
    threads: int
    backend: str | None = None

    def __call__(self, tell: Tell) -> None:
        """Measure, and tell what is known as soon as it is."""
        try:
            with reading(working_seconds):
                self._measure(tell)
        except PropCVXError as error:
            status = next(name for kind, name in REFUSALS if isinstance(error, kind))
            tell({"status": status, "reason": str(error)})

    def _measure(self, tell: Tell) -> None:
        program = as_program(self.build())
        tell(size_of(program))
        row = find_solver(self.solver, program)
        asked = row.default_options() if self.tol is None else row.options_of(self.tol)
        options = merged(asked, row.threads_of(self.threads))
        if self.backend is not None and row.classes:
            options[BACKEND] = self.backend
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = row.run(program, options, None)
            tell(answered(program, answer))
            if not has_values(answer) or answer.solve_seconds > ENOUGH:
                return
            tell({"resolve_cold_ms": _again(row, program, options, None)})
            tell({"resolve_warm_ms": _again(row, program, options, answer.warm)})


def as_program(built: Program | cp.Problem) -> Program:
    """A program; of a problem, one around it."""
    return built if isinstance(built, Program) else Program(built, "problem")


def size_of(program: Program) -> dict[str, Any]:
    """Class of a program, and how many unknowns and scalar constraints it has."""
    return {
        "problem_class": program.problem_class.name,
        "maximised": isinstance(program.problem.objective, cp.Maximize),
        "n_variables": sum(v.size for v in program.problem.variables()),
        "n_constraints": sum(c.size for c in program.problem.constraints),
    }


def has_values(answer: Answer) -> bool:
    """Whether there is a point to be judged."""
    values = answer.variables.values()
    return answer.status in USABLE and all(value is not None for value in values)


def answered(program: Program, answer: Answer) -> dict[str, Any]:
    """What is measured of an answer; residuals and gap are computed from its values alone."""
    told: dict[str, Any] = {
        "status": answer.status,
        "compile_ms": 1e3 * answer.build_seconds,
        "solve_ms": 1e3 * answer.solve_seconds,
        "iterations": None if answer.iterations is None else int(answer.iterations),
    }
    if not has_values(answer):
        return {**told, "reason": "the solver has no answer"}
    leave_values(program, answer)
    told["objective"] = float(program.problem.objective.value)
    if program.structure is not None:
        told["relative_gap"] = program.structure.gap(program.values, answer.variables, answer.duals)
    try:
        return told | vars(certify(program.problem))
    except CertificateError as error:
        return told | {"reason": f"not certified: {error}"}


def _again(row: Solver, program: Program, options: dict[str, Any], warm: Any) -> float:
    """Milliseconds in the solver of the fastest of some runs, the problem being compiled."""
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        seconds.append(row.run(program, dict(options), warm).solve_seconds)
    return 1e3 * min(seconds)
