"""Experiments: the plan, one cell, and what is in the report."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from joblib import Parallel, delayed

from propcvx.bags import Bags
from propcvx.cli import main
from propcvx.datasets.files import MissingDataError
from propcvx.errors import InputError
from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce import (
    PRESETS,
    Cell,
    MethodOptions,
    Protocol,
    Selection,
    Store,
    plan,
    run_plan,
)
from propcvx.experiments.reproduce import evaluate as evaluation
from propcvx.experiments.reproduce.costs import Costs
from propcvx.experiments.reproduce.engines import ClusterError, processes
from propcvx.experiments.reproduce.evaluate import choose, run_cell
from propcvx.experiments.reproduce.experiments import METHODS as PAPERS
from propcvx.experiments.reproduce.methods import LLP_LEARN, METHODS
from propcvx.experiments.reproduce.report import report_text
from propcvx.experiments.reproduce.tasks import fingerprint, inner_splits, task_of

CELL = Cell("blobs", "linear", 4, "MeanMap", 0, 0)


def options(cell=CELL, **changed):
    return replace(cell, protocol=cell.protocol.with_options(**changed))


def test_tables_have_the_cells_of_the_paper():
    for name in ("table-linear", "table-rbf"):
        cells = plan(name)
        assert len(cells) == len({cell.key for cell in cells}) == 7 * 6 * 4 * 5 * 5


def test_columns_are_finished_one_after_the_other():
    cells = plan("table-linear", selection=Selection(data=["vote", "heart"]))
    columns = [(cell.repetition, cell.data, cell.bag_size) for cell in cells]
    assert len(dict.fromkeys(columns)) == sum(a != b for a, b in pairwise([*columns, 0]))
    assert columns[0] == (0, "vote", 2)
    assert columns[-1] == (4, "heart", 64)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"data": ["hart"]}, r"data of table-linear must be among \['heart'.*got \['hart'\]"),
        ({"methods": ["SVM"]}, "methods of table-linear must be among"),
        ({"bag_sizes": [3]}, r"must be among \[2, 4, 8, 16, 32, 64\], got \[3\]"),
        ({"repetitions": [5]}, "repetitions of table-linear"),
        ({"kernels": ["rbf"]}, r"kernels of table-linear must be among \['linear'\]"),
    ],
)
def test_unknown_names_are_told_the_known_ones(selection, message):
    with pytest.raises(InputError, match=message):
        plan("table-linear", selection=Selection(**selection))


def test_unknown_experiments_options_and_values_are_refused():
    with pytest.raises(InputError, match=r"an experiment must be one of .*'table-rbf'"):
        plan("table-two")
    with pytest.raises(InputError, match=r"options must be among .*'ties'.* got \['tie'\]"):
        Protocol().with_options(tie="last")
    with pytest.raises(InputError, match=r"ties must be one of \['first', 'last'\]|\('first'"):
        Protocol().with_options(ties="middle")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("likelihoods", (), r"likelihoods must have a value, got \(\)"),
        ("gammas", "abc", "gammas must be a finite number above 0, got 'abc'"),
        ("gammas", [[1.0]], "gammas must be a finite number above 0"),
        ("epsilons", -0.1, "epsilons must be a finite number at least 0"),
        ("InvCal_C_p", (1.0, -1.0), "InvCal_C_p must be a finite number above 0, got -1.0"),
        ("seed", 0.5, "seed must be a whole number, at least 0, got 0.5"),
        ("inner_folds", 1, "inner_folds must be a whole number, at least 2, got 1"),
    ],
)
def test_values_that_no_cell_could_be_run_with_are_refused(option, value, message):
    with pytest.raises(InputError, match=message):
        Protocol().with_options(**{option: value})


def test_a_selection_without_cells_is_refused():
    selection = Selection(data=["cod-rna.t"], methods=["averaged methods"])
    with pytest.raises(InputError, match="better has no cell with all that is selected"):
        plan("better", selection=selection)


def test_a_grid_of_one_value_is_given_as_that_value():
    assert MethodOptions(cuts=4) == MethodOptions(cuts=(4,)) == MethodOptions(cuts=[4])
    assert MethodOptions(intercepts="none").intercepts == ("none",)
    whole = [
        options(replace(CELL, method="InvCal"), InvCal_C_p=value).key for value in (1, 1.0, [1])
    ]
    assert len(set(whole)) == 1
    for grid in ({"cuts": (1, 0)}, {"intercepts": "center,none"}, {"likelihoods": ("max",)}):
        with pytest.raises(InputError, match=f"{next(iter(grid))} must be"):
            MethodOptions(**grid)


REACHES = {
    "gaussian": PAPERS,
    "gammas": {*PAPERS, SUPERVISED},
    "likelihoods": {"MeanMap"},
    "MeanMap_bias": {"MeanMap"},
    "InvCal_C_p": {"InvCal"},
    "epsilons": {"InvCal", "conv-pSVM"},
    "restarts": {"alter-pSVM"},
    "annealing": {"alter-pSVM"},
    "C_p_times": {"alter-pSVM"},
    "alternating_tol": {"alter-pSVM"},
    "intercepts": {"conv-pSVM"},
    "cuts": {"conv-pSVM"},
    "cuts_tol": {"conv-pSVM"},
    "oracle": {"conv-pSVM"},
    "scaled_epsilon": {"InvCal"},
}
OTHER = {
    "gaussian": "exponential",
    "gammas": (0.5,),
    "likelihoods": "sum",
    "MeanMap_bias": False,
    "InvCal_C_p": (0.5,),
    "epsilons": (0.2,),
    "restarts": 3,
    "annealing": False,
    "C_p_times": "size",
    "alternating_tol": 0.1,
    "intercepts": "none",
    "cuts": 7,
    "cuts_tol": 0.5,
    "oracle": "coordinate_features",
    "scaled_epsilon": True,
}


@pytest.mark.parametrize("option", [option.name for option in fields(MethodOptions)])
def test_an_option_of_methods_changes_the_cells_that_it_reaches_and_no_others(option):
    for method, row in METHODS.items():
        before = replace(CELL, method=method, kernel=row.kernels[-1])
        after = options(before, **{option: OTHER[option]})
        assert (before.key != after.key) == (method in REACHES[option])
        params = [str(cell.configured.estimator.get_params()) for cell in (before, after)]
        grids = [cell.configured.grid for cell in (before, after)]
        reached = params[0] != params[1] or grids[0] != grids[1]
        assert reached == (method in REACHES[option])


def test_whatever_a_result_depends_on_is_in_its_key(monkeypatch):
    changed = [
        replace(CELL, data="figure1"),
        replace(CELL, kernel="rbf"),
        replace(CELL, bag_size=5),
        replace(CELL, method="InvCal"),
        replace(CELL, repetition=1),
        replace(CELL, fold=1),
        options(seed=1),
        options(bags="equal"),
        options(leftover="drop"),
        options(folds=4),
        options(inner_folds=4),
        options(tuning="none"),
        options(scaling="fold"),
        options(error_weights="size"),
        options(ties="last"),
    ]
    keys = {cell.key for cell in changed}
    assert len(keys) == len(changed)
    assert CELL.key not in keys
    newer = dict(METHODS, MeanMap=replace(METHODS["MeanMap"], version=99))
    monkeypatch.setattr("propcvx.experiments.reproduce.cells.METHODS", newer)
    assert replace(CELL, fold=0).key not in {*keys, CELL.key}


def test_all_methods_and_kernels_see_the_same_split():
    cells = [
        replace(CELL, method=method, kernel=kernel)
        for method, row in METHODS.items()
        for kernel in row.kernels
    ]
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


def test_equal_bags_have_the_proportion_of_the_whole():
    task = task_of(replace(options(bags="equal"), bag_size=4))
    assert set(task.train.y["proportion"]) == {0.5}


def test_bags_of_their_own_need_data_that_have_them():
    task = task_of(replace(options(bags="own", folds=1), data="figure1"))
    assert task.train is task.test
    assert sorted(set(task.train.y["proportion"])) == [0.4, 0.6]
    with pytest.raises(InputError, match="bags='own' needs data with bags of their own"):
        task_of(options(bags="own"))


def test_few_bags_are_left_out_one_by_one():
    train = task_of(replace(CELL, bag_size=12)).train  # 5 bags, of which 4 are for training
    splits = list(inner_splits(CELL, train, supervised=False))
    assert [len(test) for _, test in splits] == [12] * 4


def test_ties_go_to_the_first_or_the_last():
    errors = np.array([0.3, 0.1 + 0.2 - 0.1, 0.2, 0.5])
    assert errors[1] != errors[2]
    assert choose(errors, CELL.protocol.design) == 1
    assert choose(errors, options(ties="last").protocol.design) == 2


@pytest.mark.parametrize("method", [name for name in METHODS if name not in LLP_LEARN])
def test_no_choice_looks_at_test_labels(method, monkeypatch):
    cell = options(replace(CELL, method=method, bag_size=12), restarts=1, inner_folds=2)
    honest = run_cell(cell)

    def with_wrong_test_labels(cell):
        task = task_of(cell)
        return replace(task, test=replace(task.test, labels=-task.test.labels))

    monkeypatch.setattr(evaluation, "task_of", with_wrong_test_labels)
    deceived = run_cell(cell)
    assert deceived.chosen == honest.chosen
    assert np.array_equal(deceived.scores, honest.scores)
    for one, other in zip(honest.points, deceived.points, strict=True):
        assert one.validation_error == other.validation_error
        assert one.accuracy == pytest.approx(1.0 - other.accuracy)


def test_a_cell_says_what_was_chosen_and_why():
    result = run_cell(replace(CELL, method="InvCal"))
    errors = [point.validation_error for point in result.points]
    assert len(result.points) == 9
    assert errors[result.chosen] == min(errors)
    task = task_of(replace(CELL, method="InvCal"))
    labels = np.where(result.scores > 0, 1, -1)
    assert result.points[result.chosen].accuracy == np.mean(labels == task.test.labels)


def test_scaling_inside_a_fold_is_by_its_training_instances(monkeypatch):
    seen = []
    fit_each = evaluation.fit_each

    def watched(method, X, target):
        seen.append((X.min(axis=0), X.max(axis=0)))
        return fit_each(method, X, target)

    monkeypatch.setattr(evaluation, "fit_each", watched)
    run_cell(options(scaling="fold"))
    assert len(seen) == 6
    assert all(np.allclose(low, -1) and np.allclose(high, 1) for low, high in seen)


def test_a_failure_is_kept_and_tried_again(tmp_path):
    store, wrong = Store(tmp_path / "results"), options(bags="own")
    for _ in range(2):
        summary = run_plan([wrong], store.file, progress=False)
        assert summary.done == 0
        assert "bags='own' needs data" in summary.failed[0]
    (row,) = store.rows()
    assert row["accuracy"] is None
    assert row["error"].startswith("InputError: bags='own'")


def test_an_estimate_counts_starts_and_is_not_moved_by_one_slow_cell():
    cell = replace(CELL, method="alter-pSVM")
    three, ten = options(cell, restarts=3), options(cell, restarts=10)
    rows = [
        {
            "data": cell.data,
            "bag_size": cell.bag_size,
            "kernel": cell.kernel,
            "method": cell.method,
            "settings": json.dumps(ten.settings),
            "seconds": seconds,
            "error": error,
        }
        for seconds, error in ((90.0, ""), (100.0, ""), (5000.0, ""), (0.1, "failed"))
    ]
    assert Costs(rows).seconds(ten) == pytest.approx(100.0)
    assert Costs(rows).seconds(three) == pytest.approx(30.0)


def test_figure_one_from_the_command_line(tmp_path, capsys):
    file = str(tmp_path / "results")
    assert main(["reproduce", "figure1", "--results", file, "--dry-run"]) == 0
    assert "4 cells, 4 to do" in capsys.readouterr().out
    assert main(["reproduce", "figure1", "--results", file]) == 0
    assert "cells done: 4, failed: 0" in capsys.readouterr().out
    assert main(["reproduce", "figure1", "--results", file]) == 0
    assert "cells done: 0, failed: 0" in capsys.readouterr().out
    assert main(["report", file, "--output", str(tmp_path / "report.md")]) == 0
    text = (tmp_path / "report.md").read_text()
    assert "Figure 1" in text
    assert "| alter-pSVM | **100.0** (1) [100.0 +- 0.0] |" in text
    assert "| own bags | 4 of 4 | 4 | +0.00 | 4 | 0 | 0 | +0.00 |" in text


def test_the_command_line_names_what_is_wrong(tmp_path, capsys):
    file = str(tmp_path / "results")
    for words, message in (
        (["reproduce", "figure2", "--results", file], "an experiment must be one of"),
        (["reproduce", "quick", "--results", file, "--set", "ties"], "must be NAME=VALUE"),
        (["reproduce", "quick", "--results", file, "--set", "knots=1"], "options must be among"),
        (
            ["reproduce", "quick", "--results", file, "--set", "restarts=1"],
            "--set restarts: quick has restarts=3 itself",
        ),
        (["reproduce", "quick", "--results", file, "--set", "gammas={1,2}"], "gammas must be"),
        (["reproduce", "quick", "--results", file, "--bag-sizes", "x"], "invalid list of int"),
        (["report", file], "there is no results file"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert message in capsys.readouterr().err


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "text").write_text("this is no database, and long enough to be told apart\n" * 20)
    with pytest.raises(InputError, match="cannot be used as a results file"):
        run_plan([CELL], tmp_path / "text")


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(tmp_path):
    file = tmp_path / "photos.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE results (photo TEXT)")
    before = file.read_bytes()
    for use in (lambda: run_plan([CELL], file), lambda: report_text(file)):
        with pytest.raises(InputError, match=r"photos.sqlite cannot be used as a results file"):
            use()
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_presets_are_protocols_that_differ():
    paper, program = PRESETS["paper"], PRESETS["authors-program"]
    assert paper == Protocol()
    cells = [Cell("blobs", "rbf", 4, method, 0, 0) for method in PAPERS]
    assert all(cell.key != replace(cell, protocol=program).key for cell in cells)


def test_a_report_leaves_the_file_as_it_is(tmp_path):
    file = tmp_path / "results"
    run_plan([CELL], file, progress=False)
    before = file.read_bytes()
    report_text(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_data_that_cannot_be_had_are_told_before_anything_is_run(tmp_path, monkeypatch):
    def nowhere(name):
        raise MissingDataError(f"{name} is nowhere")

    monkeypatch.setattr("propcvx.experiments.reproduce.data.data_file", nowhere)
    with pytest.raises(MissingDataError, match="heart_scale is nowhere"):
        run_plan([CELL, replace(CELL, data="heart")], tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


def test_a_process_that_is_killed_is_told_of():
    """Of two cells at work at once, one ends its process as a killed one ends."""
    with pytest.raises(ClusterError, match=r"ended from outside, .* fewer --jobs"), processes():
        Parallel(n_jobs=2)(delayed(os._exit)(9) for _ in range(2))


def test_wrong_arguments_show_the_usage_of_the_command(tmp_path, capsys):
    for words, usage in (
        (["reproduce", "figure2", "--results", "none"], "propcvx reproduce"),
        (["report", str(tmp_path / "none")], "propcvx report"),
        (["solvers", "compare", "svm_dua", "--rows", str(tmp_path / "none")], "solvers compare"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        said = capsys.readouterr().err
        assert said.startswith(f"usage: {usage}" if "solvers" not in words else "usage: propcvx")
        assert f"{usage}: error: " in said
