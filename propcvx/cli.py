"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError, needing
from propcvx.experiments import reproduce
from propcvx.experiments.arguments import SEED_HELP, count, existing, literal, seed, several
from propcvx.experiments.demo import run_demo
from propcvx.experiments.relax_command import add_relax
from propcvx.experiments.reproduce.protocol import OPTIONS
from propcvx.experiments.solvers_command import add_solvers

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells count it."""

Chosen = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process where not given.

    Returns
    -------
    int
        0 if all went well, 1 if a method failed, 130 if interrupted.  Wrong arguments end the
        program with 2.
    """
    parser = argparse.ArgumentParser("propcvx", description=propcvx.__doc__)
    parser.add_argument("--version", action="version", version=f"propcvx {propcvx.__version__}")
    parser.set_defaults(run=lambda chosen: parser.print_help())
    commands = parser.add_subparsers(metavar="command")
    for add in (_add_demo, _add_reproduce, _add_report, add_relax, add_solvers):
        add(commands)
    chosen = parser.parse_args(arguments)
    try:
        return chosen.run(chosen) or 0
    except InputError as error:
        chosen.parser.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("propcvx: interrupted; finished results are printed or in the file", file=sys.stderr)
        return INTERRUPTED
    return 1


def _add_command(
    commands: Any, run: Callable[[Chosen], int | None], **texts: str
) -> argparse.ArgumentParser:
    """The parser of a command, which is named as the function that it runs."""
    parser = commands.add_parser(run.__name__.strip("_"), **texts)
    parser.set_defaults(parser=parser, run=run)
    return parser


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text}")
    return name, literal(value)


def _add_demo(commands: Any) -> None:
    about = "Figure 1 of the paper, and real data: two tables and two pictures"
    add = _add_command(commands, _demo, help=about).add_argument
    add("--output", type=Path, default="propcvx-demo", help="folder for the pictures (%(default)s)")
    add("--seed", type=seed, default=0, help=SEED_HELP)
    add("--jobs", type=count, default=cpu_count(), help="methods at work at once (%(default)s)")
    add("--quick", action="store_true", help="hardly any tuning: does it run?")


def _demo(chosen: Chosen) -> None:
    run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)


def _add_reproduce(commands: Any) -> None:
    parser = _add_command(
        commands,
        _reproduce,
        help="the paper's experiments, kept cell by cell in a results file",
        description="Results that are in the file are not computed again: the same command "
        "continues an interrupted run.",
    )
    listed = "; ".join(f"{name}: {one.about}" for name, one in reproduce.EXPERIMENTS.items())
    only = "only these, between commas, in this order"
    add = parser.add_argument
    add("what", metavar="WHAT", help=listed)
    add("--results", type=Path, required=True, metavar="FILE", help="JSON lines")
    known = "another results file, or a Parquet file of such: what it has is not computed again"
    add("--known", type=existing, metavar="FILE", help=known)
    add("--jobs", type=count, help="processes at work at once (1)")
    add("--scheduler", help="address of a Dask cluster, whose workers run the cells")
    add("--dry-run", action="store_true", help="print what is left to do")
    add("--data", type=several(str), help=only)
    add("--kernels", type=several(str), help=only)
    add("--bag-sizes", type=several(int), help=only)
    add("--methods", type=several(str), help=only)
    add("--repetitions", type=several(int), help=f"{only}, counted from 0")
    _add_protocol(parser)


def _reproduce(chosen: Chosen) -> int:
    parts = vars(reproduce.Selection())
    selection = reproduce.Selection(**{part: getattr(chosen, part) for part in parts})
    cells = reproduce.plan(chosen.what, _protocol(chosen), selection)
    own = reproduce.EXPERIMENTS[chosen.what].options
    for name, _ in chosen.set:
        if name in own:
            raise InputError(f"--set {name}: {chosen.what} has {name}={own[name]!r} itself.")
    left = reproduce.unfinished(cells, chosen.known) if chosen.known else cells
    if chosen.dry_run:
        print(reproduce.plan_text(cells, reproduce.unfinished(left, chosen.results)))
        return 0
    done, failed = reproduce.run_plan(
        left, chosen.results, n_jobs=chosen.jobs, scheduler=chosen.scheduler
    )
    print(f"cells done: {done}, failed: {len(failed)}; {chosen.results}")
    for failure in failed:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failed else 0


def _add_report(commands: Any) -> None:
    parser = _add_command(commands, _report, help="results beside the paper, or as data")
    output = "a report in .md or .html, or the cells in .csv or .parquet; or the report is printed"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="of propcvx reproduce")
    parser.add_argument("--output", type=Path, help=output)
    _add_protocol(parser)


@needing("experiments", "propcvx report")
def _report(chosen: Chosen) -> None:
    from propcvx.experiments.reproduce import report

    if chosen.output:
        report.write_report(*chosen.files, output=chosen.output, protocol=_protocol(chosen))
    else:
        print(report.report_text(*chosen.files, protocol=_protocol(chosen)), end="")


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    add, other = parser.add_argument, "NAME=VALUE: another value of an option of the protocol: "
    add("--preset", choices=reproduce.PRESETS, default="paper", help="options (%(default)s)")
    add("--set", type=_setting, action="append", default=[], help=other + ", ".join(OPTIONS))


def _protocol(chosen: Chosen) -> reproduce.Protocol:
    return reproduce.PRESETS[chosen.preset].with_options(**dict(chosen.set))
