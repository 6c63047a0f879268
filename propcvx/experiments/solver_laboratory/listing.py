"""Which solvers there are: ``propcvx solvers``."""

from __future__ import annotations

from typing import Any

from propcvx.experiments.solver_laboratory.programs import PROGRAMS, ProgramAt
from propcvx.solvers import ABSENT, SOLVERS, Solver


def solver_rows() -> list[dict[str, Any]]:
    """A row for each solver of the table, and for each that is absent.

    Returns
    -------
    list of dict
        ``solver``, ``status`` ("installed", "not installed", "absent"), ``version``, ``licence``,
        ``limits`` without a licence, ``classes`` of problem, ``programs`` of the laboratory that
        it can solve, ``known_failures``, and the ``advice`` or reason where it is not installed.
    """
    built = {name: ProgramAt(name, 8)() for name in PROGRAMS}
    rows = [
        _row(row, [name for name, program in built.items() if row.can_solve(program)])
        for row in SOLVERS.values()
    ]
    absent = dict.fromkeys(rows[0]) | {"status": "absent"}
    return [*rows, *({**absent, "solver": n, "advice": why} for n, why in ABSENT.items())]


def _row(row: Solver, programs: list[str]) -> dict[str, Any]:
    return {
        "solver": row.name,
        "status": "installed" if row.installed else "not installed",
        "version": row.version if row.installed else None,
        "licence": row.licence,
        "limits": row.limits or None,
        "classes": [kind.name for kind in row.classes],
        "programs": programs,
        "known_failures": [str(failure) for failure in row.failures],
        "advice": None if row.installed else f"pip install {row.package}",
    }


def listing() -> str:
    """Those rows as text."""
    return "\n".join(_text(row) for row in solver_rows())


def _text(row: dict[str, Any]) -> str:
    if row["status"] == "absent":
        return f"{row['solver']}: absent, {row['advice']}"
    state = row["version"] or f"not installed: {row['advice']}"
    lines = [f"{row['solver']} {state}, {row['licence']}"]
    for name in ("classes", "programs"):
        lines += [f"    {name}: {', '.join(sorted(row[name]))}"] if row[name] else []
    lines += [f"    without a licence up to {row['limits']}"] if row["limits"] else []
    return "\n".join([*lines, *(f"    seen in {failure}" for failure in row["known_failures"])])
