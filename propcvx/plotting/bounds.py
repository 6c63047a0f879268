"""What relaxations and bounds prove of the best labeling's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.plotting.style import BLUE, GREY, VERMILION

Comparisons = Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
CURVES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
MARKERS = "o^sDvP*X<>"


def interval_comparison(comparisons: Comparisons) -> Figure:
    """What each kind of relaxation or bound says of the best labeling's value, as an interval.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        For each panel its heading and the rows of
        :func:`propcvx.experiments.laboratory.compare_relaxations`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    height = max(0.27 * len(rows) for _, rows in comparisons) + 1.1
    figure = Figure(figsize=(7.5, height * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)[:, 0]
    for ax, (heading, rows) in zip(panels, comparisons, strict=True):
        _draw_intervals(ax, rows)
        ax.set_title(heading, fontsize="medium")
    return figure


def _draw_intervals(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    ends: dict[str, Any] = {"markersize": 6, "linestyle": "", "zorder": 3}
    for place, row in enumerate(rows):
        lower, upper = row["lower"], row["upper"]
        if upper is None:
            at = (0.01, place)
            ax.annotate(
                row["status"], at, xycoords=ax.get_yaxis_transform(), color=GREY, va="center"
            )
            continue
        if lower is not None:
            ax.plot([lower, upper], [place, place], color=GREY, linewidth=2, alpha=0.6)
            ax.plot(lower, place, marker=">", color=BLUE, **ends)
        ax.plot(upper, place, marker="<", color=VERMILION, **ends)
    ax.plot([], [], marker=">", color=BLUE, label="lower bound", **ends)
    ax.plot([], [], marker="<", color=VERMILION, label="value of its labeling", **ends)
    best = [row["best_upper"] for row in rows if row["best_upper"] is not None]
    if best:
        ax.axvline(best[0], color="black", linestyle="--", linewidth=1, label="best of all")
    ax.set_yticks(range(len(rows)), [row["kind"] for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("hinge value of the best labeling")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def bounds_over_time(comparisons: Comparisons) -> Figure:
    """Lower bounds as they rise, in shares of the best value known.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        As of :func:`interval_comparison`; kinds that prove nothing are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = min(3, len(comparisons))
    lines = -(-len(comparisons) // columns)
    figure = Figure(figsize=(4.2 * columns + 2.2, 2.9 * lines + 0.4), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    every = [row for _, rows in comparisons for row in rows]
    kinds = dict.fromkeys(row["kind"] for row in every)
    styles = {kind: _curve_style(place) for place, kind in enumerate(kinds)}
    proving = {row["kind"] for row in every if _rises(row)}
    for ax, (heading, rows) in zip(panels, comparisons, strict=False):
        for row in filter(_rises, rows):
            rises = [rise for rise in row["history"] if rise[1] > 0.0]
            seconds, lower = np.array([*rises, (row["cpu_seconds"], row["lower"])]).T
            shares = lower / row["best_upper"]
            ax.step(seconds, shares, where="post", **styles[row["kind"]])
        ax.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
        ax.set(xscale="log", ylim=(-0.03, 1.06))
        ax.set_title(heading, fontsize="small")
        ax.grid(alpha=0.3)
    for unused in panels[len(comparisons) :]:
        unused.remove()
    shown = [kind for kind in kinds if kind in proving]
    handles = [panels[0].plot([], [], label=kind, **styles[kind])[0] for kind in shown]
    figure.legend(handles=handles, loc="outside right upper", fontsize="small", frameon=False)
    figure.supxlabel("seconds of processor time", fontsize="medium")
    figure.supylabel("lower bound / best value known", fontsize="medium")
    return figure


def _rises(row: Mapping[str, Any]) -> bool:
    """Whether a row proves anything, and there is a value to compare with."""
    return bool(row["history"]) and (row["lower"] or 0.0) > 0.0 and (row["best_upper"] or 0.0) > 0.0


def _curve_style(place: int) -> dict[str, Any]:
    """Colour, marker and dashes of the curve at that place in the legend."""
    return {
        "color": CURVES[place % len(CURVES)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": ("-", "--", "-.", ":")[place // len(CURVES) % 4],
        "markersize": 4,
        "markevery": 0.15,
        "linewidth": 1.4,
    }
