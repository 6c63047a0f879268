"""Pictures of relaxations and certified bounds: intervals as they close, trees, labelings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from propcvx.bounds import CertifiedInterval
from propcvx.bounds.interval import NodeRecord
from propcvx.plotting.style import GREY, SERIES, VERMILION, axes_of
from propcvx.relaxation import RelaxationResult
from propcvx.relaxation.bounds import Bounds

Array = NDArray[np.float64]

STATUS: dict[str, dict[str, Any]] = {
    "branched": {"marker": "o", "color": GREY},
    "closed": {"marker": "s", "color": SERIES[0]["color"]},
    "stalled": {"marker": "X", "color": VERMILION},
    "open": {"marker": "^", "color": "#E69F00"},
}


def bounds_by_round(rounds: Sequence[Bounds], ax: Axes | None = None) -> Axes:
    """Both bounds of the best labeling's value after each round of conv-pSVM.

    Parameters
    ----------
    rounds : sequence of Bounds
        ``bounds_history_`` of a :class:`propcvx.ConvPropSVM`.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax, cuts = axes_of(ax), np.arange(1.0, len(rounds) + 1)
    _draw_interval(ax, cuts, [one.lower for one in rounds], [one.upper for one in rounds])
    ax.set_xlabel("cuts")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def bounds_by_time(result: CertifiedInterval, ax: Axes | None = None) -> Axes:
    """The interval around the best labeling's value as it closes.

    Parameters
    ----------
    result : CertifiedInterval
        As of :func:`propcvx.estimators.certify`.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax, events = axes_of(ax), result.history
    seconds = [*(event.seconds for event in events), result.seconds]
    lower = [*(event.lower for event in events), result.lower]
    upper = [*(event.upper for event in events), result.upper]
    _draw_interval(ax, np.array(seconds), lower, upper)
    ax.set_xlabel("seconds")
    return ax


def _draw_interval(ax: Axes, x: Array, lower: Sequence[float], upper: Sequence[float]) -> None:
    finite = np.isfinite(lower) & np.isfinite(upper)
    below, above = np.asarray(lower)[finite], np.asarray(upper)[finite]
    style: dict[str, Any] = {"where": "post", "markersize": 4}
    ax.fill_between(x[finite], below, above, step="post", color=GREY, alpha=0.15)
    ax.step(x[finite], above, label="upper bound", **style, marker="v", color=VERMILION)
    ax.step(x[finite], below, label="lower bound", **style, marker="^", color=SERIES[0]["color"])
    ax.set_ylabel("best labeling's value")
    ax.legend(frameon=False)


def tree(result: CertifiedInterval, ax: Axes | None = None) -> Axes:
    """The tree of branch and bound: each node at its depth, with its lower bound.

    A node whose bound is above the dashed line, the best labeling known, is closed.

    Parameters
    ----------
    result : CertifiedInterval
        With ``nodes``, as of :func:`propcvx.estimators.certify` where it went as far as branching.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax, nodes = axes_of(ax), {node.index: node for node in result.nodes}
    places = _places(nodes)
    for node in nodes.values():
        if node.parent in nodes:
            ends = (node, nodes[node.parent])
            x, y = [places[end.index] for end in ends], [end.lower for end in ends]
            ax.plot(x, y, color="0.8", zorder=1)
    for status, style in STATUS.items():
        chosen = [node for node in nodes.values() if node.status == status]
        if chosen:
            at = [places[node.index] for node in chosen]
            ax.scatter(at, [node.lower for node in chosen], label=status, zorder=2, **style)
    ax.axhline(result.upper, color=VERMILION, linestyle="--", label="best labeling known")
    ax.set(ylabel="lower bound", xticks=[])
    ax.legend(frameon=False)
    return ax


def _places(nodes: dict[int, NodeRecord]) -> dict[int, float]:
    """Horizontal places: leaves side by side, parents in the middle of their children."""
    children: dict[int, list[int]] = {index: [] for index in nodes}
    for node in nodes.values():
        children.get(node.parent, []).append(node.index)
    places: dict[int, float] = {}
    leaves = (index for index in _depth_first(nodes, children) if not children[index])
    places.update({index: float(place) for place, index in enumerate(leaves)})
    for node in sorted(nodes.values(), key=lambda node: -node.depth):
        if children[node.index]:
            places[node.index] = float(np.mean([places[child] for child in children[node.index]]))
    return places


def _depth_first(nodes: dict[int, NodeRecord], children: dict[int, list[int]]) -> Iterator[int]:
    """The nodes from left to right, parents before their children."""
    stack = [index for index, node in nodes.items() if node.parent not in nodes]
    while stack:
        index = stack.pop()
        yield index
        stack.extend(reversed(children[index]))


def labelings(result: RelaxationResult, ax: Axes | None = None) -> Axes:
    r"""The labelings that a relaxation mixes, a row each, from the one of most weight down.

    Parameters
    ----------
    result : RelaxationResult
        ``relaxation_`` of a :class:`propcvx.ConvPropSVM`, or what a relaxation's ``relax`` returns.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes
    """
    ax, order = axes_of(ax), np.argsort(-result.weights, kind="stable")
    reach = float(np.abs(result.vectors).max())
    image = ax.imshow(
        result.vectors[order],
        cmap="RdBu",
        vmin=-reach,
        vmax=reach,
        aspect="auto",
        interpolation="nearest",
    )
    ax.set_yticks(range(len(order)), [f"{weight:.2f}" for weight in result.weights[order]])
    ax.set(xlabel="instance", ylabel=r"weight $\mu_t$")
    ax.figure.colorbar(image, ax=ax, label="label")
    return ax
