"""Notebooks for students: with solutions every check passes, with stubs every check fails."""

import copy
import json
import re

import matplotlib
import pytest
import student

PATHS = sorted(student.NOTEBOOKS.glob("*.ipynb"))
QUICK = ("02",)
"""Run whenever the tests are; the others on request."""


def run(cell, names):
    """Run a cell outside a notebook."""
    code = re.sub(r"^%.*$", "", student.source(cell), flags=re.MULTILINE)
    exec(compile(code, cell["id"], "exec"), names)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem[:2] in QUICK else pytest.mark.slow)
        for path in PATHS
    ],
)
def test_notebook_checks_accept_solutions_and_reject_stubs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells, names = notebook["cells"], {"__name__": "__main__", "display": print}
    stubs = student.for_students(copy.deepcopy(notebook))["cells"]
    assert not any(cell.get("outputs") for cell in stubs)
    checks = dict(student.exercises(cells))
    assert [cells[place] for place in checks] == [
        cell for cell in cells if student.SOLUTION in student.tags(cell)
    ]
    for place, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        if place in checks:
            run(stubs[place], names)
            with pytest.raises(NameError, match="the cell above sets"):
                run(stubs[checks[place]], names)
            with pytest.raises(Exception):  # noqa: B017, PT011 - a stub can be wrong in any way
                run(cells[checks[place]], names)
            run(cell, names)
            run(stubs[checks[place]], names)
        else:
            run(cell, names)
