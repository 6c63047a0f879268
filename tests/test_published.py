"""The tables of the pages are those that were published: of docs/results/tables.parquet."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))
import drawings  # noqa: E402
import open_choices  # noqa: E402
import report_tables  # noqa: E402


def test_the_tables_of_the_pages_are_those_that_were_published():
    text = (ROOT / "tests/published_tables.md").read_text(encoding="utf-8")
    published = dict(part.split("\n\n", 1) for part in text.split("\n## ")[1:])
    tables = report_tables.pages() | open_choices.pages() | drawings.pages()
    del tables["results_hash"]
    assert {name: table.strip() for name, table in tables.items()} == {
        name: table.strip() for name, table in published.items()
    }
