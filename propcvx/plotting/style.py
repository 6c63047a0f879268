"""Common parts of pictures: colors, marks and dashes, axes, points and sides in the plane.

Colors are those of Okabe and Ito, which most color-blind readers can distinguish; classes also
differ by their marker, and lines by their dashes.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from math import ceil
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import issparse

from propcvx.arrays import Array
from propcvx.errors import InputError

BLUE, VERMILION, PURPLE, GRAY = "#0072B2", "#D55E00", "#8E3B73", "#555555"
CLASSES = ((1, "positive", BLUE, "o"), (-1, "negative", VERMILION, "^"))
"""Label, name, color and marker of both classes."""
POINTS: dict[str, Any] = {"s": 22, "edgecolors": "white", "linewidths": 0.4, "zorder": 3}
"""Style of instances."""


def axes_of(ax: Axes | None, size: tuple[float, float] = (5.0, 3.4)) -> Axes:
    """Return the given axes, or the axes of a new figure with a size in inches."""
    return Figure(figsize=size, layout="constrained").subplots() if ax is None else ax


def figure_of_panels(
    n_panels: int, columns: int, panel: tuple[float, float]
) -> tuple[Figure, NDArray[Any]]:
    """Make a figure and its axes row by row, of one size in inches, on the same scales."""
    rows = ceil(n_panels / columns)
    figure = Figure(figsize=(columns * panel[0], rows * panel[1]), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in axes[n_panels:]:
        unused.remove()
    return figure, axes[:n_panels]


def check_plane(X: Any) -> Array:
    """Return X as an array, or raise an error unless it has two columns."""
    X = np.asarray(X.toarray() if issparse(X) else X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise InputError(f"X must have two columns to be drawn in the plane; got shape {X.shape}.")
    return X


def draw_points(ax: Axes, X: Array, labels: NDArray[Any] | None, *, legend: bool = True) -> None:
    """Draw instances in the color and mark of their class; gray if labels are not known."""
    if labels is None:
        ax.scatter(X[:, 0], X[:, 1], color=GRAY, **POINTS)
        return
    for label, name, color, marker in CLASSES:
        points = X[np.sign(labels) == label]
        text = name if legend else None
        ax.scatter(points[:, 0], points[:, 1], color=color, marker=marker, label=text, **POINTS)


def scores_on_grid(scores_of: Callable[[Array], Array], first: Array, second: Array) -> Array:
    """Compute scores at the points of a grid, a row for each second coordinate."""
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    scores = np.asarray(scores_of(grid.reshape(-1, 2)))
    if scores.ndim > 1:
        raise InputError(f"a boundary must be of two classes; got {scores.shape[1]}.")
    return scores.reshape(grid.shape[:2])


def draw_sides(scores_of: Callable[[Any], Array], X: Any, ax: Axes) -> None:
    """Draw both sides in the colors of their class, the boundary, and dotted scores of -1 and 1.

    If X is a DataFrame, the points of the scores are a DataFrame, too.
    """
    names, plane = getattr(X, "columns", None), check_plane(X)
    margin = 0.05 * np.ptp(plane, axis=0)
    first, second = np.linspace(plane.min(axis=0) - margin, plane.max(axis=0) + margin, 200).T

    def scores_at(points: Array) -> Array:
        return scores_of(points if names is None else type(X)(points, columns=names))

    scores = scores_on_grid(scores_at, first, second)
    sides: dict[str, Any] = {"levels": (-np.inf, 0.0, np.inf), "colors": (VERMILION, BLUE)}
    ax.contourf(first, second, scores, alpha=0.12, **sides)
    levels = [level for level in (-1.0, 0.0, 1.0) if scores.min() < level < scores.max()]
    dashes = ["-" if level == 0.0 else ":" for level in levels]
    if levels:
        ax.contour(first, second, scores, levels=levels, colors=["black"], linestyles=dashes)
    xlabel, ylabel = ("$x_1$", "$x_2$") if names is None else names
    ax.set(xlabel=xlabel, ylabel=ylabel)


def svg(ax: Axes) -> str:
    """Return the picture of axes as an SVG element without a date."""
    text = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "propcvx"}):
        metadata = {"Date": None}
        figure: Any = ax.figure
        figure.savefig(text, format="svg", bbox_inches="tight", metadata=metadata)
    return text.getvalue()[text.getvalue().index("<svg") :]
