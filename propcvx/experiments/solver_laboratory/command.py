"""The commands ``propcvx solvers``, ``propcvx solvers compare`` and ``propcvx solvers report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from propcvx.experiments.solver_laboratory.compare import Accuracy, Row
from propcvx.experiments.solver_laboratory.fits import METHODS, compare_fits
from propcvx.experiments.solver_laboratory.fits_report import draw_fits, unchanged_from
from propcvx.experiments.solver_laboratory.isolated import Limits
from propcvx.experiments.solver_laboratory.listing import listing
from propcvx.experiments.solver_laboratory.matrix import cells_of, run_matrix
from propcvx.experiments.solver_laboratory.programs import PROGRAMS
from propcvx.experiments.solver_laboratory.qp_test_set import write_qp_test_set
from propcvx.experiments.solver_laboratory.report import write_solver_report
from propcvx.experiments.tables import cell_text
from propcvx.text import text_table


def add_solvers(commands: Any) -> None:
    """Add the commands to those of ``propcvx``."""
    solvers = commands.add_parser("solvers", help="the solvers at hand; compare them")
    solvers.set_defaults(parser=solvers, run=_list, keeps=lambda chosen: "")
    commands = solvers.add_subparsers(metavar="{compare,fits,report,qpbenchmark}")
    _add_compare(commands)
    _add_fits(commands)
    report = commands.add_parser("report", help="rows of compare as Markdown or HTML")
    report.add_argument("rows", type=Path, metavar="FILE", help="of propcvx solvers compare")
    report.add_argument("--output", type=Path, required=True, metavar="FILE", help=".md or .html")
    report.add_argument("--data", metavar="NAME", help="rows of this set, if there are several")
    report.set_defaults(parser=report, run=_report, keeps=lambda chosen: "")
    export = commands.add_parser("qpbenchmark", help="our quadratic programs as its test set")
    export.add_argument("folder", type=Path, metavar="DIR", help="folder for the two files")
    export.add_argument("--sizes", type=_several(int), metavar="A,B", help="instances (50,100,270)")
    export.add_argument("--data", default="generated", help="a real set, or 'generated'")
    export.set_defaults(parser=export, run=_export, keeps=lambda chosen: "")


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="programs on solvers, each run in a process of its own",
        description="What the file has is not run again: an interrupted run is continued by the "
        "same command. Programs: " + ", ".join(PROGRAMS),
    )
    compare.add_argument("programs", nargs="+", metavar="PROGRAM", help="see above, or all")
    for flag, kind, default, text in (
        ("--solvers", str, None, "names, see propcvx solvers (those installed that can)"),
        ("--tols", _accuracy, ["default", "low", "high"], "default, low, high or tolerances (all)"),
        ("--sizes", int, None, "instances (those of each program)"),
    ):
        compare.add_argument(flag, type=_several(kind), default=default, metavar="A,B", help=text)
    compare.add_argument("--data", default="generated", help="a real set, or 'generated'")
    compare.add_argument("--C", type=float, default=1.0, help="weight of the loss (1)")
    compare.add_argument("--canon-backend", metavar="NAME", help="CVXPY's: CPP, SCIPY or COO")
    compare.add_argument("--threads", type=int, default=1, help="of BLAS and of solvers (1)")
    compare.add_argument("--time-limit", type=float, default=60.0, help="seconds of a run (60)")
    compare.add_argument("--memory-limit", type=float, default=8192.0, help="megabytes (8192)")
    compare.add_argument(
        "--rows", type=Path, required=True, metavar="FILE", help="JSON lines, kept and continued"
    )
    compare.set_defaults(
        parser=compare, run=_compare, keeps=lambda chosen: f"{chosen.rows} has every run"
    )


def _add_fits(commands: Any) -> None:
    fits = commands.add_parser(
        "fits",
        help="whole fits by several solvers and tolerances: does the answer change?",
        description="What the file has is not run again.",
    )
    fits.add_argument("--solvers", type=_several(str), default=["auto", "clarabel", "osqp", "scs"])
    fits.add_argument("--tols", type=_several(float), default=[1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
    fits.add_argument("--methods", type=_several(str), default=list(METHODS))
    fits.add_argument("--data", default="generated", help="a real set, or 'generated'")
    fits.add_argument("--instances", type=int, default=100, help="drawn, those of the test too")
    fits.add_argument("--C", type=float, default=1.0, help="weight of the loss (1)")
    fits.add_argument("--time-limit", type=float, default=300.0, help="seconds of a fit (300)")
    fits.add_argument("--rows", type=Path, required=True, metavar="FILE", help="JSON lines")
    fits.add_argument("--figure", type=Path, metavar="FILE", help="picture of it, .png or .svg")
    fits.set_defaults(parser=fits, run=_fits, keeps=lambda chosen: f"{chosen.rows} has every fit")


def _fits(chosen: argparse.Namespace) -> int:
    where = {"data": chosen.data, "instances": chosen.instances, "C": chosen.C}
    limits = Limits(chosen.time_limit)
    rows = compare_fits(chosen.rows, chosen.solvers, chosen.tols, chosen.methods, limits, **where)
    print(text_table([_fit_cells(row) for row in rows]))
    print(*unchanged_from(rows), sep="\n")
    if chosen.figure is not None:
        draw_fits(rows).savefig(chosen.figure, dpi=150)
    return 0


def _fit_cells(row: Row) -> dict[str, str]:
    return {
        **{name: row[name] for name in ("method", "solver")},
        "tol": f"{row['tol']:g}",
        "status": row["status"],
        "objective": cell_text(row["objective"], ".8g"),
        "labels agree": cell_text(row["labels_agree"], ".1%"),
        "predictions agree": cell_text(row["predictions_agree"], ".1%"),
        "accuracy": cell_text(row["accuracy"], ".1%"),
        "seconds": cell_text(row["seconds"], ".2f"),
    }


def _list(chosen: argparse.Namespace) -> int:
    print(listing())
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    names = list(PROGRAMS) if chosen.programs == ["all"] else chosen.programs
    cells = cells_of(names, chosen.sizes, chosen.data, chosen.C)
    limits = Limits(chosen.time_limit, chosen.memory_limit, chosen.threads)
    backend = chosen.canon_backend
    rows = run_matrix(cells, chosen.rows, chosen.solvers, chosen.tols, limits, backend)
    print(table([row for row in rows if row["program"] in names]))
    return 0


def _report(chosen: argparse.Namespace) -> int:
    write_solver_report(chosen.rows, chosen.output, chosen.data)
    return 0


def _export(chosen: argparse.Namespace) -> int:
    names = write_qp_test_set(chosen.folder, chosen.sizes, chosen.data)
    print(f"{len(names)} problems are in {chosen.folder}: {', '.join(names)}")
    return 0


def table(rows: list[Row]) -> str:
    """Rows as text; the reasons of those without an answer below."""
    reasons = {f"  {r['solver']}, {r['program']}: {r['reason']}" for r in rows if r["reason"]}
    return "\n".join([text_table([_cells(row) for row in rows]), *sorted(reasons)])


def _cells(row: Row) -> dict[str, str]:
    return {
        "program": f"{row['program']} {row['instances']}",
        "solver": row["solver"],
        "accuracy": row["accuracy"],
        "status": row["status"],
        "difference": cell_text(row["difference"], ".0e"),
        "primal": cell_text(row["primal_residual"], ".0e"),
        "dual": cell_text(row["dual_residual"], ".0e"),
        "gap": cell_text(row["duality_gap"], ".0e"),
        "compile ms": cell_text(row["compile_ms"], ".1f"),
        "solve ms": cell_text(row["solve_ms"], ".1f"),
        "again ms": cell_text(row["resolve_cold_ms"], ".1f"),
        "warm ms": cell_text(row["resolve_warm_ms"], ".1f"),
        "MB": cell_text(row["peak_memory_mb"], ".0f"),
    }


def _accuracy(text: str) -> Accuracy:
    return text if text.isalpha() else float(text)


def _several(kind: Any) -> Any:
    """Values of that type, between commas."""

    def values(text: str) -> list[Any]:
        return [kind(word) for word in text.split(",")]

    values.__name__ = f"list of {kind.__name__.strip('_')}"
    return values
