"""A results file as a report and as data: tests, counts, bold, pictures, formats."""

import hashlib
import sqlite3
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from propcvx.cli import main
from propcvx.errors import InputError
from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce import Selection, Store, plan
from propcvx.experiments.reproduce.entries import Entry, entries_of
from propcvx.experiments.reproduce.evaluate import Point, Result
from propcvx.experiments.reproduce.methods import AVERAGED, LLP_LEARN
from propcvx.experiments.reproduce.paired import (
    best_methods,
    compare,
    paired_p_value,
    printed_p_value,
)
from propcvx.experiments.reproduce.printed import Printed, printed
from propcvx.experiments.reproduce.report import (
    OUTPUTS,
    Picture,
    document_of,
    html_page,
    markdown_text,
    write_report,
)
from propcvx.experiments.reproduce.report import output as output_module
from propcvx.experiments.reproduce.report.choices import (
    CHOICES,
    LARGE,
    by_method,
    deviations_table,
    differences_table,
    fixed_table,
)
from propcvx.experiments.reproduce.report.document import OWN_PARTS
from propcvx.experiments.reproduce.report.tables import by_repetitions, summary_table

# heart, linear kernel, bags of 2: print has 81.85, 81.78, 83.41 (bold) and 83.33.
ACCURACIES = {"MeanMap": 0.60, "InvCal": 0.81, "alter-pSVM": 0.83, "conv-pSVM": 0.99}
SELECTION = Selection(data=["heart"], bag_sizes=[2, 4], repetitions=[0, 1])
ONE_REPETITION = Selection(data=["heart"], bag_sizes=[2], methods=["InvCal"], repetitions=[0])


