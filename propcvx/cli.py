"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.laboratory.arguments import SEED_HELP, count, seed
from propcvx.laboratory.demo import run_demo
from propcvx.laboratory.relax_command import add_relax
from propcvx.laboratory.solvers_command import add_solvers

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
    for add in (_add_demo, add_relax, add_solvers):
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


def _add_demo(commands: Any) -> None:
    about = "Figure 1 of the paper, and real data: two tables and two pictures"
    add = _add_command(commands, _demo, help=about).add_argument
    add("--output", type=Path, default="propcvx-demo", help="folder for the pictures (%(default)s)")
    add("--seed", type=seed, default=0, help=SEED_HELP)
    add("--jobs", type=count, default=cpu_count(), help="fits at work at once (%(default)s)")
    add("--quick", action="store_true", help="hardly any tuning: does it run?")


def _demo(chosen: Chosen) -> None:
    run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)
