"""Comparisons of methods: Figure 1 of the paper, and accuracies on one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from math import ceil, sqrt
from string import ascii_lowercase
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from propcvx.checks import check_labeling
from propcvx.errors import InputError
from propcvx.plotting.style import (
    CLASSES,
    GRAY,
    PURPLE,
    Array,
    check_plane,
    draw_points,
    figure_of_panels,
    scores_on_grid,
)

Panels = Sequence[tuple[str, Mapping[str, Any]]]

SHADE = 0.16
LINES = (("black", "-"), (PURPLE, (0, (4, 2))))


def figure_one(data: Any, panels: Panels) -> Figure:
    """Draw bags in the plane and the decisions of methods: Figure 1 of the paper.

    Parameters
    ----------
    data : BaggedData
        Bags of instances with two features.
    panels : sequence of (str, mapping of str to classifier)
        For each panel after the panels of bags, its heading, and up to two fitted classifiers by
        name.  The last classifier is drawn in the panels of the bags too.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If instances have not two features and a label -1 or +1 each, or a panel has more than two
        classifiers.
    """
    X = check_plane(data.X)
    check_labeling("data.labels", data.labels, len(X))
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    reach = 0.55 * float(np.ptp(X, axis=0).max()) or 1.0
    ticks = np.linspace(middle - reach, middle + reach, 401).T
    last = dict([*panels[-1][1].items()][-1:] if panels else [])
    n_bags, n_panels = len(data.proportions), len(data.proportions) + len(panels)
    columns = n_panels if n_panels <= 3 else ceil(sqrt(n_panels))
    figure, grid = figure_of_panels(n_panels, columns, (4.1, 5.2))
    for place, (bag, p) in enumerate(data.proportions.items()):
        _draw_bag(data, bag, last, ticks, grid[place])
        grid[place].set_title(f"bag {place + 1}: {p:.0%} positive")
    for ax, (heading, classifiers) in zip(grid[n_bags:], panels, strict=True):
        _draw_decisions(data, classifiers, ticks, ax)
        ax.set_title(heading)
    letters = (letter * times for times in count(1) for letter in ascii_lowercase)
    for ax, letter in zip(grid, letters, strict=False):
        ax.set(xlim=ticks[0, [0, -1]], ylim=ticks[1, [0, -1]], aspect="equal")
        ax.tick_params(labelbottom=True)  # as legends separate the rows
        ax.set_title(f"({letter}) {ax.get_title()}")
        position: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.07)}
        ax.legend(**position, ncols=2, fontsize="small", columnspacing=1.0, frameon=False)
    return figure


def _draw_bag(data: Any, bag: Any, last: Mapping[str, Any], ticks: Array, ax: Axes) -> None:
    """Draw the points of one bag, their mean, and the line of the last classifier."""
    members = data.bags == bag
    draw_points(ax, data.X[members], data.labels[members])
    mean = data.X[members].mean(axis=0)
    style: dict[str, Any] = {"s": 260, "color": "black", "marker": "*", "edgecolors": "white"}
    ax.scatter(mean[0], mean[1], label="mean of the bag", zorder=4, **style)
    _draw_lines(ax, last, ticks, [(GRAY, ":")])


def _draw_decisions(data: Any, classifiers: Mapping[str, Any], ticks: Array, ax: Axes) -> None:
    """Draw each classifier's line, and shade the regions where all predict the same class."""
    if not 1 <= len(classifiers) <= len(LINES):
        raise InputError(
            f"each panel must have 1 to {len(LINES)} classifiers; got {list(classifiers)}."
        )
    signs = _draw_lines(ax, classifiers, ticks, LINES)
    for label, name, color, _ in CLASSES:
        agreed = (signs == label).all(axis=0).astype(float)
        ax.contourf(*ticks, agreed, levels=(0.5, 1.5), colors=[color], alpha=SHADE)
        ax.add_patch(Rectangle((0, 0), 0, 0, color=color, alpha=SHADE, label=f"predicted {name}"))
    draw_points(ax, data.X, data.labels, legend=False)


def _draw_lines(
    ax: Axes, classifiers: Mapping[str, Any], ticks: Array, styles: Sequence[Any]
) -> Array:
    """Draw the visible lines of zero scores; return the signs of scores at the ticks of a grid."""
    signs = []
    for (name, classifier), (color, dashes) in zip(classifiers.items(), styles, strict=False):
        scores = scores_on_grid(classifier.decision_function, *ticks)
        ax.plot([], [], color=color, linestyle=dashes, label=name)
        if scores.min() < 0.0 < scores.max():
            ax.contour(*ticks, scores, levels=(0.0,), colors=[color], linestyles=[dashes])
        signs.append(np.sign(scores))
    return np.array(signs)
