"""LIBSVM on the SVM dual: right wherever the data lie."""

import numpy as np
import pytest

from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


def bags_of_normals(n, d, seed=0):
    random = np.random.default_rng(seed)
    labeling = random.choice((-1.0, 1.0), n)
    return random.normal(size=(n, d)) + 0.3 * labeling[:, None], labeling


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 10.0])
def test_scales_are_the_same_problem(C):
    features, labeling = bags_of_normals(100, 3)
    answers = []
    for scale in (1.0, 1e-6, 1e-3, 1e3, 1e6):
        program = svm_dual(scale * features).set(**svm_dual_parameters(labeling, C / scale**2))
        answer = solve(program, "libsvm", tol=1e-5, residuals=False)
        assert answer.status == "optimal"
        answers.append(scale**2 * answer.value)
    assert answers == pytest.approx([answers[0]] * 5, rel=2e-5)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_what_it_does_not_reach_it_says_and_the_next_is_asked(C):
    features, labeling = bags_of_normals(40, 3)
    program = svm_dual(features).set(**svm_dual_parameters(labeling, C))
    exact = solve(program, "newton", tol=1e-9, residuals=False).value
    solution = solve(program, ("libsvm", "newton"), tol=1e-7, residuals=False, max_iter=1000)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(exact, rel=1.2e-7)


@pytest.mark.parametrize("C", [1.0, 1e2, 1e4])
def test_hard_margins_are_exact(C):
    features, labeling = bags_of_normals(60, 90)
    program = svm_dual(features).set(**svm_dual_parameters(labeling, C))
    solution = solve(program, "libsvm", tol=1e-10)
    lower, upper = program.structure.bounds(program.values, solution.variables["v"])
    assert solution.status == "optimal"
    assert upper - lower <= 1e-10 * upper
    assert solution.residuals.primal_residual <= 1e-9
    assert np.sum(np.abs(solution.variables["v"]) < C) == 60
