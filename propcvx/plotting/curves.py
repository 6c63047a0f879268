"""Curves and points by name, in panels with logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from propcvx.plotting.style import Array, series_of

Curve = tuple[Array, Array]


def curve_panels(
    panels: Mapping[str, Mapping[str, Curve]],
    xlabel: str,
    ylabel: str,
    *,
    steps: bool = False,
    joined: bool = True,
    log_y: bool = True,
) -> Figure:
    """Curves against a logarithmic axis, in panels.

    Parameters
    ----------
    panels : mapping of str to mapping of str to (x, y)
        By the heading of the panel and the name of the curve, which has one colour and mark
        everywhere.
    xlabel, ylabel : str
    steps : bool
        Whether a curve keeps its value up to the next point.
    joined : bool
        Whether points are joined.
    log_y : bool
        Whether the vertical axis is logarithmic, too.

    Returns
    -------
    matplotlib.figure.Figure
    """
    styles = series_of([name for curves in panels.values() for name in curves])
    hidden = {} if joined else {"linestyle": "none"}
    figure = Figure(figsize=(3.4 * len(panels) + 1.8, 3.0), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (heading, curves) in zip(grid, panels.items(), strict=True):
        for name, (x, y) in curves.items():
            ax.plot(x, y, drawstyle="steps-post" if steps else "default", **styles[name] | hidden)
        ax.set(title=heading, xlabel=xlabel, xscale="log", yscale="log" if log_y else "linear")
        ax.grid(alpha=0.3)
    grid[0].set_ylabel(ylabel)
    handles = [Line2D([], [], **style | hidden, label=name) for name, style in styles.items()]
    grid[-1].legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8
    )
    return figure
