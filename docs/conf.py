"""How the documentation is built: `make docs`, with no network."""

import importlib.metadata

project = "propcvx"
author = "The propcvx developers"
copyright = author
release = importlib.metadata.version(project)

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
templates_path = ["_templates"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"{project} {release}"
