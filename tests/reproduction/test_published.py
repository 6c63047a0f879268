"""The tables of the pages and the README are those of docs/results/tables.parquet.

``python tests/reproduction/test_published.py`` writes ``published_tables.md`` beside it anew.
"""

from pathlib import Path

import numpy as np
import pytest
import report_tables
from reproduction import Selection, entries
from scipy.stats import ttest_rel

FILE = Path(__file__).with_name("published_tables.md")
README = Path(__file__).resolve().parents[2] / "README.md"
HEAD = "# The tables of the pages, as they were published\n"


def published():
    """The tables of the pages by name."""
    tables = report_tables.pages().items()
    parts = [f"## {name}\n\n{text.strip()}\n" for name, text in tables if name != "results_hash"]
    return "\n".join([HEAD, *parts])


def test_page_tables_equal_published_tables():
    assert published() == FILE.read_text(encoding="utf-8")


def test_readme_table_equals_results_file():
    assert report_tables.readme_table() in README.read_text(encoding="utf-8")


def test_paired_p_value_uncorrected_equals_t_test():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    differences = first - second
    p_value = entries.paired_p_value(differences.mean(), differences.std(ddof=1), 12)
    assert p_value == pytest.approx(ttest_rel(first, second).pvalue)
    assert entries.paired_p_value(np.array([0.0, 2.0]), np.zeros(2), 3).tolist() == [1.0, 0.0]


def test_entries_and_tests_leave_incomplete_repetitions_out():
    methods, results = ["InvCal", "MeanMap"], report_tables.results()
    chosen = Selection(range(3), ["heart"], None, [2], methods)
    cells = entries.planned(["table-linear"], None, chosen)
    missing = cells[(cells["method"] == "InvCal") & (cells["repetition"] == 2)]["key"].iloc[-1]
    points = entries.points_of(results[results["key"] != missing], cells)
    table = entries.entries_of(points).set_index("method")
    assert table.loc[methods, ["done", "repetitions"]].to_numpy().tolist() == [[14, 2], [15, 3]]
    rows = results[results["chosen"]].merge(cells[["key", "repetition"]], on="key")
    rows = rows[(rows["method"] == "InvCal") & (rows["repetition_y"] < 2)].groupby("repetition_y")
    means = [100 * np.average(fold["accuracy"], weights=fold["n_test"]) for _, fold in rows]
    assert table.loc["InvCal", "accuracy"] == pytest.approx(np.mean(means))
    assert table.loc["InvCal", "std"] == pytest.approx(np.std(means, ddof=1))
    assert entries.paired_tests(points)["n_splits"].tolist() == [10, 10]


if __name__ == "__main__":
    FILE.write_text(published(), encoding="utf-8")
