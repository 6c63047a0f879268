"""The tables of the pages of docs/results: of comparisons that are kept beside them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogFormatter
from shown import legend_lines, markdown_table, series_of, svg_text

from propcvx.plotting import interval_comparison
from propcvx.plotting.style import GRAY, figure_of_panels

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
    text, rows = panels[1]
    figures = {
        "rising.svg": bounds_over_time(panels),
        "intervals.svg": interval_comparison(
            [(text, [row for row in rows if row["kind"] != "search"])]
        ),
    }
    for name, figure in figures.items():
        (folder / name).write_text(svg_text(figure), encoding="utf-8")


def bounds_over_time(comparisons):
    """Lower bounds over time, as fractions of the best known value, a panel for each problem."""
    columns = min(2, len(comparisons))
    all_rows = [row for _, rows in comparisons for row in rows]
    styles = series_of([row["kind"] for row in all_rows if _rises(row)])
    figure, panels = figure_of_panels(len(comparisons), columns, (3.6, 2.6))
    for ax, (heading, rows) in zip(panels, comparisons, strict=True):
        for row in filter(_rises, rows):
            rises = [rise for rise in row["history"] if rise[1] > 0.0]
            seconds, lower = np.array([*rises, (row["cpu_seconds"], row["lower"])]).T
            ratios = lower / row["best_upper"]
            ax.step(seconds, ratios, where="post", markevery=0.15, **styles[row["kind"]])
        ax.axhline(1.0, color=GRAY, linewidth=1, linestyle=":")
        ax.set(xscale="log", ylim=(-0.03, 1.06))
        ax.xaxis.set_major_formatter(LogFormatter())
        ax.xaxis.set_minor_formatter(LogFormatter())
        ax.set_title(heading, fontsize="small")
        ax.grid(alpha=0.3)
    box: dict[str, Any] = {"loc": "outside upper center", "ncols": columns + 1, "fontsize": "small"}
    figure.legend(handles=legend_lines(styles), frameon=False, **box)
    figure.supxlabel("seconds of processor time", fontsize="medium")
    figure.supylabel("lower bound / best known", fontsize="medium")
    return figure


def _rises(row: dict[str, Any]) -> bool:
    """Whether a row proves a bound, and there is a value to compare with."""
    return bool(row["history"]) and (row["lower"] or 0.0) > 0.0 and (row["best_upper"] or 0.0) > 0.0


def _problem(comparison: dict[str, Any]) -> list[str]:
    problem, best = comparison["problem"], comparison["rows"][0]["best_upper"]
    shown = (problem["instances"], f"{problem['C']:.3g}", problem["kernel"], f"{best:.4g}")
    return [problem["data"], *map(str, shown)]


def _gap(row: dict[str, Any]) -> str:
    if row["best_gap"] is None:
        return row["status"]
    proved = ", proved" if row["status"] == "proved optimal" else ""
    return f"{row['best_gap']:.2%}{proved} ({row['cpu_seconds']:.1f} s)"
