"""The studies: cells are measured once, and what they say of small generated data is true."""

import halves
import natural
import numpy as np
import pandas as pd
import pytest
import real_bags
import starts
import study
import truth


def test_interrupted_study_keeps_finished_cells(tmp_path):
    cells = [{"split": s, "epsilon": e} for s, e in ((0, 0.0), (0, 0.125), (1, 0.0))]
    path, measured = tmp_path / "rows.csv", []

    def measure(split, epsilon):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append({"split": split, "epsilon": epsilon})
        return [{"name": name, "value": split + 0.5} for name in "ab"]

    with pytest.raises(KeyboardInterrupt):
        study.complete(path, cells, measure)
    rows = study.complete(path, cells, lambda **cell: measured.append(cell) or [{"name": "c"}])
    assert measured == cells
    assert list(rows.name) == ["a", "b", "a", "b", "c"]


@pytest.mark.parametrize(("size", "epsilon"), truth.BAGS)
@pytest.mark.parametrize("C", [0.01, 0.1])
def test_no_true_labeling_is_better_than_a_proved_one(size, epsilon, C):
    (row,) = truth.measure(0, "gaussians 1%", 16, size, epsilon, C)
    assert row["proved"]
    assert row["true_value"] >= row["lower"] * (1.0 - 1e-5)


def test_algorithm_1_leaves_true_labels(monkeypatch):
    monkeypatch.setattr(starts, "labeled", lambda name: [x[:80] for x in study.labeled(name)])
    rows = pd.DataFrame(starts.measure(0, "gaussians 10%", 8)).set_index("start")
    assert rows.objective["from true labels"] <= rows.objective[starts.TRUE]
    assert rows.right[starts.TRUE] == 100.0
    assert (rows.right.drop(starts.TRUE) < 100.0).all()


def test_tables_have_what_the_rows_say():
    rows = pd.read_csv(study.HERE / "real_bags.csv").query("data == 'trump-2016'")
    black = rows.query("group == 'Black' and method == 'InvCal'").sum(numeric_only=True)
    shares = [100.0 * black[name] / black["instances"] for name in ("positive", "predicted")]
    (line,) = (row for row in real_bags.pages()["real_bags_groups"].splitlines() if "Black" in row)
    cells = line.strip("| ").split(" | ")
    assert cells[:3] == ["Black", f"{black['instances'] / 3:,.0f}", f"{shares[0]:.0f}"]
    assert cells[5] == f"{shares[1]:.0f}"

    rows = pd.read_csv(study.HERE / "natural.csv").query("kind == 'natural' and method == 'InvCal'")
    means = [100.0 * rows.groupby("data")[name].mean().mean() for name in ("accuracy", "auc")]
    table = natural.pages()["natural_means"].splitlines()
    (line,) = (row for row in table if row.startswith("| InvCal"))
    assert "{:.1f} ({:.1f})".format(*means) in line

    rows = pd.read_csv(study.HERE / "halves.csv").query("kind == 'natural' and method == 'InvCal'")
    slope = rows["product"].sum() / rows["square"].sum()
    (line,) = (row for row in halves.pages()["halves"].splitlines() if row.startswith("| InvCal"))
    error = np.sqrt(rows.groupby("data")["error"].mean()).mean()
    assert f"| {error:.1f} ({slope:.2f}) |" in line
