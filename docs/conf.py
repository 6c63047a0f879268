"""How the documentation is built: `make docs`, with no network."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]
sys.path.append(str(HERE / "results"))

import check_fit  # noqa: E402
import columns  # noqa: E402
import counts  # noqa: E402
import equal_shares  # noqa: E402
import halves  # noqa: E402
import in_browser  # noqa: E402
import natural  # noqa: E402
import noise  # noqa: E402
import package_tables  # noqa: E402
import paper_equations  # noqa: E402
import report_tables  # noqa: E402
import result_tables  # noqa: E402
from docutils import nodes  # noqa: E402
from jupyter_cache import get_cache  # noqa: E402
from sphinx import addnodes  # noqa: E402

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
PUBLIC = paper_equations.public_names()
"""Where the objects of the page API are documented, by their module and name."""
autosummary_context = {
    "public": {
        module: [name.removeprefix(f"{module}.") for name in PUBLIC if name.startswith(module)]
        for module in {name.rpartition(".")[0] for name in PUBLIC}
    },
    "used_in": paper_equations.pages_using(PUBLIC.values()),
}
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
# The former stands in reports; the latter is for maintainers.
exclude_patterns = ["reproduction/legend.md", "maintaining"]
if (data := HERE.parents[1] / "shared" / "data").is_dir():
    os.environ.setdefault("PROPCVX_DATA", str(data))  # where the tests look, too

# Notebooks are executed where they changed since the last time; an error in one is an error here.
# Cells of sliders have the tag "skip-execution": sliders without a kernel change nothing, and
# nbclient sometimes waits for their output until its time-out (its issue 312).
shutil.rmtree(HERE / "notebooks", ignore_errors=True)
shutil.copytree(HERE.parent / "notebooks", HERE / "notebooks")
notebooks = sorted((HERE / "notebooks").glob("*.ipynb"))
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # progress is text on a page
os.environ.setdefault("OMP_NUM_THREADS", "1")
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build/jupyter_cache")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True

# One on each core, the longest of them first, while the pages' tables are made here.
cache = get_cache(nb_execution_cache_path)
for path in reversed(notebooks):
    cache.add_nb_to_project(str(path))
jcache = [Path(sys.executable).with_name("jcache"), "project", "-p", nb_execution_cache_path]
options = ["--executor", "local-parallel", "--timeout", str(nb_execution_timeout), "-v", "ERROR"]
executing = subprocess.Popen([*jcache, "execute", *options], stdout=subprocess.DEVNULL)

# The tables on the pages about solvers and errors are those of the package at hand.
myst_substitutions = {
    "class_table": package_tables.class_table(),
    "program_table": package_tables.program_table(),
    "aims": result_tables.bounds_table("aims.json"),
    "error_table": package_tables.error_table(),
    "mistake_tables": package_tables.mistake_tables(),
    "warning_table": package_tables.warning_table(),
    **paper_equations.equation_pages(),
    **report_tables.pages(),
    **equal_shares.pages(),
    **natural.pages(),
    **noise.pages(),
    **halves.pages(),
    **check_fit.pages(),
    **counts.pages(),
    **columns.pages(),
}

report_tables.draw(HERE / "generated")
result_tables.draw_bounds("bounds_heart.json", HERE / "generated")
executing.wait()

# Those that can run in a browser do so in build/docs/lite.
html_context = {"in_browser": [path.stem for path in notebooks if in_browser.can_run(path)]}

nb_code_prompt_show = nb_code_prompt_hide = "Solution"  # what is folded solves an exercise
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings give types, with shapes

# A reference that leads nowhere is an error like any other warning.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!propcvx).*"),
    ("py:obj", r".*\.[TP]"),
    ("py:class", r".*\._\w+"),  # a private base class
]

MOST_OF_A_VALUE = 100
"""Characters of the value of a constant that are printed."""

MENUS: dict[str, Any] = {}
"""Menus of pages by their folder."""

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_title = f"{project} {release}"


def resolve_public_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link any name of an object, or of a method, to the page where it is documented."""
    try:
        target = resolve_name(node.get("reftarget", ""))
        name = f"{target.__module__}.{target.__qualname__}"
    except (ValueError, ImportError, AttributeError):
        name = node.get("reftarget", "")
    owner = name if name in PUBLIC else name.rpartition(".")[0]
    name = PUBLIC.get(owner, owner) + name[len(owner) :]
    python = env.get_domain("py")
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def shorten_defaults(
    app: Any, kind: str, name: str, target: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Print the defaults that have no readable form, functions and factories, as three dots."""
    return signature and (re.sub(r"<f[\w. ]*(<lambda>)?>", "...", signature), returns)


def shorten_values(app: Any, doctree: Any) -> None:
    """Print long values of constants as three dots."""
    for node in doctree.findall(addnodes.desc_annotation):
        if node.astext().startswith(" = ") and len(node.astext()) > MOST_OF_A_VALUE:
            node.children = [nodes.Text(" = ...")]


def list_names(app: Any, kind: str, name: str, target: Any, options: Any, lines: Any) -> None:
    """List the names in a table."""
    if kind == "data" and isinstance(target, Mapping) and all(isinstance(k, str) for k in target):
        lines += ["", "Names: " + ", ".join(f'``"{key}"``' for key in target) + "."]


def skip_fields(app: Any, kind: str, name: str, target: Any, skip: bool, options: Any) -> Any:
    """Leave out the fields of a named tuple, which its docstring describes."""
    return True if type(target).__name__ == "_tuplegetter" else None


def share_menu(app: Any, name: str, template: str, context: Any, doctree: Any) -> None:
    """Compute the menu once for all pages of objects and modules, which are not in it themselves.

    Their menus are equal, and took three quarters of the time in which pages are written.
    """
    if "toctree" not in context:
        return
    complete, folder = context["toctree"], name.rpartition("/")[0]

    def menu(**settings: Any) -> Any:
        if folder not in MENUS or folder != "generated":
            MENUS[folder] = complete(**{**settings, "maxdepth": 2})
        return MENUS[folder]

    context["toctree"] = menu


def build_for_browsers(app: Any, error: Exception | None) -> None:
    """Add what the links of the notebooks' pages lead to."""
    if error is None and app.builder.format == "html":
        in_browser.build(HERE.parent, HERE.parent / "build/lite", Path(app.outdir) / "lite")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    # It copies files and touches no page, and does not say so.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("autodoc-process-signature", shorten_defaults)
    app.connect("autodoc-process-docstring", list_names)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", shorten_values)
    app.connect("missing-reference", resolve_public_name)
    app.connect("html-page-context", share_menu, priority=400)  # before furo's
    app.connect("build-finished", build_for_browsers)
