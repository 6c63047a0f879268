"""Programs solved again from renewed vectors equal programs compiled anew."""

import gc
import weakref

import numpy as np
import pytest

from propcvx.programs import mkl_inner, svm_dual, svm_dual_parameters, svm_primal
from propcvx.solvers import SOLVERS, solve
from propcvx.solvers.through_cvxpy import VECTORS, CompiledQP, problem_data

QP = [name for name in ("osqp", "piqp", "daqp", "proxqp", "highs") if SOLVERS[name].installed]
CONIC = [name for name in ("clarabel", "scs", "ecos") if SOLVERS[name].installed]


def instances(seed, n=24, d=3):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)), [random.choice([-1.0, 1.0], n) for _ in range(4)]


def with_values(program, labeling, C=1.0):
    if program.name == "svm_dual":
        return program.set(**svm_dual_parameters(labeling, C))
    return program.set(y=labeling, C=C)


@pytest.mark.parametrize("solver", QP)
def test_vectors_are_those_of_compiling_anew(solver):
    features, labelings = instances(0)
    program = svm_dual(features)
    for C, labeling in zip((1.0, 0.1, 3.0, 1.0), labelings, strict=True):
        data, _, _ = problem_data(with_values(program, labeling, C), solver.upper(), {})
        anew = program.problem.get_problem_data(solver.upper())[0]
        for name in VECTORS:
            assert np.array_equal(data[name], anew[name])
        assert (data["P"] != anew["P"]).nnz == (data["F"] != anew["F"]).nnz == 0


@pytest.mark.parametrize("build", [svm_primal, svm_dual])
@pytest.mark.parametrize("solver", [*QP, *CONIC])
def test_answers_are_those_of_a_program_built_anew(solver, build):
    """By solvers in turn, too: each leaves what it has compiled to the next."""
    features, labelings = instances(1)
    program = build(features)
    for C, labeling in zip((1.0, 0.1, 3.0), labelings[:3], strict=True):
        solve(with_values(program, labelings[-1]), "piqp", residuals=False)
        again, anew = (
            solve(with_values(one, labeling, C), solver, tol=1e-7, residuals=False, quiet=True)
            for one in (program, build(features))
        )
        assert again.value == pytest.approx(anew.value, rel=1e-5)
        for name, dual in again.duals.items():
            assert dual == pytest.approx(anew.duals[name], abs=1e-2)


def test_the_second_call_does_not_compile(monkeypatch):
    features, labelings = instances(2)
    program = with_values(svm_dual(features), labelings[0])
    problem_data(program, "OSQP", {})
    monkeypatch.setattr(type(program.problem), "get_problem_data", None)
    problem_data(with_values(program, labelings[1]), "OSQP", {})


def test_parameters_in_matrices_and_conic_data_are_compiled_by_cvxpy():
    features, labelings = instances(3)
    inner = mkl_inner(features, np.array(labelings), 1.0).set(root_mu=np.full(4, 0.5))
    for program, solver in (
        (with_values(svm_primal(features), labelings[0]), "OSQP"),
        (inner, "OSQP"),
        (with_values(svm_dual(features), labelings[0]), "CLARABEL"),
    ):
        assert CompiledQP.of(*program.problem.get_problem_data(solver)) is None


def test_what_was_compiled_goes_with_its_program():
    features, labelings = instances(6)
    program = with_values(svm_dual(features), labelings[0])
    solve(program, "osqp")
    problem = weakref.ref(program.problem)
    assert ("OSQP", None) in program.compiled
    assert not program.with_constraints(more=program.variables["v"] <= 1.0).compiled
    del program
    gc.collect()
    assert problem() is None
