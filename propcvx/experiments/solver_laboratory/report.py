"""A file of rows as a report: profiles, means, accuracy against time, growth, recommendations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from propcvx.errors import InputError
from propcvx.experiments.reproduce.report import Document, Picture, write_html, write_markdown
from propcvx.experiments.solver_laboratory.compare import Row, error_of
from propcvx.experiments.solver_laboratory.matrix import KEY, with_references
from propcvx.experiments.solver_laboratory.rows_file import read_rows
from propcvx.experiments.solver_laboratory.summary import (
    GOALS,
    SHIFT,
    growth,
    performance_profiles,
    recommendations,
    shifted_means,
    solved,
)
from propcvx.plotting import curve_panels
from propcvx.solvers import SOLVERS

Part = str | Picture

OUTPUTS = MappingProxyType({".md": write_markdown, ".html": write_html})
"""How a report is written, by the ending of its file."""

LEGEND = f"""\
Times are milliseconds of wall time in the solver, with the problem compiled, the fastest of three
runs; each run had a process of its own. An answer counts at accuracy low, default or high if its
relative difference from the reference and its largest violation of a constraint are at most
{", ".join(f"{goal:g}" for goal in GOALS.values())}; the reference is the value of the answer with
the smallest residuals, recomputed from its values. What does not count has the time limit for its
time. Means are geometric, of the times plus {SHIFT:g} ms, over the smallest."""


def write_solver_report(file: Path, output: Path) -> None:
    """The report of a file that ``propcvx solvers compare`` wrote.

    Parameters
    ----------
    file : Path
        JSON lines.
    output : Path
        Ends in ``.md``, with the pictures in a folder beside it, or in ``.html``.

    Raises
    ------
    InputError
        If the ending is another one, or there are no rows.
    """
    write = OUTPUTS.get(output.suffix.lower())
    if write is None:
        raise InputError(f"the output must end in one of {', '.join(OUTPUTS)}, got {output.name}.")
    rows = with_references(read_rows(file, KEY))
    if not rows:
        raise InputError(f"{file} has no rows; 'propcvx solvers compare' writes them.")
    write(document_of_rows(rows), output)


def document_of_rows(rows: Sequence[Row]) -> Document:
    """The report of rows, without the solvers whose terms do not allow to publish their times."""
    hidden = {name: row.unpublished for name, row in SOLVERS.items() if row.unpublished}
    shown = [row for row in rows if row["solver"] not in hidden]
    absent = sorted({row["solver"] for row in rows} & hidden.keys())
    left_out = "\n".join(f"- `{name}` was run and is left out: {hidden[name]}." for name in absent)
    parts: list[Part] = [_conditions(shown), LEGEND, left_out]
    for accuracy in dict.fromkeys(row["accuracy"] for row in shown):
        chosen = [row for row in shown if row["accuracy"] == accuracy]
        parts += [f"## Accuracy {accuracy}", *_accuracy(accuracy, chosen)]
    parts += [*_growth(shown), *_accuracy_against_time(shown), *_failures(shown)]
    return Document("Solvers compared", tuple(part for part in parts if part))


def _conditions(rows: Sequence[Row]) -> str:
    versions = sorted({f"{row['solver']} {row['version']}" for row in rows if row["version"]})
    limits = {(row["time_limit"], row["memory_limit_mb"], row["threads"]) for row in rows}
    told = "; ".join(
        f"{seconds:g} s, {megabytes:g} MB and {threads} BLAS thread{'s' * (threads > 1)} each"
        for seconds, megabytes, threads in sorted(limits - {(None, None, None)})
    )
    return f"{len(rows)} runs, with {told}. Solvers: {', '.join(versions)}."


def _accuracy(accuracy: str, rows: Sequence[Row]) -> Iterator[Part]:
    for _, group in _programs(rows):
        yield "\n".join(f"- {sentence}" for sentence in recommendations(group))
    profiles = performance_profiles(rows)
    if profiles:
        yield Picture(
            f"profiles-{accuracy}",
            "Share of the problems solved within a factor of the fastest solver's time.",
            curve_panels(
                {f"accuracy {accuracy}": profiles},
                "factor",
                "share solved",
                steps=True,
                log_y=False,
            ),
        )
    means = {name: shifted_means(group) for name, group in _programs(rows)}
    if any(means.values()):
        yield "### Shifted geometric means, by program"
        yield _means_table(means)


def _programs(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    ordered = sorted(rows, key=lambda row: row["program"])
    return [(name, list(group)) for name, group in groupby(ordered, lambda row: row["program"])]


def _means_table(means: Mapping[str, Mapping[str, float]]) -> str:
    solvers = sorted({solver for row in means.values() for solver in row})
    lines = [
        [f"`{solver}`", *(f"{row[solver]:.3g}" if solver in row else "" for row in means.values())]
        for solver in solvers
    ]
    return _table(["solver", *(f"`{name}`" for name in means)], lines)


def _growth(rows: Sequence[Row]) -> Iterator[Part]:
    tightest = [row for row in rows if row["accuracy"] == "high"]
    several = {
        name: growth(group)
        for name, group in _programs(tightest)
        if len({row["instances"] for row in group}) > 1
    }
    if several:
        yield "## Growth with N, at high accuracy"
    for name, curves in several.items():
        yield Picture(
            f"growth-{name}",
            f"Milliseconds against the number of instances, {name}.",
            curve_panels({name: curves}, "N", "milliseconds"),
        )


def _accuracy_against_time(rows: Sequence[Row]) -> Iterator[Part]:
    yield "## Accuracy against time"
    for name, group in _programs(rows):
        largest = max(row["instances"] for row in group)
        points: dict[str, list[tuple[float, float]]] = {}
        for row in group:
            time = row["resolve_cold_ms"] or row["solve_ms"]
            if row["instances"] == largest and time and row["objective"] is not None:
                points.setdefault(row["solver"], []).append((time, max(error_of(row), 1e-16)))
        if points:
            curves = {n: _xy(sorted(found)) for n, found in points.items()}
            yield Picture(
                f"accuracy-{name}",
                f"Largest of residuals and gap against milliseconds, a point for each accuracy: "
                f"{name}, N = {largest}.",
                curve_panels({f"{name}, N = {largest}": curves}, "milliseconds", "error"),
            )


def _xy(points: Sequence[tuple[float, float]]) -> tuple[Any, Any]:
    x, y = np.array(points).T
    return x, y


def _failures(rows: Sequence[Row]) -> Iterator[Part]:
    yield "## What did not reach its goal"
    lines = [
        [
            f"`{row['program']}` {row['instances']}",
            f"`{row['solver']}`",
            row["accuracy"],
            row["status"],
            "" if row["difference"] is None else f"{row['difference']:.1e}",
            (row["reason"] or row["known_failures"] or "").replace("|", "/").replace("\n", " "),
        ]
        for row in rows
        if not solved(row) and row["status"] not in ("refused", "not installed")
    ]
    head = ["program", "solver", "accuracy", "status", "difference", "reason, or known failure"]
    yield _table(head, lines) if lines else "Every run reached it."


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
