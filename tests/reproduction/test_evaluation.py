"""One method on one task: nothing leaks from the labels, and warnings are kept."""

from dataclasses import replace

import numpy as np
import pytest
from reproduction.evaluation import Sample, Task, split_into_bags, tune_and_evaluate
from reproduction.methods import PAPER, cheaper, printed_method
from small_problems import small_problem

from propcvx import Bags
from propcvx.datasets import make_two_bags


@pytest.fixture(scope="module")
def small_task():
    problem = small_problem(0, sizes=(96,), n_features=3)
    return split_into_bags(problem.X, problem.labels, 8, test_size=0.25, random_state=0)


def test_split_keeps_instances_apart_and_bags_whole(small_task):
    train, test = small_task.train, small_task.test
    assert (len(train.y), len(test.y)) == (72, 24)
    assert not set(map(tuple, train.X)) & set(map(tuple, test.X))
    assert set(train.y["size"]) == {8}
    for part in (train, test):
        bags = Bags.from_target(part.y)
        assert np.allclose(bags.proportions_of(part.labels), bags.proportions)


@pytest.mark.parametrize("name", PAPER)
def test_labels_of_training_instances_do_not_reach_a_method(name, small_task):
    train, method = small_task.train, cheaper(printed_method(name, 0))
    seen, unseen = (
        tune_and_evaluate(method, replace(small_task, train=sample)).predictions
        for sample in (train, replace(train, labels=-train.labels))
    )
    assert np.array_equal(seen, unseen)


def test_warnings_are_kept_once_each_with_their_number(recwarn):
    data = make_two_bags(10, random_state=0)
    flat = Sample.in_bags(data.X, np.tile([1, -1], 10), data.bags)
    method = replace(printed_method("MeanMap"), grid={"lam": [1.0, 1.0]})
    outcome = tune_and_evaluate(method, Task(flat, flat), n_splits=2, ties="last")
    kinds = [text.partition(":")[0] for text in outcome.warnings]
    assert kinds == ["FewBagsWarning (x1)", "IllPosedWarning (x6)"]  # two on three sets of bags
    assert not recwarn.list


def test_grids_are_the_papers():
    alter, conv = (printed_method(name) for name in PAPER[2:])
    assert alter.grid == {"C": (0.1, 1.0, 10.0), "C_p": (1.0, 10.0, 100.0)}
    assert conv.grid == {"C": (0.1, 1.0, 10.0), "epsilon": (0.0, 0.01, 0.1)}
    assert cheaper(alter).grid == {"C": [1.0], "C_p": [10.0]}
