"""What the README shows runs, and what it names is there."""

import doctest
import re
from inspect import isfunction
from pathlib import Path

from propcvx import programs

README = Path(__file__).resolve().parents[1] / "README.md"


def test_examples_give_what_they_show():
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert (failed, tried) == (0, 16)


def test_programs_are_those_of_the_package():
    text = README.read_text(encoding="utf-8")
    table = text.partition("**Programs.**")[2].partition("**Solvers.**")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    functions = {name for name in programs.__all__ if isfunction(getattr(programs, name))}
    parts = {"build", "inv_cal_targets", "mixture", "square_loss_matrix", "svm_dual_parameters"}
    assert named == functions - parts


def test_links_and_pictures_are_there():
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target.startswith("https://") or (README.parent / target).is_file(), target
