"""Solvers side by side: rows of one program, processes of their own, the file that is continued."""

import json
import os
import re
import time
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from common_problems import nearest
from other_ways import WAYS, OtherWay
from threadpoolctl import threadpool_info

from propcvx.__main__ import main
from propcvx.errors import InputError, LicenceError, SolverError, UnsupportedSolverError
from propcvx.laboratory import compare_solvers
from propcvx.laboratory import solvers as laboratory
from propcvx.laboratory.isolated import run_isolated
from propcvx.laboratory.programs import PROGRAMS, ProgramAt
from propcvx.laboratory.solvers import compare_programs, measure
from propcvx.solvers import SOLVERS, Answer, Solver, solve, solvers_for

pytestmark = pytest.mark.process

INSTALLED = [name for name, row in SOLVERS.items() if row.installed]

SMALL = ProgramAt("svm_dual", 12)


def measured(build, solver, *options):
    """What is measured at a tolerance and with a backend, in this process."""
    row = solver if isinstance(solver, Solver) else SOLVERS[solver]
    return {name: value for part in measure(build, row, *options) for name, value in part.items()}


# One program, many solvers


def test_rows_of_a_program():
    rows = compare_solvers(SMALL, ["clarabel", "newton"], tols=["high"])
    optimum = solve(SMALL(), "clarabel", tol=1e-9).value
    assert [row["solver"] for row in rows] == ["clarabel", "newton"]
    for row in rows:
        assert (row["status"], row["reason"], row["tol"]) == ("optimal", None, 1e-9)
        assert (row["problem_class"], row["n_variables"], row["n_constraints"]) == ("QP", 12, 25)
        assert row["objective"] == pytest.approx(optimum, rel=1e-7)
        assert abs(row["difference"]) < 1e-7
        assert max(row["primal_residual"], row["dual_residual"], row["duality_gap"]) < 1e-6
        assert 0 <= row["relative_gap"] < 1e-7
        assert min(row["solve_ms"], row["resolve_cold_ms"], row["resolve_warm_ms"]) > 0
        assert (row["threads"], row["version"]) == (1, SOLVERS[row["solver"]].version)
    errors = [max(r["primal_residual"], r["dual_residual"], r["duality_gap"]) for r in rows]
    assert rows[0]["reference_solver"] == rows[int(np.argmin(errors))]["solver"]


@pytest.mark.parametrize("solver", INSTALLED)
def test_every_installed_solver_can_be_measured(solver):
    builds = [ProgramAt(name, 8) for name in PROGRAMS]
    able = next(build for build in builds if SOLVERS[solver].can_solve(build()))
    for tol in (None, 1e-5):
        answer = measured(able, solver, tol)
        assert answer["status"] in ("optimal", "optimal_inaccurate")
        assert answer["objective"] is not None
        assert answer["resolve_warm_ms"] > 0


def test_a_problem_of_the_user_and_a_row_of_the_user():
    def run(program, options, warm):
        return Answer(cp.OPTIMAL, {"x": np.array([0.5, 0.5])}, {"constraint 0": np.array(1.0)})

    mine = Solver("mine", run, lambda tol: {}, classes=SOLVERS["osqp"].classes)
    (row,) = compare_solvers(nearest, [mine], tols=[1e-4], reference=0.5)
    assert (row["solver"], row["status"], row["accuracy"]) == ("mine", "optimal", "0.0001")
    assert (row["objective"], row["difference"]) == (0.5, 0.0)
    assert row["primal_residual"] == 0.0
    assert row["dual_residual"] == pytest.approx(0.0, abs=1e-12)


def test_without_names_all_that_can_are_asked(monkeypatch):
    monkeypatch.setattr(laboratory, "run_isolated", lambda *given: {"status": "asked"})
    rows = compare_solvers(SMALL)
    runs = [(row["solver"], row["accuracy"]) for row in rows if row["status"] == "asked"]
    able = solvers_for(SMALL())
    assert runs == [(name, tol) for name in able for tol in ("default", "low", "high")]


def test_what_cannot_solve_or_is_not_installed_is_a_row():
    absent = replace(SOLVERS["piqp"], module="no_such_module")
    refused, missing = compare_solvers(SMALL, ["scip", absent], tols=["low"])
    assert refused["status"] in ("refused", "not installed")
    assert missing["status"] == "not installed"
    assert "pip install piqp" in missing["reason"]


@pytest.mark.parametrize(
    ("solvers", "given", "message"),
    [
        (["OPSQ"], {}, "did you mean 'osqp'"),
        (["clarabel"], {"tols": ["medium"]}, "tols must be numbers or names"),
        (["clarabel"], {"tols": [-1.0]}, "tols must be a finite number above 0"),
        (["clarabel"], {"time_limit": 0}, "time_limit"),
        (["clarabel"], {"threads": 0}, "threads"),
    ],
)
def test_bad_input(solvers, given, message):
    with pytest.raises(InputError, match=message):
        compare_solvers(SMALL, solvers, **given)


