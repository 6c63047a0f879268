"""Accuracy against bag size, beside what is printed."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.plotting.style import Line, series_of

COLUMNS = 2


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
    n_rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(3.6 * COLUMNS, 2.5 * n_rows + 0.8), layout="constrained")
    grid = figure.subplots(n_rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    styles = series_of(names)
    sizes = sorted(
        {int(x) for lines in panels.values() for line in lines.values() for x in line[0]}
    )
    for ax, (method, lines) in zip(grid, panels.items(), strict=False):
        for name, (x, y, bar) in lines.items():
            ax.errorbar(x, y, yerr=bar, capsize=3, **styles[name])
        _bag_size_axis(ax, method, sizes)
    for unused in grid[len(panels) :]:
        unused.remove()
    handles = [grid[0].plot([], [], label=name, **styles[name])[0] for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(names), frameon=False)
    for ax in grid[: len(panels)][-COLUMNS:]:
        ax.set_xlabel("instances in a bag")
        ax.tick_params(labelbottom=True)
    figure.supylabel("accuracy on test instances (%)", fontsize="medium")
    figure.suptitle(title)
    return figure


def _bag_size_axis(ax: Axes, heading: str, sizes: list[int]) -> None:
    ax.set_title(heading, fontsize="medium")
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
