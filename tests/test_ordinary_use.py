"""Ordinary use in a process of its own, with warnings as errors."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "propcvx").rglob("*.py"))


def python(*arguments, **environment):
    """What Python prints, on standard output and standard error."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": paths.rstrip(os.pathsep)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr


ADDED = """
import sys, cvxpy, sklearn
before = set(sys.modules)
import propcvx
print(*set(sys.modules) - before)
import matplotlib
print(*set(sys.modules) - before)
"""


def test_import_adds_no_heavy_module():
    heavy = {"matplotlib", "pandas", "pyscipopt"}
    ours, with_matplotlib = python("-c", ADDED)[0].splitlines()
    assert "propcvx" in ours.split()
    assert not heavy & set(ours.split())
    assert "matplotlib" in with_matplotlib.split(), "what is looked for would be found"


def test_ordinary_use():
    """By environment, so that the second process of the script has it, too."""
    out, errors = python(str(ROOT / "tests" / "ordinary_use.py"), PYTHONWARNINGS="error")
    assert out.splitlines()[-1] == "OK"
    assert errors == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_depends_on_assert(path):
    """With python -O there would be no check."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert lines == []
