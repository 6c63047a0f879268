"""Slides of two lectures, from their notebooks: ``python docs/slides.py FOLDER``.

A heading begins a slide, any other cell is a slide below it, and the exercises are left out.
"""

import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import SlidesExporter

HERE = Path(__file__).parent
LECTURES = ("01_learning_from_proportions", "05_cutting_planes")
BESIDE = {
    "reveal": ("sphinx-revealjs", "sphinx_revealjs/_static/revealjs"),
    "mathjax": ("sphinx-mathjax-offline", "sphinx-mathjax-offline/static/mathjax"),
}
"""Folders that the slides load, and the packages that have them."""


def as_slides(notebook: Any) -> Any:
    """The notebook with the types that nbconvert makes slides of."""
    left_out = False
    for cell in notebook.cells:
        heading = cell.cell_type == "markdown" and cell.source.startswith("#")
        left_out = cell.source.startswith("## Exercises") or (left_out and not heading)
        kind = "skip" if left_out else "slide" if heading else "subslide"
        cell.metadata["slideshow"] = {"slide_type": kind}
    return notebook


def slides_of(notebook: Any) -> str:
    """HTML of the slides of an executed notebook."""
    templates = [str(HERE / "_templates")]
    exporter = SlidesExporter(
        template_name="slides", extra_template_basedirs=templates, reveal_url_prefix="reveal"
    )
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
