"""Experiments: the plan, one cell, and the command that runs them."""

from dataclasses import fields, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction import (
    EXPERIMENTS,
    PRESETS,
    Cell,
    Protocol,
    Selection,
    evaluation,
    plan,
    run_plan,
)
from reproduction import tasks as running
from reproduction.__main__ import main
from reproduction.evaluation import choose, inner_splits
from reproduction.methods import (
    ECOLOGICAL,
    LLP_LEARN,
    METHODS,
    PAPER,
    SUPERVISED,
    UNTUNED,
)
from reproduction.protocol import MethodOptions
from reproduction.tasks import fingerprint, run_cell, task_of

from propcvx.bags.bags import Bags
from propcvx.datasets.files import MissingDataError
from propcvx.errors import InputError

CELL = Cell("blobs", "linear", 4, "MeanMap", 0, 0)


def options(cell=CELL, **changed):
    return replace(cell, protocol=cell.protocol.with_options(**changed))


# The plan


def test_tables_have_the_cells_of_the_paper_column_after_column():
    for name in ("table-linear", "table-rbf"):
        cells = plan(name)
        assert len(cells) == len({cell.key for cell in cells}) == 7 * 6 * 4 * 5 * 5
    cells = plan("table-linear", selection=Selection(data=["vote", "heart"]))
    columns = [(cell.repetition, cell.data, cell.bag_size) for cell in cells]
    assert len(dict.fromkeys(columns)) == sum(a != b for a, b in pairwise([*columns, 0]))
    assert (columns[0], columns[-1]) == ((0, "vote", 2), (4, "heart", 64))
    for name in EXPERIMENTS:
        cells = plan(name)
        assert len(set(cells)) == len(cells)
    for name in ("natural", "quick"):
        assert {cell.method for cell in plan(name)} == {*PAPER, SUPERVISED, ECOLOGICAL}


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(data=["hart"]), "data of better must be among .*hart"),
        (Selection(methods=["SVM"]), "methods of better must be among .*SVM"),
        (Selection(bag_sizes=[3]), "bag_sizes of better must be among .*3"),
        (Selection(repetitions=[5]), "repetitions of better must be among .*5"),
        (Selection(None, ["cod-rna.t"], methods=["SVM with labels"]), "better has no cell with"),
    ],
)
def test_a_selection_of_what_is_not_there_is_refused(selection, words):
    with pytest.raises(InputError, match=words):
        plan("better", selection=selection)


REFUSED = {"tie": "last", "ties": "middle", "likelihoods": (), "intercepts": "center,none"}
REFUSED |= {"cuts": (1, 0), "gammas": [[1.0]], "epsilons": -0.1, "inner_folds": 1, "annealing": 1}


@pytest.mark.parametrize(("option", "value"), REFUSED.items())
def test_options_that_no_cell_could_be_run_with_are_refused(option, value):
    with pytest.raises(InputError, match=option):
        Protocol().with_options(**{option: value})


def test_a_grid_of_one_value_is_given_as_that_value():
    assert MethodOptions(cuts=4) == MethodOptions(cuts=(4,)) == MethodOptions(cuts=[4])
    cells = [options(replace(CELL, method="InvCal"), InvCal_C_p=v) for v in (1, 1.0, [1])]
    assert len({cell.key for cell in cells}) == 1


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
        old, new = (cell.configured for cell in (before, after))
        parameters = [str(each.estimator.get_params()) for each in (old, new)]
        assert (parameters[0] != parameters[1] or old.grid != new.grid) == (method in reached)


