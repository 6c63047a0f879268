"""Experiments: the plan, one cell, and the command that runs them."""

from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction import EXPERIMENTS, Cell, Protocol, Selection, plan, run_plan
from reproduction import tasks as running
from reproduction.__main__ import main
from reproduction.evaluation import choose, inner_splits
from reproduction.methods import ECOLOGICAL, LLP_LEARN, METHODS, PAPER, SUPERVISED, UNTUNED
from reproduction.protocol import MethodOptions
from reproduction.tasks import fingerprint, run_cell, task_of

from propcvx.bags.bags import Bags
from propcvx.datasets.files import MissingDataError
from propcvx.errors import InputError

CELL = Cell("blobs", "linear", 4, "MeanMap", 0, 0)


def options(cell=CELL, **changed):
    return replace(cell, protocol=cell.protocol.with_options(**changed))


def test_tables_have_the_cells_of_the_paper_and_no_cell_twice():
    for name in ("table-linear", "table-rbf"):
        assert len({cell.key for cell in plan(name)}) == 7 * 6 * 4 * 5 * 5
    for name in EXPERIMENTS:
        assert len(set(plan(name))) == len(plan(name))
    cells = plan("table-linear", selection=Selection(data=["vote", "heart"]))
    assert (cells[0].data, cells[-1].data) == ("vote", "heart")
    grid = METHODS["alter-pSVM"].grid, METHODS["conv-pSVM"].grid
    assert grid[0] == {"C": (0.1, 1.0, 10.0), "C_p": (1.0, 10.0, 100.0)}
    assert grid[1] == {"C": (0.1, 1.0, 10.0), "epsilon": (0.0, 0.01, 0.1)}


CHANGES = {
    "gaussian": ("exponential", {*PAPER, *UNTUNED}),
    "gammas": ((0.5,), {*PAPER, *UNTUNED, SUPERVISED}),
    "likelihoods": ("sum", {"MeanMap"}),
    "MeanMap_bias": (False, {"MeanMap"}),
    "InvCal_C_p": ((0.5,), {"InvCal"}),
    "epsilons": ((0.2,), {"InvCal", "conv-pSVM"}),
    "restarts": (3, {"alter-pSVM"}),
    "annealing": (False, {"alter-pSVM"}),
    "C_p_times": ("size", {"alter-pSVM"}),
    "alternating_tol": (0.1, {"alter-pSVM"}),
    "intercepts": ("none", {"conv-pSVM"}),
    "cuts": (7, {"conv-pSVM"}),
    "cuts_tol": (0.5, {"conv-pSVM"}),
    "oracle": ("coordinate_features", {"conv-pSVM"}),
    "scaled_epsilon": (True, {"InvCal"}),
}
"""Another value of each option of the methods, and the methods that it reaches."""


@pytest.mark.parametrize("option", [option.name for option in fields(MethodOptions)])
def test_an_option_of_methods_changes_the_cells_that_it_reaches_and_no_others(option):
    value, reached = CHANGES[option]
    for method, entry in METHODS.items():
        before = replace(CELL, method=method, kernel=entry.kernels[-1])
        after = options(before, **{option: value})
        assert (before.key != after.key) == (method in reached)


def test_whatever_a_result_depends_on_is_in_its_key(monkeypatch):
    parts = {"data": "figure1", "kernel": "rbf", "bag_size": 5, "method": "InvCal"}
    parts |= {"repetition": 1, "fold": 1}
    design = {"bags": "equal", "folds": 4, "inner_folds": 4, "tuning": "none"}
    design |= {"error_weights": "size", "ties": "last"}
    changed = [replace(CELL, **{part: value}) for part, value in parts.items()]
    changed += [options(**{name: value}) for name, value in design.items()]
    keys = {cell.key for cell in (CELL, *changed)}
    newer = dict(METHODS, MeanMap=replace(METHODS["MeanMap"], version=99))
    monkeypatch.setattr("reproduction.cells.METHODS", newer)
    assert len(keys | {replace(CELL, fold=0).key}) == len(changed) + 2


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


def test_few_bags_are_left_out_one_by_one():
    train = task_of(replace(CELL, bag_size=12)).train  # 5 bags, of which 4 are for training
    assert [len(test) for _, test in inner_splits(CELL.configured, train, 5, 0)] == [12] * 4


def test_the_splits_of_the_benchmark_are_those_fixed_by_hash(data_home):
    *names, _ = fixed = pd.read_csv(Path(running.__file__).with_name("splits.csv"))
    cells = {attrgetter(*names)(cell): cell for cell in plan("quick")}
    answer = [(*place, fingerprint(task_of(cell))) for place, cell in cells.items()]
    assert answer == list(fixed.itertuples(index=False, name=None))


def test_ties_go_to_the_first_or_the_last():
    errors = np.array([0.3, 0.1 + 0.2 - 0.1, 0.2, 0.5])
    assert errors[1] != errors[2]
    assert (choose(errors), choose(errors, "last")) == (1, 2)


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


def test_a_cell_has_what_was_chosen_and_why():
    cell = options(replace(CELL, method="InvCal"), epsilons=0.1, inner_folds=2)
    points, task = run_cell(cell)["points"], task_of(cell)
    errors = [point["validation_error"] for point in points]
    (chosen,) = (k for k, point in enumerate(points) if point["chosen"])
    assert errors[chosen] == min(errors) > 0.0
    model = cell.configured.estimator.set_params(**points[chosen]["parameters"])
    labels = model.fit(task.train.X, task.train.y).predict(task.test.X)
    assert points[chosen]["accuracy"] == np.mean(labels == task.test.labels)


def test_missing_data_are_named_before_anything_is_run(tmp_path, monkeypatch):
    def nowhere(name):
        raise MissingDataError(f"{name} is nowhere")

    monkeypatch.setattr("reproduction.data.data_file", nowhere)
    with pytest.raises(MissingDataError, match="heart_scale is nowhere"):
        run_plan([CELL, replace(CELL, data="heart")], tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["figure2"], f"experiment must be one of {list(EXPERIMENTS)}"),
        (["quick", "--set", "ties"], "must be NAME=VALUE"),
        (["quick", "--set", "knots=1"], "option must be one of"),
        (["quick", "--set", "ties=middle"], "ties must be one of"),
        (["quick", "--set", "restarts=1"], "--set restarts: quick has restarts=3 itself"),
        (["quick", "--methods", "SVM"], "methods of quick must be among"),
        (["better", "--data", "cod-rna.t", "--methods", SUPERVISED], "better has no cell with"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_run(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["run", *words, "--results", str(tmp_path / "results")])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_ecological_regression_has_the_linear_kernel_only():
    with pytest.raises(InputError, match=r"kernel must be .*'linear'.*got 'rbf'"):
        Cell("blobs", "rbf", 2, ECOLOGICAL, 0, 0, Protocol())
