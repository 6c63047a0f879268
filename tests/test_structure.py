"""A program has its structure until anything of it is changed; specialised solvers then refuse."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from program_cases import CONTINUOUS, DATA

from propcvx.errors import InputError, UnsupportedSolverError
from propcvx.programs import Program, SVMDual, build, svm_dual, svm_dual_parameters
from propcvx.solvers import SOLVERS, solve

SPECIALISED = [name for name, row in SOLVERS.items() if not row.classes]

PAIRS = [
    (name, solver)
    for name in CONTINUOUS
    for solver in SPECIALISED
    if SOLVERS[solver].can_solve(CONTINUOUS[name](DATA[0]).program)
]


def first_variable(program):
    return next(iter(program.variables.values()))


def with_constraint(program):
    x = first_variable(program)
    return program.with_constraints(more=cp.sum_squares(x) <= 1e-3)


def with_constraint_and_the_old_name(program):
    x, old = first_variable(program), program.problem
    changed = cp.Problem(old.objective, [*old.constraints, cp.sum(x) <= -0.01])
    return replace(program, problem=changed)


def with_replaced_constraint(program):
    if not program.constraints:
        pytest.skip("has no constraints")
    label, old = next(iter(program.constraints.items()))
    return program.with_constraints(**{label: old.args[0] <= old.args[1] + 0.1})


def with_objective(program):
    old = program.problem.objective
    kind, sign = type(old), (-1.0 if isinstance(old, cp.Maximize) else 1.0)
    x = first_variable(program)
    return program.with_objective(kind(old.expr + sign * 0.3 * cp.sum_squares(x)))


def with_objective_changed_in_place(program):
    old = program.problem.objective
    sign = -1.0 if isinstance(old, cp.Maximize) else 1.0
    old.args[0] = old.args[0] + sign * 0.3 * cp.sum_squares(first_variable(program))
    return program


def with_fewer_constraints(program):
    if not program.constraints:
        pytest.skip("has no constraints")
    return replace(
        program, problem=cp.Problem(program.problem.objective, program.problem.constraints[1:])
    )


CHANGES = [
    with_constraint,
    with_constraint_and_the_old_name,
    with_replaced_constraint,
    with_objective,
    with_objective_changed_in_place,
    with_fewer_constraints,
]


def test_there_is_a_program_for_every_specialised_solver():
    assert {solver for _, solver in PAIRS} == set(SPECIALISED)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_a_changed_program_is_refused_by_those_who_know_the_original_alone(name, solver, change):
    program = CONTINUOUS[name](DATA[0]).program
    solve(program, solver, tol=1e-4, residuals=False)
    changed = change(program)
    assert changed.structure is None
    with pytest.raises(UnsupportedSolverError, match="changed since it was built"):
        solve(changed, solver)


@pytest.mark.parametrize("name", ["svm_dual-True", "svm_dual-False", "mkl_epigraph"])
def test_auto_solves_the_changed_program(name):
    program = with_constraint(CONTINUOUS[name](DATA[0]).program)
    answer = solve(program, "auto")
    reference = cp.Problem(program.problem.objective, program.problem.constraints).solve("CLARABEL")
    assert answer.value == pytest.approx(reference, rel=1e-5, abs=1e-6)


def test_what_does_not_change_the_problem_leaves_the_structure():
    program = svm_dual(np.eye(4)).set(**svm_dual_parameters(np.array([1.0, 1, -1, -1]), 2.0))
    solve(program, "clarabel")
    assert isinstance(program.structure, SVMDual)
    assert isinstance(replace(program, name="mine").structure, SVMDual)


def as_parts(dual):
    return dual if isinstance(dual, list) else [dual]


@pytest.mark.parametrize(("name", "solver"), [pair for pair in PAIRS if pair[1] != "lstsq"])
def test_relabelled_constraints_have_their_duals_under_the_new_labels(name, solver):
    program, asked = (CONTINUOUS[name](DATA[0]).program for _ in range(2))
    if not program.constraints:
        pytest.skip("has no constraints")
    before = solve(asked, "clarabel", quiet=True)
    for place, constraint in enumerate(program.problem.constraints):
        constraint.set_label(f"number {place}")
    answer = solve(program, "clarabel")
    assert answer.value == pytest.approx(before.value, rel=1e-5)
    assert list(answer.duals) == [f"number {place}" for place in range(len(before.duals))]
    for new, old in zip(answer.duals.values(), before.duals.values(), strict=True):
        for one, other in zip(*(as_parts(dual) for dual in (new, old)), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
    with pytest.raises(UnsupportedSolverError, match="changed since it was built"):
        solve(program, solver)


@pytest.mark.parametrize("solver", ["auto", "clarabel", "piqp", ["osqp", "clarabel"]])
@pytest.mark.parametrize("solved_before", [True, False])
def test_a_change_in_place_is_refused_rather_than_answered_as_before(solver, solved_before):
    program = svm_dual(np.eye(4)).set(**svm_dual_parameters(np.array([1.0, 1, -1, -1]), 2.0))
    if solved_before:
        solve(program, solver)
    with_objective_changed_in_place(program)
    with pytest.raises(InputError, match=r"svm_dual was changed in place.*with_objective"):
        solve(program, solver)
    again = program.with_objective(cp.Maximize(program.problem.objective.expr))
    reference = cp.Problem(program.problem.objective, program.problem.constraints)
    assert solve(again, solver).value == pytest.approx(reference.solve("CLARABEL"), rel=1e-5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p, v: p.with_objective(cp.Minimize(-cp.sum_squares(v))), "function that is conc"),
        (lambda p, v: p.with_constraints(far=cp.norm(v) >= 1), "far: 1.0 <="),
        (lambda p, v: Program(cp.Problem(cp.Maximize(cp.max(v))), "svm_dual"), "that is convex"),
        (lambda p, v: p.with_constraints(product=v[0] * v[1] <= 1), "product: v"),
    ],
)
def test_what_is_not_convex_is_refused_with_the_reason_of_cvxpy(change, reason):
    program = svm_dual(np.eye(4))
    with pytest.raises(InputError, match=r"(?s)svm_dual is not convex.*DCP.*" + reason):
        change(program, program.variables["v"])


def test_the_structure_has_its_own_copy_of_the_data():
    data = np.eye(3)
    program = svm_dual(data).set(**svm_dual_parameters(np.array([1.0, 1, -1]), 2.0))
    before = solve(program, "newton").value
    data *= 5.0
    assert solve(program, "newton").value == pytest.approx(before, rel=1e-6)
    assert solve(program, "clarabel").value == pytest.approx(before, rel=1e-6)


def test_parts_of_a_users_problem_go_by_name():
    x, limit = cp.Variable(2, name="x"), cp.Parameter(nonneg=True, name="limit")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 3)), [cp.norm(x, 1) <= limit, x >= 0])
    program = Program(problem, "mine")
    assert list(program.variables) == ["x"]
    assert list(program.constraints) == ["constraint 0", "constraint 1"]
    assert solve(program.set(limit=1.0)).variables["x"] == pytest.approx([0.5, 0.5], abs=1e-6)


@pytest.mark.parametrize(
    "problem",
    [
        cp.Problem(cp.Minimize(cp.Variable(name="x") ** 2 + cp.Variable(name="x") ** 2)),
        cp.Problem(
            cp.Minimize(0),
            [(cp.Variable() >= 0).set_label("a"), (cp.Variable() <= 1).set_label("a")],
        ),
    ],
)
def test_names_are_unique(problem):
    with pytest.raises(InputError, match=r"several (variables|constraints) of the same name"):
        Program(problem)


def test_prints_as_its_statement():
    text = str(svm_dual(np.eye(2)))
    assert "svm_dual (eq:convex_2)" in text
    assert "maximize" in text
    assert "balance: " in text


def test_a_variant_keeps_name_parameters_and_labels():
    program = svm_dual(np.eye(2))
    variant = program.with_constraints(cap=cp.norm(program.variables["v"], "inf") <= 0.1)
    assert list(variant.constraints) == ["lower", "upper", "balance", "cap"]
    assert variant.parameters["y"] is program.parameters["y"]
    assert list(program.constraints) == ["lower", "upper", "balance"]


def test_solutions_can_be_pickled():
    program = svm_dual(np.eye(2)).set(**svm_dual_parameters(np.array([1.0, -1.0]), 1.0))
    for solver in ("piqp", "newton", "libsvm"):
        answer = solve(program, solver, tol=1e-6)
        again = pickle.loads(pickle.dumps(answer))
        assert again.warm is None
        assert again.value == answer.value


def test_builders_may_be_used_for_programs_of_ones_own():
    x = cp.Variable(name="x")
    program = build("mine", "", cp.Minimize((x - 1) ** 2), {"low": x >= 2})
    assert float(solve(program).duals["low"]) == pytest.approx(2.0, abs=1e-5)
