"""In a process of its own: ordinary use with warnings as errors, and the core as in a browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

AS_IN_A_BROWSER = """
import os, subprocess, sys, threading

absent = "ecos osqp piqp pooch psutil pyscipopt scs _cvxcore".split()
sys.modules.update(dict.fromkeys(absent))  # importing one is an error, and no spec is found
os.environ["JOBLIB_MULTIPROCESSING"] = "0"
os.environ.pop("PROPCVX_DATA", None)

def start(*args, **kwargs):
    raise RuntimeError("a page has neither threads nor processes")

threading.Thread.start = os.fork = subprocess.Popen = start

import cvxpy, sklearn
cvxpy.settings.DEFAULT_CANON_BACKEND = cvxpy.settings.SCIPY_CANON_BACKEND
"""

ORDINARY_USE = """
before = set(sys.modules)
from propcvx import AlterPropSVM, Bags, ConvPropSVM, CuttingPlanes, InvCal, MeanMap, bag_target
from propcvx.datasets import load_real, make_two_bags
from propcvx.datasets.files import MissingDataError
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import lifted_svm_dual, svm_dual
from propcvx.solvers import choose_solvers, solve, list_solvers
print({"matplotlib", "pandas"} & set(sys.modules) - before)
from propcvx.plotting import figure_one

data = make_two_bags(random_state=0)
X, y = data.X, bag_target(data.bags, data.proportions)
conv = ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep"))
methods = [MeanMap(), InvCal(), AlterPropSVM(random_state=0), conv]
print(*(method.fit(X, y).score(X, data.labels) for method in methods))
figure_one(data, [(str(method), {"": method}) for method in methods])

small = svm_dual(X)
print(choose_solvers(small), {"osqp", "piqp", "scs"} & set(list_solvers(small)))
few = [0, 1, 2, 60, 61, 62]
target = bag_target([0] * 3 + [1] * 3, {0: 1 / 3, 1: 2 / 3})
feasible = FeasibleLabelings.from_bags(Bags.from_target(target), epsilon=0.0)
solution = solve(lifted_svm_dual(X[few], feasible, 1.0))  # semidefinite
print(solution.solver, solution.status)
try:
    load_real("heart")
except MissingDataError as error:
    print(error)
"""


def python(*arguments):
    """What Python prints, on either output; an error in it is an error here."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "Agg"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


def as_in_a_browser(code):
    return python("-W", "error:::propcvx", "-c", AS_IN_A_BROWSER + code)[0]


def test_ordinary_use_prints_no_warnings(tmp_path):
    script = str(ROOT / "tests" / "ordinary_use.py")
    for step in ("train", "predict"):
        assert python("-W", "error", script, step, str(tmp_path)) == ("", "")


def test_browser_fits_without_absent_packages():
    heavy, scores, chosen, answered, missing = as_in_a_browser(ORDINARY_USE).splitlines()
    assert heavy == "set()"
    assert [float(score) for score in scores.split()] == pytest.approx([0, 0, 1, 1], abs=0.05)
    assert chosen == "('clarabel', 'newton') set()"
    assert answered == "clarabel optimal"
    assert "pip install pooch" in missing
