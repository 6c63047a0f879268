"""Pictures of relaxations and certified bounds: intervals, and bounds over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from propcvx.errors import InputError
from propcvx.plotting.style import (
    BLUE,
    GRAY,
    VERMILION,
    figure_of_panels,
    legend_lines,
    series_of,
)

Comparisons = Sequence[tuple[str, Sequence[Mapping[str, Any]]]]


def interval_comparison(comparisons: Comparisons) -> Figure:
    """Draw the interval around the optimal value of each kind of relaxation or bound.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        For each panel its heading and the rows of
        :func:`propcvx.relaxation.compare_relaxations`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there are no comparisons.
    """
    _check_any(comparisons)
    height = max(0.27 * len(rows) for _, rows in comparisons) + 1.1
    figure = Figure(figsize=(7.5, height * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)[:, 0]
    for ax, (heading, rows) in zip(panels, comparisons, strict=True):
        _draw_intervals(ax, rows)
        ax.set_title(heading, fontsize="medium")
    return figure


def _check_any(comparisons: Comparisons) -> None:
    if not comparisons:
        raise InputError(
            f"comparisons must have a pair of heading and rows, or several; got {comparisons!r}."
        )


def _draw_intervals(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    style: dict[str, Any] = {"markersize": 6, "linestyle": "", "zorder": 3}
    lower, upper = (np.array([row[key] for row in rows], dtype=float) for key in ("lower", "upper"))
    places = np.arange(len(rows))
    ax.hlines(places, lower, upper, color=GRAY, linewidth=2, alpha=0.6)
    ax.plot(lower, places, marker=">", color=BLUE, label="lower bound", **style)
    ax.plot(upper, places, marker="<", color=VERMILION, label="value of its labeling", **style)
    for place, row in enumerate(rows):
        if row["upper"] is None:
            transform = ax.get_yaxis_transform()
            ax.annotate(row["status"], (0.01, place), xycoords=transform, color=GRAY, va="center")
    best = [row["best_upper"] for row in rows if row["best_upper"] is not None]
    if best:
        ax.axvline(best[0], color="black", linestyle="--", linewidth=1, label="best of all")
    ax.set_yticks(range(len(rows)), [row["kind"] for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("hinge value of the best labeling")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def bounds_over_time(comparisons: Comparisons) -> Figure:
    """Draw lower bounds over time, as fractions of the best known value.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        As in :func:`interval_comparison`; kinds that prove no bound are omitted.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there are no comparisons.
    """
    _check_any(comparisons)
    columns = min(2, len(comparisons))
    all_rows = [row for _, rows in comparisons for row in rows]
    styles = series_of([row["kind"] for row in all_rows if _rises(row)])
    lines = max(1, ceil(len(styles) / (columns + 1)))
    margins = (0.3, 0.7 + 0.2 * lines)
    figure, panels = figure_of_panels(len(comparisons), columns, (3.6, 2.2), margins)
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


def _rises(row: Mapping[str, Any]) -> bool:
    """Check whether a row proves a bound, and there is a value to compare with."""
    return bool(row["history"]) and (row["lower"] or 0.0) > 0.0 and (row["best_upper"] or 0.0) > 0.0