def result_of(cell, *, error=""):
    """As if run: accuracies vary a little with the split, and by test it were 4 points more."""
    wiggle = 0.01 * ((7 * cell.fold + 3 * cell.repetition + len(cell.method)) % 5 - 2)
    accuracy = ACCURACIES[cell.method] + wiggle * (cell.method != "conv-pSVM")
    points = tuple(
        Point({"C": C}, error_, accuracy + better, 0.1, 1.0, 0.2)
        for C, error_, better in ((0.1, 1.0, 0.0), (1.0, 2.0, 0.04))
    )
    split = f"{cell.data} {cell.bag_size} {cell.repetition} {cell.fold}"
    scores = np.zeros(0 if error else 54)
    return Result(() if error else points, 0, scores, split, 2.0, (), error)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Two columns of Table 2 with two repetitions, but one cell failed."""
    file = tmp_path_factory.mktemp("results") / "results.sqlite"
    store = Store(file)
    run = store.begin_run()
    *cells, last = plan("table-linear", selection=SELECTION)
    for cell in cells:
        store.record(cell, result_of(cell), run)
    store.record(last, result_of(last, error="ValueError: <b>a | b</b>"), run)
    return file


@pytest.fixture(scope="module")
def document(file):
    return document_of(file)


@pytest.fixture(scope="module")
def text(document):
    return markdown_text(document)


def entry(method, split_accuracies, *, paper=None, folds=5):
    mean = float(np.mean(list(split_accuracies.values())))
    return Entry(
        data="heart",
        kernel="linear",
        bag_size=2,
        method=method,
        accuracies=(mean,),
        by_test=(mean + 1.0,),
        for_all_folds=(mean - 1.0,),
        combinations={"C=1": (mean - 2.0,), "C=10": (mean + 0.5,)},
        folds=folds,
        split_accuracies=split_accuracies,
        seconds=1.0,
        fit_seconds=1.0,
        n_cells=5,
        n_done=5,
        paper=paper,
    )


def splits(*values):
    return {f"split {k}": value for k, value in enumerate(values)}


def test_uncorrected_it_is_the_paired_t_test():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    expected = ttest_rel(first, second).pvalue
    assert paired_p_value(first - second) == pytest.approx(expected)


def test_the_correction_keeps_the_level_where_differences_are_correlated():
    # Nadeau and Bengio: correlation n_test / (n_test + n_train), here 1/5 as in five folds.
    random, n_draws = np.random.default_rng(0), 4000
    common = random.normal(size=(n_draws, 1)) * np.sqrt(1 / 5)
    draws = common + random.normal(size=(n_draws, 25)) * np.sqrt(4 / 5)
    corrected = np.mean([paired_p_value(draw, 1 / 4) < 0.05 for draw in draws])
    plain = np.mean([paired_p_value(draw) < 0.05 for draw in draws])
    assert abs(corrected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_draws)
    assert plain > 0.3


def test_constant_differences_are_certain():
    assert paired_p_value([0.0, 0.0, 0.0]) == 1.0
    assert paired_p_value([2.0, 2.0, 2.0]) == 0.0


def test_methods_are_compared_on_the_splits_that_both_have():
    first = entry("InvCal", splits(80.0, 82.0, 81.0))
    second = entry("MeanMap", {"split 2": 80.0, "split 0": 78.0, "another": 0.0})
    found = compare(first, second)
    assert (found.n_splits, found.difference) == (2, 1.5)
    assert found.p_value == paired_p_value([2.0, 1.0], 1 / 4) > found.plain_p_value


def test_without_two_splits_or_test_instances_nothing_is_tested():
    one, other = entry("InvCal", splits(80.0)), entry("MeanMap", splits(70.0))
    assert np.isnan(compare(one, other).p_value)
    same = splits(80.0, 70.0)
    assert np.isnan(compare(entry("A", same, folds=1), entry("B", same, folds=1)).p_value)
    assert best_methods([one, other]) == {"InvCal"}


def test_best_are_the_largest_mean_and_what_the_test_does_not_tell_from_it():
    column = [
        entry("alter-pSVM", splits(90.0, 91.0, 92.0, 90.0, 91.0)),
        entry("conv-pSVM", splits(91.0, 90.0, 90.0, 91.0, 91.0)),
        entry("MeanMap", splits(70.0, 71.0, 71.0, 70.0, 71.0)),
        entry(SUPERVISED, splits(99.0, 99.0, 99.0, 99.0, 98.0)),
    ]
    assert best_methods(column) == {"alter-pSVM", "conv-pSVM"}
    assert best_methods([]) == frozenset()


def test_an_entry_lies_within_above_or_below_print():
    same = splits(80.0, 80.0)
    places = {84.1: "below", 83.9: "within", 76.1: "within", 75.9: "above"}
    for accuracy, place in places.items():
        assert entry("InvCal", same, paper=Printed(accuracy, 2.0, False)).beside_print == place
    assert entry("InvCal", same).beside_print == ""
    assert entry("InvCal", same).lost == 1.0


@pytest.mark.parametrize("method", [AVERAGED, SUPERVISED, None])
def test_the_best_in_print_has_no_table_without_a_row(method):
    done = [entry(method, splits(81.0))] if method else []
    parts = list(OWN_PARTS["better"](done))
    assert [part.startswith("###") for part in parts] == {
        AVERAGED: [True, False, False],
        SUPERVISED: [True, False],
        None: [],
    }[method]
    assert all(part.startswith("###") or len(part.splitlines()) > 2 for part in parts)


def test_a_noisy_mean_does_not_agree_the_sooner():
    paper = Printed(accuracy=85.0, std=2.0, bold=False)
    one = entry("InvCal", splits(80.0), paper=paper)
    for spread in (0.0, 1.0, 30.0):
        noisy = replace(one, accuracies=(80.0 - spread, 80.0, 80.0 + spread))
        assert noisy.beside_print == "below"


def test_printed_means_are_tested_by_their_deviations():
    heart, other = Printed(83.41, 0.71, True), Printed(81.85, 1.28, False)
    t = (83.41 - 81.85) / np.sqrt((0.71**2 + 1.28**2) / 5)
    assert 2.306 < t < 2.896  # 5% and 2% two-sided with 8 degrees of freedom
    assert 0.02 < printed_p_value(heart, other) < 0.05


def test_a_summary_has_what_choosing_by_test_accuracy_would_have_given():
    paper = Printed(accuracy=80.0, std=1.0, bold=False)
    table = summary_table({"all": [entry("InvCal", splits(81.0, 82.0), paper=paper)]})
    assert table.splitlines()[-1] == "| all | 5 of 5 | 1 | +1.50 | 1 | 0 | 0 | +2.50 |"


def test_bold_is_ours_by_test_and_the_papers_by_word(text):
    rows = [line for line in text.splitlines() if line.startswith("| conv-pSVM | ")]
    assert "**99.0 +- 0.0** [83.3 +- 0.6]" in rows[0]
    (alter,) = (line for line in text.splitlines() if line.startswith("| alter-pSVM | 8"))
    assert alter.split(" | ")[1].endswith("[83.4 +- 0.7, bold]")
    assert "**" not in alter


def expected_place(own, paper):
    off = np.mean(own) - paper.accuracy
    return "within" if abs(off) <= 2 * paper.std else "above" if off > 0 else "below"


def test_a_report_counts_entries_beside_print(file, text):
    rows, sides = pd.DataFrame(Store(file).rows()), []
    for place, group in rows.groupby(["data", "kernel", "bag_size", "method"]):
        whole = group.groupby("repetition")["accuracy"].agg(lambda folds: folds.mean(skipna=False))
        sides.append(expected_place(100 * whole.dropna(), printed()["table-linear", *place]))
    within, above, below = (sides.count(side) for side in ("within", "above", "below"))
    assert above > 0
    assert below > 0
    assert (
        f"Of 8 entries beside print, {within} lie within two printed deviations, {above} above "
        f"and {below} below."
    ) in text
    by_size = [line.split(" | ") for line in text.splitlines() if line.startswith("| bags of ")]
    counts = [sum(int(line[column]) for line in by_size) for column in (2, 4, 5, 6)]
    assert counts == [8, within, above, below]


def test_a_report_shows_what_choosing_by_test_accuracy_would_give(text):
    assert "MeanMap +4.0, InvCal +4.0, alter-pSVM +4.0, conv-pSVM +4.0." in text


def test_parameters_can_be_chosen_for_each_fold_or_for_all(tmp_path):
    # C=1 has the smallest error in three folds of five, but not in all together.
    errors = {0.1: [1.0, 4.0, 4.0, 4.0, 0.0], 1.0: [2.0, 3.0, 3.0, 3.0, 9.0]}
    right = {0.1: [0.5, 0.6, 0.6, 0.6, 0.5], 1.0: [0.7, 0.5, 0.5, 0.9, 0.4]}
    sizes = [54, 54, 54, 54, 55]
    store = Store(tmp_path / "results.sqlite")
    run, cells = store.begin_run(), plan("table-linear", selection=ONE_REPETITION)
    for k, cell in enumerate(cells):
        points = tuple(Point({"C": C}, errors[C][k], right[C][k], 0.1, 1.0, 0.2) for C in errors)
        chosen = int(errors[1.0][k] < errors[0.1][k])
        store.record(cell, Result(points, chosen, np.zeros(sizes[k]), f"{k}", 2.0, (), ""), run)
    (found,) = entries_of("table-linear", cells, store.rows())
    expected = {
        "each fold, bag error": [0.5, 0.5, 0.5, 0.9, 0.5],
        "all folds, bag error": right[0.1],
        "each fold, test accuracy": [0.7, 0.6, 0.6, 0.9, 0.5],
        "all folds, test accuracy": right[1.0],
    }
    assert {name: accuracies(found) for name, accuracies in CHOICES.items()} == {
        name: (pytest.approx(100 * np.average(folds, weights=sizes)),)
        for name, folds in expected.items()
    }


def test_other_choices_stand_beside_print_as_accuracies_do():
    paper = Printed(accuracy=80.0, std=2.0, bold=False)
    near = entry("InvCal", splits(84.0), paper=paper)
    several = {"accuracies": (80.0, 81.0, 85.0), "combinations": {"C=1": (83.0, 84.0, 85.5)}}
    far = replace(near, **several, bag_size=LARGE, by_test=(1.0, 2.0, 3.0))
    groups = by_method([far, near, entry("MeanMap", splits(80.0))])
    assert list(groups) == [
        "InvCal, bags of 2",
        "MeanMap, bags of 2",
        f"InvCal, bags of {LARGE}",
    ]
    small, large = differences_table(groups).splitlines()[2:]
    assert small == "| InvCal, bags of 2 | 1 | +4.0 (1) | +3.0 (1) | +5.0 (0) | +4.5 (0) |"
    assert large.startswith(f"| InvCal, bags of {LARGE} | 1 | +2.0 (1) |")
    (repeated,) = deviations_table(groups).splitlines()[2:]
    assert repeated.startswith(f"| InvCal, bags of {LARGE} | 1 | 2.6 | ")
    assert repeated.endswith(" | 1.0 | 1.3 | 2.0 |")


def test_one_combination_is_fixed_for_all_entries():
    small = replace(
        entry("InvCal", splits(80.0)), combinations={"C=1": (70.0, 74.0), "C=10": (90.0, 90.0)}
    )
    large = replace(
        small, bag_size=LARGE, accuracies=(60.0,), combinations={"C=1": (88.5,), "C=10": (70.0,)}
    )
    assert fixed_table([small, large]).splitlines() == [
        f"| kernel | method | bags of 2: chosen | bags of 2: fixed | bags of {LARGE}: chosen "
        f"| bags of {LARGE}: fixed | fixed to |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| linear | InvCal | 80.0 | 72.0 | 60.0 | 88.5 | C=1 |",
    ]


def test_entries_of_few_repetitions_are_summed_up_apart():
    once = entry("MeanMap", splits(80.0))
    twice = replace(once, accuracies=(80.0, 81.0))
    assert by_repetitions([once, twice, once]) == {
        "repetitions: 2": [twice],
        "repetitions: 1": [once, once],
    }


def test_a_report_counts_significant_comparisons(text):
    assert "Of 8 comparisons of alter-pSVM and conv-pSVM with MeanMap and InvCal" in text
    (row,) = (line for line in text.splitlines() if line.startswith("| heart | linear | 2 | **"))
    first, second = row.split(" | ")[3:5]
    assert first.startswith("**+2")
    assert first.endswith("n 10)**")
    assert second.startswith("+2.0")


def test_an_experiment_whose_cells_are_all_shown_already_is_left_out(file, text):
    quick = {cell.key for cell in plan("quick")}
    assert not quick & {row["key"] for row in Store(file).rows()}
    assert "A few columns of Table 2" not in text


def test_the_file_is_named_by_its_hash_and_failures_are_listed(file, text):
    assert f"sha256 `{hashlib.sha256(file.read_bytes()).hexdigest()}`: 80 results, 0 of" in text
    assert "heart linear 4 conv-pSVM: ValueError: <b>a | b</b>" in text
    for name in ("processor", "BLAS threads", "cvxpy", "python"):
        assert f"| {name} | " in text


def test_a_file_that_a_run_is_writing_to_has_no_hash(tmp_path):
    store = Store(tmp_path / "results")
    connection = sqlite3.connect(store.file)
    connection.execute("SELECT * FROM runs").fetchall()
    store.begin_run()
    try:
        assert "in use by a run, so without a hash" in markdown_text(document_of(store.file))
    finally:
        connection.close()


def test_a_report_is_the_same_every_time(file, document):
    assert html_page(document_of(file)) == html_page(document)


class Page(HTMLParser):
    """Names of the tags, with what they load."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loaded, self.viewport = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.loaded += [found[name] for name in ("src", "href", "srcset") if name in found]
        if found.get("name") == "viewport":
            self.viewport = found["content"]


