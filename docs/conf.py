"""How the documentation is built: `make docs`, with no network."""

import os
import shutil
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]

import mistake_table  # noqa: E402
import paper_equations  # noqa: E402
import result_tables  # noqa: E402
import solver_tables  # noqa: E402

import propcvx  # noqa: E402

project = "propcvx"
author = "The propcvx developers"
copyright = author
release = propcvx.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax with its fonts, read from the pages' own folder
]
templates_path = ["_templates"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
exclude_patterns = ["results/solvers_report.md"]  # it stands in results/solvers.md
# The tables on the pages about solvers and errors are those of the package at hand.
myst_substitutions = {
    "class_table": solver_tables.class_table(),
    "tolerance_table": solver_tables.tolerance_table(),
    "program_table": solver_tables.program_table(),
    "measured_table": solver_tables.measured_table(),
    "fastest_table": solver_tables.fastest_table(),
    "unchanged_table": solver_tables.unchanged_table(),
    "heart_bounds": result_tables.bounds_table("bounds_heart.json"),
    "vote_bounds": result_tables.bounds_table("bounds_vote.json"),
    "aims": result_tables.bounds_table("aims.json"),
    "mistake_tables": mistake_table.mistake_tables(),
    "warning_table": mistake_table.warning_table(),
    **paper_equations.equation_pages(),
}

# Notebooks are executed where they changed since the last time; an error in one is an error here.
shutil.copytree(HERE.parent / "notebooks", HERE / "notebooks", dirs_exist_ok=True)
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # progress is text on a page
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build/jupyter_cache")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings give types, with shapes

# A reference that leads nowhere is an error like any other warning.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!propcvx).*"), ("py:obj", r".*\.[TP]")]

html_theme = "furo"
html_title = f"{project} {release}"


def resolve_public_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link a name such as propcvx.BagKFold to the module where it is documented."""
    try:
        target = resolve_name(node.get("reftarget", ""))
        name = f"{target.__module__}.{target.__qualname__}"
    except (ValueError, ImportError, AttributeError):
        return None
    python = env.get_domain("py")
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("missing-reference", resolve_public_name)
