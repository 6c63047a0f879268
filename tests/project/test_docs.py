"""The README and the pages of docs/ run, and name what is there."""

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import sys
from ast import literal_eval
from inspect import isclass, isfunction
from pathlib import Path

import pytest
import yaml

import propcvx
from propcvx import programs
from propcvx.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))
import package_tables  # noqa: E402
import paper_equations  # noqa: E402
import stored_outputs  # noqa: E402
import student  # noqa: E402

MOST_ENTRIES, MOST_WORDS = 35, 30_000
"""Of the menu, and of pages and notebooks; a page that makes them more has to replace another."""
MOST_BYTES = 100_000
"""Of a picture in a notebook."""
SHOWS = re.compile(r"^(print\(|.*plt\.subplots|pd\.)", re.MULTILINE)
"""What a code cell with an output has."""
CHANGES = re.compile(r"(?<![\w.+/=])/(?:home|root|tmp|work|Users)/| at 0x|widget-view")
"""What another machine would store: paths, addresses; and widgets, which only work live."""

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if BLOCKS.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_page_runs_in_order(page, tmp_path, monkeypatch):
    (tmp_path / "referendum").symlink_to(ROOT / "docs/referendum")
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(encoding="utf-8"), {"__name__": page.stem}
    for block in BLOCKS.finditer(text):
        above = "\n" * (text[: block.start()].count("\n") + 1)  # so that errors name the line
        exec(compile(above + block[1], str(page), "exec"), names)


def test_readme_examples_print_stored_outputs(monkeypatch):
    monkeypatch.chdir(ROOT)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert result == (0, 17)


def test_links_and_pictures_of_readme_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith("https://"):
            file, _, heading = target.partition("#")
            assert (ROOT / file).exists(), target
            assert not heading or heading in headings(ROOT / file), target


def test_pages_stay_within_word_limits():
    trees = re.findall(r"```{toctree}\n(.*?)```", (ROOT / "docs/index.md").read_text(), re.DOTALL)
    names = [line for tree in trees for line in tree.split("\n") if line and line[0] != ":"]
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(names) - 1 + len(notebooks) <= MOST_ENTRIES  # one of the names is theirs
    assert len([word for word in README.split() if word.strip("|-")]) <= 900
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/results").glob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages if "report" not in page.stem]
    for notebook in notebooks:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS


def test_tables_have_caption():
    """Pages of the paper and from code have their own form."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/results").glob("*.md")]
    for page in pages:
        text = "" if page.stem == "paper" else page.read_text(encoding="utf-8")
        for table in re.finditer(
            r"(^\|[-| :]+\|\n(\|.*\n)*+|^\{\{ \w+ \}\}\n)(?!\n\*\w|\n\*\")", text, re.M
        ):
            raise AssertionError(f"{page.name}: no caption below {table[0][:60]!r}")


def headings(file):
    """Those of a page, as links name them."""
    answer = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return [heading.lower().replace(" ", "-") for heading in answer]


def test_public_names_are_in_api():
    listed = paper_equations.public_names()
    packages = [module.name for module in pkgutil.walk_packages(propcvx.__path__, "propcvx.")]
    for package in map(importlib.import_module, ("propcvx", *packages)):
        for name in getattr(package, "__all__", ()):
            target = getattr(package, name)
            if isfunction(target) or isclass(target):
                assert f"{target.__module__}.{target.__qualname__}" in listed, name


def test_documented_defaults_equal_signature():
    seen = set()
    for name in paper_equations.public_names():
        target = inspect.unwrap(pkgutil.resolve_name(name))
        text = target.__doc__ or "" if isclass(target) or isfunction(target) else ""
        for names, value in re.findall(r"^ +([\w, ]+) : .+, default=(.+)$", text, re.MULTILINE):
            for each in names.split(", "):
                default = inspect.signature(target).parameters[each].default
                assert default == (float(value) if value == "inf" else literal_eval(value)), name
                seen.add(each)
    assert {"C", "epsilon", "solver_tol", "time_limit"} <= seen


def test_programs_have_row_in_their_table():
    named = set(re.findall(r"~propcvx\.programs\.(\w+)", package_tables.program_table()))
    functions = {name for name in programs.__all__ if isfunction(getattr(programs, name))}
    parts = {"build", "inv_cal_targets", "mixture", "square_loss_matrix", "svm_dual_parameters"}
    assert named == functions - parts


def test_citation_file_equals_bibliography():
    known = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(known)  # what the format demands
    assert known["version"] == propcvx.__version__
    assert known["title"] in (ROOT / "docs/bibliography.md").read_text(encoding="utf-8")


def test_solvers_page_describes_every_solver():
    page = (ROOT / "docs/solvers.md").read_text()
    terms = " ".join(re.findall(r"^(`.*`)\n: ", page, re.M))
    assert [name for name in SOLVERS if f"`{name}`" not in terms] == []


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_asserts_its_conclusions(path):
    texts = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    (checked,) = (place for place, text in enumerate(texts) if "## What we checked" in text)
    assert "assert " in texts[checked + 1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_stored_outputs_belong_to_code_and_are_small(path):
    """``make notebooks`` stores them."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert not stored_outputs.is_stale(notebook), "run `make notebooks`"
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", [])
        assert "execution" not in cell["metadata"]
        if SHOWS.search("".join(cell["source"])) and cell["cell_type"] == "code":
            assert outputs or {"skip-execution", "skip-output"} & set(student.tags(cell))
        assert [output for output in outputs if output.get("name") == "stderr"] == []
        text = json.dumps([output | {"metadata": {}} for output in outputs])
        pictures = re.findall(r"[\w+/=]{2000,}", text.replace("\\n", ""))
        assert all(len(picture) * 3 / 4 <= MOST_BYTES for picture in pictures)
        assert CHANGES.findall(text) == []


def test_every_paper_part_is_cited():
    page = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
    for name, entry in paper_equations.equation_pages().items():
        assert entry, name
        assert f"{{{{ {name} }}}}" in page


def test_docstrings_cite_existing_equations():
    known = {name for part in paper_equations.labels().items() for name in part}
    known |= {f"Section {number}" for number in range(1, 9)}
    for role, name, target in paper_equations.documented():
        assert paper_equations.citations(target) <= known, f"{role} {name}"


def test_equation_numbers_equal_paper(data_dir):
    source = (data_dir.parent / "paper/proportion-svm-icml2013.tex").read_text(encoding="utf-8")
    listed = paper_equations.labels()
    numbered = {name: listed[name] for name in listed if "tion (" in name}
    labels = labels_of_numbers(source)
    assert numbered == {f"Equation ({n})": label for n, label in enumerate(labels, start=1)}
    assert set(re.findall(r"\\label\{((?!sec|sub)[^}]*)\}", source)) <= set(listed.values())


def labels_of_numbers(source):
    """The label, or an empty text, of each row of a display that has a number."""
    displays = r"\\begin\{(?:equation|align)\}(.*?)\\end\{(?:eq|al)"
    for display in re.findall(displays, source, re.DOTALL):
        label = re.search(r"\\label\{([^}]*)\}", display)
        body = re.sub(r"\\begin\{cases\}.*?\\end\{cases\}", "", display, flags=re.DOTALL)
        n_rows = sum("nonumber" not in row for row in body.split(r"\\"))
        yield from [label[1] if label else ""] * n_rows
