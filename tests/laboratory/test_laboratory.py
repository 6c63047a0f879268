"""Relaxations and bounds side by side: the rows, and the command around them."""

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import ConvPropSVM, bag_target, certify
from propcvx.__main__ import main
from propcvx.errors import InputError
from propcvx.laboratory import commands, relaxations
from propcvx.laboratory.commands import comparison_text
from propcvx.laboratory.programs import sample_in_bags
from propcvx.laboratory.relaxations import KINDS, compare_relaxations
from propcvx.relaxation import RELAXATIONS, ContinuousLabels

PNG = b"\x89PNG\r\n\x1a\n"
ROUNDING = 1e-7


@pytest.fixture(scope="module")
def compared():
    """Rows of a tiny problem by kind, and the values of its best labeling."""
    problem = small_problem(1, sizes=(3, 3), known=0.1)
    posed = {"labels": problem.labels, "epsilon": 0.1, "time_limit": 5.0}
    rows = compare_relaxations(problem.X, problem.y, 0.5, **posed)
    best = certify(problem.X, problem.y, 0.5, epsilon=0.1, kinds="enumeration", tol=1e-6)
    return {row["kind"]: row for row in rows}, best


def test_every_kind_has_its_row(compared):
    rows, _ = compared
    assert list(rows) == list(KINDS)
    assert {"search", *RELAXATIONS, "cutting_planes:sweep", "branch_and_bound"} <= set(rows)
    for row in rows.values():
        assert row.keys() == rows["search"].keys()
        if row["status"] in ("done", "proved optimal", "out of time"):
            assert row["reason"] is None
            assert row["cpu_seconds"] > 0.0
            assert 0.0 <= row["accuracy"] <= 1.0
        else:
            assert row["reason"]


def test_no_lower_bound_is_above_any_upper_bound(compared):
    rows, best = compared
    lowers = [row["lower"] for row in rows.values() if row["lower"] is not None]
    uppers = [row["upper"] for row in rows.values() if row["upper"] is not None]
    assert len(lowers) > 5
    assert max(lowers) <= min(*uppers, best.upper) * (1.0 + ROUNDING)
    assert min(uppers) >= best.lower * (1.0 - ROUNDING)
    for row in rows.values():
        assert row["best_upper"] == min(uppers)
        rises = [lower for _, lower in row["history"] or []]
        assert rises == sorted(rises)
        assert all(lower <= row["lower"] * (1.0 + ROUNDING) for lower in rises)


def test_kinds_prove_what_they_can(compared):
    rows, best = compared
    for kind in ("enumeration", "branch_and_bound"):
        assert rows[kind]["status"] == "proved optimal"
        assert rows[kind]["upper"] == pytest.approx(best.upper, rel=1e-4)
    for kind, loss in (("diffrac", "square"), ("cutting_planes:coordinate", "hinge")):
        row = rows[kind]
        assert (row["loss"], row["lower"], row["gap"], row["history"]) == (loss, None, None, [])


def test_a_labeling_is_measured_by_its_own_svm():
    problem, posed = small_problem(4, sizes=(4, 4)), {"kernel": "rbf", "gamma": 0.5}
    alone = bag_target(np.arange(8), (problem.labels > 0).astype(float))
    _, row = compare_relaxations(
        problem.X, alone, 0.5, labels=problem.labels, kinds="diffrac", **posed
    )
    exact = certify(problem.X, alone, 0.5, kinds="enumeration", tol=1e-7, **posed)
    assert exact.lower * (1.0 - ROUNDING) <= row["upper"]
    assert row["upper"] == pytest.approx(exact.upper, rel=1e-6)
    assert row["labels_right"] == 1.0


def test_every_kind_can_do_a_small_problem():
    pytest.importorskip("pyscipopt")
    small = small_problem(1, (3, 3), 2)
    rows = compare_relaxations(small.X, small.y, 0.5, time_limit=30.0)
    assert {row["status"] for row in rows} <= {"done", "proved optimal"}


def test_a_kind_that_cannot_is_a_row_with_the_reason():
    random = np.random.RandomState(0)
    labels = random.choice((-1, 1), size=40)
    X, y = random.normal(size=(40, 3)), bag_target(np.zeros(40, dtype=int), [np.mean(labels > 0)])
    rows = compare_relaxations(X, y, 0.1, kinds=["cutting_planes:sweep", "enumeration"])
    assert [row["status"] for row in rows] == ["done", "refused", "refused"]
    assert "labelings" in rows[2]["reason"]
    assert rows[1]["upper"] is None
    assert rows[1]["reason"] in comparison_text(rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kinds": ["lifted", "lift"]}, "kinds must be one of .*'branch_and_bound'"),
        ({"C": -1.0}, "C must"),
        ({"labels": [1, -1]}, "labels must"),
        ({"time_limit": 0.0}, "time_limit"),
    ],
)
def test_bad_arguments_are_errors(arguments, words):
    problem = small_problem(0)
    with pytest.raises(InputError, match=words):
        compare_relaxations(problem.X, problem.y, **{"kinds": "lifted", **arguments})