def test_html_is_one_page_with_everything_in_it(document, text):
    html = html_page(document)
    page = Page(html)
    assert page.viewport.startswith("width=device-width")
    assert page.tags.count("table") == text.count("| --- |\n")
    assert not {"script", "link", "b"} & set(page.tags)
    assert "url(" not in html
    assert "@import" not in html
    assert len(page.loaded) == 2
    for loaded in page.loaded:
        kind, _, data = loaded.partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert ElementTree.fromstring(b64decode(data)).tag.endswith("svg")


def test_a_picture_has_what_is_done_and_what_is_printed(document):
    picture, _ = (part for part in document.parts if isinstance(part, Picture))
    assert picture.name == "table-linear-heart-linear"
    axes = picture.figure.axes
    assert [ax.get_title() for ax in axes] == ["MeanMap", "InvCal", "alter-pSVM", "conv-pSVM"]
    here, paper = (container.lines[0] for container in axes[0].containers)
    assert list(here.get_xdata()) == [2, 4]
    assert list(paper.get_xdata()) == [2, 4, 8, 16, 32, 64]
    assert paper.get_ydata()[0] == 81.85


def test_a_picture_has_what_other_choices_give(document):
    _, picture = (part for part in document.parts if isinstance(part, Picture))
    assert picture.name == "table-linear-choices"
    by_error, paper, by_test = (
        container.lines[0].get_ydata() for container in picture.figure.axes[0].containers
    )
    assert by_test - by_error == pytest.approx([4.0, 4.0])
    assert paper[0] == 81.85


