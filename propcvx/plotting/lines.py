"""Lines: what was measured, against bag sizes or a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.plotting.style import GREY, Line, axes_of, figure_of_panels, legend_lines, series_of


def accuracy_by_bag_size(panels: Mapping[str, Mapping[str, Line]], title: str = "") -> Figure:
    """Accuracy against bag size, a panel for each method, all on the same axes.

    Parameters
    ----------
    panels : mapping of str to mapping of str to Line
        For each method lines by name, as bag sizes, accuracies in percent and half
        lengths of error bars; NaN is no bar.  Lines of one name look alike in all panels.
    title : str
        Above the whole.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, grid = figure_of_panels(len(panels), 2, (3.6, 2.5), around=(0, 0.8))
    handles = _draw_panels(grid, panels)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    sizes = sorted({x for lines in panels.values() for line in lines.values() for x in line[0]})
    grid[0].set_xscale("log", base=2)
    grid[0].set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    grid[0].minorticks_off()
    for ax in grid[-2:]:
        ax.set_xlabel("instances in a bag")
        ax.tick_params(labelbottom=True)
    figure.supylabel("accuracy on test instances (%)", fontsize="medium")
    figure.suptitle(title)
    return figure


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
        handles = _draw_panels(axes, panels)
        axes[0].set_ylabel(ylabel)
        last = axes[len(panels) - 1]
        last.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    grid[0, 0].set_xscale("log" if log else "linear")
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


def regularisation_path(
    rows: Sequence[Mapping[str, float]], parameter: str = "C", ax: Axes | None = None
) -> Axes:
    """Accuracy, bag error or whatever was measured against a parameter.

    Of several rows with one value of the parameter, such as those of several draws of the bags,
    there is a line through the means, and a shade from the smallest to the largest.

    Parameters
    ----------
    rows : sequence of mapping
        Numbers by name, the parameter among them; all others are drawn, a line each.
    parameter : str
        Name of the parameter, whose axis is logarithmic.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If there are no rows, or they are not numbers by the same names, ``parameter`` among them.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if parameter not in names or any(set(row) != set(names) for row in rows):
        raise InputError(
            f"rows must have numbers by the same names, {parameter!r} among them, got {names}"
            f" in {len(rows)} rows."
        )
    ax, values = axes_of(ax), np.unique([row[parameter] for row in rows])
    names.remove(parameter)
    for name, style in series_of(names).items():
        groups = [[row[name] for row in rows if row[parameter] == value] for value in values]
        ax.plot(values, [np.mean(group) for group in groups], label=name, **style)
        if len(rows) > len(values):
            lowest, highest = ([end(group) for group in groups] for end in (min, max))
            ax.fill_between(values, lowest, highest, color=style["color"], alpha=0.15)
    ax.set(xscale="log", xlabel=parameter)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, ncols=1 + len(names) // 8)
    return ax


def coefficients(models: Sequence[Any], parameter: str = "C", ax: Axes | None = None) -> Axes:
    """Weights of linear classifiers against a parameter: a regularisation path.

    Parameters
    ----------
    models : sequence of fitted estimators
        With ``coef_``, as of :func:`propcvx.estimators.fit_grid`.  After fits to a DataFrame its
        columns name the weights.
    parameter : str
        The one in which they differ.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    rows = []
    for model in models:
        if len(model.coef_) > 1:
            raise InputError(f"models must be of two classes, got one of {len(model.coef_)}.")
        numbered = [f"$w_{{{j}}}$" for j in range(1, model.coef_.shape[1] + 1)]
        names = getattr(model, "feature_names_in_", numbered)
        by_name = dict(zip(names, model.coef_[0], strict=True))
        rows.append({parameter: model.get_params()[parameter], **by_name})
    ax = regularisation_path(rows, parameter, ax)
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    ax.set_ylabel("weight")
    return ax
