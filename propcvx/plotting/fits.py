"""Pictures of a fitted estimator: what its loop did, where it decides, and how well bags fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.plotting.plane import POINTS, check_plane, draw_points, draw_sides
from propcvx.plotting.style import BLUE, GREY, SERIES, Array, axes_of


def history(fitted: Any, ax: Axes | None = None) -> Axes:
    r"""Objective after each round of a fit; for alter-pSVM :math:`C^*` beside it.

    Parameters
    ----------
    fitted : estimator
        With ``history_``.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax = axes_of(ax)
    rounds = np.arange(1, len(fitted.history_) + 1)
    style = SERIES[0] if len(rounds) < 30 else {**SERIES[0], "marker": ""}
    ax.plot(rounds, fitted.history_.objectives, label="objective", **style)
    ax.set(xlabel="round", ylabel="objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    annealing = [record.C_star for record in fitted.history_]
    if None not in annealing:
        ax.plot(rounds, annealing, color=GREY, linestyle=":", label="$C^*$")
        ax.set(yscale="log", ylabel="objective, $C^*$")
    ax.legend(frameon=False)
    return ax


def boundary(
    fitted: Any,
    X: Array,
    labels: NDArray[Any] | None = None,
    bags: NDArray[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Where a classifier of two features decides, and the instances.

    Parameters
    ----------
    fitted : classifier
        With ``decision_function`` of two features.
    X : array of shape (n_instances, 2)
    labels : array of shape (n_instances,), optional
        Colours and marks the instances by class.
    bags : array of shape (n_instances,), optional
        Writes each bag's id at its mean.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If X has not two columns.
    """
    X, ax = check_plane(X), axes_of(ax)
    draw_sides(fitted.decision_function, X, ax)
    if labels is None:
        ax.scatter(X[:, 0], X[:, 1], color=GREY, **POINTS)
    else:
        draw_points(ax, X, labels)
        ax.legend(frameon=False)
    if bags is not None:
        for bag in dict.fromkeys(np.asarray(bags).tolist()):
            ax.annotate(str(bag), X[np.asarray(bags) == bag].mean(axis=0), weight="bold")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    return ax


def proportions(fitted: Any, X: Array, y: NDArray[np.void], ax: Axes | None = None) -> Axes:
    r"""Predicted against given proportions, a point for each bag.

    Points on the diagonal fit exactly; the band around it is the ``epsilon`` of an estimator that
    has one, within which conv-pSVM allows a bag to be.

    Parameters
    ----------
    fitted : classifier
    X : array of shape (n_instances, n_features)
    y : bag target
        As of :func:`propcvx.bag_target`.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax, bags = axes_of(ax), Bags.from_target(y)
    predicted = bags.proportions_of(np.where(fitted.decision_function(X) > 0, 1.0, -1.0))
    epsilon = getattr(fitted, "epsilon", None)
    ends = np.array([0.0, 1.0])
    ax.plot(ends, ends, color=GREY, linewidth=1, label="exact")
    if isinstance(epsilon, float | int) and epsilon > 0:
        ax.fill_between(
            ends, ends - epsilon, ends + epsilon, color=GREY, alpha=0.2, label="within epsilon"
        )
    sizes = 20 + 80 * bags.sizes / bags.sizes.max()
    ax.scatter(bags.proportions, predicted, s=sizes, color=BLUE, alpha=0.7, edgecolors="white")
    bag = Line2D([], [], color=BLUE, marker="o", linestyle="", label="a bag")
    ax.legend(handles=[*ax.get_legend_handles_labels()[0], bag], frameon=False)
    ax.set(
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
        xlabel="given proportion",
        ylabel="predicted proportion",
        aspect="equal",
    )
    return ax


def coefficients(models: Sequence[Any], parameter: str = "C", ax: Axes | None = None) -> Axes:
    """Weights of linear classifiers against a parameter: a regularisation path.

    Parameters
    ----------
    models : sequence of fitted estimators
        With ``coef_``, as of :func:`propcvx.estimators.fit_grid`.
    parameter : str
        The one in which they differ.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax = axes_of(ax)
    values = np.array([model.get_params()[parameter] for model in models])
    order = np.argsort(values)
    weights = np.array([np.ravel(model.coef_) for model in models])[order]
    for j, (column, style) in enumerate(zip(weights.T, cycle(SERIES), strict=False)):
        ax.plot(values[order], column, label=f"$w_{{{j + 1}}}$", **style)
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    ax.set(xscale="log", xlabel=parameter, ylabel="weight")
    ax.legend(frameon=False, ncols=1 + len(weights.T) // 8)
    return ax
