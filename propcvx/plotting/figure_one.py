"""Bags in the plane, and what methods make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product
from string import ascii_lowercase
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from propcvx.errors import InputError
from propcvx.plotting.plane import draw_points
from propcvx.plotting.style import CLASSES, GREY, PURPLE, Array

Panel = tuple[str, Callable[[Axes], None]]
Panels = Sequence[tuple[str, Mapping[str, Any]]]

RESOLUTION, SHADE, MAX_COLUMNS = 401, 0.16, 4
LEGEND_BELOW: dict[str, Any] = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.07),
    "ncols": 2,
    "fontsize": "small",
    "columnspacing": 1.0,
    "frameon": False,
}
LINES = (("black", "-"), (PURPLE, (0, (4, 2))))


def figure_one(data: Any, panels: Panels, title: str = "") -> Figure:
    """Bags in the plane, and what methods make of them: Figure 1 of the paper.

    Parameters
    ----------
    data : BaggedData
        Bags of instances with two features.
    panels : sequence of (str, mapping of str to classifier)
        For each panel below those of the bags its heading, and up to two fitted classifiers by
        the text that names them.  The last one is drawn in the panels of the bags too.
    title : str
        Above the whole.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If instances have not two features, or a panel has more than two classifiers.
    """
    _check_panels(data, panels)
    reach = 1.1 * float(np.abs(data.X).max())
    rows = [*_wrapped(_bag_panels(data, panels, reach)), *_wrapped(_decisions(data, panels, reach))]
    columns = max(map(len, rows))
    figure = Figure(figsize=(4.1 * columns, 5.2 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex=True, sharey=True, squeeze=False)
    letters = _letters()
    for axes, row, below in zip(grid, rows, [*rows[1:], []], strict=True):
        for column, (ax, (heading, draw)) in enumerate(zip(axes, row, strict=False)):
            draw(ax)
            ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            ax.set_title(f"({next(letters)}) {heading}")
            ax.tick_params(labelbottom=column >= len(below))
            ax.legend(**LEGEND_BELOW)
        for unused in axes[len(row) :]:
            unused.remove()
    figure.suptitle(title)
    return figure


def _check_panels(data: Any, panels: Panels) -> None:
    if data.X.shape[1] != 2:
        raise InputError(f"data must have two features to be drawn, got {data.X.shape[1]}.")
    for heading, classifiers in panels:
        if not 1 <= len(classifiers) <= len(LINES):
            raise InputError(
                f"panels must have 1 to {len(LINES)} classifiers each, got {len(classifiers)} in "
                f"{heading!r}."
            )


def _bag_panels(data: Any, panels: Panels, reach: float) -> list[Panel]:
    """A panel for each bag, with the last classifier of all."""
    last = [list(classifiers.items())[-1] for _, classifiers in panels[-1:]]

    def draw(ax: Axes, bag: Any) -> None:
        _draw_bag(ax, data, bag)
        for name, classifier in last:
            _draw_line(ax, classifier, reach, GREY, ":", name)

    return [
        (f"bag {number}: {share:.0%} positive", partial(draw, bag=bag))
        for number, (bag, share) in enumerate(data.proportions.items(), start=1)
    ]


def _decisions(data: Any, panels: Panels, reach: float) -> list[Panel]:
    """A panel for each group of classifiers."""

    def draw(ax: Axes, classifiers: Mapping[str, Any]) -> None:
        _draw_decisions(ax, classifiers, reach)
        draw_points(ax, data.X, data.labels, named=False)

    return [(heading, partial(draw, classifiers=classifiers)) for heading, classifiers in panels]


def _wrapped(panels: list[Panel]) -> list[list[Panel]]:
    """Panels in rows of as equal a length as can be."""
    n_rows = -(-len(panels) // MAX_COLUMNS)
    length = -(-len(panels) // max(n_rows, 1))
    return [panels[first : first + length] for first in range(0, len(panels), max(length, 1))]


def _letters() -> Iterator[str]:
    """The letters a to z, then aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _draw_bag(ax: Axes, data: Any, bag: Any) -> None:
    """The points of one bag, and their mean."""
    inside = data.bags == bag
    draw_points(ax, data.X[inside], data.labels[inside])
    mean = data.X[inside].mean(axis=0)
    style: dict[str, Any] = {"s": 260, "color": "black", "marker": "*", "edgecolors": "white"}
    ax.scatter(mean[0], mean[1], label="mean of the bag", zorder=4, **style)


def _draw_decisions(ax: Axes, classifiers: Mapping[str, Any], reach: float) -> None:
    """Each classifier's line; shaded, what all of them predict."""
    for (name, classifier), (colour, dashes) in zip(classifiers.items(), LINES, strict=False):
        _draw_line(ax, classifier, reach, colour, dashes, name)
    ticks = np.linspace(-reach, reach, RESOLUTION)
    signs = np.sign([_scores(classifier, ticks) for classifier in classifiers.values()])
    for label, name, colour, _ in CLASSES:
        agreed = (signs == label).all(axis=0).astype(float)
        ax.contourf(ticks, ticks, agreed, levels=(0.5, 1.5), colors=[colour], alpha=SHADE)
        ax.add_patch(Rectangle((0, 0), 0, 0, color=colour, alpha=SHADE, label=f"predicted {name}"))


def _draw_line(
    ax: Axes, classifier: Any, reach: float, colour: str, dashes: Any, name: str
) -> None:
    """The line where a classifier's score is 0, if it is in sight."""
    ticks = np.linspace(-reach, reach, RESOLUTION)
    scores = _scores(classifier, ticks)
    ax.plot([], [], color=colour, linestyle=dashes, label=name)
    if scores.min() < 0.0 < scores.max():
        ax.contour(ticks, ticks, scores, levels=(0.0,), colors=[colour], linestyles=[dashes])


def _scores(classifier: Any, ticks: Array) -> Array:
    """Scores on a square grid."""
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    return np.reshape(classifier.decision_function(grid), (len(ticks), len(ticks)))