def test_markdown_has_its_pictures_beside_it(file, tmp_path):
    write_report(file, tmp_path / "all.md")
    picture = "all_files/table-linear-heart-linear.svg"
    assert f"]({picture})" in (tmp_path / "all.md").read_text()
    assert ElementTree.parse(tmp_path / picture).getroot().tag.endswith("svg")


def test_cells_as_data(file, tmp_path):
    for name in ("cells.csv", "cells.parquet"):
        write_report(file, tmp_path / name)
    csv, parquet = pd.read_csv(tmp_path / "cells.csv"), pd.read_parquet(tmp_path / "cells.parquet")
    assert list(csv.columns) == list(parquet.columns)
    assert csv["key"].tolist() == parquet["key"].tolist()
    assert np.allclose(csv["accuracy"], parquet["accuracy"], equal_nan=True)
    rows = {row["key"]: row for row in Store(file).rows()}
    assert csv["key"].tolist() == list(rows)
    assert csv["accuracy"].isna().sum() == 1
    alter = parquet[parquet["method"] == "alter-pSVM"].iloc[0]
    assert alter["accuracy"] == rows[alter["key"]]["accuracy"]
    assert (alter["design.folds"], alter["estimator.n_init"], alter["chosen.C"]) == (5, 10, 0.1)
    assert alter["grid.C_p"] == "[1.0, 10.0, 100.0]"
    assert parquet.loc[parquet["method"] == "MeanMap", "estimator.n_init"].isna().all()


