"""Annealing on a part of every bag."""

from dataclasses import replace

import numpy as np
import pytest

from propcvx import Bags, bag_target
from propcvx.alternating.algorithm import annealing_values
from propcvx.alternating.part import LEAST, Part, alternate_with_part, draw_part
from propcvx.alternating.problem import PropSVM, Separator
from propcvx.alternating.svm_step import SVMStep
from propcvx.experiments.methods import printed_alter_psvm
from propcvx.losses import PROPORTION_LOSSES
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import solve

SIZES = (900, 1500, 600)


def two_classes(sizes=SIZES, seed=0):
    random = np.random.default_rng(seed)
    index = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.where(random.random(len(index)) < np.linspace(0.2, 0.8, len(sizes))[index], 1, -1)
    order = random.permutation(len(index))
    X = random.normal(size=(len(index), 3)) + labels[:, None]
    shares = [float(np.mean(labels[index == k] > 0)) for k in range(len(sizes))]
    return X[order], bag_target(index[order], shares), labels[order]


def fitted(X, target, **options):
    options = {"n_init": 2, "random_state": 0, "solver_tol": 1e-6, **options}
    return printed_alter_psvm(**options).fit(X, target)


@pytest.mark.parametrize(("size", "drawn"), [(1500, (450, 750, 300)), (1, (231, 384, 154))])
def test_a_part_has_the_same_share_of_every_bag(size, drawn):
    bags = Bags.from_target(two_classes()[1])
    part = draw_part(bags, size, np.random.RandomState(0))
    assert (np.diff(part) > 0).all()
    np.testing.assert_array_equal(np.bincount(bags.index[part]), drawn)
    assert sum(drawn) >= LEAST * bags.n_bags
    assert not bags.take(part).whole.any()


def test_of_few_instances_no_part_is_drawn():
    bags, random = Bags.from_target(two_classes()[1]), np.random.RandomState(0)
    assert draw_part(bags, 3000, random) is None
    assert random.randint(2**30) == np.random.RandomState(0).randint(2**30)


@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_a_part_that_stands_for_copies_is_the_whole_problem(C):
    X, target, labels = two_classes(sizes=(20, 30))
    index = np.tile(target["bag"], 3)
    shares = dict(zip(target["bag"], target["proportion"], strict=True))
    whole = PropSVM(
        Bags.from_target(bag_target(index, shares)),
        1.0,
        np.array([1.0, 5.0]),
        PROPORTION_LOSSES["absolute"],
    )
    of_whole = SVMStep(np.tile(X, (3, 1)), "newton", 1e-8)
    part = Part.of(whole, of_whole, np.arange(50))
    separator = part.svm_step(labels * 1.0, C)
    copied = replace(separator, scores=np.tile(separator.scores, 3))
    assert part.problem.objective(1.0 * labels, separator, C) == pytest.approx(
        whole.objective(np.tile(labels, 3), copied, C)
    )
    np.testing.assert_array_equal(
        np.tile(part.problem.best_labeling(separator.scores, C), 3).sum(),
        whole.best_labeling(copied.scores, C).sum(),
    )
    of_all = of_whole(np.tile(1.0 * labels, 3), C)
    np.testing.assert_allclose(separator.weights, of_all.weights, atol=1e-5)


def test_the_last_level_is_walked_on_all_instances():
    X, target, _ = two_classes()
    clf = fitted(X, target, annealing_size=1000)
    walked = list(dict.fromkeys(record.C_star for record in clf.history_))
    assert walked == annealing_values(1.0)
    on = {record.n_instances for record in clf.history_ if record.C_star >= 0.05}
    below = {record.n_instances for record in clf.history_ if record.C_star < 0.05}
    assert (on, below) == ({3000}, {1000})
    program = svm_dual(X).set(**svm_dual_parameters(clf.labeling_, 1.0))
    svm = solve(program, "newton", tol=1e-8, residuals=False).value
    bags = Bags.from_target(target)
    gaps = bags.proportions_of(clf.labeling_) - bags.proportions
    assert clf.objective_ == pytest.approx(svm + clf.C_p * np.abs(gaps).sum(), rel=2e-6)
    assert clf.objective_ == clf.history_[-1].objective
    again = fitted(X, target, annealing_size=1000)
    np.testing.assert_array_equal(clf.coef_, again.coef_)


@pytest.mark.parametrize("options", [{}, {"annealing_size": 3000}])
def test_few_instances_are_annealed_as_in_the_paper(options):
    X, target, _ = two_classes()
    ends = [fitted(X, target, **chosen) for chosen in (options, {"annealing_size": None})]
    np.testing.assert_array_equal(ends[0].coef_, ends[1].coef_)
    assert ends[0].history_.objectives == ends[1].history_.objectives


def test_known_labels_are_kept():
    X, target, labels = two_classes()
    target["label"][::3] = labels[::3]
    clf = fitted(X, target, annealing_size=1)
    np.testing.assert_array_equal(clf.labeling_[::3], labels[::3])


def test_a_start_is_kept_where_the_part_gives_no_plane():
    """With a plane of zero all scores are equal, and labels change only as the counts ask."""
    X, target, labels = two_classes()
    bags = Bags.from_target(target)
    task = PropSVM(bags, 1.0, np.full(3, 10.0), PROPORTION_LOSSES["absolute"])
    asked = []

    def step(labeling, C, after=None):
        asked.append(labeling)
        return Separator(np.zeros(3), 0.0, np.zeros(len(labeling)))

    part = Part.of(task, SVMStep(X), draw_part(bags, 1000, np.random.RandomState(0)))
    part = replace(part, svm_step=step)
    step.features = X
    alternate_with_part(task, step, 1.0 * labels, annealing_values(1.0), part=part)
    np.testing.assert_array_equal(next(y for y in asked if len(y) == 3000), labels)
