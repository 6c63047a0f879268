"""Notebooks for students, made from those of the course: ``python docs/student.py FOLDER``.

Each solution becomes a stub that names what its checking cell asks for.  A checking cell has the
tag ``check``, follows its solution, and fails until the names are set to something right.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SOLUTION, CHECK = "hide-cell", "check"
"""Tags of cells."""


def exercises(cells: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Places of each solution and of its checking cell."""
    places = [k for k, cell in enumerate(cells) if CHECK in tags(cell)]
    return [(k - 1, k) for k in places]


def tags(cell: dict[str, Any]) -> list[str]:
    """The tags of a cell."""
    return cell["metadata"].get("tags", [])


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def code_sources(notebook: Any) -> list[str]:
    """The code of a notebook, a text a cell."""
    return [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def answers(solution: str, check: str) -> list[str]:
    """The names that a solution sets and its checking cell needs."""
    assigned = [node.id for node in ast.walk(ast.parse(solution)) if is_stored(node)]
    defined = [node.name for node in ast.parse(solution).body if hasattr(node, "name")]
    in_check = [node for node in ast.walk(ast.parse(check)) if isinstance(node, ast.Name)]
    needed = {node.id for node in in_check} - {node.id for node in in_check if is_stored(node)}
    return [name for name in dict.fromkeys(assigned + defined) if name in needed]


def is_stored(node: ast.AST) -> bool:
    """Whether it is a name that is being set."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def for_students(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook without outputs, with stubs for solutions, and checks that name what is unset."""
    cells = [dict(cell) for cell in notebook["cells"]]
    for solved, checked in exercises(cells):
        check = source(cells[checked])
        names = answers(source(cells[solved]), check)
        listed = "".join(f"\n{name} = ..." for name in names)
        text = f"# Your program sets these; the next cell checks it.{listed}"
        cells[solved] |= {"source": text, "metadata": {}}
        unset = " or ".join(f"{name} is ..." for name in names)
        check_names = (
            f'if {unset}:\n    raise NameError("the cell above sets {", ".join(names)}")\n'
        )
        cells[checked]["source"] = check_names + check
    for cell in cells:
        cell["source"] = source(cell).replace(
            "Solutions are folded in the cell under each exercise.",
            "Write each answer into the cell under its exercise, and run the cell after it.",
        )
    return without_outputs(notebook | {"cells": cells})


def without_outputs(notebook: dict[str, Any]) -> dict[str, Any]:
    """Copy a notebook without what `make notebooks` has stored in it."""
    empty = {"outputs": [], "execution_count": None}
    cells = [cell | (empty if cell["cell_type"] == "code" else {}) for cell in notebook["cells"]]
    kept = {name: value for name, value in notebook["metadata"].items() if name != "propcvx"}
    return notebook | {"cells": cells, "metadata": kept}


def main(folder: Path) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = for_students(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (folder / path.name).write_text(text, encoding="utf-8")
    print(f"{folder}: for students, without solutions")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
