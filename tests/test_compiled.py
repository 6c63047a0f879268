"""Programs solved again from renewed vectors equal programs compiled anew."""

import gc
import weakref

import numpy as np
import pytest
from propcvx.solvers.compiled import CompiledQP, problem_data

from propcvx.programs import mkl_inner, svm_dual, svm_dual_parameters, svm_primal
from propcvx.solvers import SOLVERS, compiled, solve

QP = [name for name in ("osqp", "piqp", "daqp", "proxqp", "highs") if SOLVERS[name].installed]


def instances(seed, n=24, d=3):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)), [random.choice([-1.0, 1.0], n) for _ in range(4)]


@pytest.mark.parametrize("solver", QP)
def test_vectors_are_those_of_compiling_anew(solver):
    features, labelings = instances(0)
    program = svm_dual(features)
    for C, labeling in zip((1.0, 0.1, 3.0, 1.0), labelings, strict=True):
        program.set(**svm_dual_parameters(labeling, C))
        data, _, _ = problem_data(program, solver.upper(), {})
        anew = program.problem.get_problem_data(solver.upper())[0]
        for name in compiled.VECTORS:
            assert np.array_equal(data[name], anew[name])
        assert (data["P"] != anew["P"]).nnz == (data["F"] != anew["F"]).nnz == 0


@pytest.mark.filterwarnings("ignore:osqp stopped")
@pytest.mark.parametrize("solver", QP)
def test_answers_are_those_of_a_program_built_anew(solver):
    features, labelings = instances(1)
    program = svm_dual(features)
    for C, labeling in zip((1.0, 0.1, 3.0, 1.0), labelings, strict=True):
        values = svm_dual_parameters(labeling, C)
        again = solve(program.set(**values), solver, tol=1e-7)
        anew = solve(svm_dual(features).set(**values), solver, tol=1e-7)
        assert again.value == pytest.approx(anew.value, rel=1e-5)
        assert again.duals["balance"] == pytest.approx(anew.duals["balance"], abs=1e-3)
        assert again.residuals.duality_gap <= 1e-4


def test_the_second_call_does_not_compile(monkeypatch):
    features, labelings = instances(2)
    program = svm_dual(features).set(**svm_dual_parameters(labelings[0], 1.0))
    problem_data(program, "OSQP", {})
    monkeypatch.setattr(type(program.problem), "get_problem_data", None)
    problem_data(program.set(**svm_dual_parameters(labelings[1], 1.0)), "OSQP", {})


def test_parameters_in_matrices_are_compiled_as_before():
    features, labelings = instances(3)
    primal = svm_primal(features).set(y=labelings[0], C=1.0)
    inner = mkl_inner(features, np.array(labelings), 1.0).set(root_mu=np.full(4, 0.5))
    for program in (primal, inner):
        assert CompiledQP.of(*program.problem.get_problem_data("OSQP")) is None
    for y in labelings:
        fresh = solve(svm_primal(features).set(y=y, C=1.0), "clarabel").value
        assert solve(primal.set(y=y), "clarabel").value == pytest.approx(fresh, rel=1e-7)


def test_conic_data_are_left_alone():
    features, labelings = instances(4)
    program = svm_dual(features).set(**svm_dual_parameters(labelings[0], 1.0))
    assert CompiledQP.of(*program.problem.get_problem_data("CLARABEL")) is None


def test_solvers_may_take_turns_on_one_program():
    features, labelings = instances(5)
    program = svm_dual(features)
    for y in labelings:
        values = svm_dual_parameters(y, 1.0)
        found = [
            solve(program.set(**values), name, tol=1e-8).value for name in ("osqp", "clarabel")
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_what_was_compiled_goes_with_its_program():
    features, labelings = instances(6)
    program = svm_dual(features).set(**svm_dual_parameters(labelings[0], 1.0))
    solve(program, "osqp")
    problem = weakref.ref(program.problem)
    assert ("OSQP", None) in program.compiled
    assert not program.with_constraints(more=program.variables["v"] <= 1.0).compiled
    del program
    gc.collect()
    assert problem() is None
