"""Ordinary use in processes of its own: with warnings as errors, and with python -O."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "propcvx").rglob("*.py"))

FITS = """
import numpy as np
from small_problems import small_problem
from propcvx import AlterPropSVM, ConvPropSVM, InvCal, MeanMap

problem = small_problem(0, sizes=(4, 5, 6, 5), n_features=2)
for method in (MeanMap(), InvCal(), AlterPropSVM(n_init=2, random_state=0), ConvPropSVM()):
    for kernel in ("linear", "rbf"):
        clf = method.set_params(kernel=kernel).fit(problem.X, problem.y)
        scores = clf.decision_function(problem.X)
        print(type(clf).__name__, kernel, clf.objective_.hex(), *map(float.hex, scores.tolist()))
print("asserts" if __debug__ else "no asserts")
"""


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


# By environment, so that the second process of the script has them too.
WAYS = {"-O": {"PYTHONOPTIMIZE": "1"}, "-W error": {"PYTHONWARNINGS": "error"}}


ADDED = """
import sys, cvxpy, sklearn
before = set(sys.modules)
import {module}
print(*set(sys.modules) - before)
"""


@pytest.mark.parametrize(("module", "heavy"), [("propcvx", False), ("matplotlib", True)])
def test_import_adds_no_heavy_module(module, heavy):
    added = set(python("-c", ADDED.format(module=module))[0].split())
    assert module in added
    assert bool(added & {"matplotlib", "pandas", "pyscipopt"}) is heavy


@pytest.mark.parametrize("environment", WAYS.values(), ids=WAYS)
def test_ordinary_use(environment):
    out, errors = python(str(ROOT / "tests" / "ordinary_use.py"), **environment)
    assert out.splitlines()[-1] == "OK"
    assert errors == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_depends_on_assert(path):
    """With python -O there would be no check."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert lines == []


def test_fits_are_the_same_without_asserts():
    (plain, _), (optimised, _) = python("-c", FITS), python("-O", "-c", FITS)
    *fits, last = plain.splitlines()
    *fits_without, last_without = optimised.splitlines()
    assert (last, last_without) == ("asserts", "no asserts")
    assert len(fits) == 8
    assert fits == fits_without
