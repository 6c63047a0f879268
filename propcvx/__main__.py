"""The command ``propcvx``, which imports what a command needs when it is called."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import propcvx
from propcvx.errors import InputError, PropCVXError

COMMANDS = {
    "demo": "Figure 1 of the paper, and real data: two tables and two pictures",
    "relax": "relaxations and bounds side by side: one table",
    "solvers": "the solvers at hand; compare them",
}
"""The commands, and what they are for; ``add_demo`` of the laboratory defines the first."""

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells count it."""


class Command(ArgumentParser):
    """The parser of a command; its arguments are added when it is called."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As of every parser."""
        commands = import_module("propcvx.laboratory.commands")
        getattr(commands, f"add_{self.prog.split()[-1]}")(self)
        return super().parse_known_args(args, namespace)


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
    commands = parser.add_subparsers(metavar="command", parser_class=Command)
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about)
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


if __name__ == "__main__":
    sys.exit(main())
