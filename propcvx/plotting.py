"""Pictures, as matplotlib figures that the caller saves; nothing global is changed.

Colours are those of Okabe and Ito, which most colour-blind readers can tell apart; classes also
differ by their marker, and lines by their dashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, cycle, product
from string import ascii_lowercase
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from propcvx.errors import InputError

Array = NDArray[np.float64]
Line = tuple[Array, Array, Array]
Panel = tuple[str, Callable[[Axes], None]]
Panels = Sequence[tuple[str, Mapping[str, Any]]]

BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#8E3B73", "#555555"
CLASSES = ((1, "positive", BLUE, "o"), (-1, "negative", VERMILION, "^"))
RESOLUTION, SHADE, MAX_COLUMNS = 401, 0.16, 4
LEGEND_BELOW: dict[str, Any] = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.07),
    "ncols": 2,
    "fontsize": "small",
    "columnspacing": 1.0,
    "frameon": False,
}
SERIES: Sequence[dict[str, Any]] = [
    {"color": colour, "marker": marker, "markersize": 4.5, "linestyle": dashes}
    for colour, marker, dashes in (
        (BLUE, "o", "-"),
        (VERMILION, "^", "--"),
        ("#009E73", "s", "-."),
        (PURPLE, "D", ":"),
        ("#E69F00", "v", "-"),
        (GREY, "P", "--"),
    )
]
LINES = (("black", "-"), (PURPLE, (0, (4, 2))))
CURVES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
MARKERS = "o^sDvP*X<>"
Comparisons = Sequence[tuple[str, Sequence[Mapping[str, Any]]]]


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


def interval_comparison(comparisons: Comparisons) -> Figure:
    """What each kind of relaxation or bound says of the best labeling's value, as an interval.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        For each panel its heading and the rows of
        :func:`propcvx.experiments.laboratory.compare_relaxations`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    height = max(0.27 * len(rows) for _, rows in comparisons) + 1.1
    figure = Figure(figsize=(7.5, height * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)[:, 0]
    for ax, (heading, rows) in zip(panels, comparisons, strict=True):
        _draw_intervals(ax, rows)
        ax.set_title(heading, fontsize="medium")
    return figure


def _draw_intervals(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    ends: dict[str, Any] = {"markersize": 6, "linestyle": "", "zorder": 3}
    for place, row in enumerate(rows):
        lower, upper = row["lower"], row["upper"]
        if upper is None:
            at = (0.01, place)
            ax.annotate(
                row["status"], at, xycoords=ax.get_yaxis_transform(), color=GREY, va="center"
            )
            continue
        if lower is not None:
            ax.plot([lower, upper], [place, place], color=GREY, linewidth=2, alpha=0.6)
            ax.plot(lower, place, marker=">", color=BLUE, **ends)
        ax.plot(upper, place, marker="<", color=VERMILION, **ends)
    ax.plot([], [], marker=">", color=BLUE, label="lower bound", **ends)
    ax.plot([], [], marker="<", color=VERMILION, label="value of its labeling", **ends)
    best = [row["best_upper"] for row in rows if row["best_upper"] is not None]
    if best:
        ax.axvline(best[0], color="black", linestyle="--", linewidth=1, label="best of all")
    ax.set_yticks(range(len(rows)), [row["kind"] for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("hinge value of the best labeling")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def bounds_over_time(comparisons: Comparisons) -> Figure:
    """Lower bounds as they rise, in shares of the best value known.

    Parameters
    ----------
    comparisons : sequence of (str, sequence of mapping)
        As of :func:`interval_comparison`; kinds that prove nothing are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = min(3, len(comparisons))
    lines = -(-len(comparisons) // columns)
    figure = Figure(figsize=(4.2 * columns + 2.2, 2.9 * lines + 0.4), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    every = [row for _, rows in comparisons for row in rows]
    kinds = dict.fromkeys(row["kind"] for row in every)
    styles = {kind: _curve_style(place) for place, kind in enumerate(kinds)}
    proving = {row["kind"] for row in every if _rises(row)}
    for ax, (heading, rows) in zip(panels, comparisons, strict=False):
        for row in filter(_rises, rows):
            rises = [rise for rise in row["history"] if rise[1] > 0.0]
            seconds, lower = np.array([*rises, (row["cpu_seconds"], row["lower"])]).T
            shares = lower / row["best_upper"]
            ax.step(seconds, shares, where="post", **styles[row["kind"]])
        ax.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
        ax.set(xscale="log", ylim=(-0.03, 1.06))
        ax.set_title(heading, fontsize="small")
        ax.grid(alpha=0.3)
    for unused in panels[len(comparisons) :]:
        unused.remove()
    shown = [kind for kind in kinds if kind in proving]
    handles = [panels[0].plot([], [], label=kind, **styles[kind])[0] for kind in shown]
    figure.legend(handles=handles, loc="outside right upper", fontsize="small", frameon=False)
    figure.supxlabel("seconds of processor time", fontsize="medium")
    figure.supylabel("lower bound / best value known", fontsize="medium")
    return figure


def _rises(row: Mapping[str, Any]) -> bool:
    """Whether a row proves anything, and there is a value to compare with."""
    return bool(row["history"]) and (row["lower"] or 0.0) > 0.0 and (row["best_upper"] or 0.0) > 0.0


def _curve_style(place: int) -> dict[str, Any]:
    """Colour, marker and dashes of the curve at that place in the legend."""
    return {
        "color": CURVES[place % len(CURVES)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": ("-", "--", "-.", ":")[place // len(CURVES) % 4],
        "markersize": 4,
        "markevery": 0.15,
        "linewidth": 1.4,
    }


def line_grid(
    rows: Mapping[str, Mapping[str, Mapping[str, Line]]], xlabel: str, *, log: bool = False
) -> Figure:
    """Lines with error bars, in panels.

    Parameters
    ----------
    rows : mapping of str to mapping of str to mapping of str to Line
        For each row of panels the label of its vertical axis, for each panel its heading, and for
        each line its name with x, y and the half lengths of its bars.  A name has the same colour
        and marker in every panel of its row.
    xlabel : str
        Of the horizontal axes.
    log : bool
        Whether they are logarithmic.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = max(map(len, rows.values()))
    figure = Figure(figsize=(3.2 * columns + 2.2, 2.5 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex=True, sharey="row", squeeze=False)
    for axes, (ylabel, panels) in zip(grid, rows.items(), strict=True):
        names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
        styles = dict(zip(names, cycle(SERIES), strict=False))
        for ax, (heading, lines) in zip(axes, panels.items(), strict=False):
            _draw_lines(ax, lines, styles)
            ax.set_title(heading, fontsize="medium")
            ax.set_xscale("log" if log else "linear")
        for unused in axes[len(panels) :]:
            unused.remove()
        axes[0].set_ylabel(ylabel)
        handles = [Line2D([], [], **styles[name], label=name) for name in names]
        last = axes[len(panels) - 1]
        last.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.supxlabel(xlabel, fontsize="medium")
    return figure


def _draw_lines(ax: Axes, lines: Mapping[str, Line], styles: Mapping[str, dict[str, Any]]) -> None:
    for name, (x, y, error) in lines.items():
        ax.errorbar(x, y, yerr=error, capsize=2, **styles[name])
    ax.grid(alpha=0.3)


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
        _draw_points(ax, data.X, data.labels)

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
    _draw_points(ax, data.X[inside], data.labels[inside], named=True)
    mean = data.X[inside].mean(axis=0)
    style: dict[str, Any] = {"s": 260, "color": "black", "marker": "*", "edgecolors": "white"}
    ax.scatter(mean[0], mean[1], label="mean of the bag", zorder=4, **style)


def _draw_points(ax: Axes, X: Array, labels: NDArray[Any], *, named: bool = False) -> None:
    for label, name, colour, marker in CLASSES:
        chosen = X[labels == label]
        ax.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=22,
            color=colour,
            marker=marker,
            alpha=0.85,
            linewidths=0.4,
            edgecolors="white",
            label=name if named else None,
            zorder=3,
        )


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
