"""The table of solvers: who can do what, what reaches them, and how their answers are judged."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from common_problems import nearest
from cvxpy.reductions.solvers.solving_chain import SolvingChain
from methods import each_method
from program_cases import CASES, CONTINUOUS, DATA, TINY, Data, with_solvers
from sklearn.base import clone
from small_problems import small_problem

from propcvx import programs
from propcvx.errors import (
    InaccurateSolutionWarning,
    InputError,
    SolverError,
    UncheckedResidualsWarning,
    UnsupportedSolverError,
)
from propcvx.solvers import SOLVERS, Solution, Solver, list_solvers, solve
from propcvx.solvers import solver as solver_module

LARGER = Data(seed=0, r=3, C=0.7, sizes=(13, 13, 14))


INSTALLED = [name for name, row in SOLVERS.items() if row.installed]
THROUGH_CVXPY = [name for name in INSTALLED if SOLVERS[name].classes]


PAIRS = with_solvers(CASES)


def worst(residuals):
    """The largest residual, NaN where one is."""
    return np.max(list(vars(residuals).values()))


@pytest.fixture
def program():
    return CONTINUOUS["svm_dual-True"](DATA[0]).program


def case_for(solver):
    """Some program that a solver can do."""
    return next(CASES[name](TINY) for name, able in PAIRS if able == solver)


# Who can do what


def test_every_program_has_solver_and_every_solver_has_program():
    names, solvers = map(set, zip(*PAIRS, strict=True))
    assert names == set(CASES)
    assert solvers == set(INSTALLED)


def test_cvxpy_solver_outside_table_by_name():
    program = CASES["linear_separation"](TINY).program
    assert "scipy" not in SOLVERS
    assert "scipy" not in list_solvers(program)
    mine, reference = solve(program, "SciPy"), solve(program, "HIGHS")
    assert mine.solver == "scipy"
    assert reference.solver == "highs"
    assert mine.value == pytest.approx(reference.value)
    with pytest.raises(SolverError, match="scipy failed on svm_dual"):
        solve(CONTINUOUS["svm_dual-True"](DATA[0]).program, "scipy")


@pytest.mark.parametrize(
    ("name", "solver", "what"),
    [
        ("mkl_epigraph", "osqp", "second-order cone program"),
        ("linear_separation", "clarabel", "mixed-integer linear program"),
        ("exact_separation", "highs", "mixed-integer quadratic program"),
        ("svm_dual-False", "libsvm", "supports one structure"),
    ],
)
def test_unsupported_solver_names_alternatives(name, solver, what):
    program = CASES[name](TINY).program
    with pytest.raises(UnsupportedSolverError) as caught:
        solve(program, solver)
    for part in (f"solver {solver!r} cannot solve", what, f"one of {list_solvers(program)}."):
        assert part in str(caught.value)


def test_solver_not_installed_names_package(monkeypatch, program):
    monkeypatch.setattr(solver_module, "find_spec", lambda module: module != "piqp" or None)
    assert "piqp" not in list_solvers(program)
    with pytest.raises(UnsupportedSolverError, match=r"pip install piqp") as caught:
        solve(program, "piqp")
    assert "'clarabel'" in str(caught.value)


# An answer that is none


@pytest.mark.parametrize(
    ("name", "kind", "part", "value", "message"),
    [
        ("svm_dual-True", "variables", "v", np.nan, "not finite"),
        ("svm_dual-True", "variables", "v", "large", "mad failed on svm_dual: ValueError: .*large"),
        ("mkl_epigraph", "duals", "cuts", np.nan, "not finite"),
        ("svm_dual-True", "variables", "v", np.ones(3), r"v of shape \(3,\), not \(12,\)"),
        ("svm_dual-True", None, None, None, "a list, not a propcvx.solvers.Solution"),
    ],
)
def test_invalid_answer_raises_error_with_solver_name(name, kind, part, value, message):
    """After it the next of several solvers is asked, and an answer from before it is kept."""

    def run(program, options, warm):
        answer = SOLVERS["clarabel"].run(program, options, warm)
        if kind is None:
            return [answer]
        values = getattr(answer, kind)
        other = np.full_like(values[part], value) if np.ndim(value) == 0 else value
        spoilt = {**values, part: other}
        return replace(answer, **{kind: spoilt}, gap=None)

    program = CONTINUOUS[name](DATA[0]).program
    mad = replace(SOLVERS["clarabel"], name="mad", run=run)
    with pytest.raises(SolverError, match=message) as caught:
        solve(program, mad)
    assert caught.value.solver == "mad"
    assert solve(program, [mad, "clarabel"], warn=False).solver == "clarabel"
    with pytest.warns(InaccurateSolutionWarning, match="clarabel stopped before its tolerance"):
        assert solve(program, [("clarabel", {"max_iter": 5}), mad]).solver == "clarabel"


def test_cvxpy_problem_is_solved_unchanged():
    assert solve(nearest(), "clarabel").variables["x"] == pytest.approx([0.5, 0.5])
    with pytest.raises(InputError, match=r"program must be .* or a cvxpy.Problem; got 1"):
        solve(1)


# What reaches a solver


def spied(monkeypatch):
    """The options that CVXPY hands to its solvers, call by call."""
    calls, through = [], SolvingChain.solve_via_data

    def solve_via_data(chain, problem, data, **handed):
        calls.append(dict(handed["solver_opts"]))
        return through(chain, problem, data, **handed)

    monkeypatch.setattr(SolvingChain, "solve_via_data", solve_via_data)
    return calls


@pytest.mark.parametrize("solver", THROUGH_CVXPY)
def test_tol_is_handed_over_and_options_override_it(solver, monkeypatch):
    handed_over = spied(monkeypatch)
    case, handed = case_for(solver), SOLVERS[solver].options_of(1e-5)
    first, value = next(iter(handed.items()))
    changed = dict.fromkeys(value, 1e-4) if isinstance(value, dict) else 1e-4
    solve(case.program, solver, tol=1e-5)
    solve(case.program, solver, tol=1e-5, **{first: changed})
    assert handed_over[:2] == [handed, {**handed, first: changed}]


@pytest.mark.parametrize("solver", INSTALLED)
def test_unknown_option_raises_without_fallback(solver):
    beside = ".*" if solver == "scip" else ""  # CVXPY names all options that it was given
    with pytest.raises(InputError, match=rf"(has no|rejects the) options \[{beside}'max_iterz'\]"):
        solve(case_for(solver).program, [(solver, {"max_iterz": 1}), solver])


QP_SOLVERS = [name for name in THROUGH_CVXPY if programs.ProblemClass.QP in SOLVERS[name].classes]


def set_svm(program, y, C):
    dual = program.name == "svm_dual"
    return program.set(**(programs.svm_dual_parameters(y, C) if dual else {"y": y, "C": C}))


def test_failed_refinement_keeps_solution():
    def run(program, options, warm):
        if options["tol"] < 1e-4:
            raise SolverError("too much", "half", "solver_error")
        return SOLVERS["clarabel"].run(program, SOLVERS["clarabel"].options_of(1e-2), warm)

    half = Solver("half", run, lambda tol: {"tol": tol}, classes=SOLVERS["clarabel"].classes)
    program = set_svm(programs.svm_dual(DATA[1].F), np.where(DATA[1].F[:, 0] > 0, 1.0, -1.0), 1.0)
    with pytest.warns(InaccurateSolutionWarning, match="half stopped before its tolerance"):
        solution = solve(program, half, tol=1e-4)
    assert 1e-4 < solution.gap < 1.0


@pytest.mark.parametrize("build", [programs.svm_primal, programs.svm_dual])
@pytest.mark.parametrize("solver", QP_SOLVERS)
def test_new_parameters_equal_new_program(solver, build):
    """Also with solvers in turn, each of which compiles the program."""
    random = np.random.default_rng(1)
    features = random.normal(size=(24, 3))
    program = build(features)
    for C in (1.0, 0.1):
        y = random.choice([-1.0, 1.0], 24)
        solve(set_svm(program, -y, C), "clarabel", residuals=False)
        again, anew = (
            solve(set_svm(each, y, C), solver, tol=1e-7, residuals=False, warn=False)
            for each in (program, build(features))
        )
        assert again.value == pytest.approx(anew.value, rel=1e-5)
        for name, dual in again.duals.items():
            assert dual == pytest.approx(anew.duals[name], abs=1e-2)


# What comes back


def test_solution_has_copies_of_arrays(program):
    first = solve(program, "clarabel")
    before = first.variables["v"].copy()
    set_svm(program, -DATA[0].y, 2.0)
    assert solve(program, "clarabel").value != pytest.approx(first.value)
    np.testing.assert_array_equal(first.variables["v"], before)
    assert first.build_seconds >= 0
    assert first.solve_seconds > 0
    assert first.iterations > 0


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "piqp", "ridge"])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_equal_proportions_have_no_slope_with_any_solver(solver, p):
    means = np.random.RandomState(0).normal(size=(4, 2))
    program = programs.ecological_regression(means, np.ones(4)).set(p=np.full(4, p), lam=0.1)
    solution = solve(program, solver)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.variables["w"], 0.0, atol=1e-6)
    assert solution.variables["b"] == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("solver", [*QP_SOLVERS, "scip"])
def test_infeasible_program_raises(solver):
    program = case_for(solver).program
    some = next(iter(program.variables.values()))
    impossible = program.with_constraints(above=some >= 2, below=some <= -2)
    with pytest.raises(SolverError, match="status 'infeasible'; the constraints contra") as caught:
        solve(impossible, solver)
    assert (caught.value.solver, caught.value.status) == (solver, "infeasible")


LIMITS = {
    "clarabel": {"max_iter": 2},
    "ecos": {"max_iters": 2},
    "scs": {"max_iters": 5},
    "osqp": {"max_iter": 5},
    "piqp": {"max_iter": 2},
    "daqp": {"iter_limit": 2},
    "proxqp": {"max_iter": 1},
    "highs": {"qp_iteration_limit": 1},
    "libsvm": {"max_iter": 2},
    "newton": {"max_iter": 1},
}


@pytest.mark.parametrize("solver", LIMITS)
def test_stopped_solver_warns_and_has_large_residuals(solver):
    pytest.importorskip(SOLVERS[solver].module)
    program = CONTINUOUS["svm_dual-True"](LARGER).program
    with pytest.warns(InaccurateSolutionWarning, match=f"{solver} stopped") as caught:
        solution = solve(program, solver, **LIMITS[solver])
    assert [warning.filename for warning in caught] == [__file__]
    assert solution.status in ("user_limit", "optimal_inaccurate")
    assert not worst(solution.residuals) < 1e-2


@pytest.mark.filterwarnings("error::propcvx.errors.InaccurateSolutionWarning")
def test_scip_at_its_gap_is_optimal():
    """CVXPY calls that inaccurate."""
    program, stops = CASES["psvm-absolute-True"](TINY).program, []
    best = solve(program, "scip").value
    for tol in (0.5, 0.1):
        value = solve(program, "scip", tol=tol, **{"numerics/feastol": 1e-6}).value
        stops.append(program.problem.solver_stats.extra_stats["scip_status"])
        assert best - 1e-5 <= value <= best * (1 + tol) + 1e-5
    assert "gaplimit" in stops
    assert solve(program, "scip", tol=0.5).status == cp.OPTIMAL
    assert solve(program, "scip", scip_params={"limits/time": 60.0}).value == pytest.approx(best)


# Several solvers in turn


def test_best_of_inaccurate_solutions_warns(program):
    with pytest.warns(InaccurateSolutionWarning, match="clarabel stopped"):
        assert solve(program, ["clarabel", "osqp"], max_iter=1).solver == "clarabel"


# Residuals


def test_unchecked_residuals_warn():
    x = cp.Variable(2, name="x")
    cone = cp.constraints.RelEntrConeQuad(x[0], x[1], cp.Constant(1.0), 3, 3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 2)), [cone])
    with pytest.warns(UncheckedResidualsWarning, match="entropy .* residuals were not"):
        answer = solve(programs.Program(problem, "entropy"), "clarabel")
    assert answer.residuals is None
    assert answer.variables["x"] == pytest.approx([2.0, 2.0], abs=1e-4)


def test_incorrect_solution_asks_next_solver():
    def run(program, options, warm):
        return Solution(cp.OPTIMAL, {"x": np.array([1.0, 0.0])}, {"constraint 0": np.array(1.0)})

    wrong = Solver("wrong", run, lambda tol: {}, classes=SOLVERS["osqp"].classes)
    with pytest.warns(InaccurateSolutionWarning, match="wrong stopped .* dual residual 1"):
        assert solve(nearest(), wrong).status == cp.OPTIMAL_INACCURATE
    assert solve(nearest(), [wrong, "clarabel"]).solver == "clarabel"


# A solver of the user's own


PROBLEM = small_problem(0, (3, 3, 3, 3))


@each_method("second_moments")
def test_fits_in_threads_equal_sequential_fits(method):
    weight = next(name for name in ("C", "C_p", "lam", "ridge") if hasattr(method, name))

    def objective(value):
        model = clone(method).set_params(**{weight: value, "kernel": "rbf"})
        return model.fit(PROBLEM.X, PROBLEM.y).objective_

    values = [0.1, 1.0] * 2
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(objective, values)) == list(map(objective, values))
