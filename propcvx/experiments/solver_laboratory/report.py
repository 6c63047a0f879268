"""A file of rows as a report: profiles, means, accuracy against time, growth, recommendations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from propcvx.checks import check_choice
from propcvx.errors import InputError
from propcvx.experiments.reproduce.report import Document, Picture, write_html, write_markdown
from propcvx.experiments.solver_laboratory.compare import Row, error_of
from propcvx.experiments.solver_laboratory.formulations import backend_rows, formulation_rows
from propcvx.experiments.solver_laboratory.matrix import KEY, with_references
from propcvx.experiments.solver_laboratory.programs import PROGRAMS
from propcvx.experiments.solver_laboratory.rows_file import read_rows
from propcvx.experiments.solver_laboratory.summary import (
    GOALS,
    SHIFT,
    growth,
    milliseconds,
    performance_profiles,
    recommendations,
    shifted_means,
    solved,
)
from propcvx.experiments.tables import cell_text, markdown_table
from propcvx.plotting import curve_panels
from propcvx.solvers import SOLVERS

Part = str | Picture

OUTPUTS = MappingProxyType({".md": write_markdown, ".html": write_html})
"""How a report is written, by the ending of its file."""

LEGEND = f"""\
Times are milliseconds in the solver, with the problem compiled, the fastest of three runs, by the
clock on the wall less what the thread waited for a processor; each run had a process of its own.
An answer counts at accuracy low, default or high if its
relative difference from the reference and its largest violation of a constraint are at most
{", ".join(f"{goal:g}" for goal in GOALS.values())}; the reference is the value of the answer with
the smallest residuals, recomputed from its values. What does not count has the time limit for its
time. Means are geometric, of the times plus {SHIFT:g} ms, over the smallest."""


def write_solver_report(file: Path, output: Path, data: str | None = None) -> None:
    """The report of a file that ``propcvx solvers compare`` wrote.

    Parameters
    ----------
    file : Path
        JSON lines.
    output : Path
        Ends in ``.md``, with the pictures in a folder beside it, or in ``.html``.
    data : str, optional
        The data set whose rows are shown; needed where the file has several.

    Raises
    ------
    InputError
        If the ending is another one, if there are no rows, or if they are of several data sets and
        none is named.
    """
    write = OUTPUTS.get(output.suffix.lower())
    if write is None:
        raise InputError(f"the output must end in one of {', '.join(OUTPUTS)}, got {output.name}.")
    rows = with_references(read_rows(file, KEY))
    known = sorted({row["data"] for row in rows})
    if not known:
        raise InputError(f"{file} has no rows; 'propcvx solvers compare' writes them.")
    if data is None and len(known) > 1:
        raise InputError(f"data must be one of {known}, which {file} has rows of, got None.")
    chosen = check_choice("data", data or known[0], known)
    write(document_of_rows([row for row in rows if row["data"] == chosen]), output)


def document_of_rows(rows: Sequence[Row]) -> Document:
    """The report of rows, without the solvers whose terms do not allow to publish their times."""
    hidden = {name: row.unpublished for name, row in SOLVERS.items() if row.unpublished}
    shown = [row for row in rows if row["solver"] not in hidden]
    absent = sorted({row["solver"] for row in rows} & hidden.keys())
    left_out = "\n".join(f"- `{name}` was run and is left out: {hidden[name]}." for name in absent)
    parts: list[Part] = [_conditions(shown), LEGEND, left_out]
    backends = backend_rows(shown)
    shown = [row for row in shown if row["canon_backend"] is None]
    for accuracy in dict.fromkeys(row["accuracy"] for row in shown):
        chosen = [row for row in shown if row["accuracy"] == accuracy]
        parts += [f"## Accuracy {accuracy}", *_accuracy(accuracy, chosen)]
    parts += [*_formulations(shown, backends), *_growth(shown)]
    parts += [*_accuracy_against_time(shown), *_failures(shown)]
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
    return markdown_table(["solver", *(f"`{name}`" for name in means)], lines)


def _formulations(rows: Sequence[Row], backends: Sequence[dict[str, Any]]) -> Iterator[Part]:
    """What a way to write a program costs."""
    accuracy = next((name for name in ("high", "default", "low") if _has(rows, name)), None)
    written = formulation_rows([row for row in rows if row["accuracy"] == accuracy])
    if written or backends:
        yield "## Formulation matters as much as the solver"
    if written:
        yield (
            f"At accuracy {accuracy}: the fastest solver of a program, of another way to write it, "
            "and the ratio of the two times; then medians over the solvers that solve both."
        )
        head = ["program", "in place of", "N", "fastest", "fastest there", "ratio"]
        head += ["ratio of one solver", "ratio of compiling", "solvers"]
        yield markdown_table(head, [_formulation_line(one) for one in written])
    if backends:
        names = sorted({name for one in backends for name in one["compile_ms"]})
        yield "CVXPY's canonicalisation backends: milliseconds of compiling."
        yield markdown_table(
            ["program", "N", "solver", *names],
            [
                [f"`{one['program']}`", str(one["instances"]), f"`{one['solver']}`"]
                + [cell_text(one["compile_ms"].get(name), ".3g") for name in names]
                for one in backends
            ],
        )


def _has(rows: Sequence[Row], accuracy: str) -> bool:
    return any(row["accuracy"] == accuracy for row in rows)


def _formulation_line(one: dict[str, Any]) -> list[str]:
    fastest, there = (
        f"`{row['solver']}` {milliseconds(row):.3g} ms"
        for row in (one["fastest"], one["fastest_as"])
    )
    ratio = milliseconds(one["fastest"]) / milliseconds(one["fastest_as"])
    names = [f"`{one['program']}`: {one['how']}", f"`{one['same_as']}`", str(one["instances"])]
    medians = [f"{one[name]:.2g}" for name in ("ratio", "compile_ratio")]
    return [*names, fastest, there, f"{ratio:.2g}", *medians, str(one["solvers"])]


def _growth(rows: Sequence[Row]) -> Iterator[Part]:
    tightest = [row for row in rows if row["accuracy"] == "high"]
    drawn = [
        (family, {name: growth(group) for name, group in _programs(together)})
        for family, together in _families(tightest)
        if len({row["instances"] for row in together}) > 1
    ]
    if any(any(curves.values()) for _, curves in drawn):
        yield "## Growth with N, at high accuracy"
    for family, curves in drawn:
        panels = {name: found for name, found in curves.items() if found}
        if panels:
            yield Picture(
                f"growth-{family}",
                f"Milliseconds against the number of instances: {', '.join(panels)}.",
                curve_panels(panels, "N", "milliseconds"),
            )


def _accuracy_against_time(rows: Sequence[Row]) -> Iterator[Part]:
    yield "## Accuracy against time"
    for family, together in _families(rows):
        drawn = (_errors(name, group) for name, group in _programs(together))
        panels = {heading: curves for heading, curves in drawn if curves}
        if panels:
            yield Picture(
                f"accuracy-{family}",
                "Largest of residuals and gap against milliseconds, a point for each accuracy: "
                f"{'; '.join(panels)}.",
                curve_panels(panels, "milliseconds", "error"),
            )


def _errors(name: str, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """For each solver, errors against times at the largest size that two of them solved."""
    sizes = [row["instances"] for row in rows if solved(row)]
    largest = max((n for n in sizes if sizes.count(n) > 1), default=max(sizes, default=0))
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        time = row["resolve_cold_ms"] or row["solve_ms"]
        if row["instances"] == largest and time and row["objective"] is not None:
            points.setdefault(row["solver"], []).append((time, max(error_of(row), 1e-16)))
    return f"{name}, N = {largest}", {n: _xy(sorted(found)) for n, found in points.items()}


def _families(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows of each program together with those of other ways to write it."""

    def family(row: Row) -> str:
        kind = PROGRAMS.get(row["program"])
        return (kind and kind.same_as) or str(row["program"])

    return [(name, list(group)) for name, group in groupby(sorted(rows, key=family), family)]


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
        if not solved(row) and row["status"] not in ("refused", "not installed", "skipped")
    ]
    head = ["program", "solver", "accuracy", "status", "difference", "reason, or known failure"]
    yield markdown_table(head, lines) if lines else "Every run reached it."
