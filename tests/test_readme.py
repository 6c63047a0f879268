"""What the README shows runs, its results are those of the file, and what it names is there."""

import doctest
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
sys.path.append(str(ROOT / "docs"))
import report_tables  # noqa: E402


def test_examples_give_what_they_show():
    failed, tried = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert (failed, tried) == (0, 9)


def test_results_are_those_of_the_file():
    text = README.read_text(encoding="utf-8")
    assert report_tables.means_tables() in text, "python docs/report_tables.py writes it anew"
    assert text == report_tables.readme_text()


def test_links_and_pictures_are_there():
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("https://"):
            file, _, heading = target.partition("#")
            assert (README.parent / file).exists(), target
            assert not heading or heading in headings(README.parent / file), target


def headings(file):
    """Those of a page, as links name them."""
    found = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return [heading.lower().replace(" ", "-") for heading in found]
