"""Solvers side by side: rows of one program, limits of a process, the file that is continued."""

import json

import cvxpy as cp
import numpy as np
import pytest

from propcvx.cli import main
from propcvx.errors import InputError, LicenceError, SolverError, UnsupportedSolverError
from propcvx.experiments import compare_solvers
from propcvx.experiments.solver_laboratory import compare, formulations, summary
from propcvx.experiments.solver_laboratory.fits import (
    FitAt,
    compare_fits,
    with_agreement,
)
from propcvx.experiments.solver_laboratory.fits_report import draw_fits, unchanged_from
from propcvx.experiments.solver_laboratory.listing import solver_rows
from propcvx.experiments.solver_laboratory.matrix import KEY, cells_of, run_matrix
from propcvx.experiments.solver_laboratory.measure import Measure
from propcvx.experiments.solver_laboratory.programs import PROGRAMS, ProgramAt
from propcvx.experiments.solver_laboratory.qp_test_set import QPS, qp_of, write_qp_test_set
from propcvx.experiments.solver_laboratory.report import write_solver_report
from propcvx.experiments.solver_laboratory.rows_file import read_rows
from propcvx.solvers import ABSENT, SOLVERS, Answer, Solver, solve, solvers_for

SAFE = [name for name, row in SOLVERS.items() if row.installed and not row.unsafe]

SMALL = ProgramAt("svm_dual", 12)


def nearest():
    """A problem of the user's own; its value is 0.5 at (0.5, 0.5)."""
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) == 1])


def told(measure):
    """What a measurement tells, in this process."""
    found = {}
    measure(found.update)
    return found


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
        assert row["peak_memory_mb"] >= row["base_memory_mb"] > 10
        assert (row["threads"], row["version"]) == (1, SOLVERS[row["solver"]].version)
    errors = [max(r["primal_residual"], r["dual_residual"], r["duality_gap"]) for r in rows]
    assert rows[0]["reference_solver"] == rows[int(np.argmin(errors))]["solver"]


@pytest.mark.parametrize("solver", [name for name in SAFE if name != "lstsq"])
def test_every_installed_solver_can_be_measured(solver):
    name = next(name for name in PROGRAMS if SOLVERS[solver].can_solve(ProgramAt(name, 8)()))
    for tol in (None, 1e-5):
        found = told(Measure(ProgramAt(name, 8), solver, tol, 1))
        assert found["status"] in ("optimal", "optimal_inaccurate")
        assert found["objective"] is not None
        assert found["resolve_warm_ms"] > 0


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
    monkeypatch.setattr(
        "propcvx.experiments.solver_laboratory.compare._measured",
        lambda *given: {"status": "asked"},
    )
    rows = compare_solvers(SMALL)
    asked = [(row["solver"], row["accuracy"]) for row in rows if row["status"] == "asked"]
    able = solvers_for(SMALL())
    assert "ecos_bb" not in solvers_for(ProgramAt("psvm", 8)())
    assert asked == [(name, tol) for name in able for tol in ("default", "low", "high")]


def test_what_cannot_solve_or_is_not_installed_is_a_row(monkeypatch):
    absent = SOLVERS["piqp"].__class__(**{**vars(SOLVERS["piqp"]), "module": "no_such_module"})
    refused, missing = compare_solvers(SMALL, ["scip", absent], tols=["low"])
    assert refused["status"] in ("refused", "not installed")
    assert missing["status"] == "not installed"
    assert "pip install piqp" in missing["reason"]


@pytest.mark.parametrize(
    ("solvers", "given", "message"),
    [
        (["Clarabell"], {}, "did you mean 'clarabel'"),
        (["mosek"], {}, "which is absent: starts for nobody"),
        (["clarabel"], {"tols": ["medium"]}, "names of.*default.*got 'medium'"),
        (["clarabel"], {"tols": [-1.0]}, "tols must be a finite number above 0"),
        (["clarabel"], {"time_limit": 0}, "time_limit"),
        (["clarabel"], {"threads": 0}, "threads"),
    ],
)
def test_bad_input(solvers, given, message):
    with pytest.raises(InputError, match=message):
        compare_solvers(SMALL, solvers, **given)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LicenceError("too large", "osqp", "solver_error"), "no licence"),
        (SolverError("broke", "osqp", "solver_error"), "failed"),
        (UnsupportedSolverError("cannot"), "refused"),
    ],
)
def test_what_a_solver_raises_is_a_status(error, status):
    def run(program, options, warm):
        raise error

    broken = Solver("broken", run, lambda tol: {}, classes=SOLVERS["osqp"].classes)
    found = told(Measure(SMALL, broken, None, 1))
    assert (found["status"], found["reason"]) == (status, str(error))


