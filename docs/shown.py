"""What pages and reports show: tables in Markdown, means with their spread, lines, SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import cycle
from math import isnan
from typing import Any

from matplotlib import rc_context
from matplotlib.lines import Line2D
from matplotlib.rcsetup import cycler
from numpy.typing import NDArray

from propcvx.arrays import Array
from propcvx.plotting import Figure
from propcvx.plotting.style import BLUE, GRAY, PURPLE, VERMILION

Line = tuple[Array, Array, Array]

COLORS = (BLUE, VERMILION, "#009E73", PURPLE, "#E69F00", GRAY)
SERIES: Sequence[dict[str, Any]] = list(
    cycler(markersize=[4.5])
    * cycler(fillstyle=["full", "none", "left"])
    * cycler(color=COLORS, marker=list("o^sDvP"), linestyle=["-", "--", "-.", ":", "-", "--"])
)
"""Styles of lines in order: all colors with full marks, then all with open marks."""


def series_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A style for each name."""
    return dict(zip(dict.fromkeys(names), cycle(SERIES), strict=False))


def legend_lines(styles: Mapping[str, dict[str, Any]]) -> list[Line2D]:
    """The lines of a legend, one for each name and its style."""
    return [Line2D([], [], label=name, **style) for name, style in styles.items()]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; text in its cells must be free of bars."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread_text(mean: float, deviation: float) -> str:
    """A mean and its standard deviation, which is left out where it is NaN.

    Examples
    --------
    >>> spread_text(79.26, 1.04), spread_text(79.26, float("nan"))
    ('79.3 +- 1.0', '79.3')
    """
    return f"{mean:.1f}" if isnan(deviation) else f"{mean:.1f} +- {deviation:.1f}"


def line_grid(
    rows: Mapping[str, Mapping[str, Mapping[str, Line]]], xlabel: str, *, log: bool = False
) -> Figure:
    """Lines with error bars, in panels.

    Parameters
    ----------
    rows : mapping of str to mapping of str to mapping of str to Line
        For each row of panels the label of its vertical axis, for each panel its heading, and for
        each line its name with x, y and the half lengths of its bars.  A name has the same color
        and marker in every panel of its row.
    xlabel : str
        Of the horizontal axes.
    log : bool
        Whether they are logarithmic.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = max(map(len, rows.values()))
    figure = Figure(figsize=(3.2 * columns + 2.2, 2.5 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex="col", sharey="row", squeeze=False)
    for axes, (ylabel, panels) in zip(grid, rows.items(), strict=True):
        handles = _draw_panels(axes, panels)
        axes[0].set_ylabel(ylabel)
        last = axes[len(panels) - 1]
        last.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    for ax in figure.axes:
        ax.set_xscale("log" if log else "linear")
    figure.supxlabel(xlabel, fontsize="medium")
    return figure


def _draw_panels(axes: NDArray[Any], panels: Mapping[str, Mapping[str, Line]]) -> list[Line2D]:
    """Draw a panel in each of the first axes and remove the others; return lines for a legend."""
    styles = series_of([name for lines in panels.values() for name in lines])
    for ax, (heading, lines) in zip(axes, panels.items(), strict=False):
        for name, (x, y, error) in lines.items():
            ax.errorbar(x, y, yerr=error, capsize=2, **styles[name])
        ax.set_title(heading, fontsize="medium")
        ax.grid(alpha=0.3)
    for unused in axes[len(panels) :]:
        unused.remove()
    return legend_lines(styles)


def svg_text(figure: Figure) -> str:
    """A figure as SVG: the same text whenever it is the same figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    """
    buffer = StringIO()
    with rc_context({"svg.hashsalt": "propcvx"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
