"""A results file as a report and as data: entries, tests, choices, bold, pictures, formats."""

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import report_tables
from reproduction import EXPERIMENTS, Protocol, Selection, plan, report
from reproduction import entries as frames
from reproduction.__main__ import main
from reproduction.entries import paired_p_value, printed
from reproduction.evaluation import OF_CHOSEN, choose
from reproduction.methods import SUPERVISED
from reproduction.results import read_results, write_parquet
from scipy.stats import ttest_rel

from propcvx.errors import InputError

# heart, linear kernel, bags of 2: print has 81.85, 81.78, 83.41 (bold) and 83.33.
ACCURACIES = {"MeanMap": 0.60, "InvCal": 0.81, "alter-pSVM": 0.83, "conv-pSVM": 0.99}
TWO_COLUMNS = Selection(data=["heart"], bag_sizes=[2, 4], repetitions=[0, 1])
SIZES = (54, 54, 54, 54, 55)
"""Test instances of the folds."""


def rows_of(cell, points, error=""):
    """A cell in a results frame; points are parameters, validation error and share right."""
    row = asdict(cell)
    del row["protocol"]
    row |= {"key": cell.key, "settings": json.dumps(cell.settings, sort_keys=True), "error": error}
    row |= {
        "split": f"{cell.repetition} {cell.fold}",
        "n_test": SIZES[cell.fold],
        "warnings": "[]",
    }
    row |= {"seconds": 2.0, "fit_seconds": 0.2, "finished": "", "bag_error": 0.1, "objective": 1.0}
    row |= {"auc": 0.75, "log_loss": 0.5, "explained": 0.4}
    row["run"] = json.dumps(
        {"python": "3.11", "command": "python -m reproduction run table-linear"}
    )
    chosen = None if error else choose(np.array([point[1] for point in points]))
    for k, (parameters, validation_error, accuracy) in enumerate(points):
        point = {"parameters": json.dumps(parameters), "chosen": k == chosen}
        yield {**row, **point, "validation_error": validation_error, "accuracy": accuracy}


def two_points(cell):
    """Accuracies vary a little with the split, and by test they would be 4 points more."""
    wiggle = 0.01 * ((7 * cell.fold + 3 * cell.repetition + len(cell.method)) % 5 - 2)
    accuracy = ACCURACIES[cell.method] + wiggle * (cell.method != "conv-pSVM")
    return [({"C": 0.1}, 1.0, accuracy), ({"C": 1.0}, 2.0, accuracy + 0.04)]


def made(points, experiment="table-linear", size=2, protocol=None):
    """Results of methods on heart; of each method a list for each repetition, with its folds.

    A fold has the points of :func:`rows_of`, or the share right of a single one.
    """
    repetitions = list(range(max(map(len, points.values()))))
    selection = Selection(repetitions, ["heart"], None, [size], list(points))
    rows = []
    for cell in plan(experiment, protocol, selection):
        folds = dict(enumerate(points[cell.method])).get(cell.repetition, [])
        for of_fold in folds[cell.fold : cell.fold + 1]:
            rows += rows_of(cell, of_fold if isinstance(of_fold, list) else [({}, 0.0, of_fold)])
    return frames.points_of(pd.DataFrame(rows), frames.planned([experiment], protocol, selection))


@pytest.fixture(scope="module", autouse=True)
def few_experiments():
    """Reports look for the cells of two experiments only, which is faster."""
    with pytest.MonkeyPatch.context() as patch:
        few = {name: EXPERIMENTS[name] for name in ("table-linear", "quick")}
        patch.setattr(report, "EXPERIMENTS", few)
        yield


@pytest.fixture(scope="module")
def frame():
    """Two columns of Table 2 with two repetitions, but one cell failed."""
    *cells, last = plan("table-linear", selection=TWO_COLUMNS)
    rows = [row for cell in cells for row in rows_of(cell, two_points(cell))]
    failed = rows_of(last, [({}, np.nan, np.nan)], error="ValueError: <b>a | b</b>")
    return pd.DataFrame([*rows, *failed])


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    file = tmp_path_factory.mktemp("results") / "results.parquet"
    write_parquet(frame, file)
    return file


