"""The tables of the pages of docs/results: of comparisons that are kept beside them."""

import json
from pathlib import Path
from typing import Any

from shown import markdown_table, svg_text

from propcvx.plotting import bounds_over_time, interval_comparison

RESULTS = Path(__file__).with_name("results")


def problem_text(problem: dict[str, Any]) -> str:
    """What is compared on: random instances of a data set in random bags."""
    pattern = "{data}, N={instances}, bags of {bag_size}, C={C:g}, epsilon={epsilon:g}"
    if problem["kernel"] != "linear":
        pattern += ", {kernel} kernel, gamma={gamma}"
    return pattern.format(**problem)


def bounds_table(file: str) -> str:
    """For each problem the best upper bound, and each kind's gap to it."""
    comparisons = json.loads((RESULTS / file).read_text(encoding="utf-8"))["comparisons"]
    kinds = [row["kind"] for row in comparisons[0]["rows"] if row["kind"] != "search"]
    return markdown_table(
        ["data", "N", "C", "kernel", "best upper", *(f"`{kind}`" for kind in kinds)],
        (
            [*_problem(comparison), *(_gap(row) for row in comparison["rows"][1:])]
            for comparison in comparisons
        ),
    )


def draw_bounds(file: str, folder: Path) -> None:
    """Its problems' bounds as they rise, and the intervals of the second problem."""
    folder.mkdir(exist_ok=True)
    comparisons = json.loads((RESULTS / file).read_text(encoding="utf-8"))["comparisons"]
    panels = [(problem_text(compared["problem"]), compared["rows"]) for compared in comparisons]
    figures = {
        "rising.svg": bounds_over_time(panels),
        "intervals.svg": interval_comparison(panels[1:2]),
    }
    for name, figure in figures.items():
        (folder / name).write_text(svg_text(figure), encoding="utf-8")


def _problem(comparison: dict[str, Any]) -> list[str]:
    problem, best = comparison["problem"], comparison["rows"][0]["best_upper"]
    shown = (problem["instances"], f"{problem['C']:.3g}", problem["kernel"], f"{best:.4g}")
    return [problem["data"], *map(str, shown)]


def _gap(row: dict[str, Any]) -> str:
    if row["best_gap"] is None:
        return row["status"]
    proved = ", proved" if row["status"] == "proved optimal" else ""
    return f"{row['best_gap']:.2%}{proved} ({row['cpu_seconds']:.1f} s)"
