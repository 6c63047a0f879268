"""Instances with two features, and the side that each place is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.plotting.style import BLUE, CLASSES, VERMILION, Array

RESOLUTION = 200
"""Points along each side of the grid on which scores are computed."""

POINTS: dict[str, Any] = {"s": 22, "edgecolors": "white", "linewidths": 0.4, "zorder": 3}
"""How instances are drawn."""


def check_plane(X: Any) -> Array:
    """X as an array; an error if it has not two columns."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise InputError(f"X must have two columns to be drawn in the plane, got shape {X.shape}.")
    return X


def draw_points(ax: Axes, X: Array, labels: NDArray[Any], *, named: bool = True) -> None:
    """Instances in the colour and with the mark of their class."""
    for label, name, colour, marker in CLASSES:
        chosen = X[np.sign(labels) == label]
        shown = name if named else None
        ax.scatter(chosen[:, 0], chosen[:, 1], color=colour, marker=marker, label=shown, **POINTS)


def draw_sides(scores_of: Callable[[Array], Array], X: Array, ax: Axes) -> None:
    """Both sides in the colours of their class, the boundary, and the margin where there is one."""
    room = 0.05 * np.ptp(X, axis=0)
    first, second = np.linspace(X.min(axis=0) - room, X.max(axis=0) + room, RESOLUTION).T
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    scores = scores_of(grid.reshape(-1, 2)).reshape(RESOLUTION, RESOLUTION)
    ax.contourf(
        first, second, scores, levels=(-np.inf, 0.0, np.inf), colors=(VERMILION, BLUE), alpha=0.12
    )
    levels = [level for level in (-1.0, 0.0, 1.0) if scores.min() < level < scores.max()]
    dashes = ["-" if level == 0.0 else ":" for level in levels]
    if levels:
        ax.contour(first, second, scores, levels=levels, colors=["black"], linestyles=dashes)
