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


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def run(cell, names):
    """Run a cell outside a notebook."""
    code = re.sub(r"^%.*$", "", student.source(cell), flags=re.MULTILINE)
    exec(compile(code, cell["id"], "exec"), names)


def names_of_a_notebook():
    matplotlib.use("Agg")
    return {"__name__": "__main__", "display": print}


def on_request(paths):
    return [
        pytest.param(path, id=path.stem, marks=[] if path.stem[:2] in QUICK else pytest.mark.slow)
        for path in paths
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_student_notebook_hides_solutions(path):
    cells = read(path)["cells"]
    solved = [cell for cell in cells if student.SOLUTION in student.tags(cell)]
    places = student.exercises(cells)
    assert [cells[solution] for solution, _ in places] == solved != []
    given = student.for_students(copy.deepcopy(read(path)))["cells"]
    for solution, _ in places:
        text, question = student.source(given[solution]), student.source(cells[solution - 1])
        assert re.fullmatch(r"#.*\n(\w+ = \.\.\.\n?)+", text)
        assert all(f"`{name}" in question for name in re.findall(r"^(\w+) = ", text, re.M))


@pytest.mark.parametrize("path", on_request(PATHS))
def test_checks_tell_right_from_wrong(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells, names = read(path)["cells"], names_of_a_notebook()
    stubs = student.for_students(copy.deepcopy(read(path)))["cells"]
    checks = dict(student.exercises(cells))
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
