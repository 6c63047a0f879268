"""Slides of two lectures, from their notebooks: ``python docs/slides.py FOLDER``.

A heading begins a slide, any other cell is a slide below it, and the exercises are left out.  What
a cell prints or draws has a slide of its own if the two do not fit on one.
"""

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import SlidesExporter
from nbconvert.preprocessors import TagRemovePreprocessor
from traitlets.config import Config

HERE = Path(__file__).parent
LECTURES = ("01_learning_from_proportions", "05_cutting_planes")
BESIDE = {
    "reveal": ("sphinx-revealjs", "sphinx_revealjs/_static/revealjs"),
    "mathjax": ("sphinx-mathjax-offline", "sphinx-mathjax-offline/static/mathjax"),
}
"""Folders that the slides load, and the packages that have them."""

MOST_LINES = 8
"""Of code on a slide that also has what the code prints."""

SHOWN = "answer"
"""Tag of a cell of which only the outputs are shown."""


def parted(cell: Any) -> Iterator[Any]:
    """A cell, or its code and its outputs apart if one slide is too small for both."""
    outputs = cell.get("outputs", [])
    draws = any("image/png" in output.get("data", {}) for output in outputs)
    if not outputs or not (draws or cell.source.count("\n") >= MOST_LINES):
        yield cell
        return
    yield nbformat.v4.new_code_cell(cell.source)
    yield nbformat.v4.new_code_cell(outputs=outputs, metadata={"tags": [SHOWN]})


def as_slides(notebook: Any) -> Any:
    """The notebook with the types that nbconvert makes slides of."""
    notebook.cells = [part for cell in notebook.cells for part in parted(cell)]
    left_out = False
    for cell in notebook.cells:
        heading = cell.cell_type == "markdown" and cell.source.startswith("#")
        left_out = cell.source.startswith("## Exercises") or (left_out and not heading)
        kind = "skip" if left_out else "slide" if heading else "subslide"
        cell.metadata["slideshow"] = {"slide_type": kind}
    return notebook


def slides_of(notebook: Any) -> str:
    """HTML of the slides of an executed notebook."""
    exporter = SlidesExporter(
        config=Config(TagRemovePreprocessor={"enabled": True, "remove_input_tags": {SHOWN}}),
        template_name="slides",
        extra_template_basedirs=[str(HERE / "_templates")],
        reveal_url_prefix="reveal",
        reveal_theme="white",  # its fonts are in its folder, those of most others at Google
    )
    exporter.register_preprocessor(TagRemovePreprocessor, enabled=True)
    return exporter.from_notebook_node(as_slides(notebook))[0]


def main(folder: Path) -> None:
    """Execute the notebooks, and write their slides with all that they load."""
    for name, (package, place) in BESIDE.items():
        source = distribution(package).locate_file(place)
        shutil.copytree(str(source), folder / name, dirs_exist_ok=True)
    for name in LECTURES:
        notebook = nbformat.read(HERE.parent / f"notebooks/{name}.ipynb", as_version=4)
        NotebookClient(notebook, timeout=600).execute()
        (folder / f"{name}.html").write_text(slides_of(notebook), encoding="utf-8")
        print(folder / f"{name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
