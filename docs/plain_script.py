"""The notebook in plain CVXPY as a script of its own: ``python docs/plain_script.py FILE``.

It has metadata about what it needs (PEP 723) and all cells up to the exercises, so nothing of
propcvx.  Texts are comments, and ``# %%`` begins a cell, as editors, marimo and Jupytext read it.
"""

import sys
from pathlib import Path

import student

NOTEBOOK = student.NOTEBOOKS / "00_the_paper_in_cvxpy.ipynb"

HEAD = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["cvxpy>=1.8.2", "highspy", "numpy"]
# ///
"""


def script(notebook: dict) -> str:
    """The text of the script."""
    parts = [HEAD]
    for cell in notebook["cells"]:
        text = student.source(cell)
        if text.startswith("## Exercises"):
            break
        if cell["cell_type"] == "code":
            parts.append(f"# %%\n{text}\n")
        else:
            lines = "\n".join(f"# {line}".rstrip() for line in text.splitlines())
            parts.append(f"# %% [markdown]\n{lines}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    notebook = student.json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    Path(sys.argv[1]).write_text(script(notebook), encoding="utf-8")
