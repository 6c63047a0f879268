"""The pages of docs/ run, and name what is there (tests/test_readme.py: the README)."""

import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest

import propcvx
from propcvx.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"))
    if BLOCKS.search(page.read_text(encoding="utf-8"))
]


@pytest.fixture(autouse=True)
def restored_solvers():
    rows = dict(SOLVERS)
    yield
    SOLVERS.clear()
    SOLVERS.update(rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_runs_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(encoding="utf-8"), {"__name__": page.stem}
    for block in BLOCKS.finditer(text):
        above = "\n" * (text[: block.start()].count("\n") + 1)  # so that errors name the line
        exec(compile(above + block[1], str(page), "exec"), names)


def test_every_module_is_in_the_api():
    listed = set(re.findall(r"^   (propcvx[\w.]*)$", (ROOT / "docs/api.rst").read_text(), re.M))
    for module in pkgutil.walk_packages(propcvx.__path__, "propcvx."):
        package = importlib.import_module(module.name.rpartition(".")[0])
        shown_by_package = package.__name__ in listed and hasattr(package, "__all__")
        assert module.name.endswith("__main__") or shown_by_package or module.name in listed, (
            f"{module.name} is missing from docs/api.rst"
        )


def test_solvers_have_a_word_on_their_page():
    page = (ROOT / "docs/solvers.md").read_text()
    assert [name for name in SOLVERS if f"\n`{name}`\n: " not in page] == []


def test_notebooks_are_kept_without_outputs():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") for cell in cells), path.name
