"""A report as Markdown."""

from __future__ import annotations

from pathlib import Path

from propcvx.experiments.reproduce.report.document import Document
from propcvx.experiments.reproduce.report.pictures import Picture
from propcvx.plotting import svg_text


def markdown_text(document: Document, folder: Path | None = None) -> str:
    """A report as Markdown.

    Parameters
    ----------
    document : Document
    folder : Path, optional
        Where its pictures are, as :func:`write_pictures` writes them, from where the text will be;
        without one they are left out.
    """
    parts = [f"# {document.title}"]
    for part in document.parts:
        if isinstance(part, str):
            parts.append(part)
        elif folder is not None:
            parts.append(f"![{part.caption}]({(folder / f'{part.name}.svg').as_posix()})")
    return "\n\n".join(parts) + "\n"


def write_pictures(document: Document, folder: Path) -> None:
    """The pictures of a report as SVG files in a folder, which is made."""
    pictures = [part for part in document.parts if isinstance(part, Picture)]
    if pictures:
        folder.mkdir(exist_ok=True)
    for picture in pictures:
        file = folder / f"{picture.name}.svg"
        file.write_text(svg_text(picture.figure), encoding="utf-8")
