"""A report as one HTML page that holds its pictures and needs no network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from html import escape
from importlib.resources import files
from string import Template

from propcvx.experiments.reproduce.report.document import Document
from propcvx.experiments.reproduce.report.pictures import Picture
from propcvx.plotting import svg_text


def html_page(document: Document) -> str:
    """A report as HTML.

    Raises
    ------
    ModuleNotFoundError
        If markdown-it-py, which is in the extra ``experiments``, is not installed.
    """
    from markdown_it import MarkdownIt

    render = MarkdownIt("commonmark", {"html": False}).enable("table").render
    page = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    title = escape(document.title)
    return page.substitute(
        title=title, body="\n".join(_part(part, render) for part in document.parts)
    )


def _part(part: str | Picture, render: Callable[[str], str]) -> str:
    if isinstance(part, str):
        return render(part)
    data = b64encode(svg_text(part.figure).encode()).decode()
    caption = escape(part.caption)
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(part.name)}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
