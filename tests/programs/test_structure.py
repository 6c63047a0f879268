"""A variant of a program has no structure, so that specialized solvers refuse it."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from program_cases import CONTINUOUS, DATA

from propcvx.errors import UnsupportedSolverError
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers import SOLVERS, solve

SPECIALIZED = [name for name, solver in SOLVERS.items() if not solver.classes]

PAIRS = [
    (name, solver)
    for name in CONTINUOUS
    for solver in SPECIALIZED
    if SOLVERS[solver].can_solve(CONTINUOUS[name](DATA[0]).program)
]


def first_variable(program):
    return next(iter(program.variables.values()))


def with_another_problem(program):
    problem = program.problem
    more = cp.sum(first_variable(program)) <= -0.01
    return replace(program, problem=cp.Problem(problem.objective, [*problem.constraints, more]))


def with_constraint(program):
    return program.with_constraints(more=cp.sum_squares(first_variable(program)) <= 1e-3)


def with_objective(program):
    old = program.problem.objective
    sign = -1.0 if isinstance(old, cp.Maximize) else 1.0
    return program.with_objective(
        type(old)(old.expr + sign * 0.3 * cp.sum_squares(first_variable(program)))
    )


CHANGES = (with_constraint, with_another_problem, with_objective)


@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_specialized_solvers_refuse_variants(name, solver):
    program = CONTINUOUS[name](DATA[0]).program
    solve(program, solver, tol=1e-4, residuals=False)
    for change in CHANGES:
        changed = change(program)
        assert changed.structure is None
        with pytest.raises(UnsupportedSolverError, match="supports one structure"):
            solve(changed, solver)
    assert SOLVERS[solver].can_solve(program)


@pytest.mark.parametrize("solver", ["piqp", "newton"])
def test_problem_changed_in_place_shows_in_residuals(solver):
    program = svm_dual(np.eye(4)).set(**svm_dual_parameters(np.array([1.0, 1, -1, -1]), 2.0))
    solve(program, solver)
    objective = program.problem.objective
    objective.args[0] = objective.args[0] - 0.3 * cp.sum_squares(first_variable(program))
    answer = solve(program, solver)
    assert max(vars(answer.residuals).values()) > 0.1
    variant = program.with_objective(cp.Maximize(program.problem.objective.expr))
    assert max(vars(solve(variant).residuals).values()) < 1e-4


def test_structure_has_its_own_copy_of_data():
    data = np.eye(3)
    program = svm_dual(data).set(**svm_dual_parameters(np.array([1.0, 1, -1]), 2.0))
    before = solve(program, "newton").value
    data *= 5.0
    assert solve(program, "newton").value == pytest.approx(before, rel=1e-6)
    assert solve(program, "clarabel").value == pytest.approx(before, rel=1e-6)


def test_parts_of_cvxpy_problem_have_names():
    x, limit = cp.Variable(2, name="x"), cp.Parameter(nonneg=True, name="limit")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 3)), [cp.norm(x, 1) <= limit, x >= 0])
    program = Program(problem, "mine")
    assert list(program.variables) == ["x"]
    assert list(program.constraints) == ["constraint 0", "constraint 1"]
    answer = solve(program.set(limit=1.0), residuals=False)
    assert answer.variables["x"] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_solutions_can_be_pickled():
    program = svm_dual(np.eye(2)).set(**svm_dual_parameters(np.array([1.0, -1.0]), 1.0))
    for solver in ("piqp", "newton", "libsvm"):
        answer = solve(program, solver, tol=1e-6)
        again = pickle.loads(pickle.dumps(answer))
        assert again.warm_start is None
        assert again.value == answer.value


@pytest.mark.parametrize("share", [-0.01, 0.01])
def test_gap_includes_unreached_stated_value(share):
    program = CONTINUOUS["mkl_epigraph"](DATA[0]).program
    answer = solve(program, "clarabel")
    stated = {**answer.variables, "beta": answer.variables["beta"] * (1.0 + share)}
    assert program.structure.gap(program.values, answer.variables, answer.duals) < 1e-6
    assert program.structure.gap(program.values, stated, answer.duals) > 0.009