@pytest.fixture(scope="module")
def text(file):
    return report.report_text(file)


def test_uncorrected_it_is_the_paired_t_test():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    differences = first - second
    p_value = paired_p_value(differences.mean(), differences.std(ddof=1), 12)
    assert p_value == pytest.approx(ttest_rel(first, second).pvalue)
    assert paired_p_value(np.array([0.0, 2.0]), np.zeros(2), 3).tolist() == [1.0, 0.0]


def test_the_correction_keeps_the_level_where_differences_are_correlated():
    # Nadeau and Bengio: correlation n_test / (n_test + n_train), here 1/5 as in five folds.
    random, n_draws = np.random.default_rng(0), 4000
    common = random.normal(size=(n_draws, 1)) * np.sqrt(1 / 5)
    draws = common + random.normal(size=(n_draws, 25)) * np.sqrt(4 / 5)
    sample = draws.mean(axis=1), draws.std(axis=1, ddof=1), 25
    corrected = np.mean(paired_p_value(*sample, 1 / 4) < 0.05)
    assert abs(corrected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_draws)
    assert np.mean(paired_p_value(*sample) < 0.05) > 0.3


def test_methods_are_compared_on_the_splits_of_whole_repetitions_that_both_have():
    shares = {"InvCal": [[0.80, 0.82, 0.81, 0.84, 0.80], [0.9] * 5, [0.5] * 5]}
    shares["MeanMap"] = [[0.78, 0.81, 0.80, 0.80, 0.79], [0.1] * 4]
    first, other = frames.paired_tests(made(shares)).sort_values("first").to_dict("records")
    differences = 100.0 * np.subtract(shares["InvCal"][0], shares["MeanMap"][0])
    assert (first["first"], first["second"], first["n_splits"]) == ("InvCal", "MeanMap", 5)
    assert first["difference"] == -other["difference"] == pytest.approx(differences.mean())
    expected = paired_p_value(differences.mean(), differences.std(ddof=1), 5, 1 / 4)
    assert first["p_value"] == other["p_value"] == pytest.approx(expected)
    on_training = {method: [[0.8], [0.9]] for method in shares}
    assert frames.paired_tests(made(on_training, protocol=Protocol(folds=1))).empty


def test_what_the_paper_prints_is_of_cells_that_are_planned():
    cells = frames.planned(dict.fromkeys(printed().index.get_level_values("experiment")))
    assert set(printed().index) <= set(map(tuple, cells[printed().index.names].to_numpy()))
    assert len(printed()) == 2 * 7 * 6 * 4 + 6 + 4 + 4


def test_entries_are_means_over_whole_repetitions():
    shares = np.random.default_rng(0).uniform(size=(3, 5)).tolist()
    (entry,) = frames.entries_of(made({"InvCal": [*shares[:2], shares[2][:4]]})).to_dict("records")
    means = 100 * np.average(shares[:2], axis=1, weights=SIZES)
    assert (entry["done"], entry["cells"], entry["repetitions"]) == (14, 15, 2)
    assert entry["accuracy"] == pytest.approx(means.mean())
    assert entry["std"] == pytest.approx(means.std(ddof=1))
    assert entry["fit_seconds"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("off", "side"), [(-2.1, "below"), (-1.9, "within"), (1.9, "within"), (2.1, "above")]
)
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_an_entry_is_within_above_or_below_print_whatever_its_own_deviation(off, side, spread):
    mean, std, _ = printed().loc[("table-linear", "heart", "linear", 2, "InvCal")]
    shares = [[0.01 * (mean + off * std) + way * spread] * 5 for way in (-1, 0, 1)]
    assert frames.entries_of(made({"InvCal": shares}))["side"].tolist() == [side]


