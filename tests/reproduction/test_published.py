"""The tables of the pages and the README are those of docs/results/tables.parquet.

``python tests/reproduction/test_published.py`` writes ``published_tables.md`` beside it anew.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests/reproduction/published_tables.md"
sys.path.append(str(ROOT / "docs"))
import claims  # noqa: E402
import large_bags  # noqa: E402
import open_choices  # noqa: E402
import report_tables  # noqa: E402


def tables():
    """The tables of the pages by name."""
    answer = report_tables.pages() | claims.pages() | open_choices.pages() | large_bags.pages()
    return {name: table.strip() for name, table in answer.items() if name != "results_hash"}


def test_the_tables_of_the_pages_are_those_that_were_published():
    text = FILE.read_text(encoding="utf-8")
    published = dict(part.split("\n\n", 1) for part in text.split("\n## ")[1:])
    assert tables() == {name: table.strip() for name, table in published.items()}


def test_results_in_the_readme_are_those_of_the_file():
    readme = report_tables.README.read_text(encoding="utf-8")
    assert report_tables.means_table("table-linear") in readme
    assert report_tables.readme_text() == readme, "python docs/report_tables.py writes it anew"


if __name__ == "__main__":
    head = FILE.read_text(encoding="utf-8").split("\n## ")[0]
    parts = [f"\n## {name}\n\n{table}\n" for name, table in sorted(tables().items())]
    FILE.write_text(f"{head}{''.join(parts)}", encoding="utf-8")
