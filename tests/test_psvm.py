"""The mixed-integer pSVM against all labelings, over C, and where it says that it cannot."""

import itertools
import warnings
from functools import cache

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import programs
from propcvx.errors import IllPosedWarning, InputError
from propcvx.losses import PROPORTION_LOSSES
from propcvx.solvers import solve

pytest.importorskip("pyscipopt")
LOSS, WEIGHTS = PROPORTION_LOSSES["absolute"], np.full(2, 10.0)


def problem_of(seed):
    return small_problem(seed, sizes=(3, 3), noise=2.0)


@cache
def best_value(seed, C):
    """Least cost over all labelings, by the primal SVM of each."""
    problem = problem_of(seed)
    program, bags = programs.svm_primal(problem.X, bias=True), problem.bags

    def cost(y):
        svm = solve(program.set(y=y, C=C), "clarabel", tol=1e-10, residuals=False).value
        return svm + float(WEIGHTS @ LOSS.of(bags.proportions_of(y) - bags.proportions))

    return min(cost(np.array(y)) for y in itertools.product((-1.0, 1.0), repeat=len(problem.X)))


@pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("share", [None, 1.0, 3.0], ids=["no value", "best value", "some value"])
@pytest.mark.parametrize("seed", [0, 2])
def test_psvm_is_the_best_of_all_labelings_or_warns(C, share, seed):
    problem, best = problem_of(seed), best_value(seed, C)
    value = None if share is None else share * best
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = programs.psvm(problem.X, problem.bags, C, WEIGHTS, LOSS, value=value)
    warned = any(issubclass(w.category, IllPosedWarning) for w in caught)
    found = solve(program, "scip", tol=1e-9, residuals=False).value
    assert warned or found == pytest.approx(best, rel=1e-3)
    assert warned == (C == 1e6)
    assert found <= best * (1.0 + 1e-6)


def test_a_value_must_be_one():
    problem = small_problem(0)
    with pytest.raises(InputError, match="value must be a finite number above 0, got -1"):
        programs.psvm(problem.X, problem.bags, 1.0, WEIGHTS, LOSS, value=-1)
