"""Pictures of fits: history, decision boundary, proportions of bags, Figure 1 of the paper."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from math import ceil, sqrt
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from propcvx.bags.bags import Bags
from propcvx.checks import check_labeling
from propcvx.errors import InputError
from propcvx.estimators import InvCal
from propcvx.history import FitResult
from propcvx.plotting.style import (
    BLUE,
    CLASSES,
    GRAY,
    PURPLE,
    Array,
    axes_of,
    check_plane,
    draw_points,
    draw_sides,
    figure_of_panels,
    scores_on_grid,
)

FRAMES_PER_SECOND = 4


def history(fitted: Any, ax: Axes | None = None) -> Axes:
    r"""Draw the objective after each round of a fit; for alter-pSVM also :math:`C^*`.

    Parameters
    ----------
    fitted : estimator
        An estimator with ``history_``.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
    """
    ax = axes_of(ax)
    rounds = np.arange(1, len(fitted.history_) + 1)
    marker = "o" if len(rounds) < 30 else ""
    ax.plot(rounds, fitted.history_.objectives, marker=marker, color=BLUE, label="objective")
    ax.set(xlabel="round", ylabel="objective")
    ax.locator_params(axis="x", integer=True)
    annealing = [record.C_star for record in fitted.history_]
    if None not in annealing:
        ax.plot(rounds, annealing, color=GRAY, linestyle=":", label="$C^*$")
        ax.set(yscale="log", ylabel="objective, $C^*$")
    ax.legend(frameon=False)
    return ax


def boundary(
    fitted: Any, X: Any, labels: NDArray[Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the decision boundary of a classifier of two features, and the instances.

    Dotted lines are at scores of -1 and 1: the margin, if the classifier is one SVM.

    Parameters
    ----------
    fitted : classifier
        A classifier with ``decision_function`` of two features.
    X : array or DataFrame of shape (n_instances, 2)
        The columns of a DataFrame name the axes.
    labels : array of shape (n_instances,), optional
        Colors and marks the instances by class.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If X has not two columns, or labels are not -1 or +1 for each of its rows.
    """
    plane = check_plane(X)
    labels = None if labels is None else check_labeling("labels", labels, len(plane))
    ax = axes_of(ax)
    draw_sides(fitted.decision_function, X, ax)
    draw_points(ax, plane, labels)
    if labels is not None:
        ax.legend(frameon=False)
    return ax


def proportions(fitted: Any, X: Array, y: NDArray[np.void], ax: Axes | None = None) -> Axes:
    r"""Draw predicted against given proportions, a point for each bag.

    Points on the diagonal fit exactly; the band around it is the ``epsilon`` of conv-pSVM, if it is
    one number.  The ``epsilon`` of InvCal is on the scale of scores, and not drawn.

    Parameters
    ----------
    fitted : classifier
    X : array of shape (n_instances, n_features)
    y : bag target
        Made by :func:`propcvx.bag_target`.
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
    """
    ax, bags = axes_of(ax), Bags.from_target(y)
    predicted = bags.proportions_of(np.where(fitted.decision_function(X) > 0, 1.0, -1.0))
    epsilon = None if isinstance(fitted, InvCal) else getattr(fitted, "epsilon", None)
    limits = np.array([0.0, 1.0])
    ax.plot(limits, limits, color=GRAY, linewidth=1, label="exact")
    if isinstance(epsilon, float | int) and epsilon > 0:
        band: dict[str, Any] = {"color": GRAY, "alpha": 0.2, "label": "within epsilon"}
        ax.fill_between(limits, limits - epsilon, limits + epsilon, **band)
    sizes = 20 + 80 * bags.sizes / bags.sizes.max()
    style: dict[str, Any] = {"color": BLUE, "alpha": 0.7, "edgecolors": "white"}
    ax.scatter(bags.proportions, predicted, s=sizes, label="a bag", **style)
    ax.legend(frameon=False)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ax.set(xlabel="given proportion", ylabel="predicted proportion")
    return ax


class Film(FuncAnimation):
    """An animation that notebooks show as a GIF, also offline and on printed pages."""

    def _repr_html_(self) -> str:
        with TemporaryDirectory() as folder:
            path = Path(folder, "film.gif")
            self.save(str(path), writer=PillowWriter(fps=FRAMES_PER_SECOND))
            encoded = b64encode(path.read_bytes()).decode("ascii")
        return f'<img alt="animation" src="data:image/gif;base64,{encoded}">'


def annealing(frames: Iterable[FitResult], X: Array, ax: Axes | None = None) -> Film:
    r"""Animate Algorithm 1: labels and separator of every round, while :math:`C^*` rises.

    Parameters
    ----------
    frames : iterable of FitResult
        Results of :func:`propcvx.alternating.alternate` with a linear kernel.
    X : array of shape (n_instances, 2)
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        A notebook shows it; ``save("film.gif", writer="pillow")`` writes a file.

    Raises
    ------
    InputError
        If X has not two columns, or there are no frames.
    """
    X, ax, rounds = check_plane(X), axes_of(ax), list(frames)
    if not rounds:
        raise InputError("frames must hold at least one round; got none.")

    def draw(number: int) -> list[Any]:
        ax.clear()
        return [annealing_frame(rounds[number], X, ax)]

    figure = cast(Figure, ax.get_figure(root=True))
    return Film(figure, draw, frames=len(rounds), interval=1000 / FRAMES_PER_SECOND)


def annealing_frame(frame: FitResult, X: Array, ax: Axes | None = None) -> Axes:
    """Draw one round of Algorithm 1: the labels, and their separator with its margin.

    Parameters
    ----------
    frame : FitResult
        As in :func:`annealing`.
    X : array of shape (n_instances, 2)
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If X has not two columns.
    """
    X, ax = check_plane(X), axes_of(ax)
    draw_sides(frame.scores, X, ax)
    draw_points(ax, X, frame.labeling)
    number, last = len(frame.history), frame.history[-1]
    title = f"round {number}, $C^*$ = {last.C_star:.2g}, {last.n_flips} flips follow"
    ax.set_title(title, fontsize="medium")
    return ax


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
