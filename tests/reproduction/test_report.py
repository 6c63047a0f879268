"""Entries of tables and their tests, from results that are made up."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from reproduction import Selection, plan, report, write_parquet
from reproduction import entries as frames
from reproduction.entries import paired_p_value
from scipy.stats import ttest_rel

SIZES = (54, 54, 54, 54, 55)
"""Test instances of the folds of heart."""


def made(shares):
    """Results of methods on heart: of each method the accuracies of the folds of each repetition.

    The parameter that is not chosen is four points more accurate.
    """
    repetitions = list(range(max(map(len, shares.values()))))
    fixed = {
        "run": '{"python": "3.11", "command": "run"}',
        "seconds": 2.0,
        "fit_seconds": 0.2,
        "finished": "",
        "bag_error": 0.1,
    }
    fixed |= {"auc": 0.75, "log_loss": 0.5, "explained": 0.4, "objective": 1.0, "warnings": "[]"}
    rows = []
    for cell in plan("table-linear", None, Selection(repetitions, ["heart"], None, [2], [*shares])):
        folds = dict(enumerate(shares[cell.method])).get(cell.repetition, [])
        settings = json.dumps(cell.settings, sort_keys=True)
        row = asdict(cell) | fixed | {"key": cell.key, "settings": settings}
        row |= {"split": f"{cell.repetition} {cell.fold}", "n_test": SIZES[cell.fold], "error": ""}
        del row["protocol"]
        for accuracy in folds[cell.fold : cell.fold + 1]:
            for C, chosen in ((0.1, True), (1.0, False)):
                point = {"parameters": f'{{"C": {C}}}', "chosen": chosen, "validation_error": C}
                rows.append({**row, **point, "accuracy": accuracy + 0.04 * (not chosen)})
    return pd.DataFrame(rows)


def points(shares):
    cells = frames.planned(["table-linear"], None, Selection(None, ["heart"], None, [2], [*shares]))
    return frames.points_of(made(shares), cells)


def test_paired_p_value_uncorrected_equals_t_test():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    differences = first - second
    p_value = paired_p_value(differences.mean(), differences.std(ddof=1), 12)
    assert p_value == pytest.approx(ttest_rel(first, second).pvalue)
    assert paired_p_value(np.array([0.0, 2.0]), np.zeros(2), 3).tolist() == [1.0, 0.0]


def test_paired_tests_use_common_repetitions():
    shares = {"InvCal": [[0.80, 0.82, 0.81, 0.84, 0.80], [0.9] * 5, [0.5] * 5]}
    shares["MeanMap"] = [[0.78, 0.81, 0.80, 0.80, 0.79], [0.1] * 4]
    first, other = frames.paired_tests(points(shares)).sort_values("first").to_dict("records")
    differences = 100.0 * np.subtract(shares["InvCal"][0], shares["MeanMap"][0])
    assert (first["first"], first["second"], first["n_splits"]) == ("InvCal", "MeanMap", 5)
    assert first["difference"] == -other["difference"] == pytest.approx(differences.mean())
    expected = paired_p_value(differences.mean(), differences.std(ddof=1), 5, 1 / 4)
    assert first["p_value"] == other["p_value"] == pytest.approx(expected)


def test_entries_average_whole_repetitions():
    shares = np.random.default_rng(0).uniform(size=(3, 5)).tolist()
    made_points = points({"InvCal": [*shares[:2], shares[2][:4]]})
    (entry,) = frames.entries_of(made_points).to_dict("records")
    means = 100 * np.average(shares[:2], axis=1, weights=SIZES)
    assert (entry["done"], entry["cells"], entry["repetitions"]) == (14, 25, 2)
    assert entry["accuracy"] == pytest.approx(means.mean())
    assert entry["by test"] == pytest.approx(means.mean() + 4.0)
    assert entry["std"] == pytest.approx(means.std(ddof=1))


def test_report_prints_entries_beside_paper_values(tmp_path):
    shares = {"InvCal": [(0.80, 0.82, 0.81, 0.84, 0.80)], "conv-pSVM": [(0.9,) * 5]}
    write_parquet(made(shares), tmp_path / "cells.parquet")
    text = report.report_text(tmp_path / "cells.parquet")
    assert "| InvCal | 81.4 (1) [81.8 +- 0.6]" in text
    assert "| conv-pSVM | **90.0** (1) [83.3 +- 0.6]" in text
    assert "| Table 2: linear kernel | 10 of 4200 | 2 | +3." in text
