"""Methods beside each other: Figure 1 of the paper, and accuracies on one data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from string import ascii_lowercase
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from propcvx.errors import InputError
from propcvx.plotting.style import BLUE, CLASSES, GREY, PURPLE, Array, draw_points, scores_on_grid

Panel = tuple[str, Callable[[Axes], None]]
Panels = Sequence[tuple[str, Mapping[str, Any]]]

SHADE, MAX_COLUMNS = 0.16, 4
LINES = (("black", "-"), (PURPLE, (0, (4, 2))))


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
    last = dict([*panels[-1][1].items()][-1:] if panels else [])
    in_bags: list[Panel] = [
        (f"bag {place}: {share:.0%} positive", partial(_draw_bag, data, bag, last, reach))
        for place, (bag, share) in enumerate(data.proportions.items(), start=1)
    ]
    decisions: list[Panel] = [
        (heading, partial(_draw_decisions, data, classifiers, reach))
        for heading, classifiers in panels
    ]
    rows = [*_wrapped(in_bags), *_wrapped(decisions)]
    columns = max(map(len, rows))
    figure = Figure(figsize=(4.1 * columns, 5.2 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex=True, sharey=True, squeeze=False)
    place = 0
    for axes, row, below in zip(grid, rows, [*rows[1:], []], strict=True):
        for column, (ax, (heading, draw)) in enumerate(zip(axes, row, strict=False)):
            draw(ax)
            letter = ascii_lowercase[place % 26] * (1 + place // 26)
            place += 1
            ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            ax.set_title(f"({letter}) {heading}")
            ax.tick_params(labelbottom=column >= len(below))
            at: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.07)}
            ax.legend(**at, ncols=2, fontsize="small", columnspacing=1.0, frameon=False)
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


def _wrapped(panels: list[Panel]) -> list[list[Panel]]:
    """Panels in rows of as equal a length as can be."""
    n_rows = -(-len(panels) // MAX_COLUMNS)
    length = -(-len(panels) // max(n_rows, 1))
    return [panels[first : first + length] for first in range(0, len(panels), max(length, 1))]


def _draw_bag(data: Any, bag: Any, last: Mapping[str, Any], reach: float, ax: Axes) -> None:
    """The points of one bag, their mean, and the line of the last classifier."""
    inside = data.bags == bag
    draw_points(ax, data.X[inside], data.labels[inside])
    mean = data.X[inside].mean(axis=0)
    style: dict[str, Any] = {"s": 260, "color": "black", "marker": "*", "edgecolors": "white"}
    ax.scatter(mean[0], mean[1], label="mean of the bag", zorder=4, **style)
    _draw_lines(ax, last, reach, [(GREY, ":")])


def _draw_decisions(data: Any, classifiers: Mapping[str, Any], reach: float, ax: Axes) -> None:
    """Each classifier's line; shaded, what all of them predict."""
    ticks, signs = _draw_lines(ax, classifiers, reach, LINES)
    for label, name, colour, _ in CLASSES:
        agreed = (signs == label).all(axis=0).astype(float)
        ax.contourf(ticks, ticks, agreed, levels=(0.5, 1.5), colors=[colour], alpha=SHADE)
        ax.add_patch(Rectangle((0, 0), 0, 0, color=colour, alpha=SHADE, label=f"predicted {name}"))
    draw_points(ax, data.X, data.labels, named=False)


def _draw_lines(
    ax: Axes, classifiers: Mapping[str, Any], reach: float, styles: Sequence[Any]
) -> tuple[Array, Array]:
    """The lines where scores are 0, if in sight; a grid's ticks and the signs of scores there."""
    ticks, signs = np.linspace(-reach, reach, 401), []
    for (name, classifier), (colour, dashes) in zip(classifiers.items(), styles, strict=False):
        scores = scores_on_grid(classifier.decision_function, ticks, ticks)
        ax.plot([], [], color=colour, linestyle=dashes, label=name)
        if scores.min() < 0.0 < scores.max():
            ax.contour(ticks, ticks, scores, levels=(0.0,), colors=[colour], linestyles=[dashes])
        signs.append(np.sign(scores))
    return ticks, np.array(signs)
