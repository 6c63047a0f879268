"""The tables of solvers and of programs, of the package at hand."""

from program_examples import PROGRAMS, ProgramAt
from shown import markdown_table

from propcvx.programs import ProblemClass
from propcvx.solvers import SOLVERS

CLASSES = list(ProblemClass)


def class_table() -> str:
    """Each solver with its classes of problem and the package it comes with."""
    rows = (
        [
            f"`{name}`",
            *("yes" if kind in row.classes else "" for kind in CLASSES),
            f"`{row.package}`",
            row.licence,
        ]
        for name, row in SOLVERS.items()
    )
    return markdown_table(
        ["solver", *(kind.name for kind in CLASSES), "comes with", "licence"], rows
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