def test_backends_of_cvxpy_have_the_same_answer():
    rows = {
        name: told(Measure(SMALL, "clarabel", 1e-9, 1, name)) for name in (None, "CPP", "SCIPY")
    }
    optimum = rows[None]["objective"]
    assert all(row["objective"] == pytest.approx(optimum, rel=1e-7) for row in rows.values())
    unknown = told(Measure(SMALL, "clarabel", 1e-9, 1, "SCYPI"))
    assert unknown["status"] == "failed"
    assert "SCYPI" in unknown["reason"]


def test_a_status_without_an_answer_is_kept():
    x = cp.Variable(name="x")
    impossible = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    found = told(Measure(lambda: impossible, "clarabel", None, 1))
    assert found["status"] == "infeasible"
    assert "objective" not in found


# Programs, and the file


@pytest.mark.parametrize("name", [n for n, kind in PROGRAMS.items() if kind.same_as])
def test_other_ways_to_write_a_program_have_its_value(name):
    whole = ProgramAt(name, 8)().problem.is_mixed_integer()
    solver, sizes = ("scip", (8, 10)) if whole else ("clarabel", (12, 30))
    for n in sizes:
        ours, theirs = ProgramAt(name, n)(), ProgramAt(PROGRAMS[name].same_as, n)()
        assert abs(solve(ours, solver, tol=1e-7).value) == pytest.approx(
            abs(solve(theirs, solver, tol=1e-7).value), rel=1e-6
        )


def test_a_file_is_continued(tmp_path, monkeypatch):
    file, asked = tmp_path / "rows.jsonl", []

    def run(task, solver, limits):
        asked.append((task.build.instances, solver.name))
        over = solver.name == "osqp" and task.build.instances == 16
        return {"status": "out of time"} if over else {"status": "optimal", "objective": 1.0}

    monkeypatch.setattr(compare, "_measured", run)
    cells = cells_of(["svm_dual"], [32, 16])
    first = run_matrix(cells[:1], file, ["osqp", "clarabel"], ["low"])
    rows = run_matrix(cells, file, ["osqp", "clarabel"], ["low"])
    assert asked == [(16, "clarabel"), (16, "osqp"), (32, "clarabel")]
    assert len(first) == 2
    assert [row["status"] for row in read_rows(file, KEY)] == [
        *("optimal", "out of time", "optimal", "skipped")
    ]
    assert {row["reason"] for row in rows} == {None, "out of time at N = 16, accuracy low"}


def test_a_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"program": "svm_dual"}\n')
    with pytest.raises(InputError, match="is not what 'propcvx solvers' wrote"):
        run_matrix([SMALL], file)


# What rows say


def rows_of(times, accuracy="high", program="svm_dual"):
    """Rows with these milliseconds, by size and solver; None is a solver that errs."""
    return [
        {
            **compare.EMPTY,
            **vars(ProgramAt(program, n)),
            "solver": solver,
            "version": "1",
            "accuracy": accuracy,
            "tol": 1e-9,
            **{"threads": 1, "time_limit": 10.0, "memory_limit_mb": 100.0},
            "status": "optimal",
            "objective": 2.0,
            "difference": 1.0 if time is None else 1e-9,
            **dict.fromkeys(("primal_residual", "dual_residual", "duality_gap"), 1e-9),
            "solve_ms": 5.0 if time is None else time,
        }
        for n, by_solver in times.items()
        for solver, time in by_solver.items()
    ]


ROWS = rows_of(
    {
        50: {"piqp": 1.0, "osqp": 4.0, "scs": None},
        100: {"piqp": 2.0, "osqp": 16.0, "scs": 2.1},
        200: {"piqp": 64.0, "osqp": 8.0, "scs": None},
    }
)


def test_a_fast_answer_that_misses_its_goal_counts_with_the_time_limit():
    times = [summary.milliseconds(row) for row in ROWS if row["solver"] == "scs"]
    assert times == [10_000.0, 2.1, 10_000.0]


def test_profiles_are_shares_within_a_factor():
    profiles = summary.performance_profiles(ROWS)
    factors, shares = profiles["piqp"]
    assert factors == pytest.approx([1, 1, 1, 8])
    assert shares == pytest.approx([2 / 3, 1 / 3, 2 / 3, 1])
    factors, shares = profiles["scs"]
    assert (factors[-1], shares[-1]) == pytest.approx((1.05, 1 / 3))


def test_shifted_means_are_over_the_smallest():
    means = summary.shifted_means(ROWS)
    piqp = (11 * 12 * 74) ** (1 / 3) - 10
    osqp = (14 * 26 * 18) ** (1 / 3) - 10
    scs = (10_010 * 12.1 * 10_010) ** (1 / 3) - 10
    assert means == pytest.approx({"osqp": 1.0, "piqp": piqp / osqp, "scs": scs / osqp})
    assert summary.shifted_means(rows_of({50: {"osqp": None}})) == {}


