"""Ordinary use in a process of its own, with warnings as errors."""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
"""


def test_import_adds_no_heavy_module():
    added = set(python("-c", ADDED)[0].split())
    assert "propcvx" in added
    assert not {"matplotlib", "pandas", "pyscipopt"} & added


def test_ordinary_use():
    """By environment, so that the second process of the script has it, too."""
    out, errors = python(str(ROOT / "tests" / "ordinary_use.py"), PYTHONWARNINGS="error")
    assert out.splitlines()[-1] == "OK"
    assert errors == ""


def test_nothing_depends_on_assert():
    """With python -O there would be no check."""
    found = [
        f"{path}:{node.lineno}"
        for path in (ROOT / "propcvx").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert found == []
