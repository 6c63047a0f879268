"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.experiments.demo import run_demo

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
        _demo(chosen)
    except InputError as error:
        parser.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "propcvx: interrupted; what is printed above was finished, and its pictures are in "
            f"{chosen.output}",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("propcvx", description=propcvx.__doc__)
    parser.add_argument("--version", action="version", version=f"propcvx {propcvx.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
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
    return parser


def _demo(chosen: argparse.Namespace) -> None:
    start = perf_counter()
    pictures = run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)
    print(f"\nDone in {perf_counter() - start:.0f} seconds. Pictures:")
    for picture in pictures:
        print(f"  {picture}")


def _from(least: int) -> Callable[[str], int]:
    """A whole number, at least that."""

    def number(text: str) -> int:
        if not least <= int(text) < 2**32:
            raise argparse.ArgumentTypeError(f"must be from {least} to 2**32 - 1, got {text}")
        return int(text)

    return number
