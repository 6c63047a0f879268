"""A page for each of the paper's results, made from its function."""

import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from paper_equations import source

from paper import Result, all_results
from propcvx.datasets.files import MissingDataError

HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
MISSING = "Not computed: the real data sets were not there when this page was built."
COMPARED = {
    (False, True): "What is computed, and what it has to be",
    (True, True): "What is computed, which may not exceed the second",
    (False, False): "What is computed, and what is printed; the two **do not agree**",
}


def write_pages(folder: Path) -> None:
    """Write ``NAME.rst`` for each function; a page that has not changed is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, result in all_results():
        page, file = page_of(result), folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != page:
            file.write_text(page, encoding="utf-8")


def page_of(result: Result) -> str:
    """The parts of the docstring, the numbers, and the code."""
    summary, *parts = parts_of(result.function).items()
    title = f"{result.printed}: {summary[1].rstrip('.')}"
    module = inspect.getmodule(result.function)
    code = [inspect.getsource(part) for part in vars(module).values() if is_class_of(module, part)]
    code = "\n\n".join([*code, source(result.function)])
    sections = [f".. rubric:: {heading}\n\n{text}" for heading, text in parts]
    name = Path(module.__file__).name
    file = f":download:`docs/paper/{name} <../../paper/{name}>`"
    return "\n\n".join(
        [
            f"{title}\n{'=' * len(title)}",
            *sections,
            f".. rubric:: Numbers\n\n{numbers(result)}",
            f".. rubric:: Code\n\nFrom {file}:\n\n.. code-block:: python\n\n{indented(code)}\n",
        ]
    )


def parts_of(function: Any) -> dict[str, str]:
    """The parts of a docstring by their headings; the first, without one, is its summary."""
    first, *others = HEADING.split(inspect.getdoc(function))
    headings, texts = others[::2], others[1::2]
    return {"": first.strip()} | dict(zip(headings, map(str.strip, texts), strict=True))


def numbers(result: Result) -> str:
    """What the function returns, at most twelve numbers of each."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of fits that are meant to be poor
            computed, expected = result.function()
    except MissingDataError:
        return MISSING
    shown = [
        ", ".join(f"{number:.6g}" for number in np.ravel(side)[:12])
        + (", ..." if np.size(side) > 12 else "")
        for side in (computed, expected)
    ]
    return f"{COMPARED[result.is_bound, result.agrees]}::\n\n" + indented("\n".join(shown))


def is_class_of(module: Any, part: Any) -> bool:
    """Whether a class is defined in a module."""
    return inspect.isclass(part) and part.__module__ == module.__name__


def indented(text: str) -> str:
    """Text as the body of a directive."""
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())
