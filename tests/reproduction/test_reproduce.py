"""Experiments: the plan, one cell, and the command that runs them."""

from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction import EXPERIMENTS, Cell, Selection, plan
from reproduction import tasks as running
from reproduction.__main__ import main
from reproduction.methods import LLP_LEARN, METHODS, PAPER, SUPERVISED
from reproduction.protocol import OPTIONS
from reproduction.tasks import fingerprint, run_cell, task_of

from propcvx.bags.bags import Bags
from propcvx.errors import InputError

CELL = Cell("blobs", "linear", 4, "MeanMap", 0, 0)


def options(cell=CELL, **changed):
    return replace(cell, protocol=cell.protocol.with_options(**changed))


def test_tables_plan_paper_cells_once():
    for name in ("table-linear", "table-rbf"):
        assert len({cell.key for cell in plan(name)}) == 7 * 6 * 4 * 5 * 5
    for name in EXPERIMENTS:
        assert len(set(plan(name))) == len(plan(name))
    cells = plan("table-linear", selection=Selection(data=["vote", "heart"]))
    assert (cells[0].data, cells[-1].data) == ("vote", "heart")
    grid = METHODS["alter-pSVM"].grid, METHODS["conv-pSVM"].grid
    assert grid[0] == {"C": (0.1, 1.0, 10.0), "C_p": (1.0, 10.0, 100.0)}
    assert grid[1] == {"C": (0.1, 1.0, 10.0), "epsilon": (0.0, 0.01, 0.1)}


CHANGES = {"bags": "equal", "folds": 4, "inner_folds": 4, "tuning": "none"}
CHANGES |= {"error_weights": "size", "ties": "last", "gaussian": "exponential", "gammas": 0.5}
CHANGES |= {"likelihoods": "sum", "MeanMap_bias": False, "InvCal_C_p": 0.5, "epsilons": 0.2}
CHANGES |= {"restarts": 3, "annealing": False, "C_p_times": "size", "alternating_tol": 0.1}
CHANGES |= {"intercepts": "none", "cuts": 7, "cuts_tol": 0.5, "oracle": "coordinate_features"}
CHANGES |= {"scaled_epsilon": True}


def test_whatever_a_result_depends_on_is_in_its_key(monkeypatch):
    paper = [replace(CELL, method=method, kernel="rbf") for method in PAPER]
    keys = {tuple(cell.key for cell in paper)}
    for option in OPTIONS:
        keys.add(tuple(options(cell, **{option: CHANGES[option]}).key for cell in paper))
    for part, value in {"data": "figure1", "bag_size": 5, "repetition": 1, "fold": 1}.items():
        keys.add(tuple(replace(cell, **{part: value}).key for cell in paper))
    newer = {name: replace(entry, version=99) for name, entry in METHODS.items()}
    monkeypatch.setattr("reproduction.cells.METHODS", newer)
    keys.add(tuple(replace(cell).key for cell in paper))
    assert len(keys) == len(OPTIONS) + 6


def test_all_methods_and_kernels_see_the_same_split():
    places = [(method, kernel) for method in METHODS for kernel in METHODS[method].kernels]
    cells = [replace(CELL, method=method, kernel=kernel) for method, kernel in places]
    assert len({fingerprint(task_of(cell)) for cell in cells}) == 1
    assert fingerprint(task_of(replace(CELL, repetition=1))) != fingerprint(task_of(CELL))


def test_folds_are_whole_bags_and_cover_everything_once():
    tasks = [task_of(replace(CELL, bag_size=7, fold=fold)) for fold in range(5)]
    for task in tasks:
        for part in (task.train, task.test):
            assert Bags.from_target(part.y).whole.all()
        assert not set(task.train.y["bag"]) & set(task.test.y["bag"])
    assert sorted(np.bincount(np.concatenate([t.test.y["bag"] for t in tasks]))) == [4] + [7] * 8


def test_bags_are_random_or_equal_or_those_of_the_data():
    assert set(task_of(options(bags="equal")).train.y["proportion"]) == {0.5}
    task = task_of(replace(options(bags="own", folds=1), data="figure1"))
    assert task.train is task.test
    assert sorted(set(task.train.y["proportion"])) == [0.4, 0.6]
    with pytest.raises(InputError, match="bags='own' needs data with bags of their own"):
        task_of(options(bags="own"))


def test_the_splits_of_the_benchmark_are_those_fixed_by_hash(data_home):
    *names, _ = fixed = pd.read_csv(Path(running.__file__).with_name("splits.csv"))
    cells = {attrgetter(*names)(cell): cell for cell in plan("quick")}
    answer = [(*place, fingerprint(task_of(cell))) for place, cell in cells.items()]
    assert answer == list(fixed.itertuples(index=False, name=None))


def mirrored(sample):
    """The sample with every label wrong."""
    return replace(sample, labels=-sample.labels)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in LLP_LEARN])
def test_no_choice_looks_at_labels_that_are_not_given(method, monkeypatch):
    small = {"restarts": 1, "annealing": False, "inner_folds": 2, "epsilons": (0.0, 0.1)}
    small |= {"intercepts": "center", "cuts": 1}
    cell = options(replace(CELL, method=method, bag_size=12), **small)
    task, honest = task_of(cell), run_cell(cell)["points"]
    train = task.train if method == SUPERVISED else mirrored(task.train)
    deceiving = replace(task, train=train, test=mirrored(task.test))
    monkeypatch.setattr(running, "task_of", lambda cell: deceiving)
    for first, other in zip(honest, run_cell(cell)["points"], strict=True):
        for name in ("parameters", "validation_error", "chosen", "objective"):
            assert first[name] == other[name]
        assert first["accuracy"] == pytest.approx(1.0 - other["accuracy"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["figure2"], f"experiment must be one of {list(EXPERIMENTS)}"),
        (["quick", "--set", "ties"], "must be NAME=VALUE"),
        (["quick", "--set", "ties=middle"], "ties must be one of"),
        (["quick", "--set", "restarts=1"], "--set restarts: quick has restarts=3 itself"),
        (["quick", "--methods", "SVM"], "methods of quick must be among"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_run(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["run", *words, "--results", str(tmp_path / "results")])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