def test_formulations_are_compared_by_the_fastest_and_by_one_solver():
    rows = rows_of({50: {"piqp": 1.0, "osqp": 4.0, "scs": None}})
    rows += rows_of({50: {"piqp": 3.0, "osqp": 2.0, "scs": 1.0}}, program="svm_primal")
    (found,) = formulations.formulation_rows([{**row, "compile_ms": 2.0} for row in rows])
    assert (found["program"], found["same_as"], found["instances"]) == (
        "svm_primal",
        "svm_dual",
        50,
    )
    assert (found["fastest"]["solver"], found["fastest_as"]["solver"]) == ("scs", "piqp")
    assert (found["solvers"], found["ratio"]) == (2, pytest.approx((3.0 + 0.5) / 2))
    assert found["compile_ratio"] == 1.0


def test_backends_are_compared_by_compiling():
    (row,) = rows_of({50: {"piqp": 1.0}})
    times = {"CPP": 3.0, "COO": 5.0}
    rows = [{**row, "canon_backend": name, "compile_ms": ms} for name, ms in times.items()]
    (found,) = formulations.backend_rows([row, *rows])
    assert (found["program"], found["instances"], found["solver"]) == ("svm_dual", 50, "piqp")
    assert found["compile_ms"] == times


def test_recommendations_follow_the_fastest_and_name_those_close_to_it():
    assert summary.recommendations(ROWS) == [
        "For `svm_dual` with N = 50 to 100 use `piqp` (1 ms to 2 ms; at most 1.2 times as "
        "long there: scs).",
        "For `svm_dual` with N = 200 use `osqp` (8 ms).",
    ]


def test_a_report_is_of_one_data_set(tmp_path, capsys):
    file, output = tmp_path / "rows.jsonl", tmp_path / "report.md"
    written = [*ROWS, {**ROWS[0], "data": "heart", "instances": 77}]
    file.write_text("".join(json.dumps(row) + "\n" for row in written))
    with pytest.raises(SystemExit):
        main(["solvers", "report", str(file), "--output", str(output)])
    assert "data must be one of ['generated', 'heart']" in capsys.readouterr().err
    main(["solvers", "report", str(file), "--output", str(output), "--data", "heart"])
    assert "N = 77 use" in output.read_text()
    assert "N = 200" not in output.read_text()


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_the_report_has_what_the_rows_say(tmp_path, ending):
    pytest.importorskip("markdown_it")
    file, output = tmp_path / "rows.jsonl", tmp_path / f"report{ending}"
    hidden = rows_of({50: {"gurobi": 0.123}})
    other = [{**ROWS[0], "program": "svm_primal", "compile_ms": 1.0}]
    backend = [{**ROWS[0], "canon_backend": "COO", "compile_ms": 1.5}]
    written = [{**row, "compile_ms": 2.0} for row in ROWS] + other + backend + hidden
    file.write_text("".join(json.dumps(row) + "\n" for row in written))
    assert main(["solvers", "report", str(file), "--output", str(output)]) == 0
    text = output.read_text()
    assert "with N = 200 use" in text
    assert "its licence forbids to publish" in text
    assert "0.123" not in text
    assert "primal in place of dual" in text
    assert "COO" in text
    assert text.count("<img" if ending == ".html" else "![") == 3


def test_a_report_of_nothing_is_refused(tmp_path):
    for rows, output, message in (
        ("", "report.md", "has no rows"),
        ("", "report.pdf", r"must end in one of \.md, \.html"),
    ):
        file = tmp_path / "rows.jsonl"
        file.write_text(rows)
        with pytest.raises(InputError, match=message):
            write_solver_report(file, tmp_path / output)


# Whole fits


def test_fits_by_exact_solvers_agree(tmp_path):
    file = tmp_path / "fits.jsonl"
    given = {"solvers": ["auto", "clarabel"], "tols": [1e-6], "instances": 40}
    rows = compare_fits(file, **given)
    assert [(row["method"], row["solver"]) for row in rows] == [
        *(("alter-pSVM", "auto"), ("alter-pSVM", "clarabel")),
        *(("conv-pSVM", "auto"), ("conv-pSVM", "clarabel")),
    ]
    for row in rows:
        assert row["status"] == "done"
        assert (row["labels_agree"], row["predictions_agree"]) == (1.0, 1.0)
        assert 0.0 <= row["accuracy"] <= 1.0
    assert rows[0]["objective"] == pytest.approx(rows[1]["objective"], rel=1e-5)
    written = file.read_text()
    assert compare_fits(file, **given) == rows
    assert file.read_text() == written


