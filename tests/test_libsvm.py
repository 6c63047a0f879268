"""LIBSVM's row of the table: an answer is only taken again where it is one."""

import numpy as np
import pytest

from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


@pytest.mark.parametrize("positives", [1, 10, 15])
def test_answers_in_proportion_are_answers(positives):
    random = np.random.default_rng(positives)
    features = random.normal(size=(30, 3))
    labeling = np.where(np.arange(30) < positives, 1.0, -1.0)
    program, iterations = svm_dual(features), []
    for C in 1e-6 * 1.5 ** np.arange(40):
        program.set(**svm_dual_parameters(labeling, C))
        exact = solve(program, "clarabel", tol=1e-8, scale=C, certify=False).value
        solution = solve(program, "libsvm", tol=1e-5)
        assert solution.value == pytest.approx(exact, rel=1e-4)
        assert solution.certificate.primal_residual <= 1e-9 * C
        iterations.append(solution.iterations)
    assert 0 in iterations[1:10]
    assert max(iterations) > 0


def test_other_labels_are_solved_again():
    random = np.random.default_rng(0)
    features, labeling = random.normal(size=(20, 2)), random.choice((-1.0, 1.0), 20)
    program = svm_dual(features)
    for labels in (labeling, -labeling, np.roll(labeling, 1), labeling):
        program.set(**svm_dual_parameters(labels, 1.0))
        exact = solve(program, "clarabel", tol=1e-9).value
        assert solve(program, "libsvm", tol=1e-6).value == pytest.approx(exact, rel=1e-5)
