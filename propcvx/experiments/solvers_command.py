"""The commands ``propcvx solvers`` and ``propcvx solvers compare``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from propcvx.errors import InputError
from propcvx.experiments.programs import PROGRAMS, ProgramAt
from propcvx.experiments.solvers import Accuracy, Row, compare_programs
from propcvx.solvers import SOLVERS, Solver
from propcvx.text import cell_text, text_table


def add_solvers(commands: Any) -> None:
    """Add the commands to those of ``propcvx``."""
    solvers = commands.add_parser("solvers", help="the solvers at hand; compare them")
    solvers.set_defaults(parser=solvers, run=_list, keeps=lambda chosen: "")
    compare = solvers.add_subparsers(metavar="{compare}").add_parser(
        "compare",
        help="programs on solvers, each run in a process of its own",
        description="What the file has is not run again: an interrupted run is continued by the "
        "same command. Programs: " + ", ".join(PROGRAMS),
    )
    compare.add_argument("programs", nargs="+", metavar="PROGRAM", help="see above, or all")
    for flag, kind, default, text in (
        ("--solvers", str, None, "names, see propcvx solvers (those installed that can)"),
        ("--tols", _accuracy, ["default", "low", "high"], "default, low, high or tolerances (all)"),
        ("--sizes", int, None, "instances (those of each program)"),
    ):
        compare.add_argument(flag, type=several(kind), default=default, metavar="A,B", help=text)
    compare.add_argument("--data", default="generated", help="a real set, or 'generated'")
    compare.add_argument("--C", type=float, default=1.0, help="weight of the loss (1)")
    compare.add_argument("--canon-backend", metavar="NAME", help="CVXPY's: CPP, SCIPY or COO")
    compare.add_argument("--threads", type=int, default=1, help="of BLAS and of solvers (1)")
    compare.add_argument("--time-limit", type=float, default=60.0, help="seconds of a run (60)")
    compare.add_argument(
        "--rows", type=Path, required=True, metavar="FILE", help="JSON lines, kept and continued"
    )
    compare.set_defaults(
        parser=compare, run=_compare, keeps=lambda chosen: f"{chosen.rows} has every run"
    )


def _compare(chosen: argparse.Namespace) -> int:
    rows = compare_programs(
        _programs(chosen),
        chosen.rows,
        chosen.solvers,
        chosen.tols,
        threads=chosen.threads,
        time_limit=chosen.time_limit,
        canon_backend=chosen.canon_backend,
    )
    reasons = {
        f"  {row['solver']}, {row['program']}: {row['reason']}" for row in rows if row["reason"]
    }
    print(text_table([_cells(row) for row in rows]), *sorted(reasons), sep="\n")
    return 0


def _programs(chosen: argparse.Namespace) -> list[ProgramAt]:
    """Programs by name at the sizes asked for, by default at those of each."""
    names = list(PROGRAMS) if chosen.programs == ["all"] else chosen.programs
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise InputError(f"programs must be among {list(PROGRAMS)}, got {unknown}.")
    return [
        ProgramAt(name, n, chosen.data, chosen.C)
        for name in names
        for n in sorted(chosen.sizes or PROGRAMS[name].sizes)
    ]


def _cells(row: Row) -> dict[str, str]:
    formats = {
        **dict.fromkeys(("difference", "primal_residual", "dual_residual", "duality_gap"), ".0e"),
        **dict.fromkeys(("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms"), ".1f"),
    }
    return {
        "program": f"{row['program']} {row['instances']}",
        **{name: row[name] for name in ("solver", "accuracy", "status")},
        **{name: cell_text(row[name], pattern) for name, pattern in formats.items()},
    }


def _list(chosen: argparse.Namespace) -> int:
    """Each solver of the table with its version, its licence and what it can solve."""
    built = {name: ProgramAt(name, 8)() for name in PROGRAMS}
    for row in SOLVERS.values():
        able = [name for name, program in built.items() if row.can_solve(program)]
        print("\n    ".join(_lines(row, able)))
    return 0


def _lines(row: Solver, programs: list[str]) -> list[str]:
    state = row.version if row.installed else f"not installed: pip install {row.package}"
    lines = [f"{row.name} {state}, {row.licence}"]
    listed = {"classes": sorted(kind.name for kind in row.classes), "programs": sorted(programs)}
    return lines + [f"{what}: {', '.join(names)}" for what, names in listed.items() if names]


def _accuracy(text: str) -> Accuracy:
    return text if text.isalpha() else float(text)


def several(kind: Any) -> Any:
    """Values of that type, between commas: the type of an argument."""

    def values(text: str) -> list[Any]:
        return [kind(word) for word in text.split(",")]

    values.__name__ = f"list of {kind.__name__.strip('_')}"
    return values