def test_whatever_a_result_depends_on_is_in_its_key(monkeypatch):
    parts = {"data": "figure1", "kernel": "rbf", "bag_size": 5, "method": "InvCal"}
    parts |= {"repetition": 1, "fold": 1}
    design = {"seed": 1, "bags": "equal", "leftover": "drop", "folds": 4, "inner_folds": 4}
    design |= {"tuning": "none", "scaling": "fold", "error_weights": "size", "ties": "last"}
    assert set(design) == set(CELL.settings["design"])
    changed = [replace(CELL, **{part: value}) for part, value in parts.items()]
    changed += [options(**{name: value}) for name, value in design.items()]
    newer = dict(METHODS, MeanMap=replace(METHODS["MeanMap"], version=99))
    keys = {cell.key for cell in (CELL, *changed)}
    monkeypatch.setattr("reproduction.cells.METHODS", newer)
    assert len(keys | {replace(CELL, fold=0).key}) == len(changed) + 2
    for method in PAPER:
        cell = Cell("blobs", "rbf", 4, method, 0, 0)
        assert cell.key != replace(cell, protocol=PRESETS["authors-program"]).key


# The data of a cell


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
    assert sum(len(task.test.labels) for task in tasks) == 60
    assert sorted(np.bincount(np.concatenate([t.test.y["bag"] for t in tasks]))) == [4] + [7] * 8
    dropped = [task_of(replace(options(leftover="drop"), bag_size=7, fold=k)) for k in range(5)]
    assert sum(len(task.test.labels) for task in dropped) == 56


def test_bags_are_random_or_equal_or_those_of_the_data():
    assert set(task_of(options(bags="equal")).train.y["proportion"]) == {0.5}
    task = task_of(replace(options(bags="own", folds=1), data="figure1"))
    assert task.train is task.test
    assert sorted(set(task.train.y["proportion"])) == [0.4, 0.6]
    with pytest.raises(InputError, match="bags='own' needs data with bags of their own"):
        task_of(options(bags="own"))


def test_other_readings_of_the_protocol():
    inside = [task_of(replace(options(bags="inside"), bag_size=7, fold=k)) for k in range(5)]
    for task in inside:
        assert np.bincount(task.train.y["bag"]).tolist() == [7] * 6 + [6]
        assert np.bincount(task.test.y["bag"]).tolist() == [7, 5]
        rows = {tuple(row) for part in (task.train, task.test) for row in part.X}
        assert len(rows) == 60
    assert len({tuple(row) for task in inside for row in task.test.X}) == 60

    def bags_of(bags, repetition):
        tasks = [
            task_of(replace(options(bags=bags), repetition=repetition, fold=k)) for k in (0, 1)
        ]
        parts = [
            {(tuple(row), bag) for row, bag in zip(t.test.X, t.test.y["bag"], strict=True)}
            for t in tasks
        ]
        whole = [
            (tuple(row), bag)
            for part in (tasks[0].train, tasks[0].test)
            for row, bag in zip(part.X, part.y["bag"], strict=True)
        ]
        return set(whole), parts

    (first, folds), (again, other_folds) = (bags_of("once", repetition) for repetition in (0, 1))
    assert first == again == bags_of("random", 0)[0] != bags_of("random", 1)[0]
    assert folds != other_folds


def test_few_bags_are_left_out_one_by_one():
    train = task_of(replace(CELL, bag_size=12)).train  # 5 bags, of which 4 are for training
    assert [len(test) for _, test in inner_splits(CELL.configured, train, 5, 0)] == [12] * 4


def test_the_splits_of_the_benchmark_are_those_fixed_by_hash(data_home):
    *names, _ = fixed = pd.read_csv(Path(running.__file__).with_name("splits.csv"))
    cells = {attrgetter(*names)(cell): cell for cell in plan("quick")}
    tasks = {place: task_of(cell) for place, cell in cells.items()}
    answer = [(*place, fingerprint(task)) for place, task in tasks.items()]
    assert answer == list(fixed.itertuples(index=False, name=None))
    women = [task.test for (data, *_), task in tasks.items() if data == "contraception"]
    assert sum(len(test.labels) for test in women) == 1934
    assert sum(Bags.from_target(test.y).n_bags for test in women) == 60


@pytest.mark.slow
def test_ballots_in_groups(data_home):
    groups = task_of(plan("natural", selection=Selection(data=["ballots-groups"]))[0])
    assert len(groups.train.labels) + len(groups.test.labels) == 25_600
    assert not set(groups.train.y["bag"]) & set(groups.test.y["bag"])


# Running a cell


