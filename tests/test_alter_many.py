"""alter-pSVM with many instances."""

import numpy as np
import pytest

from propcvx import AlterPropSVM, bag_target
from propcvx.alternating.algorithm import Alternation, PropSVM, Separator, annealing_values
from propcvx.bags import Bags
from propcvx.datasets import proportions_of, random_bags
from propcvx.history import StopReason
from propcvx.losses import PROPORTION_LOSSES, hinge
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve


def bags_and_instances(n_instances, n_features=3):
    random = np.random.default_rng(0)
    labels = random.choice((-1.0, 1.0), n_instances)
    X = random.normal(size=(n_instances, n_features)) + labels[:, None]
    bags = random_bags(labels, 100, random_state=0)
    return X, bag_target(bags, proportions_of(labels, bags))


@pytest.mark.parametrize(("n_instances", "solver"), [(1200, "newton"), (300, "libsvm")])
def test_auto_follows_its_rule_and_says_what_answered(n_instances, solver):
    X, target = bags_and_instances(n_instances)
    machine = AlterPropSVM(n_init=1, random_state=0).fit(X, target)
    assert {record.solver for record in machine.history_} == {solver}


def test_the_last_separator_is_the_svm_of_the_labeling():
    X, target = bags_and_instances(2000)
    machine = AlterPropSVM(n_init=2, random_state=0, solver="newton", solver_tol=1e-6)
    machine.fit(X, target)
    weights, labeling = machine.coef_[0], machine.labeling_
    losses = hinge(labeling, X @ weights + machine.intercept_[0]).sum()
    program = svm_dual(X).set(**svm_dual_parameters(labeling, 1.0))
    least = solve(program, "newton", tol=1e-8, certify=False).value
    assert 0.5 * weights @ weights + losses <= least * (1 + 1e-5)


@pytest.mark.parametrize(
    ("gap", "reason"), [(0.0, StopReason.FIXED_POINT), (10.0, StopReason.CONVERGED)]
)
def test_a_loop_ends_within_the_gap_of_its_solver(gap, reason):
    bags = Bags.from_target(bag_target(np.zeros(4, dtype=int), {0: 0.5}))

    def machine(labeling, C, after=None):
        weights, scores = labeling[:1] + 2.0, np.array([-1.0, 1.0, 1.0, -1.0])
        return Separator(lambda: weights, 0.5 * weights @ weights, 0.0, scores, gap=gap)

    problem = PropSVM(bags, 1.0, np.ones(1), PROPORTION_LOSSES["absolute"])
    end = Alternation(problem, machine, [1.0])(np.array([1.0, -1.0, 1.0, -1.0]))
    assert end.history.stop_reason is reason
    assert end.history[0].n_flips == 2


def test_restarts_that_meet_share_the_rest():
    bags = Bags.from_target(bag_target(np.zeros(4, dtype=int), {0: 0.5}))
    calls = []

    def machine(labeling, C, after=None):
        calls.append(C)
        return Separator(lambda: np.ones(1), 0.5, 0.0, np.array([1.0, 1.0, -1.0, -1.0]))

    problem = PropSVM(bags, 1.0, np.ones(1), PROPORTION_LOSSES["absolute"])
    run = Alternation(problem, machine, annealing_values(1.0))
    first = run(np.array([1.0, -1.0, 1.0, -1.0]))
    before = len(calls)
    second = run(np.array([-1.0, 1.0, 1.0, -1.0]))
    assert second is first
    assert set(calls[before:]) == {calls[0]}
    np.testing.assert_array_equal(first.labeling, [1.0, 1.0, -1.0, -1.0])
