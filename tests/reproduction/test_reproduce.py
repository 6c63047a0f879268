"""Experiments: the plan, splits, and one cell."""

from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pandas as pd
import pytest
from reproduction import Cell, plan
from reproduction import tasks as running
from reproduction.__main__ import main
from reproduction.methods import METHODS, PAPER, SUPERVISED
from reproduction.protocol import OPTIONS
from reproduction.tasks import fingerprint, run_cell, task_of

CELL = Cell("blobs", "linear", 4, "MeanMap", 0, 0)


def options(cell=CELL, **changed):
    return replace(cell, protocol=cell.protocol.with_options(**changed))


def test_tables_plan_each_cell_of_paper_once():
    for name in ("table-linear", "table-rbf"):
        assert len({cell.key for cell in plan(name)}) == 7 * 6 * 4 * 5 * 5


CHANGES = {"bags": "equal", "folds": 4, "inner_folds": 4, "tuning": "none"}
CHANGES |= {"error_weights": "size", "ties": "last", "gaussian": "exponential", "gammas": 0.5}
CHANGES |= {"likelihoods": "sum", "MeanMap_bias": False, "InvCal_C_p": 0.5, "epsilons": 0.2}
CHANGES |= {"restarts": 3, "annealing": False, "C_p_times": "size", "alternating_tol": 0.1}
CHANGES |= {"intercepts": "none", "cuts": 7, "cuts_tol": 0.5, "oracle": "coordinate_features"}
CHANGES |= {"scaled_epsilon": True}


def test_key_changes_with_every_option(monkeypatch):
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


def test_all_methods_and_kernels_get_same_split():
    places = [(method, kernel) for method in METHODS for kernel in METHODS[method].kernels]
    cells = [replace(CELL, method=method, kernel=kernel) for method, kernel in places]
    assert len({fingerprint(task_of(cell)) for cell in cells}) == 1
    assert fingerprint(task_of(replace(CELL, repetition=1))) != fingerprint(task_of(CELL))


def test_benchmark_splits_equal_those_fixed_by_hash(data_home):
    *names, _ = fixed = pd.read_csv(Path(running.__file__).with_name("splits.csv"))
    cells = {attrgetter(*names)(cell): cell for cell in plan("quick")}
    answer = [(*place, fingerprint(task_of(cell))) for place, cell in cells.items()]
    assert answer == list(fixed.itertuples(index=False, name=None))


def mirrored(sample):
    """The sample with every label wrong."""
    return replace(sample, labels=-sample.labels)


@pytest.mark.parametrize("method", [*PAPER, SUPERVISED])
def test_chosen_parameters_ignore_labels_that_are_not_given(method, monkeypatch):
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


def test_invalid_command_runs_nothing(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["run", "quick", "--set", "ties=middle", "--results", str(tmp_path / "results")])
    assert "ties must be one of" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
