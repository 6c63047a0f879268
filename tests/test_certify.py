"""Certified intervals: no bound exceeds the best labeling's value, and proofs agree with lists."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem

from propcvx import bag_target, certify
from propcvx.bounds import BOUNDS, Interval, LabelingProblem, SwapSearch
from propcvx.bounds import pieces as pieces_module
from propcvx.bounds.box_qp import solve_boxes
from propcvx.bounds.branch_and_bound import BagMoments, BranchAndBound
from propcvx.bounds.enumeration import list_values
from propcvx.bounds.maximise import SmoothBound, maximise
from propcvx.bounds.moments import Multipliers, certify_values, evaluate, improve_duals
from propcvx.bounds.pieces import divide
from propcvx.errors import InputError
from propcvx.history import StopReason
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import PROPORTION_LOSSES
from propcvx.programs import svm_primal
from propcvx.solvers import solve


def all_labelings(problem):
    """Every labeling with a finite cost."""
    n = len(problem.features)
    for number in range(2**n):
        labeling = np.where((number >> np.arange(n)) & 1, 1.0, -1.0)
        if np.isfinite(problem.cost(labeling)):
            yield labeling


def best_value(problem):
    """The best labeling's value by brute force and another solver."""
    program = svm_primal(problem.features, bias=False)

    def value(labeling):
        program.set(y=labeling, C=problem.C)
        answer = solve(program, "clarabel", tol=1e-10, certify=False)
        return answer.value + problem.cost(labeling)

    return min(map(value, all_labelings(problem)))


def random_problem(seed):
    """A problem in one of the forms, with at most 8 instances."""
    random = np.random.RandomState(seed)
    sizes = random.randint(1, 5, size=random.randint(1, 4))
    sizes = sizes[np.cumsum(sizes) <= 8]
    sizes = sizes if sizes.sum() >= 2 else np.array([3])
    known, noise = random.choice([0.0, 0.3]), random.choice([0.3, 1.0, 3.0])
    small = small_problem(seed, tuple(sizes), random.randint(1, 5), known, noise)
    C = float(10.0 ** random.uniform(-2, 1))
    X = small.X * 10.0 ** random.choice([-1, 0, 1])
    form = random.randint(3)
    if form == 2:
        loss = PROPORTION_LOSSES[random.choice(list(PROPORTION_LOSSES))]
        weights = random.uniform(0.0, 2.0, size=len(sizes))
        return LabelingProblem.penalised(X, small.bags, C, loss, weights)
    feasible = FeasibleLabelings.of(small.bags, [0.0, 0.4][form])
    return LabelingProblem.constrained(X, feasible, C)


def random_multipliers(division, random):
    """Multipliers that sum to what they should but for rounding, and are good for nothing else."""
    n, rank = len(division.pieces), division.pieces[0].features.shape[1]
    q = random.randint(1, rank + 1)
    bound = SmoothBound(division, [], 1.0, 1.0, np.inf, lambda: None)
    bound.pack(Multipliers.equal(division, q))
    roots = random.normal(size=(n, q, q)) * 10.0 ** random.uniform(-2, 1, size=(n, 1, 1))
    squares = roots @ roots.transpose(0, 2, 1)
    total = np.linalg.cholesky(squares.sum(axis=0))
    scales = random.uniform(0.01, 1.0, size=n)
    linear = random.normal(size=(n, rank)) * 10.0 ** random.uniform(-2, 1)
    return Multipliers(
        np.linalg.solve(total, roots),
        scales / np.linalg.norm(scales),
        linear - linear.mean(axis=0),
        random.normal(size=len(division.costs)),
    )


def check_random_multipliers(seed, monkeypatch):
    """No bound at random multipliers, with poor and good duals, is above the best value."""
    problem, random = random_problem(seed), np.random.RandomState(seed)
    with monkeypatch.context() as patch:
        if random.randint(2):
            patch.setattr(pieces_module, "MOST_LABELINGS", 3)
            patch.setattr(pieces_module, "PIECE_SIZE", 2)
        division = divide(problem)
    best = best_value(problem)
    for _ in range(3):
        multipliers = random_multipliers(division, random)
        duals = [
            random.uniform(0, 1.2 * problem.C, size=piece.labelings.shape) * piece.labelings
            for piece in division.pieces
        ]
        for improved in (False, True):
            if improved:
                improve_duals(division, multipliers, duals, problem.C, room=best, tol=1e-3 * best)
            found = certify_values(division, multipliers, duals, problem.C, problem.reach)
            assert found.lower <= best + 1e-8 * max(1.0, abs(best))


def check_kinds(seed):
    """Whatever kind, no lower bound is above the best value, and no upper one below it."""
    problem, random = random_problem(seed), np.random.RandomState(seed)
    best = best_value(problem)
    slack = 1e-7 * max(1.0, best)
    interval = Interval(1e-5)
    tol = float(random.choice([1e-2, 1e-8]))
    search = SwapSearch(problem, interval, tol=tol)
    search.plane(problem.best_for(random.normal(size=len(problem.features))))
    for name, row in BOUNDS.items():
        if row.refuses(problem) is None and row.automatic:
            alone = Interval(1e-5, upper=interval.upper, labeling=interval.labeling)
            row.run(problem, alone, replace(search, interval=alone))
            assert alone.lower <= best + slack
            assert alone.upper >= best - slack
            if name in ("enumeration", "branch_and_bound") and tol < 1e-5:
                assert alone.upper == pytest.approx(best, rel=1e-4, abs=1e-9)
                assert alone.closed or best < 1e-6


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_bounds_at_random_multipliers_hold(first, monkeypatch):
    for seed in range(first, first + 20):
        check_random_multipliers(seed, monkeypatch)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_every_kind_of_bound_holds(first):
    for seed in range(first, first + 10):
        check_kinds(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 100))
def test_bounds_hold_in_thousands_of_problems(first, monkeypatch):
    for seed in range(first, first + 100):
        check_random_multipliers(seed, monkeypatch)
        check_kinds(seed)
