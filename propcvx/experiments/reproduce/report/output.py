"""A results file written as whatever the ending of the output's name says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from propcvx.errors import InputError
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.experiments.reproduce.report.cells import cell_frame
from propcvx.experiments.reproduce.report.document import Document, document_of
from propcvx.experiments.reproduce.report.html import html_page
from propcvx.experiments.reproduce.report.markdown import markdown_text, write_pictures

Write = Callable[[Path, Path, Protocol | None], None]


def write_markdown(document: Document, output: Path) -> None:
    """A document as Markdown, its pictures in a folder beside it."""
    folder = output.with_name(f"{output.stem}_files")
    write_pictures(document, folder)
    output.write_text(markdown_text(document, Path(folder.name)), encoding="utf-8")


def write_html(document: Document, output: Path) -> None:
    """A document as one HTML page."""
    output.write_text(html_page(document), encoding="utf-8")


def _markdown(file: Path, output: Path, protocol: Protocol | None) -> None:
    write_markdown(document_of(file, protocol), output)


def _html(file: Path, output: Path, protocol: Protocol | None) -> None:
    write_html(document_of(file, protocol), output)


def _csv(file: Path, output: Path, protocol: Protocol | None) -> None:
    cell_frame(file).to_csv(output, index=False)


def _parquet(file: Path, output: Path, protocol: Protocol | None) -> None:
    cell_frame(file).to_parquet(output, engine="pyarrow", index=False)


OUTPUTS: Mapping[str, tuple[Write, tuple[str, ...]]] = MappingProxyType(
    {
        ".md": (_markdown, ()),
        ".html": (_html, ("markdown_it",)),
        ".csv": (_csv, ("pandas",)),
        ".parquet": (_parquet, ("pandas", "pyarrow")),
    }
)
"""Endings, and for each how it is written and which modules that takes beyond the required ones."""


def write_report(file: Path, output: Path, protocol: Protocol | None = None) -> None:
    """A report or the cells of a results file.

    Parameters
    ----------
    file : Path
        A results file.
    output : Path
        Ends in ``.md`` (with its pictures in a folder beside it, ``_files``), ``.html`` (one page
        with everything in it), ``.csv`` or ``.parquet`` (a row for each cell, of all protocols).
    protocol : Protocol, optional
        What the report shows.

    Raises
    ------
    InputError
        If the ending is another one, a package that it takes is not installed, the output cannot
        be written, or there is no results file.
    """
    ending = output.suffix.lower()
    if ending not in OUTPUTS:
        raise InputError(f"the output must end in one of {', '.join(OUTPUTS)}, got {output.name}.")
    write, modules = OUTPUTS[ending]
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise InputError(
            f"an output ending in {ending} takes {' and '.join(missing)}, not installed: "
            "pip install 'propcvx[experiments]'."
        )
    if not output.parent.is_dir():
        raise InputError(f"the output's folder {output.parent} is not there.")
    if output.is_dir():
        raise InputError(f"the output {output} is a folder, and must be a file.")
    try:
        write(file, output, protocol)
    except OSError as failure:
        raise InputError(f"the output {output} cannot be written: {failure}.") from failure
