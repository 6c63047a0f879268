"""Relaxations side by side: rows of one problem; what fails costs its row alone."""

from dataclasses import dataclass

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import ConvPropSVM, CuttingPlanes, bag_target, certify
from propcvx.errors import IllPosedWarning, InputError
from propcvx.relaxation import RELAXATIONS, compare_relaxations, comparison


@dataclass
class Broken:
    """A relaxation that fails."""

    error: Exception

    def relax(self, *problem, **options):
        raise self.error


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    """Measure in this process, without the seconds in which another one begins."""
    monkeypatch.setattr(comparison, "in_worker", lambda task, *given, seconds: task(*given))


def test_no_lower_bound_is_above_any_upper_bound():
    problem = small_problem(1, sizes=(3, 3), known=0.1)
    sweep = CuttingPlanes(master="epigraph", oracle="exhaustive", max_cuts=50)
    each = [*RELAXATIONS, sweep]
    rows = compare_relaxations(problem.X, problem.y, 0.5, each, y_true=problem.labels, epsilon=0.1)
    best = certify(problem.X, problem.y, 0.5, epsilon=0.1, bounds="enumeration", tol=1e-6)
    assert [row["kind"] for row in rows] == [*RELAXATIONS, "CuttingPlanes"]
    uppers = [row["upper"] for row in rows if row["upper"] is not None]
    lowers = [row["lower"] for row in rows if row["lower"] is not None]
    assert len(lowers) >= 3
    assert max(lowers) <= best.upper * (1 + 1e-7)
    assert min(uppers) >= best.lower * (1 - 1e-7)
    for row in rows:
        assert row["best_upper"] == min(uppers)
        if row["status"] == "done":
            assert 0.0 <= row["accuracy"] <= 1.0
            assert row["cpu_seconds"] > 0.0
    diffrac = next(row for row in rows if row["kind"] == "diffrac")
    assert (diffrac["loss"], diffrac["lower"], diffrac["history"]) == ("square", None, [])


def test_labeling_value_is_its_svm_value():
    problem, posed = small_problem(4, sizes=(4, 4)), {"kernel": "rbf", "gamma": 0.5}
    alone = bag_target(np.arange(8), (problem.labels > 0).astype(float))
    (row,) = compare_relaxations(problem.X, alone, 0.5, "diffrac", y_true=problem.labels, **posed)
    exact = certify(problem.X, alone, 0.5, bounds="enumeration", tol=1e-7, **posed)
    assert row["upper"] == pytest.approx(exact.upper, rel=1e-6)
    assert row["accuracy"] == 1.0


def test_lower_bound_holds_despite_pivots_below_tolerance():
    """Of each pair, v = (C, -C) is best for K if C = 1 / e, with the value C, and for F 2 C."""
    e, problem = 2.0**-35, {"kernel": "precomputed", "intercept": "none"}
    gram, planes = np.kron(np.eye(3), [[1, 1 - e], [1 - e, 1]]), CuttingPlanes(oracle="exhaustive")
    y = bag_target([0, 0, 1, 1, 2, 2], [0.5, 0.5, 0.5])
    with pytest.warns(IllPosedWarning, match="omit a part"):
        fitted = ConvPropSVM(1 / e, relaxation=planes, **problem).fit(gram, y)
    with pytest.warns(IllPosedWarning, match="omit a part"):
        (row,) = compare_relaxations(gram, y, 1 / e, planes, **problem)
    assert 0.0 < fitted.bounds_.lower <= 3 / e
    assert 0.0 < row["lower"] <= 3 / e


def test_time_ends_algorithm_2_between_its_rounds():
    problem = small_problem(3, sizes=(6, 6, 6), n_features=4)
    planes = CuttingPlanes(master="epigraph", oracle="eigenvalue", max_cuts=200)
    ended, full = (
        compare_relaxations(problem.X, problem.y, 0.5, planes, time_limit=limit)[0]
        for limit in (1e-9, 30.0)
    )
    assert (ended["status"], ended["rounds"]) == ("out of time", 1)
    assert full["status"] == "done"
    assert full["rounds"] > 1


def test_failing_relaxation_keeps_other_rows():
    problem, errors = small_problem(0), (ZeroDivisionError("on purpose"), InputError("too large"))
    rows = compare_relaxations(problem.X, problem.y, 1.0, [*map(Broken, errors), "diffrac"])
    assert [row["status"] for row in rows] == ["failed", "refused", "done"]
    assert [row["upper"] for row in rows[:2]] == [None, None]
    assert "too large" in rows[1]["reason"]