def test_parameters_can_be_chosen_for_each_fold_or_for_all():
    # C=1 has the smallest error in three folds of five, but not in all together, where 0.1 and 10
    # are equal but for their last digit, so that the first is taken.
    errors = {0.1: [1.0, 4.0, 4.0, 4.0, 0.0], 1.0: [2.0, 3.0, 3.0, 3.0, 9.0]}
    errors[10.0] = [error * (1 - 1e-15) for error in errors[0.1]]
    right = {0.1: [0.5, 0.6, 0.6, 0.6, 0.5], 1.0: [0.7, 0.5, 0.5, 0.9, 0.4], 10.0: [0.2] * 5}
    folds = [[({"C": C}, errors[C][k], right[C][k]) for C in errors] for k in range(5)]
    answer = report_tables.choices_of(made({"InvCal": [folds]}))
    expected = [[0.5, 0.5, 0.5, 0.9, 0.5], right[0.1], [0.7, 0.6, 0.6, 0.9, 0.5], right[1.0]]
    means = 100 * np.average(expected, axis=1, weights=SIZES)
    assert answer[list(report_tables.CHOICES)].to_numpy() == pytest.approx(means[np.newaxis])


def test_best_are_the_largest_mean_and_what_the_test_does_not_distinguish_from_it():
    shares = {
        "alter-pSVM": [(0.90, 0.91, 0.92, 0.90, 0.91)],
        "conv-pSVM": [(0.91, 0.90, 0.90, 0.91, 0.91)],
        "MeanMap": [(0.70, 0.71, 0.71, 0.70, 0.71)],
        SUPERVISED: [(0.99, 0.99, 0.99, 0.99, 0.98)],
    }
    entries = frames.entries_of(made(shares, "quick", 8))
    assert set(entries[entries["best"]]["method"]) == {"alter-pSVM", "conv-pSVM"}


def test_bold_is_ours_by_test_and_the_papers_by_word(text):
    ours, *_ = (line for line in text.splitlines() if line.startswith("| conv-pSVM | "))
    assert "**99.0 +- 0.0** [83.3 +- 0.6]" in ours
    (alter,) = (line for line in text.splitlines() if line.startswith("| alter-pSVM | 8"))
    assert alter.split(" | ")[1].endswith("[83.4 +- 0.7, bold]")
    assert "**" not in alter


def test_a_report_counts_entries_beside_print(frame, text):
    points = frames.points_of(frame, frames.planned(["table-linear"], selection=TWO_COLUMNS))
    sides = frames.entries_of(points)["side"].tolist()
    counts = [8, *(sides.count(side) for side in ("within", "above", "below"))]
    assert min(counts[2:]) > 0
    lines = [line.split(" | ") for line in text.splitlines()]
    for start in ("| Table 2: linear kernel", "| bags of "):
        of_it = [line for line in lines if line[0].startswith(start)]
        assert [sum(int(line[k]) for line in of_it) for k in (2, 4, 5, 6)] == counts


def test_a_report_has_what_choosing_by_test_gives_and_paired_tests(text):
    *alone, tests = (line for line in text.splitlines() if line.startswith("| heart | linear | 2"))
    assert [line.split(" | ")[7] for line in alone] == ["+4.0"] * 4
    first, second = tests.split(" | ")[3:5]
    assert re.fullmatch(r"\*\*\+2.* n 10\)\*\*", first)
    assert second.startswith("+2.0")


def test_a_report_says_of_which_file_failures_and_options_it_is(file, text):
    assert f"sha256 `{hashlib.sha256(file.read_bytes()).hexdigest()}`: 80 results, 0 of" in text
    assert "heart linear 4 conv-pSVM: ValueError: <b>a | b</b>" in text
    assert "~~~~\npython -m reproduction run table-linear\n~~~~" in text
    assert "| python | 3.11 |" in text
    assert "A few columns of Table 2" not in text  # those that are done are all in Table 2
    assert "Options of the protocol that are not its defaults: none." in text
    other = report.report_text(file, protocol=Protocol(ties="last", restarts=3))
    assert "`ties='last'`, `restarts=3`" in other
    assert "80 results, 80 of them of other options" in other


