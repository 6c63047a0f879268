"""The command line, and the demo through it, at a reduced setting."""

import io
import re
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import numpy as np
import pytest
from small_problems import small_problem

import propcvx
from propcvx import AlterPropSVM, Bags
from propcvx.cli import main
from propcvx.datasets import make_two_bags
from propcvx.errors import SolverError
from propcvx.experiments import demo
from propcvx.experiments.evaluation import Sample, Task, split_into_bags, tune_and_evaluate
from propcvx.experiments.methods import PAPER, SUPERVISED, cheaper, printed_method


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What was printed, the folder of the pictures, and the progress."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as progress:
        assert main(["demo", "--quick", "--jobs", "1", "--output", str(folder)]) == 0
    return printed.getvalue(), folder, progress.getvalue()


def table_rows(text):
    """The name and the cells of each line of a method."""
    found = re.findall(rf"^({'|'.join((*PAPER, SUPERVISED))}) +(\d.*)$", text, re.MULTILINE)
    return [(name, cells.split()) for name, cells in found]


def test_demo_shows_progress_and_draws_pictures(run):
    text, folder, progress = run
    assert "5/5" in progress
    for name in ("figure1.png", "breast_cancer.png"):
        assert str(folder / name) in text
        assert (folder / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_figure_one_is_reproduced_and_proved_and_every_method_learns_on_real_data(run):
    names, rows = zip(*table_rows(run[0]), strict=True)
    assert names == (*PAPER, *PAPER, SUPERVISED)
    assert [row[:2] for row in rows[:4]] == [["0.0%", "0.200"]] * 2 + [["100.0%", "0.000"]] * 2
    assert rows[3][2:] == ["default", "proved", "optimal"]
    for accuracy, error, parameters, *_ in rows[4:]:
        assert float(accuracy.rstrip("%")) > 75.0
        assert float(error) < 0.25
        assert "=" in parameters


def test_jobs_do_not_change_what_is_found(run, tmp_path, capsys):
    assert main(["demo", "--quick", "--jobs", "2", "--output", str(tmp_path)]) == 0
    assert table_rows(capsys.readouterr().out) == table_rows(run[0])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (SolverError("no answer", "clarabel", "infeasible"), 1, "no answer"),
    ],
)
def test_ended_early_it_prints_the_finished_methods(
    error, code, message, tmp_path, capsys, monkeypatch
):
    def ended(method, task, **options):
        if isinstance(method.estimator, AlterPropSVM):  # it begins first
            return tune_and_evaluate(method, task, **options)
        raise error

    monkeypatch.setattr(demo, "tune_and_evaluate", ended)
    assert main(["demo", "--jobs", "1", "--output", str(tmp_path)]) == code
    printed = capsys.readouterr()
    assert [name for name, _ in table_rows(printed.out)] == ["alter-pSVM"]
    assert message in printed.err


def test_no_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play"], "invalid choice"),
        (["demo", "--jobs", "0"], "--jobs: must be from 1"),
        (["demo", "--seed", "-1"], "--seed: must be from 0"),
        (["demo", "--seed=x"], "--seed: invalid"),
        (["demo", "--output", __file__], "output must be a folder"),
    ],
)
def test_wrong_arguments_end_it_with_usage_and_nothing_is_computed(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    printed = capsys.readouterr()
    assert (exit_.value.code, printed.out) == (2, "")
    assert "usage:" in printed.err
    assert message in printed.err


def test_module_runs_as_the_command(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["propcvx", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("propcvx", run_name="__main__")
    assert capsys.readouterr().out.strip() == f"propcvx {propcvx.__version__}"


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
