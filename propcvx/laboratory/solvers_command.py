"""The commands ``propcvx solvers`` and ``propcvx solvers compare``."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from propcvx.errors import InputError
from propcvx.laboratory.arguments import several
from propcvx.laboratory.programs import PROGRAMS, ProgramAt
from propcvx.laboratory.solvers import Row, compare_solvers
from propcvx.solvers import SOLVERS
from propcvx.text import cell_text, text_table

FORMATS = {
    **{"program": "", "instances": "d", "solver": "", "accuracy": "", "status": ""},
    **dict.fromkeys(("difference", "primal_residual", "dual_residual", "duality_gap"), ".0e"),
    **dict.fromkeys(("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms"), ".1f"),
}
"""The columns that are printed, and how."""


def add_solvers(commands: Any) -> None:
    """Add the commands to those of ``propcvx``."""
    solvers = commands.add_parser("solvers", help="the solvers at hand; compare them")
    solvers.set_defaults(parser=solvers, run=_list)
    compare = solvers.add_subparsers(metavar="{compare}").add_parser(
        "compare",
        help="programs on solvers, each run in a process of its own",
        description="What the file has is not run again: an interrupted run is continued by the "
        "same command. Programs: " + ", ".join(PROGRAMS),
    )
    compare.set_defaults(parser=compare, run=_compare)
    add, tols = compare.add_argument, "default, low, high or tolerances (%(default)s)"
    add("programs", nargs="+", metavar="PROGRAM", help="see above, or all")
    add("--rows", type=Path, required=True, metavar="FILE", help="JSON lines, kept and continued")
    add("--solvers", type=several(str), help="see propcvx solvers (those installed that can)")
    add("--tols", type=several(accuracy), default="default,low,high", help=tols)
    add("--sizes", type=several(int), default="16", help="instances (%(default)s)")
    add("--data", default="generated", help="a real set, or 'generated'")
    add("--C", type=float, default=1.0, help="weight of the loss (%(default)s)")
    add("--canon-backend", metavar="NAME", help="CVXPY's: CPP, SCIPY or COO")
    add("--threads", type=int, default=1, help="of BLAS and of solvers (%(default)s)")
    add("--time-limit", type=float, default=60.0, help="seconds of a run (%(default)s)")


def accuracy(text: str) -> str | float:
    """A tolerance, or a name of one."""
    return text if text.isalpha() else float(text)


def _list(chosen: argparse.Namespace) -> None:
    """Each solver of the table with its version, its licence and what it can solve."""
    built = {name: ProgramAt(name, 8)() for name in PROGRAMS}
    for row in SOLVERS.values():
        state = row.version if row.installed else f"not installed: pip install {row.package}"
        classes = sorted(of_problem.name for of_problem in row.classes)
        able = sorted(name for name, program in built.items() if row.can_solve(program))
        print(f"{row.name} {state}, {row.licence}")
        for title, names in (("classes", classes), ("programs", able)):
            if names:
                print(f"    {title}: {', '.join(names)}")


def _compare(chosen: argparse.Namespace) -> None:
    names = list(PROGRAMS) if chosen.programs == ["all"] else chosen.programs
    programs = [ProgramAt(name, n, chosen.data, chosen.C) for name in names for n in chosen.sizes]
    shared = ("solvers", "tols", "threads", "time_limit", "canon_backend")
    how = {name: getattr(chosen, name) for name in shared}
    rows = compare_programs(programs, chosen.rows, **how)
    lines = [{name: cell_text(row[name], FORMATS[name]) for name in FORMATS} for row in rows]
    failed = [row for row in rows if row["reason"]]
    reasons = {f"  {row['solver']}, {row['program']}: {row['reason']}" for row in failed}
    print(text_table(lines), *sorted(reasons), sep="\n")


def compare_programs(programs: Sequence[ProgramAt], file: Path, **how: Any) -> list[Row]:
    """Run what a file does not have yet, and return the rows that were asked for.

    Parameters
    ----------
    programs : sequence of ProgramAt
    file : Path
        JSON lines; a row is added as soon as it is there, so that an interruption costs the run
        at work only.
    **how
        Arguments of :func:`propcvx.laboratory.compare_solvers`.

    Returns
    -------
    list of dict
        Rows of ``compare_solvers`` with the fields of ``ProgramAt``.

    Raises
    ------
    InputError
        If the file has something else, or cannot be written.
    """
    rows = list[Row]()
    try:
        kept = file.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error
    with kept:
        done = _read(kept)
        for program in tqdm(programs, desc="programs", unit="program"):
            of_program = asdict(program)

            def keep(row: Row, of_program: Row = of_program) -> None:
                print(json.dumps(row | of_program), file=kept, flush=True)

            there = done[tuple(of_program.values())]
            found = compare_solvers(program, done=there, on_row=keep, **how)
            rows += [row | of_program for row in found]
    return rows


def _read(kept: TextIO) -> dict[tuple[Any, ...], list[Row]]:
    """Rows of a file, by the fields of their program."""
    names, rows = [field.name for field in fields(ProgramAt)], defaultdict(list)
    kept.seek(0)
    try:
        for row in map(json.loads, kept):
            rows[tuple(row[name] for name in names)].append(row)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{kept.name} is not what 'propcvx solvers' wrote: {error!r}.") from error
    return rows
