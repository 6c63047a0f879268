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


def stub(solution: str, check: str) -> str:
    """What stands where the solution was: the names that the checking cell needs, not yet set."""
    assigned = [node.id for node in ast.walk(ast.parse(solution)) if is_stored(node)]
    defined = [node.name for node in ast.parse(solution).body if hasattr(node, "name")]
    in_check = [node for node in ast.walk(ast.parse(check)) if isinstance(node, ast.Name)]
    needed = {node.id for node in in_check} - {node.id for node in in_check if is_stored(node)}
    names = [name for name in dict.fromkeys(assigned + defined) if name in needed]
    listed = "\n".join(f"{name} = ..." for name in names)
    return f"# Your program sets these; the next cell checks it.\n{listed}"


def is_stored(node: ast.AST) -> bool:
    """Whether it is a name that is being set."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def for_students(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with stubs for solutions."""
    cells = [dict(cell) for cell in notebook["cells"]]
    for solved, checked in exercises(cells):
        text = stub(source(cells[solved]), source(cells[checked]))
        cells[solved] |= {"source": text, "metadata": {}}
    for cell in cells:
        cell["source"] = source(cell).replace(
            "Solutions are folded in the cell under each exercise.",
            "Write each answer into the cell under its exercise, and run the cell after it.",
        )
    return notebook | {"cells": cells}


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
