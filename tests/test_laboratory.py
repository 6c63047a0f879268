"""Relaxations and bounds side by side: the rows, and the command around them."""

import json

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import ConvPropSVM, bag_target, certify
from propcvx.cli import main
from propcvx.errors import InputError
from propcvx.experiments.laboratory import KINDS, Problem, compare, compare_relaxations
from propcvx.experiments.laboratory.data import sample_in_bags
from propcvx.experiments.laboratory.run import table
from propcvx.experiments.laboratory.variants import Question, Timed
from propcvx.history import StopReason
from propcvx.relaxation import RELAXATIONS, CuttingPlanes

PNG = b"\x89PNG\r\n\x1a\n"
ROUNDING = 1e-7


@pytest.fixture(scope="module", params=[0, 1])
def compared(request):
    """A tiny problem, its rows by kind, and the values of the best labeling."""
    problem = small_problem(request.param, sizes=(4, 4), known=0.1)
    rows = compare_relaxations(
        problem.X, problem.y, 0.5, labels=problem.labels, epsilon=0.1, time_limit=5.0
    )
    best = certify(problem.X, problem.y, 0.5, epsilon=0.1, kinds="enumeration", tol=1e-6)
    return problem, {row["kind"]: row for row in rows}, best


def test_every_kind_has_its_row(compared):
    _, rows, _ = compared
    assert list(rows) == list(KINDS)
    assert {"search", *RELAXATIONS, "cutting_planes:semidefinite", "branch_and_bound"} <= set(rows)
    for row in rows.values():
        assert row.keys() == rows["search"].keys()
        if row["status"] in ("done", "proved optimal", "out of time"):
            assert row["reason"] is None
            assert row["cpu_seconds"] > 0.0
            assert 0.0 <= row["accuracy"] <= 1.0
        else:
            assert row["reason"]


def test_no_lower_bound_is_above_any_upper_bound(compared):
    _, rows, best = compared
    lowers = [row["lower"] for row in rows.values() if row["lower"] is not None]
    uppers = [row["upper"] for row in rows.values() if row["upper"] is not None]
    assert len(lowers) > 5
    assert max(lowers) <= min(uppers) * (1.0 + ROUNDING)
    assert max(lowers) <= best.upper * (1.0 + ROUNDING)
    assert min(uppers) >= best.lower * (1.0 - ROUNDING)
    for row in rows.values():
        assert row["best_upper"] == min(uppers)
        rises = [lower for _, lower in row["history"] or []]
        assert rises == sorted(rises)
        if rises:
            assert rises[-1] <= row["lower"] * (1.0 + ROUNDING)


def test_exact_kinds_prove_the_best_labeling(compared):
    _, rows, best = compared
    for kind in ("enumeration", "branch_and_bound"):
        assert rows[kind]["status"] == "proved optimal"
        assert rows[kind]["upper"] == pytest.approx(best.upper, rel=1e-4)


def test_the_square_loss_bounds_nothing_of_the_hinge(compared):
    _, rows, best = compared
    for kind in ("diffrac",):
        row = rows[kind]
        assert (row["loss"], row["lower"], row["gap"]) == ("square", None, None)
        assert row["upper"] >= best.lower * (1.0 - ROUNDING)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_labeling_is_judged_by_its_own_svm(kernel):
    problem = small_problem(4, sizes=(4, 4))
    labeling = problem.labels.astype(float)
    features = {"kernel": kernel, "gamma": 0.5}
    separator = Question(problem.X, problem.y, 0.5, 0.0, features, 10.0, 1e-4, 0).separator(
        labeling
    )
    alone = bag_target(np.arange(8), (labeling > 0).astype(float))
    exact = certify(problem.X, alone, 0.5, kinds="enumeration", tol=1e-7, **features)
    assert exact.lower * (1.0 - ROUNDING) <= separator.relaxation_.upper
    assert separator.relaxation_.upper == pytest.approx(exact.upper, rel=1e-6)


def test_a_kind_that_cannot_is_a_row_with_the_reason():
    random = np.random.RandomState(0)
    labels = random.choice((-1, 1), size=40)
    y = bag_target(np.zeros(40, dtype=int), [np.mean(labels > 0)])
    rows = compare_relaxations(random.normal(size=(40, 3)), y, 0.1, kinds=["sweep", "enumeration"])
    assert [row["status"] for row in rows] == ["done", "refused", "refused"]
    assert "2 features" in rows[1]["reason"]
    assert "labelings" in rows[2]["reason"]
    assert rows[1]["upper"] is None
    assert "refused" in table(rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kinds": ["lifted", "lift"]}, "'branch_and_bound'"),
        ({"C": -1.0}, "C must"),
        ({"labels": [1, -1]}, "labels must"),
        ({"time_limit": 0.0}, "time_limit"),
    ],
)
def test_bad_arguments_are_errors(arguments, words):
    problem = small_problem(0)
    with pytest.raises(InputError, match=words):
        compare_relaxations(problem.X, problem.y, **{"C": 1.0, "kinds": "lifted", **arguments})


