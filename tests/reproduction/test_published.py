"""The tables of the pages and the README are those of docs/results/tables.parquet.

``python tests/reproduction/test_published.py`` writes ``published_tables.md`` beside it anew.
"""

from pathlib import Path

import report_tables

FILE = Path(__file__).with_name("published_tables.md")
README = Path(__file__).resolve().parents[2] / "README.md"
HEAD = "# The tables of the pages, as they were published\n"


def published():
    """The tables of the pages by name."""
    tables = report_tables.pages().items()
    parts = [f"## {name}\n\n{text.strip()}\n" for name, text in tables if name != "results_hash"]
    return "\n".join([HEAD, *parts])


def test_page_tables_equal_published_tables():
    assert published() == FILE.read_text(encoding="utf-8")


def test_readme_table_equals_results_file():
    assert report_tables.readme_table() in README.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(published(), encoding="utf-8")
