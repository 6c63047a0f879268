"""The README and the pages of docs/ run, and name what is there."""

import doctest
import importlib.util
import json
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import propcvx

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))
import paper_equations  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
API = (ROOT / "docs/api.rst").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if BLOCKS.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_code_runs_in_order(page, tmp_path, monkeypatch):
    (tmp_path / "referendum").symlink_to(ROOT / "docs/referendum")
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(encoding="utf-8"), {"__name__": page.stem}
    for block in BLOCKS.finditer(text):
        above = "\n" * (text[: block.start()].count("\n") + 1)  # so that errors name the line
        exec(compile(above + block[1], str(page), "exec"), names)


def test_readme_examples_print_what_they_show(monkeypatch):
    monkeypatch.chdir(ROOT)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert result == (0, 17)


def test_readme_links_lead_to_files_and_headings():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith("https://"):
            file, _, heading = target.partition("#")
            assert (ROOT / file).exists(), target
            assert not heading or heading in headings(ROOT / file), target


def headings(file):
    """Those of a page, as links name them."""
    answer = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return [heading.lower().replace(" ", "-") for heading in answer]


def test_every_module_is_in_the_api():
    listed = set(re.findall(r"^   (propcvx[\w.]*)$", API, re.MULTILINE))
    assert [name for name in listed if importlib.util.find_spec(name) is None] == []
    for module in pkgutil.walk_packages(propcvx.__path__, "propcvx."):
        package = importlib.import_module(module.name.rpartition(".")[0])
        shown_by_package = package.__name__ in listed and hasattr(package, "__all__")
        assert module.name.endswith("__main__") or shown_by_package or module.name in listed, (
            f"{module.name} is missing from docs/api.rst"
        )


def test_public_names_equal_those_of_the_api():
    block = re.search(r"from propcvx import \((.*?)\)", API, re.DOTALL)[1]
    assert set(re.findall(r"\w+", block)) == set(propcvx.__all__)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebook_has_no_outputs_and_a_checking_cell(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    texts = ["".join(cell["source"]) for cell in cells]
    (checked,) = (place for place, text in enumerate(texts) if "## What we checked" in text)
    assert "assert " in texts[checked + 1]


def test_docstrings_cite_labels_of_the_paper():
    known = {name for part in paper_equations.labels().items() for name in part}
    known |= {f"Section {number}" for number in range(1, 9)}
    for role, name, target in paper_equations.documented():
        assert paper_equations.citations(target) <= known, f"{role} {name}"
