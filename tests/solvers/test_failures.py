"""Solvers that fail, stop early or answer nonsense, and interruptions: what was reached is kept."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.solving_chain import SolvingChain
from effort import first
from program_examples import ProgramAt
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_problems import small_problem

from propcvx import ConvPropSVM, CuttingPlanes, InvCal, MeanMap
from propcvx.errors import InaccurateSolutionWarning, InputError, SolverError
from propcvx.estimators import paper_alter_psvm
from propcvx.programs import ProblemClass, svm_dual, svm_dual_parameters
from propcvx.solvers import SOLVERS, Solve, solve

PROBLEM = small_problem(0, sizes=(5,) * 6, n_features=3)
X, Y = PROBLEM.X, PROBLEM.y
DUAL = svm_dual(X).set(**svm_dual_parameters(PROBLEM.labels, 1.0))


def conv(master, max_cuts, solver_tol):
    """conv-pSVM with this master and as many cuts as that."""
    relaxation = CuttingPlanes(max_cuts=max_cuts, tol=0.0, master=master)
    return ConvPropSVM(1.0, relaxation=relaxation, solver_tol=solver_tol)


ALTER = paper_alter_psvm(n_init=3, annealing=False, random_state=0, solver_tol=1e-3)
METHODS = {
    "MeanMap": (MeanMap(solver_tol=1e-5), ProblemClass.EXPONENTIAL),
    "InvCal": (InvCal(solver_tol=1e-5), ProblemClass.QP),
    "AlterPropSVM": (ALTER, ProblemClass.QP),
    "ConvPropSVM": (conv("epigraph", 4, 1e-5), ProblemClass.SOCP),
    "ConvPropSVM, in groups": (conv("group", 2, 1e-5), ProblemClass.SOCP),
    "ConvPropSVM, SimpleMKL": (conv("reduced_gradient", 2, 1e-4), ProblemClass.QP),
}
SPECIALIZED = (("AlterPropSVM", "libsvm"), ("ConvPropSVM", "mkl_interior_point"))
PAIRS = [
    pytest.param(name, solver, id=f"{name}-{solver}")
    for name, (_, problem_class) in METHODS.items()
    for solver, row in SOLVERS.items()
    if row.installed and (problem_class in row.classes or (name, solver) in SPECIALIZED)
]


def estimator(name, solver, **parameters):
    """The method with a solver."""
    return clone(METHODS[name][0]).set_params(solver=solver, **parameters)


@pytest.fixture
def break_solver(monkeypatch):
    """Make a solver of the table answer well ``after`` times, and badly from then on."""

    def install(solver, broken, after=0):
        row, calls = SOLVERS[solver], []

        def run(program, options, warm):
            calls.append(program)
            result = row.run(program, options, warm)
            return result if len(calls) <= after else broken(program, result)

        monkeypatch.setitem(SOLVERS, solver, replace(row, run=run))

    return install


def failing(program, run):
    raise SolverError("it failed", "broken", cp.SOLVER_ERROR)


def infeasible(program, run):
    return replace(run, status=cp.INFEASIBLE)


def not_finite(program, run):
    nothing = {name: np.full(v.shape, np.nan) for name, v in program.variables.items()}
    return replace(run, variables=nothing)


def stopping_early(program, run):
    return replace(run, status=cp.USER_LIMIT, gap=0.005)


def wrong(program, run):
    """Zeros, called optimal."""
    duals = {
        name: [np.zeros_like(part) for part in dual] if isinstance(dual, list) else 0.0 * dual
        for name, dual in run.duals.items()
    }
    nothing = {name: 0.0 * value for name, value in run.variables.items()}
    return replace(run, variables=nothing, duals=duals, gap=None)


each_method = pytest.mark.parametrize(
    ("name", "solver"), [*((name, "clarabel") for name in METHODS), *SPECIALIZED]
)


@each_method
@pytest.mark.parametrize("broken", [failing, infeasible, not_finite])
def test_failing_solver_raises_error_with_its_name(name, solver, broken, break_solver):
    clf = estimator(name, solver)
    break_solver(solver, broken)
    with pytest.raises(SolverError) as caught:
        clf.fit(X, Y)
    assert caught.value.solver in (solver, "broken")
    assert caught.value.status in (cp.SOLVER_ERROR, cp.INFEASIBLE, cp.OPTIMAL)
    with pytest.raises(NotFittedError):
        clf.predict(X)


@each_method
def test_large_gap_raises_and_names_gap(name, solver, break_solver):
    break_solver(solver, wrong)
    with pytest.raises(SolverError, match=r"relative duality gap of [1-9]"):
        estimator(name, solver).fit(X, Y)


@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_early_stop_warns_and_is_recorded(name, solver, break_solver):
    clf = estimator(name, solver)
    break_solver(solver, stopping_early)
    stopped = f"{solver} stopped before its tolerance"
    with pytest.warns(InaccurateSolutionWarning, match=stopped) as shown:
        clf.fit(X, Y)
    assert [warning.category for warning in shown].count(InaccurateSolutionWarning) == 1
    assert {record.status for record in clf.history_} == {cp.USER_LIMIT}
    assert {record.solver for record in clf.history_} == {solver}
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("broken", [failing, stopping_early])
@pytest.mark.parametrize(
    ("name", "solvers"),
    [
        ("MeanMap", ["scs", "clarabel"]),
        ("InvCal", ["osqp", "clarabel"]),
        ("AlterPropSVM", ["libsvm", "osqp", "clarabel"]),
        ("ConvPropSVM", ["scs", "clarabel"]),
    ],
)
def test_next_of_several_solvers_answers_and_is_recorded(name, solvers, broken, break_solver):
    clf = estimator(name, solvers)
    for solver in solvers[:-1]:
        break_solver(solver, broken)
    clf.fit(X, Y)
    assert {record.solver for record in clf.history_} == {solvers[-1]}
    alone = estimator(name, solvers[-1]).fit(X, Y)
    tolerance = 10 * clf.solver_tol
    assert np.allclose(clf.decision_function(X), alone.decision_function(X), atol=tolerance)


@pytest.mark.parametrize("broken", [failing, infeasible, not_finite, stopping_early])
def test_later_master_is_solved_by_next_solver(broken, break_solver):
    clf = clone(METHODS["ConvPropSVM"][0])
    clf.set_params(solver=["mkl_interior_point", "clarabel"]).fit(X, Y)
    objectives = clf.history_.objectives
    break_solver("mkl_interior_point", broken, after=1)
    clf.fit(X, Y)
    assert [record.solver for record in clf.history_] == ["mkl_interior_point"] + 3 * ["clarabel"]
    assert {record.status for record in clf.history_} == {cp.OPTIMAL}
    assert clf.history_.objectives[:2] == pytest.approx(objectives[:2], rel=1e-4)  # of equal cuts


@pytest.mark.filterwarnings("error::propcvx.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize("seed", first(1, range(3)))
@pytest.mark.parametrize("name", ["ConvPropSVM, SimpleMKL", "AlterPropSVM", "InvCal", "MeanMap"])
def test_small_problem_solves_cvxpy_program(name, seed):
    problem = small_problem(seed, sizes=(8,) * 25, n_features=5)
    clf = clone(METHODS[name][0]).fit(problem.X, problem.y)
    assert {record.solver for record in clf.history_} <= {"clarabel", "piqp"}


def test_several_failing_solvers_are_all_named(break_solver):
    for solver in ("osqp", "clarabel"):
        break_solver(solver, infeasible)
    with pytest.raises(SolverError, match=r"none of the solvers .*osqp .*clarabel found no"):
        estimator("InvCal", ["osqp", "clarabel"]).fit(X, Y)


@pytest.mark.parametrize(
    "raw",
    [
        {"info": {"status": "interrupted", "status_val": -5}},
        {"info": {"exitFlag": -4, "infostring": "UNKNOWN PROBLEM IN SOLVER"}},
        SimpleNamespace(info=SimpleNamespace(status="interrupted")),
        {"scip_status": "userinterrupt", "status": cp.SOLVER_ERROR},
    ],
    ids=["scs", "ecos", "osqp", "scip"],
)
def test_interruption_caught_by_solver_is_raised(raw):
    """These are the answers to SIGINT; the next solver is not asked."""
    with (
        patch.object(SolvingChain, "solve_via_data", return_value=raw),
        pytest.raises(KeyboardInterrupt),
    ):
        solve(DUAL, ["clarabel", "newton"])


def test_time_limit_covers_all_solvers():
    program = ProgramAt("lifted_svm_dual", 60)()
    solution = Solve(["scs", "clarabel"], tol=1e-12, time_limit=0.05)(program)
    assert (solution.solver, solution.status) == ("scs", cp.USER_LIMIT)
    assert Solve("daqp", time_limit=0.05)(DUAL).status == cp.OPTIMAL, "it knows no limit"
    with pytest.raises(InputError, match="time_limit must be a finite number above 0 or infinity"):
        solve(DUAL, time_limit=0.0)
    with pytest.raises(InputError, match=r"for solver 'newton'.* got 5 seconds"):
        solve(DUAL, [("scs", {"max_iters": 5}), "newton"], time_limit=5.0)
    assert solve(DUAL, time_limit=5.0).solver == "clarabel", "piqp, which is first, knows no limit"
    assert solve(DUAL, "clarabel", time_limit=1e-9, warn=False).solver == "clarabel"
