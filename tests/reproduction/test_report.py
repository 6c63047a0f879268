"""Entries of tables and their tests, from results that are made up, and the report of a file."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from reproduction import Selection, plan, report, write_parquet
from reproduction import entries as frames
from reproduction.entries import paired_p_value, printed
from reproduction.methods import SUPERVISED
from scipy.stats import ttest_rel

SIZES = (54, 54, 54, 54, 55)
"""Test instances of the folds of heart."""
RUN = json.dumps({"python": "3.11", "command": "python -m reproduction run table-linear"})


def made(shares, experiment="table-linear", size=2):
    """Results of methods on heart: of each method the accuracies of the folds of each repetition.

    The parameter that is not chosen is four points more accurate.
    """
    repetitions = list(range(max(map(len, shares.values()))))
    rows = []
    for cell in plan(experiment, None, Selection(repetitions, ["heart"], None, [size], [*shares])):
        folds = dict(enumerate(shares[cell.method])).get(cell.repetition, [])
        row = asdict(cell) | {
            "key": cell.key,
            "settings": json.dumps(cell.settings, sort_keys=True),
        }
        row |= {"split": f"{cell.repetition} {cell.fold}", "n_test": SIZES[cell.fold], "run": RUN}
        row |= {"seconds": 2.0, "fit_seconds": 0.2, "finished": "", "bag_error": 0.1, "error": ""}
        row |= {"auc": 0.75, "log_loss": 0.5, "explained": 0.4, "objective": 1.0, "warnings": "[]"}
        del row["protocol"]
        for accuracy in folds[cell.fold : cell.fold + 1]:
            for C, chosen in ((0.1, True), (1.0, False)):
                point = {"parameters": f'{{"C": {C}}}', "chosen": chosen, "validation_error": C}
                rows.append({**row, **point, "accuracy": accuracy + 0.04 * (not chosen)})
    return pd.DataFrame(rows)


def points(shares, experiment="table-linear", size=2):
    selection = Selection(None, ["heart"], None, [size], [*shares])
    cells = frames.planned([experiment], None, selection)
    return frames.points_of(made(shares, experiment, size), cells)


def test_uncorrected_it_is_the_paired_t_test():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    differences = first - second
    p_value = paired_p_value(differences.mean(), differences.std(ddof=1), 12)
    assert p_value == pytest.approx(ttest_rel(first, second).pvalue)
    assert paired_p_value(np.array([0.0, 2.0]), np.zeros(2), 3).tolist() == [1.0, 0.0]


def test_methods_compared_on_common_repetitions():
    shares = {"InvCal": [[0.80, 0.82, 0.81, 0.84, 0.80], [0.9] * 5, [0.5] * 5]}
    shares["MeanMap"] = [[0.78, 0.81, 0.80, 0.80, 0.79], [0.1] * 4]
    first, other = frames.paired_tests(points(shares)).sort_values("first").to_dict("records")
    differences = 100.0 * np.subtract(shares["InvCal"][0], shares["MeanMap"][0])
    assert (first["first"], first["second"], first["n_splits"]) == ("InvCal", "MeanMap", 5)
    assert first["difference"] == -other["difference"] == pytest.approx(differences.mean())
    expected = paired_p_value(differences.mean(), differences.std(ddof=1), 5, 1 / 4)
    assert first["p_value"] == other["p_value"] == pytest.approx(expected)


def test_cells_are_planned_for_everything_that_the_paper_prints():
    cells = frames.planned(dict.fromkeys(printed().index.get_level_values("experiment")))
    assert set(printed().index) <= set(map(tuple, cells[printed().index.names].to_numpy()))
    assert len(printed()) == 2 * 7 * 6 * 4 + 6 + 4 + 4


def test_entries_are_means_over_whole_repetitions():
    shares = np.random.default_rng(0).uniform(size=(3, 5)).tolist()
    (entry,) = frames.entries_of(points({"InvCal": [*shares[:2], shares[2][:4]]})).to_dict(
        "records"
    )
    means = 100 * np.average(shares[:2], axis=1, weights=SIZES)
    assert (entry["done"], entry["cells"], entry["repetitions"]) == (14, 25, 2)
    assert entry["accuracy"] == pytest.approx(means.mean())
    assert entry["by test"] == pytest.approx(means.mean() + 4.0)
    assert entry["std"] == pytest.approx(means.std(ddof=1))
    assert entry["fit_seconds"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("off", "side"), [(-2.1, "below"), (-1.9, "within"), (1.9, "within"), (2.1, "above")]
)
def test_an_entry_is_within_two_printed_deviations_whatever_its_own(off, side):
    mean, std, _ = printed().loc[("table-linear", "heart", "linear", 2, "InvCal")]
    for spread in (0.0, 0.1):
        shares = [[0.01 * (mean + off * std) + way * spread] * 5 for way in (-1, 0, 1)]
        assert frames.entries_of(points({"InvCal": shares}))["side"].tolist() == [side]


def test_best_entries_by_paired_test():
    shares = {
        "alter-pSVM": [(0.90, 0.91, 0.92, 0.90, 0.91)],
        "conv-pSVM": [(0.91, 0.90, 0.90, 0.91, 0.91)],
        "MeanMap": [(0.70, 0.71, 0.71, 0.70, 0.71)],
        SUPERVISED: [(0.99, 0.99, 0.99, 0.99, 0.98)],
    }
    entries = frames.entries_of(points(shares, "quick", 8))
    assert set(entries[entries["best"]]["method"]) == {"alter-pSVM", "conv-pSVM"}


def test_report_has_entries_and_paper_values(tmp_path):
    shares = {"InvCal": [(0.80, 0.82, 0.81, 0.84, 0.80)], "conv-pSVM": [(0.9,) * 5]}
    write_parquet(made(shares), tmp_path / "cells.parquet")
    lines = report.report_text(tmp_path / "cells.parquet").splitlines()
    assert any(line.startswith("| InvCal | 81.4 (1) [81.8 +- 0.6]") for line in lines)
    assert any(line.startswith("| conv-pSVM | **90.0** (1) [83.3 +- 0.6]") for line in lines)
    summary = next(line for line in lines if line.startswith("| Table 2: linear kernel"))
    assert summary.startswith("| Table 2: linear kernel | 10 of 4200 | 2 | +3.")
    assert "python -m reproduction run table-linear" in lines
    assert "| python | 3.11 |" in lines
    assert any("cells.parquet, sha256" in line and "10 results, 0 of" in line for line in lines)
