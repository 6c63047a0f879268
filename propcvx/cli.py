"""The command ``propcvx``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.laboratory.commands import add_commands

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells count it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default, those of the process.

    Returns
    -------
    int
        0 if all went well, 1 if a method failed, 130 if interrupted.  Wrong arguments end the
        program with 2.
    """
    parser = ArgumentParser("propcvx", description=propcvx.__doc__)
    parser.add_argument("--version", action="version", version=f"propcvx {propcvx.__version__}")
    parser.set_defaults(run=lambda given: parser.print_help())
    add_commands(parser.add_subparsers(metavar="command"))
    given = parser.parse_args(arguments)
    try:
        given.run(given)
    except InputError as error:
        given.parser.error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("propcvx: interrupted; finished results are printed or in the file", file=sys.stderr)
        return INTERRUPTED
    return 0
