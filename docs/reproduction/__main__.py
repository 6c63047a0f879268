"""The command line of the reproduction: ``python -m reproduction``, in the folder ``docs``."""

from __future__ import annotations

import argparse
import sys
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from propcvx.errors import InputError
from reproduction.experiments import EXPERIMENTS, Selection, plan, plan_text
from reproduction.protocol import OPTIONS, PRESETS, Protocol
from reproduction.report import report_text
from reproduction.results import read_results, unfinished, write_parquet
from reproduction.run import run_plan

Chosen = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run experiments or report results; 0 if all went well, 1 if a cell failed."""
    parser = argparse.ArgumentParser("python -m reproduction", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for add in (_add_run, _add_report):
        command = add(commands)
        add_option = command.add_argument
        other = "NAME=VALUE: another value of an option of the protocol: "
        add_option("--preset", choices=PRESETS, default="paper", help="options (%(default)s)")
        add_option(
            "--set", type=_setting, action="append", default=[], help=other + ", ".join(OPTIONS)
        )
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except InputError as error:
        parser.error(str(error))


def _existing(text: str) -> Path:
    """A file that exists."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"must be a file that is there, got {text}")
    return Path(text)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text}")
    with suppress(ValueError, SyntaxError):  # anything else is a word
        return name, literal_eval(value)
    return name, value


def _words(text: str) -> list[str]:
    """Words between commas."""
    return text.split(",")


def _numbers(text: str) -> list[int]:
    """Whole numbers between commas."""
    return [int(word) for word in text.split(",")]


def _protocol(chosen: Chosen) -> Protocol:
    return PRESETS[chosen.preset].with_options(**dict(chosen.set))


def _add_run(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="the paper's experiments, kept cell by cell in a results file",
        description="Results that are in the file are not computed again: the same command "
        "continues an interrupted run.",
    )
    parser.set_defaults(run=_run)
    listed = "; ".join(f"{name}: {each.about}" for name, each in EXPERIMENTS.items())
    only = "only these, between commas, in this order"
    add = parser.add_argument
    add("what", metavar="WHAT", help=listed)
    add("--results", type=Path, required=True, metavar="FILE", help="JSON lines")
    known = "another results file, or a Parquet file of such: what it has is not computed again"
    add("--known", type=_existing, metavar="FILE", help=known)
    add("--jobs", type=int, help="processes at work at once (1)")
    add("--dry-run", action="store_true", help="print what is left to do")
    add("--data", type=_words, help=only)
    add("--kernels", type=_words, help=only)
    add("--bag-sizes", type=_numbers, help=only)
    add("--methods", type=_words, help=only)
    add("--repetitions", type=_numbers, help=f"{only}, counted from 0")
    return parser


def _run(chosen: Chosen) -> int:
    parts = vars(Selection())
    selection = Selection(**{part: getattr(chosen, part) for part in parts})
    cells = plan(chosen.what, _protocol(chosen), selection)
    fixed = EXPERIMENTS[chosen.what].options
    for name, _ in chosen.set:
        if name in fixed:
            raise InputError(f"--set {name}: {chosen.what} has {name}={fixed[name]!r} itself.")
    left = unfinished(cells, chosen.known) if chosen.known else cells
    if chosen.dry_run:
        print(plan_text(cells, unfinished(left, chosen.results)))
        return 0
    done, failed = run_plan(left, chosen.results, n_jobs=chosen.jobs)
    print(f"cells done: {done}, failed: {len(failed)}; {chosen.results}")
    for failure in failed:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failed else 0


def _add_report(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "report", help="results beside the paper, or as data"
    )
    parser.set_defaults(run=_report)
    output = "write the cells into this Parquet file, in place of printing the report"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="results files")
    parser.add_argument("--output", type=Path, metavar="FILE", help=output)
    return parser


def _report(chosen: Chosen) -> None:
    if chosen.output:
        write_parquet(read_results(*chosen.files), chosen.output)
    else:
        print(report_text(*chosen.files, protocol=_protocol(chosen)), end="")


if __name__ == "__main__":
    sys.exit(main())
