"""Picture of relaxations and certified bounds: their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.errors import InputError
from propcvx.plotting.style import BLUE, GRAY, VERMILION

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
    if not comparisons:
        raise InputError(
            f"comparisons must have a pair of heading and rows, or several; got {comparisons!r}."
        )
    height = max(0.27 * len(rows) for _, rows in comparisons) + 1.1
    figure = Figure(figsize=(7.5, height * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)[:, 0]
    for ax, (heading, rows) in zip(panels, comparisons, strict=True):
        _draw_intervals(ax, rows)
        ax.set_title(heading, fontsize="medium")
    return figure


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