def test_a_report_counts_the_splits_that_are_those_fixed_by_hash(tmp_path):
    fixed = pd.read_csv(Path(report.__file__).with_name("splits.csv"))
    cells = plan("quick", selection=Selection(data=["heart"], methods=["MeanMap"]))
    rows = pd.DataFrame(row for cell in cells for row in rows_of(cell, [({}, 0.0, 0.5)]))
    rows = rows.drop(columns="split").merge(fixed)
    rows.loc[0, "split"] = "another"
    write_parquet(rows, tmp_path / "quick.parquet")
    text = report.report_text(tmp_path / "quick.parquet")
    assert f"{len(cells)} of the splits of the experiment `quick`" in text
    assert f"and {len(cells) - 1} of them have" in text


def test_markdown_has_its_pictures_beside_it(file, text, tmp_path):
    assert main(["report", str(file), "--output", str(tmp_path / "all.md")]) == 0
    lines = (tmp_path / "all.md").read_text(encoding="utf-8").split("\n\n")
    (link,) = (line for line in lines if line.startswith("!["))
    assert "\n\n".join(line for line in lines if line != link) == text
    assert link.endswith("](all_files/table-linear-heart-linear.svg)")
    picture = tmp_path / "all_files/table-linear-heart-linear.svg"
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_pictures_have_what_is_done_and_what_is_printed(file):
    figures = []
    report.report_text(file, keep=lambda name, figure: figures.append(figure) or name)
    (axes,) = (figure.axes for figure in figures)
    assert [ax.get_title() for ax in axes] == list(ACCURACIES)
    here, paper = (container.lines[0] for container in axes[0].containers)
    assert (list(here.get_xdata()), list(paper.get_xdata())) == ([2, 4], [2, 4, 8, 16, 32, 64])
    assert paper.get_ydata()[0] == 81.85


def test_results_as_data_can_be_reported_again(file, frame, tmp_path):
    for name in ("cells.csv", "cells.parquet"):
        report.write_report(file, output=tmp_path / name)
    again = read_results(tmp_path / "cells.parquet")
    by_key = frame.sort_values("key", kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(again.astype(frame.dtypes), by_key, check_like=True)
    csv = pd.read_csv(tmp_path / "cells.csv")
    assert csv[["accuracy", "settings"]].equals(by_key[["accuracy", "settings"]])


def test_results_of_versions_without_what_scores_say_can_be_read(frame, tmp_path):
    write_parquet(frame.drop(columns=[*OF_CHOSEN]), tmp_path / "cells.parquet")
    again = read_results(tmp_path / "cells.parquet")
    assert again[[*OF_CHOSEN]].isna().all(axis=None)
    assert set(again) == set(frame)


def test_the_report_says_what_scores_and_probabilities_are_worth(text, frame):
    entries = frames.entries_of(frames.points_of(frame, frames.planned(["table-linear"])))
    header, _, row, *_ = report.entry_table(entries[entries["repetitions"] > 0]).splitlines()
    values = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    assert [values[name] for name in ("AUC", "log loss", "explained")] == ["75", "0.50", "40"]
    assert header in text


def test_what_cannot_be_written_is_named_and_leaves_nothing(file, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for source, output, words in (
        (file, "a.pdf", r"ending of the output must be one of .*.md.*, got '.pdf'"),
        (tmp_path / "nothing", "a.csv", "there is no results file"),
        (file, "nowhere/a.csv", "nowhere"),
        (file, "folder.csv", r"folder.csv cannot be written"),
    ):
        with pytest.raises(InputError, match=words):
            report.write_report(source, output=tmp_path / output)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]
