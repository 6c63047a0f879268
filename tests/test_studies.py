"""The studies on small generated data: rows that can be checked, kept, and not computed twice."""

from typing import NamedTuple

import numpy as np
import pytest

from propcvx import MeanMap
from propcvx.cli import main
from propcvx.datasets import random_bags
from propcvx.experiments.evaluation import Method, Sample
from propcvx.experiments.reproduce.evaluate import run_cell
from propcvx.experiments.reproduce.tasks import task_of
from propcvx.experiments.studies import (
    cells,
    draws,
    rounding_tables,
    roundings,
    signs,
    starts,
    truth,
)
from propcvx.experiments.studies.samples import OVERLAPS, REAL, gaussians, labelled

PNG = b"\x89PNG\r\n\x1a\n"


class Cell(NamedTuple):
    split: int
    epsilon: float


def test_a_cell_is_measured_once_and_an_interruption_costs_only_the_one_at_work(tmp_path):
    asked, path = [Cell(0, 0.0), Cell(0, 0.125), Cell(1, 0.0)], tmp_path / "rows.csv"
    measured = []

    def measure(cell):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(cell)
        return [{"name": name, "value": cell.split + 0.5} for name in "ab"]

    with pytest.raises(KeyboardInterrupt):
        cells.complete(path, asked, measure)
    assert [row["name"] for row in cells.read(path)] == ["a", "b", "a", "b"]
    rows = cells.complete(
        path, asked, lambda cell: measured.append(cell) or [{"name": "c", "value": 1.0}]
    )
    assert measured == asked
    assert [row["name"] for row in rows] == ["a", "b", "a", "b", "c"]
    assert len(cells.complete(path, asked[:1], measure)) == 2


def test_a_line_has_the_mean_and_its_standard_error():
    rows = [{"x": x, "y": y} for x, y in (("2", "1"), ("1", "3"), ("2", "5"))]
    x, y, error = cells.line(rows, "x", "y")
    assert x.tolist() == [1.0, 2.0]
    assert y.tolist() == [3.0, 3.0]
    assert np.allclose(error, [0.0, np.sqrt(2.0)])


@pytest.mark.parametrize("name", OVERLAPS)
def test_gaussians_overlap_as_much_as_they_say(name):
    data = gaussians(OVERLAPS[name])
    axis = data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0)
    scores = (data.X - data.X.mean(axis=0)) @ axis
    assert abs(np.mean(np.sign(scores) != data.y) - OVERLAPS[name]) < 0.04


@pytest.mark.parametrize("name", REAL)
def test_real_sets_are_at_hand(name, data_dir, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(data_dir))
    X, y = labelled(name)
    assert set(y) == {-1.0, 1.0}
    assert np.allclose(np.abs(X).max(axis=0), 1.0)


@pytest.fixture(scope="module")
def rounded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roundings")
    assert main(["study", "roundings", "--quick", "--output", str(folder)]) == 0
    return folder, cells.read(folder / "roundings.csv")


def test_all_roundings_share_one_relaxation(rounded):
    folder, rows = rounded
    assert len(rows) == len(roundings.STOPS) * len(roundings.ALL_ROUNDINGS)
    for group in cells.grouped(rows, "cuts").values():
        assert len({row["relaxation"] for row in group}) == 1
    values = cells.line(rows, "cuts", "relaxation")[1]
    assert (np.diff(values) < 0.0).all()
    assert (folder / "roundings.png").read_bytes().startswith(PNG)


def test_one_cut_is_one_labeling_whatever_the_rounding(rounded):
    first = [row for row in rounded[1] if row["cuts"] == "1"]
    assert {row["leading"] for row in first} == {"1"}
    assert len({row["right"] for row in first if row["rounding"] != "polished"}) == 1


def test_the_leading_eigenvector_leans_to_the_heavier_of_two_labelings(rounded):
    (row,) = rounding_tables.tipping(rounded[1])
    assert row["relaxations"] == "1"
    heavier, lighter = float(row["first_cosine"]), float(row["newest_cosine"])
    assert float(row["first_weight"]) > 0.5
    assert abs(float(row["axis_cosine"]) - heavier) < abs(float(row["axis_cosine"]) - lighter)


def test_polishing_makes_no_labeling_worse(rounded):
    for group in cells.grouped(rounded[1], "cuts").values():
        value = {row["rounding"]: float(row["objective"]) for row in group}
        assert value["polished"] <= value["best"] * (1.0 + 1e-6)


def test_a_sign_that_is_told_is_never_worse(rounded):
    rows = rounding_tables.told(rounded[1])
    for name in ("rank_one", "mean"):
        own, known = (
            cells.numbers([row for row in rows if row["rounding"] == of], "accuracy")
            for of in (name, f"{name}, better sign")
        )
        assert (known >= own).all()


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    assert main(["study", "truth", "--quick", "--output", str(folder)]) == 0
    return folder, cells.read(folder / "truth.csv")


def test_no_true_labeling_is_better_than_a_proved_one(proved):
    folder, rows = proved
    assert len(rows) == 2 * len(truth.BAGS)
    for row in rows:
        assert row["proved"] == "1"
        assert float(row["true_value"]) >= float(row["lower"]) * (1.0 - 1e-5)
    assert (folder / "truth.png").read_bytes().startswith(PNG)


