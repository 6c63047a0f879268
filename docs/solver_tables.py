"""The tables of the pages about solvers: of the package at hand, and of what was measured."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from propcvx import Bags, bag_target
from propcvx import programs as p
from propcvx.experiments.bench.frame import Measurement
from propcvx.experiments.solver_laboratory.fits import KEY as FIT_KEY
from propcvx.experiments.solver_laboratory.fits_report import Unchanged, unchanged_from
from propcvx.experiments.solver_laboratory.matrix import KEY, with_references
from propcvx.experiments.solver_laboratory.programs import PROGRAMS, ProgramAt
from propcvx.experiments.solver_laboratory.rows_file import Row, read_rows
from propcvx.experiments.solver_laboratory.summary import milliseconds, solved
from propcvx.experiments.tables import markdown_table
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import HINGE, PROPORTION_LOSSES
from propcvx.solvers import SOLVERS, automatic

CLASSES = list(p.ProblemClass)

RESULTS = Path(__file__).with_name("results") / "solvers.jsonl.gz"
FITS = Path(__file__).with_name("results") / "solver_fits.jsonl.gz"


def class_table() -> str:
    """Each solver with its classes of problem and the package it comes with."""
    rows = (
        [
            f"`{name}`",
            *("yes" if kind in row.classes else "" for kind in CLASSES),
            f"`{row.package}`",
            row.licence,
        ]
        for name, row in SOLVERS.items()
    )
    return markdown_table(
        ["solver", *(kind.name for kind in CLASSES), "comes with", "licence"], rows
    )


def tolerance_table() -> str:
    """Each solver with the options that a tolerance becomes."""
    rows = (
        [f"`{name}`", ", ".join(f"`{option}`" for option in _names(row.options_of(1e-8))) or "none"]
        for name, row in SOLVERS.items()
    )
    return markdown_table(["solver", "options that get `tol`"], rows)


def _names(options: dict[str, Any]) -> Iterator[str]:
    """Names of options; of a record inside, those in it."""
    for name, value in options.items():
        yield from (
            [f"{name}[{inner!r}]" for inner in value] if isinstance(value, dict) else [name]
        )


def program_table() -> str:
    """Each program with its equation, its class of problem and its solvers."""
    rows = (
        [
            f"{{func}}`~propcvx.programs.{program.name}`{remark}",
            f"`{program.equation}`",
            program.problem_class.name,
            ", ".join(f"`{name}`" for name, row in SOLVERS.items() if row.can_solve(program)),
        ]
        for program, remark in _programs()
    )
    return markdown_table(["program", "equation", "class", "solvers"], rows)


def _programs() -> Iterator[tuple[p.Program, str]]:
    """Every program, at a size where building costs nothing."""
    features, labelings = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[-1.0, 1.0] * 2])
    means, shares, ones = np.array([[-1.5], [1.5]]), np.array([0.5, 0.5]), np.ones(2)
    bags = Bags.from_target(bag_target([0, 0, 1, 1], shares))
    feasible = FeasibleLabelings.of(bags, 0.0)
    yield p.svm_primal(features), ""
    yield p.margin_classifier(features, HINGE), ""
    yield p.svm_dual(features), ", with a bias"
    yield p.svm_dual(features, bias=False), ", without"
    yield p.inv_cal_primal(means), ""
    yield p.inv_cal_dual(means), ""
    yield p.class_means(means, shares, ones), ""
    yield p.conditional_exponential_model(features), ""
    yield p.mkl_epigraph(features, labelings, 1.0), ""
    yield p.mkl_group(features, labelings, 1.0), ""
    yield p.mkl_inner(features, labelings, 1.0), ""
    for name, loss in PROPORTION_LOSSES.items():
        yield p.labeling_step(bags, loss), f", {name} loss"
    yield p.linear_separation(feasible), ""
    yield p.exact_separation(features, np.ones(4), feasible), ""
    yield p.psvm(features, bags, 1.0, ones, PROPORTION_LOSSES["absolute"]), ""
    yield p.constrained_psvm(features, feasible, 1.0, value=1.0), ""
    yield p.constrained_psvm(features, feasible, 1.0, value=1.0, integer=False), ", soft labels"
    yield p.entropic_labeling_step(feasible).set(temperature=1.0), ""
    yield p.lifted_svm(features, feasible, 1.0), ""
    yield p.lifted_svm_dual(features, feasible, 1.0), ""
    yield p.lifted_quadratic(features @ features.T, feasible), ""
    yield p.diffrac(features, feasible, 1.0), ""
    pairs = [np.array([[1.0, -1.0], [-1.0, 1.0]])] * 2
    yield p.bag_moments([features[:2], features[2:]], pairs, [np.zeros(2)] * 2, 1.0), ""


def fastest_table() -> str:
    """For each program and size the fastest solver and the one that is asked first by default."""
    head = ["program", "N", "fastest", "at most twice as long", "default"]
    return markdown_table(
        head, [[*_fastest(rows), _by_default(rows)] for rows in _problems("generated")]
    )


def fastest_on_heart() -> str:
    """The fastest solvers on heart."""
    head = ["program", "N", "fastest", "at most twice as long"]
    return markdown_table(head, [_fastest(rows) for rows in _problems("heart")])


def _problems(data: str) -> Iterator[list[Row]]:
    """The answers to each program of the package on some data, the fastest first."""
    chosen = [row for row in _laboratory() if row["accuracy"] == "high" and row["data"] == data]
    for name in filter(partial(hasattr, p), PROGRAMS):
        for n in sorted({row["instances"] for row in chosen if row["program"] == name}):
            rows = [row for row in chosen if (row["program"], row["instances"]) == (name, n)]
            if any(map(solved, rows)):
                yield sorted(rows, key=lambda row: milliseconds(row) if solved(row) else np.inf)


def _laboratory() -> list[Row]:
    """What `propcvx solvers compare` wrote, of solvers whose times may be published."""
    rows = with_references(read_rows(RESULTS, KEY))
    published = (row for row in rows if not SOLVERS[row["solver"]].unpublished)
    return [row for row in published if row["canon_backend"] is None]


def _fastest(rows: list[Row]) -> list[str]:
    first, *others = filter(solved, rows)
    most = 2.0 * milliseconds(first)
    return [
        f"`{first['program']}`",
        f"{first['instances']:,}",
        f"`{first['solver']}` {_rounded(milliseconds(first))} ms",
        ", ".join(f"`{row['solver']}`" for row in others if milliseconds(row) <= most),
    ]


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _by_default(rows: list[Row]) -> str:
    default = automatic(ProgramAt(rows[0]["program"], rows[0]["instances"])())[0]
    asked = {row["solver"]: row for row in rows}.get(default)
    if asked is None or not solved(asked):
        return f"`{default}`: {asked['status'] if asked else 'not run'}"
    ratio = milliseconds(asked) / milliseconds(rows[0])
    return f"`{default}`" + (f" {ratio:.2g} times" if ratio > 1.0 else "")


def unchanged_table() -> str:
    """From which tolerance on nothing changes, for each data set, method and solver."""
    rows = read_rows(FITS, FIT_KEY)
    by_data = {name: [row for row in rows if row["data"] == name] for name in _names_in(rows)}
    found = {
        name: {(one.method, one.solver): one for one in unchanged_from(chosen)}
        for name, chosen in by_data.items()
    }
    fits = list(dict.fromkeys(fit for of in found.values() for fit in of))
    return markdown_table(
        ["method", "solver", *found],
        (
            [
                method,
                f"`{solver}`",
                *(_unchanged(of.get((method, solver))) for of in found.values()),
            ]
            for method, solver in fits
        ),
    )


def _names_in(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["data"] for row in rows))


def _unchanged(one: Unchanged | None) -> str:
    if one is None:
        return ""
    return "none" if one.tol is None else f"{one.tol:g}"


def measured_table() -> str:
    """What `propcvx bench --json` wrote to measured.json; a sentence where there is none."""
    file = Path(__file__).with_name("measured.json")
    if not file.exists():
        return "*There is no measured.json beside this page; `propcvx bench` writes one.*"
    measurements = json.loads(file.read_text(encoding="utf-8"))["measurements"]
    return markdown_table(
        ["benchmark", "first / second", "ratio", "to reach", "first, ms", "second, ms", "checked"],
        (_measured(Measurement(**measurement)) for measurement in measurements),
    )


def _measured(one: Measurement) -> list[str]:
    ratio = "not certified" if one.ratio is None else f"{one.ratio:.3g}"
    bound = f"{'at least' if one.at_least else 'at most'} {one.reach:.3g}"
    work = f"{one.work} ({one.note})" if one.note else one.work
    times = (f"{time:.3g}" for time in (one.first_ms, one.second_ms))
    reached = bound if one.reached else f"{bound}: missed"
    return [f"`{one.name}`", work, ratio, reached, *times, one.checked]
