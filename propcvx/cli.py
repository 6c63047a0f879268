"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from ast import literal_eval
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.experiments import reproduce
from propcvx.experiments.demo import run_demo
from propcvx.experiments.laboratory import KINDS, Problem, run_comparison
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
    commands = parser.add_subparsers(dest="command", metavar="command")
    for add in (_add_demo, _add_reproduce, _add_report, _add_relax, add_solvers):
        add(commands)
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 0
    try:
        return int(chosen.run(chosen))
    except InputError as error:
        chosen.parser.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        said = "interrupted; what is printed above, or in a file, was finished"
        print(f"propcvx: {said}", file=sys.stderr)
        return INTERRUPTED
    return 1


def _command(
    commands: Any, run: Callable[[Chosen], int], options: dict[str, Any], **texts: str
) -> Any:
    """A command with its options: by flag the type of the value, the default, and a help text.

    An option without a type is a switch.
    """
    parser = commands.add_parser(run.__name__.strip("_"), **texts)
    for flag, (of_value, default, text) in options.items():
        how = {"type": of_value} if of_value else {"action": "store_true"}
        shown = f"{text} (%(default)s)" if of_value and default is not None else text
        parser.add_argument(flag, default=default, help=shown, **how)
    parser.set_defaults(parser=parser, run=run)
    return parser


def _value(text: str) -> Any:
    """A number, truth value or tuple of numbers; anything else is a word."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return text


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text}")
    return name, _value(value)


def _seed(text: str, least: int = 0) -> int:
    """A whole number, at least that."""
    if not least <= int(text) < 2**32:
        raise argparse.ArgumentTypeError(f"must be from {least} to 2**32 - 1, got {text}")
    return int(text)


def _count(text: str) -> int:
    return _seed(text, 1)


def _several(of_one: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Values of that type, between commas."""

    def values(text: str) -> list[Any]:
        return [of_one(word) for word in text.split(",")]

    values.__name__ = f"list of {of_one.__name__.strip('_')}"
    return values


def _add_demo(commands: Any) -> None:
    options = {
        "--output": (Path, Path("propcvx-demo"), "folder for the pictures"),
        "--seed": (_seed, 0, "seeds all that is random"),
        "--jobs": (_count, cpu_count(), "methods at work at once"),
        "--quick": (None, False, "hardly any tuning: does it run?"),
    }
    about = "Figure 1 of the paper, and real data: two tables and two pictures"
    _command(commands, _demo, options, help=about)


def _demo(chosen: Chosen) -> int:
    start = perf_counter()
    pictures = run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)
    print(f"\nDone in {perf_counter() - start:.0f} seconds. Pictures:")
    for picture in pictures:
        print(f"  {picture}")
    return 0


def _add_reproduce(commands: Any) -> None:
    only = "only these, between commas, in this order"
    options = {
        "--jobs": (_count, None, "processes at work at once (1)"),
        "--scheduler": (str, None, "of a Dask cluster, whose workers run the cells: its address"),
        "--dry-run": (None, False, "print what is left to do"),
        "--data": (_several(str), None, only),
        "--kernels": (_several(str), None, only),
        "--bag-sizes": (_several(int), None, only),
        "--methods": (_several(str), None, only),
        "--repetitions": (_several(int), None, f"{only}, counted from 0"),
    }
    parser = _command(
        commands,
        _reproduce,
        options,
        help="the paper's experiments, kept cell by cell in a results file",
        description="What is in the results file is not run again: an interrupted run is continued "
        "by the same command.",
    )
    listed = "; ".join(f"{name}: {one.about}" for name, one in reproduce.EXPERIMENTS.items())
    parser.add_argument("what", metavar="WHAT", help=listed)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="JSON lines")
    _add_protocol(parser)


def _reproduce(chosen: Chosen) -> int:
    parts = vars(reproduce.Selection())
    selection = reproduce.Selection(**{part: getattr(chosen, part) for part in parts})
    cells = reproduce.plan(chosen.what, _protocol(chosen), selection)
    own = reproduce.EXPERIMENTS[chosen.what].options
    for name, _ in chosen.set:
        if name in own:
            raise InputError(f"--set {name}: {chosen.what} has {name}={own[name]!r} itself.")
    if chosen.dry_run:
        print(reproduce.plan_text(cells, reproduce.unfinished(cells, chosen.results)))
        return 0
    done, failed = reproduce.run_plan(
        cells, chosen.results, n_jobs=chosen.jobs, scheduler=chosen.scheduler
    )
    print(f"cells done: {done}, failed: {len(failed)}; {chosen.results}")
    for failure in failed:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failed else 0


def _add_report(commands: Any) -> None:
    output = "a report in .md or .html, or the cells in .csv or .parquet; or the report is printed"
    options = {"--output": (Path, None, output)}
    about = "a results file beside the paper, or as data"
    parser = _command(commands, _report, options, help=about)
    parser.add_argument("file", type=Path, metavar="FILE", help="of propcvx reproduce")
    _add_protocol(parser)


def _report(chosen: Chosen) -> int:
    from propcvx.experiments.reproduce import report

    if chosen.output:
        report.write_report(chosen.file, chosen.output, _protocol(chosen))
    else:
        print(report.report_text(chosen.file, _protocol(chosen)), end="")
    return 0


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--preset", choices=reproduce.PRESETS, default="paper", help="options (paper)"
    )
    other = f"NAME=VALUE: another value of an option of the protocol: {', '.join(OPTIONS)}"
    parser.add_argument("--set", type=_setting, action="append", default=[], help=other)


def _protocol(chosen: Chosen) -> reproduce.Protocol:
    return reproduce.PRESETS[chosen.preset].with_options(**dict(chosen.set))


def _add_relax(commands: Any) -> None:
    options = {
        "--data": (_several(str), "generated", "real sets, as PROPCVX_DATA says, or 'generated'"),
        "--instances": (_several(_count), "48", "how many are drawn"),
        "--C": (_several(float), "0.1", "weight of the hinge loss"),
        "--compare": (_several(str), "all", "kinds, see above"),
        "--bag-size": (_count, 8, "instances of a bag"),
        "--epsilon": (float, 0.0, "of the proportions"),
        "--kernel": (str, "linear", "linear, rbf, ..."),
        "--gamma": (_value, "scale", "of the kernel"),
        "--time-limit": (float, 60.0, "seconds for each kind"),
        "--seed": (_seed, 0, "seeds all that is random"),
        "--json": (Path, None, "file to keep everything in"),
        "--figure": (Path, None, "file for a picture of the intervals"),
        "--curves": (Path, None, "file for a picture of the lower bounds over time"),
    }
    kinds = "Values between commas make one comparison each. Kinds: " + ", ".join(KINDS)
    about = "relaxations and bounds side by side: one table"
    _command(commands, _relax, options, help=about, description=kinds)


def _relax(chosen: Chosen) -> int:
    rest = (chosen.bag_size, chosen.epsilon, chosen.kernel, chosen.gamma, chosen.seed)
    run_comparison(
        [Problem(*of, *rest) for of in product(chosen.data, chosen.instances, chosen.C)],
        "all" if chosen.compare == ["all"] else chosen.compare,
        time_limit=chosen.time_limit,
        file=chosen.json,
        figure=chosen.figure,
        curves=chosen.curves,
    )
    return 0