def test_ties_go_to_the_first_or_the_last():
    errors = np.array([0.3, 0.1 + 0.2 - 0.1, 0.2, 0.5])
    assert errors[1] != errors[2]
    assert (choose(errors), choose(errors, "last")) == (1, 2)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in LLP_LEARN])
def test_no_choice_looks_at_test_labels(method, monkeypatch):
    small = {"restarts": 1, "annealing": False, "inner_folds": 2, "epsilons": (0.0, 0.1)}
    small |= {"intercepts": "center", "cuts": 1}
    cell = options(replace(CELL, method=method, bag_size=12), **small)
    honest = run_cell(cell)["points"]

    def with_wrong_test_labels(cell):
        task = task_of(cell)
        return replace(task, test=replace(task.test, labels=-task.test.labels))

    monkeypatch.setattr(running, "task_of", with_wrong_test_labels)
    deceived = run_cell(cell)["points"]
    for first, other in zip(honest, deceived, strict=True):
        for name in ("parameters", "validation_error", "chosen", "objective"):
            assert first[name] == other[name]
        assert first["accuracy"] == pytest.approx(1.0 - other["accuracy"])


def test_a_cell_says_what_was_chosen_and_why():
    cell = options(replace(CELL, method="InvCal"), epsilons=0.1, inner_folds=2)
    points, task = run_cell(cell)["points"], task_of(cell)
    errors = [point["validation_error"] for point in points]
    assert len(points) == 3
    (chosen,) = (k for k, point in enumerate(points) if point["chosen"])
    assert errors[chosen] == min(errors) > 0.0
    model = cell.configured.estimator.set_params(**points[chosen]["parameters"])
    labels = model.fit(task.train.X, task.train.y).predict(task.test.X)
    assert points[chosen]["accuracy"] == np.mean(labels == task.test.labels)
    assert points[chosen]["objective"] == pytest.approx(model.objective_)


@pytest.mark.parametrize(("by", "n_fits"), [("fold", 3), ("set", 0)])
def test_scaling_inside_a_fold_is_by_its_training_instances(by, n_fits, monkeypatch):
    seen = []
    scaler = evaluation.MinMaxScaler

    class Watched(scaler):
        def fit(self, X, y=None):
            seen.append(X)
            return super().fit(X, y)

    monkeypatch.setattr(evaluation, "MinMaxScaler", Watched)
    assert run_cell(options(scaling=by, inner_folds=2))["error"] == ""
    train = task_of(CELL).train
    assert len(seen) == n_fits
    assert all(len(X) < len(train.X) for X in seen[:-1])
    assert all(np.array_equal(X, train.X) for X in seen[-1:])


def test_validation_errors_are_weighted_by_the_sizes_of_bags():
    cell = replace(options(inner_folds=2), bag_size=7)
    both = [run_cell(each)["points"] for each in (cell, options(cell, error_weights="size"))]
    plain, weighted = np.array([[point["validation_error"] for point in of] for of in both])
    assert np.all(weighted > 3.9 * plain)
    assert np.all(weighted <= 7.0 * plain + 1e-9)


def test_missing_data_are_named_before_anything_is_run(tmp_path, monkeypatch):
    def nowhere(name):
        raise MissingDataError(f"{name} is nowhere")

    monkeypatch.setattr("reproduction.data.data_file", nowhere)
    with pytest.raises(MissingDataError, match="heart_scale is nowhere"):
        run_plan([CELL, replace(CELL, data="heart")], tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


# The command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["figure2"], f"experiment must be one of {list(EXPERIMENTS)}"),
        (["quick", "--set", "ties"], "must be NAME=VALUE"),
        (["quick", "--set", "knots=1"], "option must be one of"),
        (["quick", "--set", "restarts=1"], "--set restarts: quick has restarts=3 itself"),
        (["quick", "--bag-sizes", "x"], "invalid list of int"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_run(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["run", *words, "--results", str(tmp_path / "results")])
    said = capsys.readouterr().err
    assert said.startswith("usage: python -m reproduction")
    assert message in said
    assert not (tmp_path / "results").exists()
