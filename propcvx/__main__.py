"""The commands ``propcvx demo`` and ``propcvx report``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import propcvx
from propcvx.errors import InputError, PropCVXError

DESCRIPTION = """Estimate the probability of each person and the rates of groups from the
proportions of bags, and write them to a folder: the page report.html, tables, and the Python script
report.py that computes them."""

EXAMPLE = """Example: propcvx report people.csv districts.csv --bag district --proportion voted
--by age"""

METHODS = """ecological: EcologicalRegression (default), with the most reliable intervals for places
and schools; aggregate: AggregateLogisticRegression, most accurate; alter: AlterPropSVM"""

SEED = "seed of random numbers (default: %(default)s)"

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
    summary = "draw Figure 1 of the paper, and compare methods on it and on real data"
    demo = commands.add_parser("demo", help=summary, description=summary)
    add = demo.add_argument
    output = "folder for the picture (default: %(default)s)"
    add("--output", type=Path, default="propcvx-demo", help=output)
    add("--seed", type=_seed, default=0, help=SEED)
    report = add_report(commands)
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    try:  # the help need not wait for scikit-learn and CVXPY
        if options.command == "demo":
            from propcvx.demo import run_demo

            run_demo(options.output, seed=options.seed)
        else:
            from propcvx.report import make_report

            print(f"written: {make_report(options)}")
    except InputError as error:
        {"demo": demo, "report": report}[options.command].error(str(error))
    except PropCVXError as error:
        print(f"propcvx: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("propcvx: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def add_report(commands: Any) -> ArgumentParser:
    """Add the command ``report`` with its arguments."""
    summary = "write a page of probabilities, rates of groups and checks from two tables"
    report: ArgumentParser = commands.add_parser(
        "report", help=summary, description=DESCRIPTION, epilog=EXAMPLE
    )
    add = report.add_argument
    persons = "CSV or Parquet with a row for each person, all of every bag unless --sampled"
    add("people", type=Path, help=persons)
    add("bags", type=Path, help="table with a row for each bag, such as a district")
    add("--bag", required=True, metavar="COLUMN", help="column of bag ids, in both tables")
    source = report.add_mutually_exclusive_group(required=True)
    shares = "column of the bags: proportions, or percentages if most are above 1"
    source.add_argument("--proportion", metavar="COLUMN", help=shares)
    counts = "column of the bags: positives (needs --total)"
    source.add_argument("--count", metavar="COLUMN", help=counts)
    totals = "column of the bags: people, of which --count are positive"
    add("--total", metavar="COLUMN", help=totals)
    grouping = "column or condition, such as 'age>60', whose groups get rates; may be repeated"
    add("--by", action="append", default=[], metavar="GROUPS", help=grouping)
    omitted = "columns of the model (default: all but ids and constants)"
    add("--features", nargs="+", metavar="COLUMN", help=omitted)
    methods = ("ecological", "aggregate", "alter")
    add("--method", choices=methods, default="ecological", help=METHODS)
    sampled = "people are a sample of each bag: proportions get a 95%% tolerance"
    add("--sampled", action="store_true", help=sampled)
    draws = "draws of each 90%% interval, at least 20 (default: %(default)s)"
    add("--draws", type=int, default=100, help=draws)
    add("--seed", type=_seed, default=0, help=SEED)
    output = "new folder for the page (default: %(default)s)"
    add("--output", type=Path, default=Path("propcvx-report"), help=output)
    add("--force", action="store_true", help="replace files in a folder that exists")
    return report


def _seed(text: str) -> int:
    """Read a whole number that is a valid seed of a random generator."""
    if not 0 <= int(text) < 2**32:
        raise ArgumentTypeError(f"must be from 0 to 2**32 - 1; got {text}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
