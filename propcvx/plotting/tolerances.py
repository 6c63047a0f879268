"""What a fit becomes as its solver is less exact."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from propcvx.plotting.style import Array, series_of

Sweep = tuple[Array, Array, Array, Array]

LEAST = 1e-12
"""Differences below it are drawn there."""


def tolerance_sweep(methods: Mapping[str, Mapping[str, Sweep]]) -> Figure:
    """Objective, labels and accuracy of fits against the tolerance of their solver.

    Parameters
    ----------
    methods : mapping of str to mapping of str to (tols, differences, agreements, accuracies)
        A row of panels for each method, a line for each solver: relative differences of the
        objective from the reference, shares of labels that are those of the reference, and
        accuracies on held-out instances.

    Returns
    -------
    matplotlib.figure.Figure
    """
    styles = series_of([name for lines in methods.values() for name in lines])
    figure = Figure(figsize=(10.5, 2.3 * len(methods) + 0.5), layout="constrained")
    grid = figure.subplots(len(methods), 3, sharex=True, squeeze=False)
    for axes, (method, lines) in zip(grid, methods.items(), strict=True):
        for name, (tols, differences, agreements, accuracies) in lines.items():
            axes[0].plot(tols, np.maximum(np.abs(differences), LEAST), **styles[name])
            axes[1].plot(tols, 100.0 * agreements, **styles[name])
            axes[2].plot(tols, 100.0 * accuracies, **styles[name])
        axes[0].set(yscale="log", ylabel="difference of the objective")
        axes[1].set(ylabel="labels as the reference (%)", title=method)
        axes[2].set(ylabel="accuracy (%)")
        for ax in axes:
            ax.set(xscale="log")
            ax.grid(alpha=0.3)
    grid[0, 0].invert_xaxis()
    handles = [Line2D([], [], **style, label=name) for name, style in styles.items()]
    figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=8)
    figure.supxlabel("tolerance of the solver", fontsize="medium")
    return figure
