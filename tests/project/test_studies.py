"""The studies on small generated data: rows that can be checked, kept, and not measured twice."""

import draws
import groups
import numpy as np
import pandas as pd
import pytest
import real_bags
import roundings
import search
import signs
import starts
import study
import truth
from reproduction.evaluation import Method, Sample
from reproduction.tasks import run_cell

from propcvx import MeanMap
from propcvx.datasets import random_bags

NAME = "gaussians 10%"


def test_a_cell_is_measured_once_and_an_interruption_costs_only_the_one_at_work(tmp_path):
    cells = [{"split": s, "epsilon": e} for s, e in ((0, 0.0), (0, 0.125), (1, 0.0))]
    path, measured = tmp_path / "rows.csv", []

    def measure(split, epsilon):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append({"split": split, "epsilon": epsilon})
        return [{"name": name, "value": split + 0.5} for name in "ab"]

    with pytest.raises(KeyboardInterrupt):
        study.complete(path, cells, measure)
    assert list(pd.read_csv(path).name) == ["a", "b", "a", "b"]
    rows = study.complete(
        path, cells, lambda **cell: measured.append(cell) or [{"name": "c", "value": 1.0}]
    )
    assert measured == cells
    assert list(rows.name) == ["a", "b", "a", "b", "c"]
    assert len(study.complete(path, cells[:1], measure)) == 2


def test_a_line_has_the_mean_and_its_standard_error():
    rows = pd.DataFrame({"x": [2, 1, 2], "y": [1.0, 3.0, 5.0]})
    x, y, error = study.line(rows, "x", "y")
    assert x.tolist() == [1.0, 2.0]
    assert y.tolist() == [3.0, 3.0]
    assert np.allclose(error, [0.0, np.sqrt(2.0)])


@pytest.mark.parametrize("name", study.OVERLAPS)
def test_gaussians_overlap_as_much_as_they_say(name):
    data = study.labelled(name)
    axis = data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0)
    scores = (data.X - data.X.mean(axis=0)) @ axis
    assert abs(np.mean(np.sign(scores) != data.y) - study.OVERLAPS[name]) < 0.04


# Roundings


def fewer(name):
    """A part of a generated set."""
    return (part[:80] for part in study.labelled(name))


@pytest.fixture(scope="module")
def rounded():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roundings, "labelled", fewer)
        return pd.DataFrame(roundings.measure(0, NAME, 32))


def test_all_roundings_share_one_relaxation(rounded):
    assert len(rounded) == len(roundings.STOPS) * len(roundings.ROUNDINGS)
    values = rounded.groupby("cuts").relaxation
    assert (values.nunique() == 1).all()
    assert (np.diff(values.first()) < 0.0).all()
    first = rounded[rounded.cuts == 1]  # one cut is one labeling, whatever the rounding
    assert np.allclose(first.leading, 1.0)
    assert first[first["rounding"] != "polished"].right.nunique() == 1


# Truth, search, starts


@pytest.fixture(scope="module")
def proved():
    cells = [(size, epsilon, C) for size, epsilon in truth.BAGS for C in (0.01, 0.1)]
    rows = [
        {"bag_size": size, "epsilon": epsilon, "C": C, **row}
        for size, epsilon, C in cells
        for row in truth.measure(0, "gaussians 1%", 16, size, epsilon, C)
    ]
    return pd.DataFrame(rows)


def test_no_true_labeling_is_better_than_a_proved_one_nor_a_smaller_set_than_a_larger(proved):
    assert proved.proved.all()
    assert (proved.true_value >= proved.lower * (1.0 - 1e-5)).all()

    value = proved.pivot(index="C", columns=["bag_size", "epsilon"], values="value")
    assert (value[8, 0.125] <= value[8, 0.0] * (1.0 + 1e-4)).all()


def test_what_is_not_proved_is_not_judged():
    rows = {"true_value": [2.0, 2.0, 1.0], "value": 1.0, "proved": [1, 0, 1]}
    judged = truth.judged(pd.DataFrame({**rows, "right": [0.75, 0.75, 0.0]}))
    assert judged.true.tolist() == [0, 1]
    assert judged.excess.tolist() == [2.0, 1.0]


def test_the_study_of_searches_counts_runs():
    rows = pd.DataFrame(search.measure(0, NAME, 16, 0.1, runs=2)).set_index("method")
    assert rows.found["Algorithm 1"] <= 2
    assert rows.proved.all()
    assert (rows.excess > -1e-4).all()


@pytest.mark.slow
@pytest.mark.parametrize("data", ["heart", "vote"])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_the_proved_optimum_is_found_in_nearly_every_run(data, C, data_home):
    rows = pd.DataFrame(search.measure(0, data, 24, C)).set_index("method")
    assert rows.proved.all()
    assert rows.found["search of certify"] >= 18


@pytest.fixture(scope="module")
def reached():
    cell = {"split": 0, "data": NAME, "bag_size": 8}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "labelled", fewer)
        return pd.DataFrame({**cell, **row} for row in starts.measure(**cell))


def test_algorithm_1_leaves_even_the_true_labels_for_a_lower_objective(reached):
    rows = reached.set_index("start")
    value = rows.objective
    assert value["from true labels"] <= value[starts.TRUE]
    assert rows.right[starts.TRUE] == 100.0
    assert (rows.right.drop(starts.TRUE) < 100.0).all()


