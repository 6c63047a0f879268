"""What follows Algorithm 1: the objective only falls, and no allowed move lowers it further."""

from dataclasses import replace
from itertools import combinations, product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from small_problems import SQUARED_HINGE, small_problem

from propcvx import bag_target
from propcvx.alternating.polish import PropSVMSearch
from propcvx.bags.bags import Bags
from propcvx.bounds import LabelingProblem, SwapSearch
from propcvx.bounds.interval import Interval
from propcvx.estimators import printed_alter_psvm
from propcvx.history import StopReason
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES, ProportionLoss, constraint
from propcvx.solvers import Solve
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import svm_step

LOSSES = {
    "hinge": lambda random, n: HINGE,
    "weighted": lambda random, n: replace(HINGE, weights=random.lognormal(sigma=2.0, size=n)),
    "squared": lambda random, n: SQUARED_HINGE,
}


def problem_and_fit(seed, polish, loss="hinge", known=0.2, sizes=(4, 4, 3), **options):
    problem = small_problem(seed, sizes, 3, known)
    given = LOSSES[loss](np.random.RandomState(seed), sum(sizes))
    options = {"C_p": 1.0, "n_init": 2, "annealing": False, "random_state": seed, **options}
    clf = printed_alter_psvm(polish=polish, instance_loss=given, **options)
    return problem, clf.fit(problem.X, problem.y)


def search_of(problem, C, C_p, loss, proportion_loss="absolute"):
    """The labelings of a problem and their SVMs, solved as an estimator does."""
    weights = np.full(problem.bags.n_bags, C_p)
    posed = PropSVM(problem.bags, C, weights, PROPORTION_LOSSES[proportion_loss], loss)
    step = svm_step(problem.X, loss, Solve(tol=1e-8))
    return PropSVMSearch(posed, step, problem.X)


def labelings_one_move_away(search, labeling):
    """With every swap inside a bag and every flip of a label that is not known."""
    bags, every = search.problem.bags, range(len(labeling))
    for moved in map(list, (*combinations(every, 1), *combinations(every, 2))):
        flip_or_swap = len(moved) == 1 or labeling[moved].sum() == 0.0
        if flip_or_swap and len(set(bags.index[moved])) == 1 and not bags.labels[moved].any():
            other = labeling.copy()
            other[moved] *= -1.0
            yield moved, other


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(2))
def test_polishing_only_lowers_the_objective(loss, seed):
    plain, swaps, hopped = (
        problem_and_fit(seed, polish, loss)[1] for polish in ("none", "swaps", "hops")
    )
    assert (swaps.start_objectives_ <= plain.start_objectives_).all()
    assert (hopped.start_objectives_ <= swaps.start_objectives_).all()
    assert hopped.objective_ == hopped.history_.objectives[-1]


@pytest.mark.parametrize("proportion_loss", PROPORTION_LOSSES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(2))
def test_no_allowed_move_is_better_than_the_end(loss, seed, proportion_loss):
    problem, clf = problem_and_fit(
        seed, "swaps", loss, C_p=0.7, proportion_loss=proportion_loss, solver_tol=1e-8
    )
    search = search_of(problem, 1.0, 0.7, clf.instance_loss, proportion_loss)
    assert search.solved(clf.labeling_).value == pytest.approx(clf.objective_, rel=1e-6)
    for _, other in labelings_one_move_away(search, clf.labeling_):
        assert search.solved(other).value >= clf.objective_ * (1 - 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.03, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(2))
def test_no_move_is_better_than_its_lower_bound(seed, C, weighted):
    problem = small_problem(seed, (4, 5), 3, noise=2.0)
    loss = LOSSES["weighted" if weighted else "hinge"](np.random.RandomState(seed), 9)
    search = search_of(problem, C, 0.0, loss)
    plane = search.solved(problem.labels.astype(float))
    bounds, values = [], []
    for moved, other in labelings_one_move_away(search, plane.labeling):
        moved = sorted(moved, key=lambda i: -plane.labeling[i])
        bounds.append(search.least(plane, np.array([moved]))[0])
        values.append(search.solved(other).value)
    assert len(bounds) > 9
    assert (np.array(bounds) <= np.array(values) * (1 + 1e-6)).all()
    assert C > 1.0 or max(bounds) > 0.5 * plane.value  # at large C they hold and say little


def test_hops_find_the_best_labeling_of_small_problems():
    for seed in range(2):
        problem, clf = problem_and_fit(seed, "hops", known=0.0, sizes=(4, 3), solver_tol=1e-8)
        search = search_of(problem, 1.0, 1.0, HINGE)
        every = np.array(list(product((-1.0, 1.0), repeat=7)))
        best = min(search.solved(labeling).value for labeling in every)
        assert clf.objective_ == pytest.approx(best, rel=1e-6)


def test_a_better_end_is_a_round_of_its_own_and_says_why_it_stopped():
    problem = small_problem(1, (6, 6), 4, noise=3.0)
    clf = printed_alter_psvm(C_p=1.0, n_init=1, annealing=False, random_state=0)
    plain, polished = (
        clone(clf).set_params(polish=polish).fit(problem.X, problem.y)
        for polish in ("none", "hops")
    )
    assert polished.objective_ < plain.objective_
    assert polished.n_iter_ == plain.n_iter_ + 1
    assert polished.stop_reason_ is StopReason.NO_BETTER_MOVE


def test_hops_never_lose_the_best_labeling():
    problem = small_problem(5, (5, 5, 5), 3)
    labelings = LabelingProblem(problem.bags, 1.0, 1.0, constraint(0.0), features=problem.X)
    search = SwapSearch.of(labelings, Interval(1e-6))
    start = labelings.best_labeling(problem.X[:, 0])
    first = search.descend(start)
    for best, _ in zip(search.hops(first, np.random.RandomState(0)), range(5), strict=False):
        assert best.value <= first.value
        assert search.interval.upper <= best.value


def test_flips_are_allowed_where_their_counts_cost_something_finite():
    bags = Bags.from_target(bag_target([0, 0, 0, 1, 1], [1 / 3, 0.5], [0, 0, -1, 0, 0]))
    near = ProportionLoss("near", np.abs, cp.abs, epsilon={0: 0.34, 1: 0.0})
    problem = PropSVM(bags, 1.0, np.array([6.0, 1.0]), near)
    labeling = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    assert problem.swaps(labeling, np.zeros(5)).tolist() == [[0, 1], [3, 4]]
    flips, costs = problem.flips(labeling)
    assert flips.tolist() == [[0], [1]]
    np.testing.assert_allclose(costs, [2.0, 2.0])
