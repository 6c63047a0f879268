"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from ast import literal_eval
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.experiments.demo import run_demo
from propcvx.experiments.laboratory import KINDS, Problem, run_comparison
from propcvx.experiments.reproduce import (
    EXPERIMENTS,
    PRESETS,
    Protocol,
    Selection,
    Store,
    plan,
    run_plan,
)
from propcvx.experiments.reproduce.engines import dask_cluster, processes
from propcvx.experiments.reproduce.plan_text import plan_text
from propcvx.experiments.reproduce.protocol import OPTIONS
from propcvx.experiments.reproduce.report import report_text, write_report
from propcvx.experiments.solvers_command import add_solvers

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells count it."""


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
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 0
    try:
        return int(chosen.run(chosen))
    except InputError as error:
        of_command: argparse.ArgumentParser = chosen.parser
        of_command.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        kept = f", and {chosen.keeps(chosen)}" if chosen.keeps(chosen) else ""
        print(f"propcvx: interrupted; what is printed above was finished{kept}", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("propcvx", description=propcvx.__doc__)
    parser.add_argument("--version", action="version", version=f"propcvx {propcvx.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    _add_demo(commands)
    _add_reproduce(commands)
    _add_report(commands)
    _add_relax(commands)
    add_solvers(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="Figure 1 of the paper, and real data: two tables and two pictures",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    demo.add_argument(
        "--output", type=Path, default=Path("propcvx-demo"), help="folder for the pictures"
    )
    demo.add_argument("--seed", type=_from(0), default=0, help="seeds all that is random")
    demo.add_argument("--jobs", type=_from(1), default=cpu_count(), help="methods at work at once")
    demo.add_argument("--quick", action="store_true", help="hardly any tuning: does it run?")
    demo.set_defaults(
        parser=demo, run=_demo, keeps=lambda chosen: f"its pictures are in {chosen.output}"
    )


def _add_relax(commands: Any) -> None:
    relax = commands.add_parser(
        "relax",
        help="relaxations and bounds side by side: one table",
        description="Values between commas make one comparison each. Kinds: " + ", ".join(KINDS),
    )
    words, numbers, wholes = _list_of(str), _list_of(float), _list_of(_from(1))
    for flag, kind, default, text in (
        ("--data", words, ["generated"], "a real set, found as PROPCVX_DATA says, or 'generated'"),
        ("--instances", wholes, [48], "how many are drawn (48)"),
        ("--C", numbers, [0.1], "weight of the hinge loss (0.1)"),
        ("--compare", words, ["all"], "kinds, see above (all)"),
    ):
        relax.add_argument(flag, type=kind, default=default, metavar="A,B", help=text)
    relax.add_argument("--bag-size", type=_from(1), default=8, help="instances of a bag (8)")
    relax.add_argument("--epsilon", type=float, default=0.0, help="of the proportions (0)")
    relax.add_argument("--kernel", default="linear", help="linear, rbf, ... (linear)")
    relax.add_argument("--gamma", type=_gamma, default="scale", help="of the kernel (scale)")
    relax.add_argument("--time-limit", type=float, default=60.0, help="seconds for each kind (60)")
    relax.add_argument("--seed", type=_from(0), default=0, help="seeds all that is random (0)")
    relax.add_argument("--json", type=Path, metavar="FILE", help="keep everything there")
    relax.add_argument("--figure", type=Path, metavar="FILE", help="draw the intervals")
    relax.add_argument("--curves", type=Path, metavar="FILE", help="draw lower bounds over time")
    relax.set_defaults(parser=relax, run=_relax, keeps=_written)


def _written(chosen: argparse.Namespace) -> str:
    files = [str(file) for file in (chosen.json, chosen.figure, chosen.curves) if file]
    return f"is kept in {', '.join(files)}" if files else ""


def _relax(chosen: argparse.Namespace) -> int:
    problems = [
        Problem(
            data,
            instances,
            C,
            chosen.bag_size,
            chosen.epsilon,
            chosen.kernel,
            chosen.gamma,
            chosen.seed,
        )
        for data in chosen.data
        for instances in chosen.instances
        for C in chosen.C
    ]
    run_comparison(
        problems,
        "all" if chosen.compare == ["all"] else chosen.compare,
        time_limit=chosen.time_limit,
        file=chosen.json,
        figure=chosen.figure,
        curves=chosen.curves,
    )
    return 0


def _add_reproduce(commands: Any) -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="the paper's experiments, kept cell by cell in a results file",
        description="What is in the results file is not run again: an interrupted run is continued "
        "by the same command.",
    )
    listed = "; ".join(f"{name}: {one.about}" for name, one in EXPERIMENTS.items())
    reproduce.add_argument("what", metavar="WHAT", help=listed)
    reproduce.add_argument("--results", type=Path, required=True, metavar="FILE", help="SQLite")
    reproduce.add_argument("--jobs", type=_from(1), help="processes at work at once (1)")
    reproduce.add_argument(
        "--engine",
        choices=("processes", "dask"),
        default="processes",
        help="processes of this machine, or the workers of a Dask cluster (processes)",
    )
    reproduce.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster")
    _add_protocol(reproduce)
    reproduce.add_argument("--dry-run", action="store_true", help="print the plan and an estimate")
    reproduce.add_argument(
        "--take-over",
        action="store_true",
        help="run the cells, too, that runs on other machines had in hand and no longer have",
    )
    for flag, kind, name in (
        ("--data", str, "data sets"),
        ("--kernels", str, "kernels"),
        ("--bag-sizes", int, "bag sizes"),
        ("--methods", str, "methods"),
        ("--repetitions", int, "repetitions, from 0"),
    ):
        only = f"only these {name}, in this order"
        reproduce.add_argument(flag, type=_list_of(kind), metavar="A,B", help=only)
    reproduce.set_defaults(
        parser=reproduce,
        run=_reproduce,
        keeps=lambda chosen: f"{chosen.results} has every cell that ended",
    )


def _add_report(commands: Any) -> None:
    shown = commands.add_parser("report", help="a results file beside the paper, or as data")
    shown.add_argument("file", type=Path, metavar="FILE", help="of propcvx reproduce")
    _add_protocol(shown)
    shown.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="a report ending in .md or .html, or the results in .csv or .parquet; without it, the "
        "report is printed",
    )
    shown.set_defaults(parser=shown, run=_report, keeps=lambda chosen: "")


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", choices=PRESETS, default="paper", help="options (paper)")
    parser.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"another value of an option of the protocol: {', '.join(OPTIONS)}",
    )


def _protocol(chosen: argparse.Namespace) -> Protocol:
    return PRESETS[chosen.preset].with_options(**dict(chosen.set))


def _report(chosen: argparse.Namespace) -> int:
    protocol = _protocol(chosen)
    if chosen.output:
        write_report(chosen.file, chosen.output, protocol)
    else:
        print(report_text(chosen.file, protocol), end="")
    return 0


def _reproduce(chosen: argparse.Namespace) -> int:
    selection = Selection(
        chosen.data, chosen.kernels, chosen.bag_sizes, chosen.methods, chosen.repetitions
    )
    cells = plan(chosen.what, _protocol(chosen), selection)
    own = EXPERIMENTS[chosen.what].options
    for name, _ in chosen.set:
        if name in own:
            raise InputError(f"--set {name}: {chosen.what} has {name}={own[name]!r} itself.")
    if chosen.dry_run:
        there = chosen.results.exists()
        store = Store(chosen.results, read_only=True) if there else None
        print(plan_text(cells, store, chosen.jobs or 1))
        return 0
    with _engine(chosen):
        summary = run_plan(cells, chosen.results, n_jobs=chosen.jobs, take_over=chosen.take_over)
    print(f"cells done: {summary.done}, failed: {len(summary.failed)}; {chosen.results}")
    if summary.elsewhere:
        print(
            f"cells in the hands of other runs: {summary.elsewhere}, of "
            f"{', '.join(summary.holders) or 'ended meanwhile'}; if one on another machine is no "
            "longer at work, --take-over"
        )
    for failure in summary.failed:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if summary.failed else 0


def _engine(chosen: argparse.Namespace) -> AbstractContextManager[None]:
    if chosen.engine == "processes":
        if chosen.scheduler:
            raise InputError("--scheduler is of --engine dask only.")
        return processes()
    if chosen.jobs or not chosen.scheduler:
        raise InputError("--engine dask needs --scheduler, and has --jobs from its workers.")
    return dask_cluster(chosen.scheduler)


def _demo(chosen: argparse.Namespace) -> int:
    start = perf_counter()
    pictures = run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)
    print(f"\nDone in {perf_counter() - start:.0f} seconds. Pictures:")
    for picture in pictures:
        print(f"  {picture}")
    return 0


def _setting(text: str) -> tuple[str, Any]:
    """``NAME=VALUE``; a value that is no number, truth value or tuple of numbers is a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text}")
    try:
        return name, literal_eval(value)
    except (ValueError, SyntaxError, TypeError):
        return name, value


def _list_of(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Values of that type, between commas."""

    def values(text: str) -> list[Any]:
        return [kind(word) for word in text.split(",")]

    values.__name__ = f"list of {kind.__name__}"
    return values


def _gamma(text: str) -> float | str:
    return text if text == "scale" else float(text)


def _from(least: int) -> Callable[[str], int]:
    """A whole number, at least that."""

    def number(text: str) -> int:
        if not least <= int(text) < 2**32:
            raise argparse.ArgumentTypeError(f"must be from {least} to 2**32 - 1, got {text}")
        return int(text)

    return number