def test_versions_of_methods_are_numbers_and_words(tmp_path):
    store = Store(tmp_path / "results")
    run = store.begin_run()
    for method in ("MeanMap", LLP_LEARN[0]):
        cell = plan("other-packages", selection=Selection(methods=[method]))[0]
        store.record(cell, result_of(replace(cell, method="MeanMap")), run)
    write_report(store.file, tmp_path / "cells.parquet")
    assert sorted(pd.read_parquet(tmp_path / "cells.parquet")["version"]) == ["1", "1.6.0"]


@pytest.mark.parametrize("ending", OUTPUTS)
def test_every_ending_is_written_from_the_command_line(file, tmp_path, ending):
    output = tmp_path / f"output{ending.upper()}"
    assert main(["report", str(file), "--output", str(output)]) == 0
    assert output.stat().st_size > 1000


def test_what_cannot_be_written_is_told_before_anything_is_done(
    file, tmp_path, monkeypatch, capsys
):
    with pytest.raises(
        InputError, match=r"must end in one of .md, .html, .csv, .parquet, got a.pdf"
    ):
        write_report(file, tmp_path / "a.pdf")
    with pytest.raises(InputError, match="there is no results file"):
        write_report(tmp_path / "nothing", tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"folder .*nowhere is not there"):
        write_report(file, tmp_path / "nowhere" / "a.md")
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InputError, match=r"folder.md is a folder, and must be a file"):
        write_report(file, tmp_path / "folder.md")
    (tmp_path / "folder.md").rmdir()
    found = output_module.find_spec
    missing = SimpleNamespace(find_spec=lambda name: None if name == "pyarrow" else found(name))
    monkeypatch.setattr(output_module, "find_spec", missing.find_spec)
    with pytest.raises(SystemExit):
        main(["report", str(file), "--output", str(tmp_path / "a.parquet")])
    assert "pyarrow, not installed: pip install 'propcvx[experiments]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_methods_beyond_the_paper_stand_beside_the_best_it_prints(tmp_path):
    store = Store(tmp_path / "results.sqlite")
    run, chosen = store.begin_run(), Selection(data=["heart"], bag_sizes=[2], repetitions=[0])
    reached = {AVERAGED: 0.85, SUPERVISED: 0.90}
    for cell in plan("better", selection=chosen):
        if cell.method in reached:
            point = Point({}, 0.0, reached[cell.method], 0.1, None, 0.2)
            store.record(cell, Result((point,), 0, np.zeros(54), "split", 2.0), run)
    text = markdown_text(document_of(tmp_path / "results.sqlite"))
    best = max(printed()["table-linear", "heart", "linear", 2, m].accuracy for m in ACCURACIES)
    assert f"| {AVERAGED} | sets it was made on | 1 | {85.0 - best:+.2f} |" in text
    assert (
        f"| heart | 2 | {AVERAGED} | 1 | 85.0 | {best:.1f} alter-pSVM | {85.0 - best:+.1f} | 90.0 |"
        in text
    )
    assert f"| heart | 2 | {SUPERVISED} " not in text
    assert f"| 2 | 1 | {90.0 - best:+.2f} |\n| all | 1 | {90.0 - best:+.2f} |" in text
