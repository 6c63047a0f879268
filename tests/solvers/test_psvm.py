"""The mixed-integer pSVM against all labelings, over C, and where it says that it cannot."""

import warnings

import numpy as np
import pytest
from effort import first
from listed_labelings import every_labeling
from small_problems import small_problem, without_a_share

from propcvx import programs
from propcvx.errors import IllPosedWarning
from propcvx.labelings.losses import PROPORTION_LOSSES
from propcvx.solvers import solve

pytest.importorskip("pyscipopt")
WEIGHTS = np.array([5.0, 10.0])


def problem_of(seed):
    """Instances and bags; of an even seed one proportion is not known."""
    problem = small_problem(seed, sizes=(3, 3), noise=2.0, known=0.2)
    return problem.X, problem.bags if seed % 2 else without_a_share(problem.bags)


def best_value(X, bags, C, loss, bias):
    """Least cost over all labelings, by the SVM of each."""
    dual = programs.svm_dual(X, bias=bias)

    def cost(y):
        dual.set(**programs.svm_dual_parameters(y, C))
        svm = solve(dual, ["newton", "clarabel"], tol=1e-9, residuals=False).value
        return svm + PROPORTION_LOSSES[loss].total(bags, WEIGHTS, y)

    return min(map(cost, every_labeling(bags)[0]))


@pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize(
    ("C", "share"), first(3, [(1.0, None), (1e6, None), (1e6, 1.0), (1e4, None), (1e6, 3.0)])
)
@pytest.mark.parametrize(("seed", "loss", "bias"), [(5, "absolute", True), (6, "squared", False)])
def test_psvm_finds_best_labeling_or_warns(seed, loss, bias, share, C):
    X, bags = problem_of(seed)
    best = best_value(X, bags, C, loss, bias)
    assert (bags.labels != 0).any()
    value = None if share is None else share * best
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = programs.psvm(
            X, bags, C, WEIGHTS, PROPORTION_LOSSES[loss], bias=bias, value=value
        )
    warned = any(issubclass(w.category, IllPosedWarning) for w in caught)
    assert warned == (C == 1e6) or (C == 1e6 and share == 3.0)
    if not warned:
        answer = solve(program, "scip", tol=1e-9, residuals=False).value
        assert answer == pytest.approx(best, rel=1e-3 * (share or 1.0))
        assert answer <= best * (1.0 + 1e-6)
