"""Solvers side by side: rows of one program; what hangs or crashes costs its row alone."""

import os
import time
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import pytest
from common_problems import nearest
from program_examples import PROGRAMS, ProgramAt

from propcvx.errors import SolverError
from propcvx.solvers import SOLVERS, Solution, Solver, compare_solvers, comparison, solve

pytestmark = pytest.mark.process

INSTALLED = [name for name, row in SOLVERS.items() if row.installed]
SMALL = ProgramAt("svm_dual", 12)
ANSWER = Solution(cp.OPTIMAL, {"x": np.array([0.5, 0.5])}, {"constraint 0": np.array(1.0)})


def of_user(run):
    """A solver that a user has written."""
    return Solver("mine", run, lambda tol: {}, classes=SOLVERS["osqp"].classes)


def test_compare_solvers_rows_have_measured_values():
    rows = compare_solvers(SMALL(), ["clarabel", "newton"], [1e-9])
    optimum = solve(SMALL(), "clarabel", tol=1e-9).value
    assert [row["solver"] for row in rows] == ["clarabel", "newton"]
    for row in rows:
        assert (row["status"], row["reason"], row["tol"]) == ("optimal", None, 1e-9)
        assert row["objective"] == pytest.approx(optimum, rel=1e-7)
        assert abs(row["difference"]) < 1e-7
        assert max(row["primal_residual"], row["dual_residual"], row["duality_gap"]) < 1e-6
        assert 0 <= row["relative_gap"] < 1e-7
        assert min(row["solve_ms"], row["again_ms"]) > 0
        assert row["version"] == SOLVERS[row["solver"]].version


@pytest.mark.parametrize("solver", INSTALLED)
def test_every_installed_solver_can_be_measured(solver, monkeypatch):
    monkeypatch.setattr(comparison, "in_worker", lambda task, *given, seconds: task(*given))
    builds = [ProgramAt(name, 8) for name in PROGRAMS]
    able = next(program for build in builds if SOLVERS[solver].can_solve(program := build()))
    for row in compare_solvers(able, [solver], [None, 1e-5]):
        assert row["status"] in ("optimal", "optimal_inaccurate")
        assert row["objective"] is not None
        assert row["again_ms"] > 0


def hanging(program, options, warm):
    time.sleep(600)


def crashing(program, options, warm):
    os.abort()


def failing(program, options, warm):
    raise SolverError("broke", "mine", "solver_error")


def test_failing_solvers_keep_other_rows(monkeypatch):
    in_worker, starts = comparison.in_worker, iter([0.0])

    def hurried(*task, seconds):
        """Give the first worker no time to begin, so that the one that hangs ends soon."""
        with patch.object(comparison, "START_SECONDS", next(starts, comparison.START_SECONDS)):
            return in_worker(*task, seconds=seconds)

    monkeypatch.setattr(comparison, "in_worker", hurried)
    solvers = [of_user(run) for run in (hanging, crashing, failing, lambda *given: ANSWER)]
    *broken, right = compare_solvers(nearest(), solvers, [1e-4], time_limit=1.0)
    assert [row["status"] for row in broken] == ["out of time", "crashed", "failed"]
    assert [row["objective"] for row in broken] == [None] * 3
    assert (right["status"], right["objective"], right["primal_residual"]) == ("optimal", 0.5, 0.0)


def test_unsuitable_solver_has_row():
    (row,) = compare_solvers(SMALL(), ["scip"], [1e-3])
    assert row["status"] == "refused"
    assert "scip" in row["reason"]
