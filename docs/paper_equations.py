"""The parts of the paper on the page "The paper, equation by equation", and what cites them."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from in_browser import sources
from student import NOTEBOOKS

import propcvx

API, MODULES, PAGE = (
    Path(__file__).with_name(name) for name in ("api.rst", "modules.rst", "paper.md")
)
PART = re.compile(r"^\*\*(\w+ \(?\d+\)?)\*\*(?:, `([\w:]+)`)?$", re.MULTILINE)
"""A part of the paper on the page, as it is printed, and its label in the paper's source."""
CITATION = re.compile(
    r"(?:eq|prop|alg|fig|tb|table|sec):\w+"
    r"|Equation \(\d+\)|(?:Section|Proposition|Algorithm|Figure|Table) \d"
)
USES = re.compile(
    r"from propcvx[\w.]* import (\([^)]*\)|[^\n]*)"
    r"|\b(?:propcvx|plotting|datasets|programs|oracles|losses)\.(\w+)"
)
"""What code imports from the package, or names as an attribute of a module."""
SEVERAL = re.compile(r"(Proposition|Table)s ((?:\d, )*\d and \d)")


def labels() -> dict[str, str]:
    """The label of each part of the paper, or an empty text, by what is printed beside it."""
    return dict(PART.findall(PAGE.read_text(encoding="utf-8")))


def equation_pages() -> dict[str, str]:
    """What cites each part, and the code of its program, by the name that the page uses."""
    objects = list(documented())
    return {
        re.sub(r"\W+", "_", printed.lower()).strip("_"): _entry({printed, label}, objects)
        for printed, label in labels().items()
    }


def _entry(names: set[str], objects: list[tuple[str, str, Any]]) -> str:
    citing = [each for each in objects if not names.isdisjoint(citations(each[2]))]
    lines = [f"- {{{role}}}`{name}`: {summary(target)}" for role, name, target in citing]
    code = [
        f"```python\n{source(target)}\n```"
        for role, name, target in citing
        if role == "func"
        and name.startswith("propcvx.programs.")
        # Its first line has the label of the part that it is.
        and any(":" in label and label in summary(target) for label in names)
    ]
    return "\n\n".join(["\n".join(lines), *code])


def source(function: Any) -> str:
    """Code of a function, without its docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join([*lines[: docstring.lineno - 1], *lines[docstring.end_lineno :]])


def public_names() -> dict[str, str]:
    """Names on the page API, by module and name."""
    listed = re.findall(r"^   ~?(propcvx\.[\w.]+)$", API.read_text(encoding="utf-8"), re.MULTILINE)
    parts = {name: name.rpartition(".") for name in listed}
    targets = {name: getattr(import_module(each[0]), each[2]) for name, each in parts.items()}
    return {
        f"{target.__module__}.{target.__qualname__}"
        if inspect.isclass(target) or inspect.isroutine(target)
        else name: name
        for name, target in targets.items()
    }


def pages_using(names: Iterable[str]) -> dict[str, list[str]]:
    """For each name the pages and notebooks whose code uses it."""
    code = {
        path.stem: "".join(re.findall(r"^```.*?^```", path.read_text(), re.MULTILINE | re.DOTALL))
        for path in sorted(PAGE.parent.glob("*.md"))
    }
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        code[f"notebooks/{path.stem}"] = "\n".join(sources(path))
    words = {
        page: set(re.findall(r"\w+", " ".join(map("".join, USES.findall(text)))))
        for page, text in code.items()
    }
    return {
        name: [page for page in words if name.rpartition(".")[2] in words[page]] for name in names
    }


def documented() -> Iterator[tuple[str, str, Any]]:
    """Role, name and object of all that the pages "API" and "Modules" document."""
    public = public_names()
    listed = re.findall(r"^   ((?:paper|reproduction)[\w.]*)$", MODULES.read_text(), re.MULTILINE)
    package = [module.name for module in walk_packages(propcvx.__path__, "propcvx.")]
    for module_name in ("propcvx", *package, *listed):
        module = import_module(module_name)
        yield "mod", module_name, module
        for short, target in vars(module).items():
            if short.startswith("_") or getattr(target, "__module__", None) != module_name:
                continue
            name = public.get(f"{module_name}.{short}", f"{module_name}.{short}")
            if inspect.isclass(target):
                yield "class", name, target
                for method, function in vars(target).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield "meth", f"{name}.{method}", function
            elif inspect.isfunction(target):
                yield "func", name, target


def citations(target: Any) -> set[str]:
    """The parts of the paper that a docstring cites."""
    text = (target.__dict__.get("__doc__") if inspect.isclass(target) else target.__doc__) or ""
    text = SEVERAL.sub(_one_by_one, " ".join(text.split()))
    return set(CITATION.findall(text))


def _one_by_one(several: re.Match[str]) -> str:
    """Each of "Propositions 1 and 2"."""
    return " ".join(f"{several[1]} {number}" for number in re.findall(r"\d", several[2]))


def summary(target: Any) -> str:
    """First line of a docstring, its mathematics and names as Markdown has them."""
    first = (inspect.getdoc(target) or "").split("\n\n")[0].replace("\n", " ")
    first = re.sub(r":math:`([^`]*)`", r"$\1$", first)
    first = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first)
    return first.replace("``", "`")