def test_a_fit_that_a_solver_cannot_do_is_a_row():
    found = told(FitAt("conv-pSVM", "osqp", 1e-6, instances=24))
    assert found["status"] == "refused"
    assert "cannot solve" in found["reason"]


def fit_rows(labels):
    """Rows of one solver with these labels by tolerance."""
    return [
        {
            **vars(FitAt("alter-pSVM", "auto", tol)),
            **{"status": "done", "labels": label, "predictions": [1, 1]},
            **{"objective": 2.0 + tol, "accuracy": 0.5},
        }
        for tol, label in labels.items()
    ]


def test_agreement_is_with_the_smallest_tolerance():
    rows = with_agreement(fit_rows({1e-2: [1, -1, 1, 1], 1e-8: [1, 1, 1, 1]}))
    assert [row["labels_agree"] for row in rows] == [0.75, 1.0]
    assert [row["predictions_agree"] for row in rows] == [1.0, 1.0]
    assert [row["difference"] for row in rows] == pytest.approx([0.005, 0.0], rel=1e-5)


def test_the_picture_of_fits_has_a_line_for_each_solver():
    rows = with_agreement(fit_rows({1e-2: [1, -1, 1, 1], 1e-8: [1, 1, 1, 1]}))
    difference, labels, accuracy = draw_fits(rows).axes
    assert labels.lines[0].get_xdata() == pytest.approx([1e-8, 1e-2])
    assert labels.lines[0].get_ydata() == pytest.approx([100.0, 75.0])
    assert difference.lines[0].get_ydata() == pytest.approx([1e-12, 0.005], rel=1e-5)
    assert accuracy.lines[0].get_ydata() == pytest.approx([50.0, 50.0])


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({1e-2: [1], 1e-4: [1], 1e-6: [1]}, "nothing changes from a tolerance of 0.01 on"),
        ({1e-2: [1], 1e-4: [-1], 1e-6: [1], 1e-8: [1]}, "from a tolerance of 1e-06 on"),
        ({1e-2: [1], 1e-4: [-1]}, "change up to the smallest tolerance"),
    ],
)
def test_from_where_on_nothing_changes(labels, told):
    (found,) = unchanged_from(fit_rows(labels))
    assert told in str(found)


# The test set for qpbenchmark


@pytest.mark.parametrize("name", QPS)
def test_exported_matrices_are_the_program(name):
    program = ProgramAt(name, 24)()
    qp = qp_of(program)
    x = cp.Variable(len(qp["q"]))
    constraints = [qp["G"] @ x <= qp["h"]] if qp["G"] is not None else []
    constraints += [qp["A"] @ x == qp["b"]] if qp["A"] is not None else []
    quadratic = 0.5 * cp.quad_form(x, qp["P"], assume_PSD=True)
    problem = cp.Problem(cp.Minimize(quadratic + qp["q"] @ x), constraints)
    assert abs(problem.solve(solver="CLARABEL")) == pytest.approx(
        abs(solve(program, "clarabel").value), rel=1e-6
    )


def test_the_test_set_is_read_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert main(["solvers", "qpbenchmark", str(tmp_path), "--sizes", "16"]) == 0
    frame = pandas.read_parquet(tmp_path / "propcvx_qpbenchmark.parquet").set_index("name")
    assert list(frame.index) == [f"{name}_16" for name in QPS]
    qp = qp_of(ProgramAt("svm_dual", 16)())
    for part in ("P", "q", "G", "h", "A", "b"):
        assert np.array_equal(frame.loc["svm_dual_16", part], qp[part].ravel())
    compile((tmp_path / "propcvx_qpbenchmark.py").read_text(), "test set", "exec")
    with pytest.raises(InputError, match="is not there"):
        write_qp_test_set(tmp_path / "nowhere")


# The commands


def test_the_list_has_every_solver(capsys):
    rows = {row["solver"]: row for row in solver_rows()}
    assert rows.keys() == SOLVERS.keys() | ABSENT.keys()
    assert "svm_dual" in rows["newton"]["programs"]
    assert rows["clarabel"]["status"] == "installed"
    assert rows["mosek"]["status"] == "absent"
    assert main(["solvers"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{name} " in printed or f"{name}:" in printed for name in rows)


def test_the_command_compares(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    given = ["solvers", "compare", "svm_dual", "--solvers", "clarabel", "--tols", "low,1e-6"]
    assert main([*given, "--sizes", "12", "--rows", str(file)]) == 0
    assert "svm_dual 12" in capsys.readouterr().out
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["accuracy"], row["status"]) for row in rows] == [
        ("low", "optimal"),
        ("1e-06", "optimal"),
    ]
