"""The command ``propcvx demo``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

import propcvx
from propcvx.errors import InputError, PropCVXError

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells count it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 on success, 1 if a method failed, 130 if interrupted.  Invalid arguments end the program
        with 2.
    """
    parser = ArgumentParser("propcvx", description=propcvx.__doc__)
    parser.add_argument("--version", action="version", version=f"propcvx {propcvx.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    about = "Figure 1 of the paper, and real data: two tables and two pictures"
    demo = commands.add_parser("demo", help=about, description=about)
    add = demo.add_argument
    add("--output", type=Path, default="propcvx-demo", help="folder for the pictures (%(default)s)")
    add("--seed", type=_seed, default=0, help="seeds all that is random (%(default)s)")
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 0
    from propcvx.demo import run_demo  # the help need not wait for scikit-learn and CVXPY

    try:
        run_demo(given.output, seed=given.seed)
    except InputError as error:
        demo.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("propcvx: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _seed(text: str) -> int:
    """Read a whole number that is a valid seed of a random generator."""
    if not 0 <= int(text) < 2**32:
        raise ArgumentTypeError(f"must be from 0 to 2**32 - 1, got {text}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
