"""A results file for readers: Markdown or HTML beside the paper's numbers, or its cells as data."""

from propcvx.experiments.reproduce.report.document import Document, document_of
from propcvx.experiments.reproduce.report.html import html_page
from propcvx.experiments.reproduce.report.markdown import markdown_text
from propcvx.experiments.reproduce.report.output import (
    OUTPUTS,
    write_html,
    write_markdown,
    write_report,
)
from propcvx.experiments.reproduce.report.pictures import Picture

__all__ = [
    "OUTPUTS",
    "Document",
    "Picture",
    "document_of",
    "html_page",
    "markdown_text",
    "write_html",
    "write_markdown",
    "write_report",
]
