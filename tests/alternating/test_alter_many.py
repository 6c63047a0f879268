"""alter-pSVM with many instances."""

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import AlterPropSVM, bag_target
from propcvx.alternating.algorithm import alternate, descent
from propcvx.bags.bags import Bags
from propcvx.history import StopReason
from propcvx.labelings.losses import PROPORTION_LOSSES
from propcvx.programs import svm_dual
from propcvx.solvers import automatic
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator


@pytest.mark.parametrize("n_bags", [12, 3])
def test_auto_follows_its_rule_and_says_what_answered(n_bags):
    problem = small_problem(0, sizes=(100,) * n_bags, n_features=3)
    machine = AlterPropSVM(n_init=1, random_state=0).fit(problem.X, problem.y)
    assert {record.solver for record in machine.history_} == {automatic(svm_dual(problem.X))[0]}


@pytest.mark.parametrize(("tol", "ends"), [(0.4, 3), (0.6, 2)])
def test_a_loop_ends_when_the_decrease_is_small_beside_the_objective(tol, ends):
    """Objectives 204, 136 and 80: they decrease by half of 136, and by 0.7 of 80."""
    bags = Bags.from_target(bag_target(np.zeros(4, dtype=int), {0: 0.5}))
    pattern, norms = np.array([-1.0, 1.0, 1.0, -1.0]), iter([200.0, 128.0, 72.0])

    def step(labeling, C, after=None):
        """Every plane is shorter than the last by far, and wants the opposite labels."""
        scores = pattern if after is None else -after.scores
        return Separator(labeling, np.sqrt([2.0 * next(norms)]), 0.0, scores)

    problem = PropSVM(bags, 1.0, np.ones(1), PROPORTION_LOSSES["absolute"])
    start = np.array([1.0, -1.0, 1.0, -1.0])
    end = descent(alternate(problem, step, start, [1.0], tol=tol, max_iter=3))
    assert end.history.objectives == pytest.approx([204.0, 136.0, 80.0][:ends])
    reason = StopReason.CONVERGED if ends == 2 else StopReason.MAX_ROUNDS
    assert end.history.stop_reason is reason