def test_objectives_are_in_units_of_that_of_the_true_labels(reached):
    other = reached.assign(split=1, objective=2.0 * reached.objective)
    both = starts.relative(pd.concat([reached, other], ignore_index=True))
    once, twice = (both[both.split == split].relative.to_numpy() for split in (0, 1))
    assert np.allclose(once, twice, rtol=1e-12)
    assert both.relative[0] == 1.0


# Draws, signs


def test_an_instance_is_classified_from_the_bags_of_other_folds():
    seen = []

    class Memory(MeanMap):
        def fit(self, X, y):
            seen.append(set(y["bag"]))
            return super().fit(X, y)

        def predict(self, X):
            return np.full(len(X), len(seen))

    X, labels = study.gaussians(0.1)
    sample = Sample.in_bags(X, labels, random_bags(labels, 50, 0))
    of_fold = draws.held_out(Method("memory", Memory(), {"lam": [1.0]}), sample, 0)
    for fold, bags in enumerate(seen, 1):
        assert set(sample.y["bag"][of_fold == fold]) == set(range(10)) - bags


def test_a_table_of_groups_counts_covered_truths_and_estimates_outside_the_bounds():
    rows = pd.DataFrame(
        {
            "draw": [0, 1, 0, 1],
            "method": ["a", "a", "b", "b"],
            "estimate": [0.5, 0.7, 0.6, 1.1],
            "low": [0.4, 0.65, np.nan, np.nan],
            "high": [0.6, 0.75, np.nan, np.nan],
        }
    ).assign(bags="boxes", group="g", least=0.2, most=1.0, truth=0.6)
    a, b = groups.summary(rows).to_dict("records")
    assert (a["draws"], a["covered"], a["outside"], b["outside"]) == (2, 1, 0, 1)
    assert np.isnan(b["covered"])
    assert (a["bias"], a["rms"], a["width"]) == pytest.approx((0.0, 10.0, 15.0))


def test_a_table_of_draws_counts_those_below_a_half():
    rows = pd.DataFrame(
        {"draw": draw, "deal": deal, "accuracy": accuracy + 2.0 * deal}
        for deal in (0, 1)
        for draw, accuracy in enumerate((40.0, 80.0, 81.0))
    )
    rows = rows.assign(data="heart", bag_size=32, method="conv-pSVM")
    table = rows.groupby(["data", "bag_size", "method"]).apply(draws.summary)
    (row,) = table.to_dict("records")
    assert (row["draws"], row["worst"], row["below 50"]) == (3, 40.0, 1)
    assert (row["print"], row["printed deviation"]) == (79.32, 1.14)
    assert row["same bags"] == pytest.approx(np.sqrt(2.0))
    assert 0.0 < row["p"] < 0.05


def test_the_p_value_of_a_small_deviation_is_that_of_drawings():
    random = np.random.RandomState(0)
    five = random.normal(size=(20_000, 5)).std(axis=1, ddof=1)
    twelve = random.normal(size=(20_000, 12)).std(axis=1, ddof=1)
    for ratio in (0.2, 0.5, 1.0):
        share = np.mean(five <= ratio * twelve)
        assert share == pytest.approx(draws.p_value(ratio, 1.0, 12), abs=0.012)


@pytest.fixture(scope="module")
def fold():
    return signs.Fold("blobs", "linear", 8, "conv-pSVM", 0, 0, signs.PROTOCOL)


def test_the_sign_by_bags_is_that_of_the_tables(fold):
    (chosen,) = (point for point in run_cell(fold)["points"] if point["chosen"])
    by_bags, _ = signs.right_ones(fold)
    assert by_bags.mean() == chosen["accuracy"]


# Real bags


def test_a_row_of_real_bags_counts_a_group_of_the_bags_held_out(monkeypatch):
    X, labels = study.gaussians(0.1)
    sample = Sample.in_bags(X, labels, random_bags(labels, 25, 0))
    above = X[:, 1] > 0.0
    monkeypatch.setattr(real_bags, "loaded", lambda data: (sample, {"above": above}))
    cells = [{"draw": 0, "fold": k, "data": "x", "method": "all labels"} for k in range(5)]
    rows = pd.DataFrame({**cell, **row} for cell in cells for row in real_bags.measure(**cell))
    sums = rows.groupby("group")[["instances", "right", "positive"]].sum()
    assert sums.loc["everybody", ["instances", "positive"]].tolist() == [500, (labels > 0).sum()]
    assert sums.loc["above", ["instances", "positive"]].tolist() == [
        above.sum(),
        (labels[above] > 0).sum(),
    ]
    assert 0.85 < sums.loc["everybody", "right"] / 500 < 0.95
    assert len(real_bags.complete_draws(rows)) == 10
    assert real_bags.complete_draws(rows[rows["fold"] < 4]).empty


def test_the_page_of_real_bags_has_what_its_rows_say():
    rows = pd.read_csv(study.HERE / "real_bags.csv")
    tables = real_bags.pages()
    of = rows[(rows["data"] == "trump-2016") & (rows["method"] == "InvCal")]
    everybody = of[of["group"] == "everybody"]
    accuracy = 100.0 * everybody["right"].sum() / everybody["instances"].sum()
    assert f"| InvCal | {accuracy:.1f} (" in tables["real_bags_accuracies"]
    black = of[of["group"] == "Black"][["instances", "positive", "predicted"]].sum()
    truth = 100.0 * black["positive"] / black["instances"]
    assert f"| Black | {black['instances'] // 3:,} | {truth:.0f} |" in tables["real_bags_groups"]
