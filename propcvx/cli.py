"""The command ``propcvx``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import cpu_count

import propcvx
from propcvx.errors import InputError, PropCVXError
from propcvx.experiments.bench import BENCHMARKS, compare_with, run_benchmarks
from propcvx.experiments.demo import run_demo, writable_folder
from propcvx.experiments.studies import STUDIES

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
        parser.error(str(error))
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
    _add_bench(commands)
    _add_study(commands)
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
    demo.set_defaults(run=_demo, keeps=lambda chosen: f"its pictures are in {chosen.output}")


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser("bench", help="ratios of times, of answers that were checked")
    bench.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, see --list")
    bench.add_argument("--list", action="store_true", help="list the benchmarks and end")
    bench.add_argument("--json", type=Path, metavar="FILE", help="keep the measurements there")
    bench.add_argument("--compare", type=Path, metavar="FILE", help="ratios of an earlier --json")
    bench.add_argument("--repeats", type=_from(1), default=15, help="calls that are timed (15)")
    bench.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    bench.set_defaults(
        run=_bench, keeps=lambda chosen: f"is kept in {chosen.json}" if chosen.json else ""
    )


def _add_study(commands: Any) -> None:
    study = commands.add_parser("study", help="what the relaxation and the objective are worth")
    study.add_argument("name", choices=STUDIES)
    study.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="folder of rows and picture"
    )
    study.add_argument("--splits", type=_from(1), default=5, help="random splits (5)")
    study.add_argument("--quick", action="store_true", help="one small set: does it run?")
    study.set_defaults(
        run=_study, keeps=lambda chosen: f"its rows are kept in {chosen.output} for the next call"
    )


def _study(chosen: argparse.Namespace) -> int:
    folder = writable_folder(chosen.output)
    print(STUDIES[chosen.name](folder, chosen.splits, chosen.quick))
    return 0


def _bench(chosen: argparse.Namespace) -> int:
    if chosen.list:
        for row in BENCHMARKS.values():
            print(f"{row.name:16}{row.about}")
        return 0
    earlier = compare_with(chosen.compare) if chosen.compare else None
    measured = run_benchmarks(
        chosen.names,
        quick=chosen.quick,
        repeats=chosen.repeats,
        file=chosen.json,
        earlier=earlier,
    )
    return 0 if all(one.ratio is not None for one in measured) else 1


def _demo(chosen: argparse.Namespace) -> int:
    start = perf_counter()
    pictures = run_demo(chosen.output, seed=chosen.seed, n_jobs=chosen.jobs, quick=chosen.quick)
    print(f"\nDone in {perf_counter() - start:.0f} seconds. Pictures:")
    for picture in pictures:
        print(f"  {picture}")
    return 0


def _from(least: int) -> Callable[[str], int]:
    """A whole number, at least that."""

    def number(text: str) -> int:
        if not least <= int(text) < 2**32:
            raise argparse.ArgumentTypeError(f"must be from {least} to 2**32 - 1, got {text}")
        return int(text)

    return number