def test_a_program_has_a_weight_above_zero():
    with pytest.raises(InputError, match=r"C must be a finite number above 0, got -1\.0"):
        ProgramAt("svm_dual", 12, C=-1.0)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LicenceError("too large", "osqp", "solver_error"), "no licence"),
        (SolverError("broke", "osqp", "solver_error"), "failed"),
        (UnsupportedSolverError("cannot"), "refused"),
        (InputError("no such option"), "bad program"),
    ],
)
def test_what_a_solver_raises_is_a_status(error, status):
    def run(program, options, warm):
        raise error

    broken = Solver("broken", run, lambda tol: {}, classes=SOLVERS["osqp"].classes)
    answer = measured(SMALL, broken)
    assert (answer["status"], answer["reason"]) == (status, str(error))


def test_backends_of_cvxpy_have_the_same_answer():
    values = [measured(SMALL, "clarabel", 1e-9, name)["objective"] for name in (None, "SCIPY")]
    assert values[0] == pytest.approx(values[1], rel=1e-7)
    unknown = measured(SMALL, "clarabel", 1e-9, "SCYPI")
    assert unknown["status"] == "failed"
    assert "SCYPI" in unknown["reason"]


def test_a_status_without_an_answer_is_kept():
    x = cp.Variable(name="x")
    impossible = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    answer = measured(lambda: impossible, "clarabel")
    assert answer["status"] == "infeasible"
    assert "objective" not in answer


# Programs, and the file


@pytest.mark.parametrize("name", WAYS)
def test_other_ways_to_write_a_program_have_its_value(name):
    solver, n = ("scip", 6) if name.startswith("psvm") else ("clarabel", 30)
    builds = OtherWay(name, n, bag_size=3), ProgramAt(WAYS[name][1], n, bag_size=3)
    values = [abs(solve(build(), solver, tol=1e-7, residuals=False).value) for build in builds]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_file_is_continued(tmp_path, monkeypatch):
    file, runs = tmp_path / "rows.jsonl", []

    def run(task, time_limit, threads):
        build, solver, *_ = task.args
        runs.append((build.instances, solver.name))
        return {"status": "optimal", "objective": float(len(runs))}

    monkeypatch.setattr(laboratory, "run_isolated", run)
    small, large = SMALL, ProgramAt("svm_dual", 16)
    compare_programs([small], file, solvers=["osqp"], tols=["low"])
    compare_programs([small], file, solvers=["clarabel"], tols=["low"])
    rows = compare_programs([small, large], file, solvers=["osqp", "clarabel"], tols=["low"])
    assert runs == [(12, "osqp"), (12, "clarabel"), (16, "osqp"), (16, "clarabel")]
    assert [row["reference"] for row in rows] == [1.0, 1.0, 3.0, 3.0]
    assert [row["difference"] for row in rows] == pytest.approx([0.0, 1.0, 0.0, 1.0 / 3.0])
    assert len(file.read_text().splitlines()) == 4


def test_files_that_cannot_be_used_are_refused(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"program": "svm_dual"}\n')
    with pytest.raises(InputError, match=r"rows\.jsonl is not"):
        compare_programs([SMALL], file)
    with pytest.raises(InputError, match="cannot be written"):
        compare_programs([SMALL], tmp_path / "no" / "rows.jsonl")


# A process of its own


@pytest.mark.parametrize(
    ("end", "time_limit", "status", "reason"),
    [
        (lambda: time.sleep(600), 0.3, "out of time", None),
        (lambda: 1 / 0, 60.0, "crashed", "ZeroDivisionError: division by zero"),
        (os.abort, 60.0, "crashed", "exit code -6"),
    ],
)
def test_a_task_that_does_not_reach_its_end_keeps_what_it_found(end, time_limit, status, reason):
    def task():
        yield {"known": 1}
        end()

    answer = run_isolated(task, time_limit)
    assert answer == {"known": 1, "status": status, "reason": reason}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_process_has_the_threads_that_it_is_given(threads):
    def task():
        yield {"threads": max(pool["num_threads"] for pool in threadpool_info())}

    assert run_isolated(task, 60.0, threads)["threads"] == threads


# The commands


def test_the_list_has_every_solver(capsys):
    assert main(["solvers"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{name} " in printed for name in SOLVERS)
    assert "programs: mkl_epigraph, mkl_group" in printed


def test_the_command_compares(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    given = ["solvers", "compare", "svm_dual", "--solvers", "clarabel,scip", "--tols", "low,1e-6"]
    assert main([*given, "--sizes", "12", "--rows", str(file)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"svm_dual +12 +clarabel +low +optimal", printed)
    assert "scip, svm_dual: solver 'scip'" in printed
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    runs = [(row["solver"], row["accuracy"], row["status"]) for row in rows[:2]]
    assert runs == [("clarabel", "low", "optimal"), ("clarabel", "1e-06", "optimal")]
    with pytest.raises(SystemExit):
        main(["solvers", "compare", "svm_dua", "--rows", str(file)])
    assert "program must be one of" in capsys.readouterr().err
