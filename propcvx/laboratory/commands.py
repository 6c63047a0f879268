"""The commands of ``propcvx``: ``demo``, ``relax`` and ``solvers``."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import propcvx
from propcvx.errors import InputError
from propcvx.laboratory.arguments import accuracy, count, literal, seed, several
from propcvx.laboratory.demo import run_demo
from propcvx.laboratory.programs import PROGRAMS, ProgramAt, sample_in_bags
from propcvx.laboratory.relaxations import KINDS, Row, compare_relaxations
from propcvx.laboratory.solvers import compare_programs
from propcvx.plotting import Figure, bounds_over_time, interval_comparison
from propcvx.solvers import SOLVERS
from propcvx.text import cell_text, text_table

OF_RELAXATIONS = {
    **{"kind": "", "loss": "", "lower": ".5g", "upper": ".5g", "gap": ".2%", "best_gap": ".2%"},
    **{"seconds": ".1f", "cuts": "d", "rounds": "d", "nodes": "d", "bag_error": ".3f"},
    **{"accuracy": ".1%", "status": ""},
}
OF_SOLVERS = {
    **{"program": "", "instances": "d", "solver": "", "accuracy": "", "status": ""},
    **dict.fromkeys(("difference", "primal_residual", "dual_residual", "duality_gap"), ".0e"),
    **dict.fromkeys(("compile_ms", "solve_ms", "resolve_cold_ms", "resolve_warm_ms"), ".1f"),
}
"""The columns that are printed, and their formats."""

SEED_HELP = "seeds all that is random (%(default)s)"


def add_demo(parser: ArgumentParser) -> None:
    """Add the arguments of ``demo``, and what it runs."""
    parser.set_defaults(parser=parser, run=lambda given: run_demo(given.output, seed=given.seed))
    add = parser.add_argument
    add("--output", type=Path, default="propcvx-demo", help="folder for the pictures (%(default)s)")
    add("--seed", type=seed, default=0, help=SEED_HELP)


def add_relax(parser: ArgumentParser) -> None:
    """The same of ``relax``."""
    parser.set_defaults(parser=parser, run=_relax)
    kinds, add = ", ".join(KINDS), parser.add_argument
    parser.description = f"Values between commas make one comparison each. Kinds: {kinds}"
    sets = "real sets, as PROPCVX_DATA says, or 'generated' (%(default)s)"
    add("--data", type=several(str), default="generated", help=sets)
    add("--instances", type=several(count), default="48", help="how many are drawn (%(default)s)")
    add("--C", type=several(float), default="0.1", help="weight of the hinge loss (%(default)s)")
    add("--compare", type=several(str), default="all", help="kinds, see above (%(default)s)")
    add("--bag-size", type=count, default=8, help="instances of a bag (%(default)s)")
    add("--epsilon", type=float, default=0.0, help="of the proportions (%(default)s)")
    add("--kernel", default="linear", help="linear, rbf, ... (%(default)s)")
    add("--gamma", type=literal, default="scale", help="of the kernel (%(default)s)")
    add("--time-limit", type=float, default=60.0, help="seconds for each kind (%(default)s)")
    add("--seed", type=seed, default=0, help=SEED_HELP)
    add("--json", type=Path, help="file to keep everything in")
    add("--figure", type=Path, help="file for a picture of the intervals")
    add("--curves", type=Path, help="file for a picture of the lower bounds over time")


def _relax(given: Namespace) -> None:
    """Compare on each problem; print, keep and draw as soon as it is done."""
    _check_files(given)
    kept: Row = {"propcvx": propcvx.__version__, "time_limit": given.time_limit, "comparisons": []}
    panels: list[tuple[str, list[Row]]] = []
    for data, instances, C in product(given.data, given.instances, given.C):
        sample = sample_in_bags(data, instances, given.bag_size, given.seed)
        posed = {name: getattr(given, name) for name in ("epsilon", "kernel", "gamma")}
        rows = compare_relaxations(
            sample.X,
            sample.y,
            C,
            labels=sample.labels,
            kinds="all" if given.compare == ["all"] else given.compare,
            time_limit=given.time_limit,
            random_state=given.seed,
            verbose=True,
            **posed,
        )
        problem = {"data": data, "instances": instances, "C": C, "bag_size": given.bag_size}
        problem |= {**posed, "seed": given.seed}
        kept["comparisons"].append({"problem": problem, "rows": rows})
        panels.append((problem_text(problem), rows))
        print(f"{panels[-1][0]}\n\n{comparison_text(rows)}\n", flush=True)
        try:
            if given.json is not None:
                given.json.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n")
            if given.figure is not None:
                interval_comparison(panels).savefig(given.figure, dpi=150)
            if given.curves is not None:
                bounds_over_time(panels).savefig(given.curves, dpi=150)
        except (OSError, ValueError) as error:
            raise InputError(f"the comparison cannot be written: {error}.") from error
        if rows[-1]["status"] == "interrupted":
            raise KeyboardInterrupt


def _check_files(given: Namespace) -> None:
    """Raise before hours of work if their folder is missing, or they are no kind of picture."""
    for path in filter(None, (given.json, given.figure, given.curves)):
        if path.is_dir() or not path.parent.is_dir():
            raise InputError(f"{path} cannot be written: it must be a file in a folder there is.")
    endings = Figure().canvas.get_supported_filetypes()
    for path in filter(None, (given.figure, given.curves)):
        if path.suffix and path.suffix[1:].lower() not in endings:
            raise InputError(
                f"{path} cannot be written: a picture must end in one of {list(endings)}."
            )


def problem_text(problem: Mapping[str, Any]) -> str:
    """What is compared on: random instances of a data set in random bags."""
    pattern = "{data}, N={instances}, bags of {bag_size}, C={C:g}, epsilon={epsilon:g}"
    if problem["kernel"] != "linear":
        pattern += ", {kernel} kernel, gamma={gamma}"
    return pattern.format(**problem)


def comparison_text(rows: Sequence[Row]) -> str:
    """Rows as text, with the best upper bound and the reasons of those that failed below."""
    best = cell_text(rows[0]["best_upper"], ".6g")
    notes = [f"  {row['kind']}: {row['reason']}" for row in rows if row["reason"]]
    head = f"\nbest upper bound {best}; best_gap is the gap of a lower bound to it"
    return "\n".join([text_table(rows, OF_RELAXATIONS), head, *notes])


def _list(given: Namespace) -> None:
    """Each solver of the table with its version, its licence and what it can solve."""
    programs = {name: ProgramAt(name, 8)() for name in PROGRAMS}
    for solver in SOLVERS.values():
        missing = f"not installed: pip install {solver.package}"
        print(f"{solver.name} {solver.version if solver.installed else missing}, {solver.licence}")
        able = [name for name, program in programs.items() if solver.can_solve(program)]
        classes = [problem_class.name for problem_class in solver.classes]
        for title, names in (("classes", classes), ("programs", able)):
            if names:
                print(f"    {title}: {', '.join(sorted(names))}")


def add_solvers(parser: ArgumentParser) -> None:
    """The same of ``solvers``, and of its ``compare``."""
    parser.set_defaults(parser=parser, run=_list)
    compare = parser.add_subparsers(metavar="{compare}", parser_class=ArgumentParser).add_parser(
        "compare",
        help="programs on solvers, each run in a process of its own",
        description="What the file has is not run again: an interrupted run is continued by the "
        "same command. Programs: " + ", ".join(PROGRAMS),
    )
    compare.set_defaults(parser=compare, run=_compare)
    add = compare.add_argument
    tols = "default, low, high or tolerances (%(default)s)"
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


def _compare(given: Namespace) -> None:
    names = list(PROGRAMS) if given.programs == ["all"] else given.programs
    rows = compare_programs(
        [ProgramAt(name, size, given.data, given.C) for name in names for size in given.sizes],
        given.rows,
        solvers=given.solvers,
        tols=given.tols,
        threads=given.threads,
        time_limit=given.time_limit,
        canon_backend=given.canon_backend,
    )
    failed = [row for row in rows if row["reason"]]
    reasons = {f"  {row['solver']}, {row['program']}: {row['reason']}" for row in failed}
    print(text_table(rows, OF_SOLVERS), *sorted(reasons), sep="\n")
