"""One method on one task: nothing leaks from the labels, and warnings are kept."""

from dataclasses import replace

import numpy as np
import pytest
from reproduction import Cell, Protocol, tasks
from reproduction.evaluation import Sample, Task, evaluate
from reproduction.methods import PAPER, cheaper, printed_method
from small_problems import small_problem

from propcvx.datasets import make_two_bags, random_bags


@pytest.mark.parametrize("name", PAPER)
def test_labels_of_training_instances_do_not_reach_a_method(name):
    problem = small_problem(0, sizes=(96,), n_features=3)
    train, test = (
        Sample.in_bags(problem.X[rows], labels, random_bags(labels, 8, 0))
        for rows, labels in ((slice(72), problem.labels[:72]), (slice(72, 96), problem.labels[72:]))
    )
    method = cheaper(printed_method(name, 0))
    (seen,), (unseen,) = (
        evaluate(method, Task(sample, test))
        for sample in (train, replace(train, labels=-train.labels))
    )
    assert seen | {"fit_seconds": 0.0} == unseen | {"fit_seconds": 0.0}


def test_warnings_are_kept_once_each_with_their_number(recwarn, monkeypatch):
    data = make_two_bags(10, random_state=0)
    flat = Sample.in_bags(data.X, np.tile([1, -1], 10), data.bags)
    monkeypatch.setattr(tasks, "task_of", lambda cell: Task(flat, flat))
    options = {"inner_folds": 2, "ties": "last", "likelihoods": "mean"}
    protocol = Protocol().with_options(**options)
    cell = Cell("blobs", "linear", 10, "MeanMap", 0, 0, protocol)
    kinds = [text.partition(":")[0] for text in tasks.run_cell(cell)["warnings"]]
    assert kinds == ["FewBagsWarning (x1)", "IllPosedWarning (x10)"]
    # Three on each of three sets of bags, and one of the probabilities.
    assert not recwarn.list


def test_grids_are_the_papers():
    alter, conv = (printed_method(name) for name in PAPER[2:])
    assert alter.grid == {"C": (0.1, 1.0, 10.0), "C_p": (1.0, 10.0, 100.0)}
    assert conv.grid == {"C": (0.1, 1.0, 10.0), "epsilon": (0.0, 0.01, 0.1)}
    assert cheaper(alter).grid == {"C": [1.0], "C_p": [10.0]}
