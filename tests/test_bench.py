"""Benchmarks at tiny sizes, and the command around them."""

import json
import math
import subprocess
import sys

import pytest

from propcvx.cli import main
from propcvx.experiments.bench import (
    BENCHMARKS,
    Benchmark,
    Case,
    Check,
    at_most,
    benchmark,
    frame,
    measure,
    run,
)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_and_certifies_its_answers(name, monkeypatch):
    monkeypatch.delenv("PROPCVX_DATA", raising=False)
    measured = [measure(name, case, 1) for case in BENCHMARKS[name].cases(True)]
    assert measured
    for one in measured:
        assert one.name == name
        assert one.ratio is not None, one.checked
        assert one.ratio == pytest.approx(one.first_ms / one.second_ms)


def test_sides_are_called_in_turn_after_a_warm_up():
    calls = []
    case = Case(
        "work", lambda: calls.append("a"), lambda: calls.append("b") or 7,
        lambda first, second: Check(first is None and second == 7, "ok"), reach=1e9, repeats=2,
    )  # fmt: skip
    assert measure("x", case, repeats=5).first_ms >= 0.0
    assert calls == ["a", "b"] * 3


def test_no_speed_of_an_answer_that_does_not_pass():
    case = Case("w", lambda: 1, lambda: 2, lambda a, b: Check(False, "gap 1"), reach=9.0)
    one = measure("x", case, 1)
    assert one.ratio is None
    assert not one.reached
    assert "NOT CERTIFIED: gap 1" in run.text_of(one)


def test_not_a_number_does_not_pass():
    assert not at_most("gap", math.nan, 1.0).passed


@pytest.mark.parametrize(("at_least", "reached"), [(True, False), (False, True)])
def test_a_ratio_is_to_be_at_most_or_at_least(at_least, reached):
    passed = Check(True, "ok")
    case = Case(
        "w", lambda: 1, lambda: sum(range(10**5)), lambda a, b: passed, 1.0, at_least=at_least
    )
    assert measure("x", case, 3).reached is reached


@pytest.fixture
def toy(monkeypatch):
    """A table of three benchmarks: one that passes, one that does not, one that is interrupted."""

    def row(name, passed, ends=False):
        def cases(quick):
            yield Case("work", int, int, lambda a, b: Check(passed, "gap"), reach=1e9)
            if ends:
                raise KeyboardInterrupt

        return Benchmark(name, f"about {name}", cases)

    rows = (row("good", True), row("bad", False), row("long", True, ends=True))
    table = {one.name: one for one in rows}
    for module in (run, frame):
        monkeypatch.setattr(module, "BENCHMARKS", table)
    monkeypatch.setattr("propcvx.cli.BENCHMARKS", table)


@pytest.mark.usefixtures("toy")
def test_list_names_them(capsys):
    assert main(["bench", "--list"]) == 0
    assert "about good" in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("names", [[], ["good", "better"]])
def test_wrong_names_are_told_the_right_ones(names, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["bench", *names])
    assert exit_.value.code == 2
    printed = capsys.readouterr()
    assert "those of benchmarks, good, bad, long; got" in printed.err
    assert not printed.out


@pytest.mark.usefixtures("toy")
def test_a_row_is_added_with_its_first_line():
    @benchmark("mine")
    def cases(quick):
        """Mine over theirs.

        More of it.
        """

    assert frame.BENCHMARKS["mine"].about == "Mine over theirs."


def test_import_adds_nothing_heavy():
    code = (
        "import sys, cvxpy, sklearn; before = set(sys.modules); import propcvx; "
        "print({'matplotlib', 'pandas', 'pyscipopt'} & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.usefixtures("toy")
def test_an_answer_that_is_not_certified_is_a_failure(capsys):
    assert main(["bench", "good", "bad"]) == 1
    assert "NOT CERTIFIED" in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_what_was_measured_is_kept_and_compared_with(tmp_path, capsys):
    file = tmp_path / "earlier.json"
    assert main(["bench", "good", "--json", str(file), "--repeats", "2"]) == 0
    content = json.loads(file.read_text())
    ratio = content["measurements"][0]["ratio"]
    assert content["packages"]["numpy"]
    capsys.readouterr()
    assert main(["bench", "good", "--compare", str(file)]) == 0
    assert f"earlier {ratio:.3g}" in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_interrupted_it_keeps_what_it_measured(tmp_path, capsys):
    file = tmp_path / "kept.json"
    assert main(["bench", "long", "--json", str(file)]) == 130
    printed = capsys.readouterr()
    assert "long: work" in printed.out
    assert str(file) in printed.err
    assert len(json.loads(file.read_text())["measurements"]) == 1


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("option", ["--json", "--compare"])
def test_files_that_cannot_be_used_are_told_before_anything_is_measured(option, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "good", option, str(tmp_path / "no" / "folder.json")])
    printed = capsys.readouterr()
    assert "cannot be" in printed.err
    assert not printed.out


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("content", ["not JSON", "[]", '{"measurements": [{"name": "good"}]}'])
def test_a_file_of_something_else_is_refused(content, tmp_path, capsys):
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(SystemExit):
        main(["bench", "good", "--compare", str(file)])
    assert "is not a file that 'propcvx bench --json' wrote" in capsys.readouterr().err
