"""Tables of the package at hand: its solvers, its programs, its errors and its warnings."""

from inspect import getdoc

from mistakes import MISTAKES, Mistake
from program_examples import PROGRAMS, ProgramAt
from shown import markdown_table

from propcvx.errors import PropCVXError, PropCVXWarning
from propcvx.programs import ProblemClass
from propcvx.solvers import SOLVERS

GENERAL = {name: row for name, row in SOLVERS.items() if row.classes}
CLASSES = [kind for kind in ProblemClass if any(kind in row.classes for row in GENERAL.values())]


def class_table() -> str:
    """Each general solver with its classes of problem and the package it comes with."""
    rows = (
        [
            f"`{name}`",
            *("yes" if kind in row.classes else "" for kind in CLASSES),
            f"`{row.package}`",
            row.license,
        ]
        for name, row in GENERAL.items()
    )
    return markdown_table(
        ["solver", *(kind.name for kind in CLASSES), "comes with", "license"], rows
    )


def program_table() -> str:
    """Each program with its equation, its class of problem and its solvers."""
    rows = (
        [
            f"{{func}}`~propcvx.programs.{program.name}`{_variant(name, program.name)}",
            f"`{program.equation}`" if program.equation else "",
            program.problem_class.name,
            ", ".join(f"`{solver}`" for solver, row in SOLVERS.items() if row.can_solve(program)),
        ]
        for name, program in ((name, ProgramAt(name, 8)()) for name in PROGRAMS)
    )
    return markdown_table(["program", "equation", "class", "solvers"], rows)


def _variant(name: str, program: str) -> str:
    """What the name of a variant has after that of its program."""
    words = name.removeprefix(program).replace("_", " ")
    return f",{words}" if words else ""


def mistake_tables() -> str:
    """Under each heading: the mistake, the class of the error, and its message."""
    return "\n\n".join(
        f"```{{rubric}} {heading}\n```\n\n"
        + markdown_table(
            ["mistake", "error", "message"],
            ([name, *_seen(name, mistake)] for name, mistake in entries.items()),
        )
        for heading, entries in MISTAKES.items()
    )


def error_table() -> str:
    """Each class of error with its base classes and the first line of its docstring."""
    kinds = [PropCVXError, *_subclasses(PropCVXError)]
    rows = (
        [_linked(kind), ", ".join(f"`{b.__name__}`" for b in kind.__bases__), _paragraphs(kind)[0]]
        for kind in kinds
    )
    return markdown_table(["error", "bases", "meaning"], rows)


def warning_table() -> str:
    """Each class of warning with the two paragraphs of its docstring."""
    kinds = PropCVXWarning.__subclasses__()
    rows = ([_linked(kind), *_paragraphs(kind)] for kind in kinds)
    return markdown_table(["warning", "meaning", "what to do"], rows)


def _seen(name: str, mistake: Mistake) -> tuple[str, str]:
    """The error as the user sees it, from the first class that the mistake can be made with."""
    _, case = next(mistake.cases())
    try:
        case.call()
    except case.error as error:
        if not case.says(str(error)):
            raise ValueError(f"{name!r} has the message {error}") from error
        return _linked(type(error)), "<br>".join(map(_literal, str(error).splitlines()))
    raise ValueError(f"{name!r} raises nothing")


def _subclasses(kind: type) -> list[type]:
    ours = [child for child in kind.__subclasses__() if child.__module__.startswith("propcvx")]
    return [c for child in ours for c in (child, *_subclasses(child))]


def _paragraphs(kind: type) -> list[str]:
    return getdoc(kind).split("\n\n")


def _linked(kind: type) -> str:
    """The name of a class of the package, linked; of another, as it is."""
    ours = issubclass(kind, PropCVXError | PropCVXWarning)
    return f"{{class}}`~{kind.__module__}.{kind.__name__}`" if ours else f"`{kind.__name__}`"


def _literal(line: str) -> str:
    return f"`` {line} ``".replace("|", r"\|")