def test_larger_sets_of_labelings_have_no_larger_optimum(proved):
    for group in cells.grouped(proved[1], "C").values():
        value = {(row["bag_size"], row["epsilon"]): float(row["value"]) for row in group}
        assert value["8", "0.125"] <= value["8", "0"] * (1.0 + 1e-4)


@pytest.fixture(scope="module")
def walked():
    rows = starts.measure(starts.Cell(0, "gaussians 10%", 8))
    cell = {"split": "0", "data": "gaussians 10%", "bag_size": "8"}
    return [{**cell, **{name: str(value) for name, value in row.items()}} for row in rows]


def test_algorithm_1_leaves_even_the_true_labels_for_a_lower_objective(walked):
    value = {row["start"]: float(row["objective"]) for row in walked}
    assert value["from true labels, hops"] <= value["from true labels"] <= value[starts.TRUE]
    right = {row["start"]: float(row["right"]) for row in walked}
    assert right[starts.TRUE] == 100.0
    assert all(right[start] < 100.0 for start in right if start != starts.TRUE)


def test_objectives_are_told_in_units_of_that_of_the_true_labels(walked):
    other = [
        {**row, "split": "1", "objective": str(2.0 * float(row["objective"]))} for row in walked
    ]
    once, twice = starts.table(walked), starts.table([*walked, *other])
    assert once[0]["objective"] == "1.000"
    assert [row["objective"] for row in once] == [row["objective"] for row in twice]
    assert {row["draws"] for row in twice} == {"2"}


def test_an_instance_is_classified_from_the_bags_of_other_folds(tmp_path, monkeypatch):
    seen = []

    class Memory(MeanMap):
        def fit(self, X, y):
            seen.append(set(y["bag"]))
            return super().fit(X, y)

        def predict(self, X):
            return np.full(len(X), len(seen))

    X, labels = gaussians(0.1)
    sample = Sample.in_bags(X, labels, random_bags(labels, 50, 0))
    of_fold = draws.held_out(Method("memory", Memory(), {"lam": [1.0]}), sample, 0)
    for fold, bags in enumerate(seen, 1):
        assert set(sample.y["bag"][of_fold == fold]) == set(range(10)) - bags


def test_a_table_of_draws_counts_those_below_a_half():
    rows = [
        {
            "draw": str(draw),
            "data": "heart",
            "bag_size": "32",
            "method": "conv-pSVM",
            "accuracy": str(accuracy + deal),
        }
        for deal in (0, 2)
        for draw, accuracy in enumerate((40, 80, 81))
    ]
    (row,) = draws.table(rows)
    assert (row["draws"], row["worst"], row["below 50"]) == ("3", "40.0", "1")
    assert (row["print"], row["same bags"]) == ("79.3 +- 1.1", "1.4")
    assert 0.0 < float(row["p"]) < 0.05


def test_the_p_value_of_a_small_deviation_is_that_of_drawings():
    random = np.random.RandomState(0)
    five = random.normal(size=(20_000, 5)).std(axis=1, ddof=1)
    twelve = random.normal(size=(20_000, 12)).std(axis=1, ddof=1)
    for ratio in (0.2, 0.5, 1.0):
        assert np.mean(five <= ratio * twelve) == pytest.approx(
            draws.p_value(ratio, 1.0, 12), abs=0.012
        )


def test_what_is_not_proved_is_not_judged():
    row = {"true_value": "2", "value": "1", "proved": "1", "right": "0.75"}
    judged = truth.judged([row, {**row, "proved": "0"}, {**row, "true_value": "1", "right": "0"}])
    assert [one["true"] for one in judged] == ["0", "1"]
    assert [one["excess"] for one in judged] == ["2", "1"]


@pytest.fixture(scope="module")
def fold():
    return signs.Fold("blobs", "linear", 8, signs.METHOD, 0, 0, signs.PROTOCOL)


def test_the_sign_by_bags_is_that_of_the_tables(fold):
    result = run_cell(fold)
    by_bags, _ = signs.right_ones(fold)
    assert by_bags.mean() == result.points[result.chosen].accuracy


def test_the_sign_by_labels_is_right_on_most_training_instances(fold):
    train = task_of(fold).train
    mirrored = Sample(train.X, train.y, -train.labels)
    own, other = (list(signs.predictions(fold, told, train)) for told in (train, mirrored))
    for (by_bags, by_labels), (_, turned) in zip(own, other, strict=True):
        assert np.array_equal(by_labels, by_bags) or np.array_equal(by_labels, -by_bags)
        assert np.mean(by_labels == train.labels) >= 0.5
        assert np.mean(turned == train.labels) <= 0.5


def test_the_study_of_signs_has_a_row_for_each_rule(tmp_path):
    assert main(["study", "signs", "--quick", "--splits", "1", "--output", str(tmp_path)]) == 0
    rows = cells.read(tmp_path / "signs.csv")
    assert [row["sign"] for row in rows] == list(signs.RULES)
    assert (tmp_path / "signs.png").read_bytes().startswith(PNG)


def test_a_study_without_its_data_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("PROPCVX_DATA", raising=False)
    with pytest.raises(SystemExit) as exit_:
        main(["study", "truth", "--output", str(tmp_path)])
    assert exit_.value.code == 2
    assert "PROPCVX_DATA" in capsys.readouterr().err
