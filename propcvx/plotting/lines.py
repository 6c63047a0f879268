"""Lines with error bars, in panels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from propcvx.plotting.style import SERIES, Line


def line_grid(
    rows: Mapping[str, Mapping[str, Mapping[str, Line]]], xlabel: str, *, log: bool = False
) -> Figure:
    """Lines with error bars, in panels.

    Parameters
    ----------
    rows : mapping of str to mapping of str to mapping of str to Line
        For each row of panels the label of its vertical axis, for each panel its heading, and for
        each line its name with x, y and the half lengths of its bars.  A name has the same colour
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
    grid = figure.subplots(len(rows), columns, sharex=True, sharey="row", squeeze=False)
    for axes, (ylabel, panels) in zip(grid, rows.items(), strict=True):
        names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
        styles = dict(zip(names, cycle(SERIES), strict=False))
        for ax, (heading, lines) in zip(axes, panels.items(), strict=False):
            _draw_lines(ax, lines, styles)
            ax.set_title(heading, fontsize="medium")
            ax.set_xscale("log" if log else "linear")
        for unused in axes[len(panels) :]:
            unused.remove()
        axes[0].set_ylabel(ylabel)
        handles = [Line2D([], [], **styles[name], label=name) for name in names]
        last = axes[len(panels) - 1]
        last.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.supxlabel(xlabel, fontsize="medium")
    return figure


def _draw_lines(ax: Axes, lines: Mapping[str, Line], styles: Mapping[str, dict[str, Any]]) -> None:
    for name, (x, y, error) in lines.items():
        ax.errorbar(x, y, yerr=error, capsize=2, **styles[name])
    ax.grid(alpha=0.3)
