"""Pictures of intervals: rates of groups, calibration, relaxations and certified bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.errors import InputError
from propcvx.estimators import FitCheck
from propcvx.groups import GroupRates
from propcvx.plotting.style import BLUE, GRAY, VERMILION, axes_of

POINT: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
CROSS: dict[str, Any] = {"color": VERMILION, "marker": "x", "linestyle": "", "markersize": 6}
RANGES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("lower_bound", "upper_bound", "bounds", {"color": GRAY, "alpha": 0.3, "linewidth": 9}),
    ("ci_low", "ci_high", "interval", {"color": BLUE, "linewidth": 2}),
)
"""Columns of the ends of each range, its name, and how it is drawn."""


def group_ranges(result: GroupRates, ax: Axes | None = None) -> Axes:
    """Draw the rate of each group: bounds, interval, estimate and true rate.

    Parameters
    ----------
    result : GroupRates
        The result; columns that it does not have are not drawn.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
    """
    table = result.groups
    names, places = [str(name) for name in table.index], np.arange(len(table))
    size = 5.0 + 0.08 * max(0, max(map(len, names)) - 10), max(3.4, 0.2 * len(names) + 0.8)
    ax = axes_of(ax, size)
    for low, high, label, style in RANGES:
        if low in table:
            ax.hlines(places, table[low], table[high], label=label, **style)
    for column, marks in (("estimate", POINT), ("true", CROSS)):
        if column in table:
            ax.plot(table[column], places, label=column, **marks)
    ax.set_yticks(places, names)
    ax.set(xlabel="rate of positives", xlim=(-0.03, 1.03), ylim=(len(table) - 0.5, -0.5))
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def calibration(check: FitCheck, ax: Axes | None = None) -> Axes:
    """Draw proportions of held-out bags against mean predicted probabilities, and their slope.

    Parameters
    ----------
    check : FitCheck
        The result of :func:`propcvx.check_fit`.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
    """
    ax, x, y = axes_of(ax, (4.4, 4.0)), check.held_out_means, check.proportions
    ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1, label="calibrated")
    ax.plot(x, y, "o", color=BLUE, alpha=0.65, markersize=5, label="held-out bag")
    if np.isfinite(check.slope):
        limits = np.array([x.min(), x.max()])
        line = y.mean() + check.slope * (limits - x.mean())
        ax.plot(limits, line, color=VERMILION, label=f"slope {check.slope:.2f}")
    ax.set(xlabel="mean predicted probability", ylabel="given proportion", aspect="equal")
    ax.legend(frameon=False)
    return ax


def estimates_and_truth(result: GroupRates, ax: Axes | None = None) -> Axes:
    """Draw estimates against true rates, with a mark for each group in each bag, by its size.

    Parameters
    ----------
    result : GroupRates
        A result with estimates and true rates; bars are intervals, if it has them.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
    """
    table = result.cells
    if missing := {"estimate", "true"} - set(table.columns):
        raise InputError(f"result must have estimates and truth; got no {sorted(missing)}.")
    ax, limits = axes_of(ax), np.array([0.0, 1.0])
    ax.plot(limits, limits, color=GRAY, linewidth=1)
    if "ci_low" in table:
        ax.vlines(
            table["true"], table["ci_low"], table["ci_high"], color=GRAY, alpha=0.4, linewidth=1
        )
    ax.scatter(
        table["true"],
        table["estimate"],
        s=8 + 80 * table["n"] / table["n"].max(),
        color=BLUE,
        alpha=0.6,
        edgecolors="white",
        zorder=3,
    )
    ax.set(xlabel="true rate", ylabel="estimate", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.set_aspect("equal")
    return ax


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
