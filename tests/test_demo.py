"""The command line, and the demo through it."""

import re

import pytest

from propcvx import demo
from propcvx.__main__ import main
from propcvx.errors import SolverError

pytestmark = pytest.mark.process

PAPER = ("MeanMap", "InvCal", "alter-pSVM", "conv-pSVM")
REAL = ("EcologicalRegression", *PAPER, demo.SUPERVISED)


def test_demo_reproduces_figure_one(tmp_path, capsys):
    folder = tmp_path / "made" / "on the way"
    assert main(["demo", "--output", str(folder)]) == 0
    text = capsys.readouterr().out
    assert str(folder / "figure1.png") in text
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    lines = re.findall(rf"^({'|'.join(REAL)}) +(\d.*)$", text, re.MULTILINE)
    assert [name for name, _ in lines] == [*PAPER, *REAL]
    rows = [cells.split() for _, cells in lines]
    assert [row[:2] for row in rows[:4]] == [["0.0%", "0.200"]] * 2 + [["100.0%", "0.000"]] * 2
    assert rows[3][2:] == ["proved", "optimal"]
    for accuracy, error in rows[4:]:
        assert float(accuracy.rstrip("%")) > 85.0
        assert float(error) < 0.15


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (SolverError("no answer", "clarabel", "infeasible"), 1, "no answer"),
    ],
)
def test_demo_ended_early_reports_why(error, code, message, tmp_path, capsys, monkeypatch):
    def ended(*parts):
        raise error

    monkeypatch.setattr(demo, "_outcome", ended)
    assert main(["demo", "--output", str(tmp_path)]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play"], "invalid choice"),
        (["demo", "--seed", "-1"], "--seed: must be from 0"),
        (["demo", "--seed=x"], "--seed: invalid"),
        (["demo", "--output", __file__], "output must be a folder"),
    ],
)
def test_invalid_arguments_print_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    printed = capsys.readouterr()
    assert (exit_.value.code, printed.out) == (2, "")
    assert "usage:" in printed.err
    assert message in printed.err