def test_time_ends_algorithm_2_between_its_rounds():
    problem = small_problem(3, sizes=(6, 6, 6), n_features=4)
    kind = "cutting_planes:eigenvalue"
    ended, full = (
        compare_relaxations(problem.X, problem.y, 0.5, kinds=kind, time_limit=limit)[1]
        for limit in (1e-9, 30.0)
    )
    assert (ended["status"], ended["rounds"]) == ("out of time", 1)
    assert full["status"] == "done"
    assert full["rounds"] > 1


class Odd:
    """A relaxation whose result is changed, and that may fail after its first round."""

    def __init__(self, error=None, **changes):
        self.error, self.changes = error, changes

    def relax(self, *problem, on_round, **options):
        result = replace(ContinuousLabels().relax(*problem, **options), **self.changes)
        on_round(result)
        if self.error is not None:
            raise self.error
        return result


def test_a_failure_is_a_row_with_what_was_proved():
    problem = small_problem(0, known=0.9)
    kinds = [Odd(ZeroDivisionError("on purpose")), "enumeration"]
    _, failed, last = compare_relaxations(problem.X, problem.y, kinds=kinds)
    assert (failed["status"], last["status"]) == ("failed", "proved optimal")
    assert failed["reason"] == "ZeroDivisionError: on purpose"
    assert 0.0 < failed["lower"] <= last["upper"] * (1.0 + ROUNDING)


def test_an_interrupted_judgement_leaves_an_empty_row(monkeypatch):
    problem = small_problem(0)
    monkeypatch.setattr(ConvPropSVM, "score", Mock(side_effect=[-0.25, KeyboardInterrupt]))
    search, row = compare_relaxations(problem.X, problem.y, kinds="enumeration")
    assert (search["status"], search["bag_error"]) == ("done", 0.25)
    assert (row["status"], row["lower"]) == ("interrupted", None)


def test_a_false_bound_is_found_by_the_labelings_of_others():
    problem = small_problem(0)
    best = certify(problem.X, problem.y, kinds="enumeration").upper
    false = Odd(lower=1.01 * best, upper=np.inf)
    search, row = compare_relaxations(problem.X, problem.y, kinds=false)
    assert search["upper"] == pytest.approx(best, rel=1e-4)
    assert (row["status"], row["lower"]) == ("refused", None)
    assert "Odd" in row["reason"]


def test_a_sample_is_that_of_its_seed():
    first, second, other = (sample_in_bags("generated", 20, 8, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.X, second.X)
    assert not np.array_equal(first.X, other.X)
    assert sorted(np.bincount(first.y["bag"])) == [4, 8, 8]


def test_data_of_another_name_or_size_are_refused(monkeypatch, request):
    monkeypatch.delenv("PROPCVX_DATA", raising=False)
    with pytest.raises(InputError, match=r"'vote'.*'generated'"):
        sample_in_bags("iris", 20, 8, 0)
    request.getfixturevalue("data_home")
    with pytest.raises(InputError, match="at most 270"):
        sample_in_bags("heart", 271, 8, 0)


def test_the_command_prints_keeps_and_draws(tmp_path, capsys):
    file, figure, curves = (tmp_path / name for name in ("rows.json", "a.png", "b.png"))
    files = [f"--json={file}", f"--figure={figure}", f"--curves={curves}"]
    words = "--instances 10 --bag-size 5 --C 0.1,1 --compare diffrac,branch_and_bound"
    assert main(["relax", *words.split(), *files]) == 0
    printed = capsys.readouterr().out
    assert printed.count("best upper bound") == 2
    assert "proved optimal" in printed
    assert all(path.read_bytes().startswith(PNG) for path in (figure, curves))
    kept = json.loads(file.read_text())["comparisons"]
    problems = [each["problem"] for each in kept]
    assert [(each["instances"], each["C"]) for each in problems] == [(10, 0.1), (10, 1.0)]
    assert [row["kind"] for row in kept[0]["rows"]] == ["search", "diffrac", "branch_and_bound"]


@pytest.mark.parametrize(
    "arguments", [["--json", "no/such/folder.json"], ["--figure", "a.doc"], ["--curves", "."]]
)
def test_what_cannot_be_written_is_refused_before_the_work(arguments, capsys, monkeypatch):
    monkeypatch.setattr(commands, "compare_relaxations", pytest.fail)
    with pytest.raises(SystemExit):
        main(["relax", *arguments])
    assert "cannot be written" in capsys.readouterr().err


def test_interrupted_it_keeps_what_was_done(tmp_path, capsys, monkeypatch):
    file = tmp_path / "rows.json"
    monkeypatch.setattr(relaxations, "KINDS", {**KINDS, "stopped": Odd(KeyboardInterrupt())})
    arguments = "--instances 10 --C 0.1,1 --compare diffrac,stopped,enumeration"
    assert main(["relax", *arguments.split(), "--json", str(file)]) == 130
    assert "interrupted" in capsys.readouterr().out
    (first,) = json.loads(file.read_text())["comparisons"]
    assert [row["status"] for row in first["rows"]] == ["done", "done", "interrupted"]
