"""Methods beside each other on one data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.plotting.style import BLUE, GREY, Array


def method_comparison(
    accuracies: Mapping[str, float],
    ceiling: tuple[str, float],
    proportions: Mapping[str, tuple[Array, Array]],
    n_instances: int,
    title: str = "",
) -> Figure:
    """Accuracy of methods beside a ceiling; below, predicted against true proportions of bags.

    Parameters
    ----------
    accuracies : mapping of str to float
        Accuracy on held-out instances, by method.
    ceiling : (str, float)
        Name and accuracy of the method that sees the labels.
    proportions : mapping of str to (array, array)
        True and predicted proportions of held-out bags, by method.
    n_instances : int
        Number of held-out instances, for the standard error.
    title : str
        Above the whole.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = Figure(figsize=(2.2 * len(proportions), 5.8), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=(1, 1.1))
    _draw_accuracies(rows[0].subplots(), accuracies, ceiling, n_instances)
    panels = rows[1].subplots(1, len(proportions), sharex=True, sharey=True, squeeze=False)[0]
    shares = np.concatenate([np.concatenate(pair) for pair in proportions.values()])
    limits = (max(0.0, shares.min() - 0.08), min(1.0, shares.max() + 0.08))
    for ax, (name, (true, predicted)) in zip(panels, proportions.items(), strict=True):
        _draw_proportions(ax, name, true, predicted)
        ax.set(xlim=limits, ylim=limits, aspect="equal")
    panels[0].set_ylabel("predicted share of positives")
    rows[1].supxlabel("true share of positives in a held-out bag", fontsize="medium")
    figure.suptitle(title)
    return figure


def _draw_accuracies(
    ax: Axes, accuracies: Mapping[str, float], ceiling: tuple[str, float], n_instances: int
) -> None:
    values = 100.0 * np.array(list(accuracies.values()))
    errors = np.sqrt(values * (100.0 - values) / n_instances)
    rows = np.arange(len(values))[::-1]
    ax.errorbar(values, rows, xerr=errors, fmt="o", color=BLUE, capsize=3, markersize=7)
    for row, value in zip(rows, values, strict=True):
        ax.annotate(f"{value:.1f}", (value, row), (0, 7), textcoords="offset points", ha="center")
    name, top = ceiling
    ax.axvline(100.0 * top, color=GREY, linestyle="--")
    ax.annotate(
        f"{name}: {top:.1%}",
        (100.0 * top, 1.0),
        (0, 4),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        ha="center",
    )
    ax.set_yticks(rows, list(accuracies))
    ax.set_ylim(-0.6, len(values) - 0.2)
    ax.set_xlabel(f"accuracy on {n_instances} held-out instances, with its standard error (%)")
    ax.grid(axis="x", alpha=0.3)


def _draw_proportions(ax: Axes, name: str, true: Array, predicted: Array) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
    ax.plot(true, predicted, "o", color=BLUE, alpha=0.65, markersize=6, zorder=2)
    error = float(np.mean(np.abs(true - predicted)))
    ax.set_title(f"{name}\nbag error {error:.3f}", fontsize="medium")
