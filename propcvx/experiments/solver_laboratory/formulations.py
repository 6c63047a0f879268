"""By how much it matters how a program is written, and who brings it into a solver's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from propcvx.experiments.solver_laboratory.programs import PROGRAMS
from propcvx.experiments.solver_laboratory.rows_file import Row
from propcvx.experiments.solver_laboratory.summary import milliseconds, solved

Solved = Mapping[tuple[str, int], Mapping[str, Row]]


def formulation_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Each program that is another way to write one, beside that one, size by size.

    Parameters
    ----------
    rows : sequence of dict
        Of one accuracy, and of CVXPY's own choice of a backend.

    Returns
    -------
    list of dict
        ``program``, ``same_as``, ``how``, ``instances``; the row of the ``fastest`` solver and of
        that of the program that it stands for, ``fastest_as``; medians over the ``solvers`` that
        solve both, of the ratio of times in the solver, ``ratio``, and of compiling,
        ``compile_ratio``.
    """
    by_problem = _by_problem(rows)
    found = []
    for name, kind in PROGRAMS.items():
        for program, instances in sorted(by_problem):
            theirs = by_problem.get((kind.same_as, instances), {})
            ours = by_problem[program, instances]
            both = [(ours[solver], theirs[solver]) for solver in sorted(ours.keys() & theirs)]
            if program == name and both:
                found.append(
                    {
                        "program": name,
                        "same_as": kind.same_as,
                        "how": kind.how,
                        "instances": instances,
                        "fastest": min(ours.values(), key=milliseconds),
                        "fastest_as": min(theirs.values(), key=milliseconds),
                        "solvers": len(both),
                        "ratio": _median_ratio(both, milliseconds),
                        "compile_ratio": _median_ratio(both, lambda row: row["compile_ms"]),
                    }
                )
    return found


def _by_problem(rows: Sequence[Row]) -> Solved:
    """What was solved, by program and size, then by solver; those of one structure left out."""
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in filter(solved, rows):
        if row["compile_ms"]:
            found.setdefault((row["program"], row["instances"]), {})[row["solver"]] = row
    return found


def _median_ratio(pairs: Sequence[tuple[Row, Row]], time: Callable[[Row], float]) -> float:
    return median(time(one) / time(other) for one, other in pairs)


def backend_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Milliseconds of compiling a program with each of CVXPY's backends.

    Returns
    -------
    list of dict
        ``program``, ``instances``, ``solver``, and ``compile_ms`` by the name of the backend.
    """
    found: dict[tuple[str, int, str], dict[str, float]] = {}
    for row in rows:
        if row["canon_backend"] and row["compile_ms"]:
            key = row["program"], row["instances"], row["solver"]
            found.setdefault(key, {})[row["canon_backend"]] = row["compile_ms"]
    return [
        {"program": program, "instances": instances, "solver": solver, "compile_ms": times}
        for (program, instances, solver), times in sorted(found.items())
    ]