def test_time_ends_algorithm_2_between_its_rounds():
    problem = small_problem(3, sizes=(6, 6, 6), n_features=4)

    planes = CuttingPlanes(oracle="eigenvalue", master="epigraph", max_cuts=50, tol=0.0)
    ended, full = (
        ConvPropSVM(0.5, relaxation=Timed(planes, limit), rounding="best").fit(problem.X, problem.y)
        for limit in (1e-9, 30.0)
    )
    assert ended.stop_reason_ is StopReason.OUT_OF_TIME
    assert ended.n_iter_ == 1
    assert full.n_iter_ > 1


def test_after_an_interruption_come_the_rows_so_far(monkeypatch):
    def interrupted(question):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "KINDS", {**KINDS, "lifted": interrupted})
    problem = small_problem(0)
    rows = compare_relaxations(problem.X, problem.y, kinds=["enumeration", "lifted", "diffrac"])
    assert [row["status"] for row in rows] == ["done", "proved optimal", "interrupted"]
    assert rows[2]["best_upper"] == rows[1]["upper"]


def test_a_sample_is_that_of_its_seed():
    one, two, other = (sample_in_bags("generated", 20, 8, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.X, two.X)
    assert not np.array_equal(one.X, other.X)
    assert sorted(np.bincount(one.y["bag"])) == [4, 8, 8]
    assert np.abs(one.X).max() == pytest.approx(1.0)


def test_data_of_another_name_or_size_are_refused(monkeypatch):
    monkeypatch.delenv("PROPCVX_DATA", raising=False)
    with pytest.raises(InputError, match=r"'vote'.*'generated'"):
        sample_in_bags("iris", 20, 8, 0)


@pytest.mark.usefixtures("data_dir")
def test_more_than_all_are_refused(monkeypatch, data_dir):
    monkeypatch.setenv("PROPCVX_DATA", str(data_dir))
    with pytest.raises(InputError, match="at most 270"):
        sample_in_bags("heart", 271, 8, 0)


def test_the_command_prints_keeps_and_draws(tmp_path, capsys):
    file, figure, curves = (tmp_path / name for name in ("rows.json", "a.png", "b.png"))
    arguments = ["--instances", "10", "--bag-size", "5", "--C", "0.1,1", "--time-limit", "10"]
    kinds = ["--compare", "lifted,diffrac,sweep,branch_and_bound"]
    files = ["--json", str(file), "--figure", str(figure), "--curves", str(curves)]
    assert main(["relax", *arguments, *kinds, *files]) == 0
    printed = capsys.readouterr().out
    assert printed.count("best upper bound") == 2
    assert "proved optimal" in printed
    assert figure.read_bytes().startswith(PNG)
    assert curves.read_bytes().startswith(PNG)
    kept = json.loads(file.read_text())["comparisons"]
    assert [one["problem"]["C"] for one in kept] == [0.1, 1.0]
    kinds = [row["kind"] for row in kept[0]["rows"]]
    assert kinds == ["search", "lifted", "diffrac", "sweep", "branch_and_bound"]
    assert Problem(**kept[0]["problem"]).instances == 10


@pytest.mark.parametrize("arguments", [["--compare", "lift"], ["--data", "iris"], ["--C", "0"]])
def test_wrong_arguments_end_the_command_with_usage(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["relax", *arguments])
    assert exit_.value.code == 2
    assert "must be" in capsys.readouterr().err


def test_interrupted_it_keeps_what_was_done(tmp_path, capsys, monkeypatch):
    def interrupted(question):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "KINDS", {**KINDS, "lifted": interrupted})
    file = tmp_path / "rows.json"
    arguments = ["--instances", "10", "--C", "0.1,1", "--compare", "diffrac,lifted"]
    assert main(["relax", *arguments, "--json", str(file)]) == 130
    printed = capsys.readouterr()
    assert "interrupted" in printed.out
    assert str(file) in printed.err
    rows = json.loads(file.read_text())["comparisons"][0]["rows"]
    assert [row["status"] for row in rows] == ["done", "done", "interrupted"]
