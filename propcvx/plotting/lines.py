"""Pictures of measurements against a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propcvx.checks import as_vector
from propcvx.errors import InputError
from propcvx.plotting.style import GRAY, axes_of, series_of


def regularization_path(
    rows: Sequence[Mapping[str, float]], parameter: str = "C", ax: Axes | None = None
) -> Axes:
    """Draw accuracy, bag error or other measurements against a parameter.

    If several rows have the same value of the parameter, such as repetitions with other bags, there
    is a line through the means, and a shade from the smallest to the largest.

    Parameters
    ----------
    rows : sequence of mapping
        Numbers by name, including the parameter; all others are drawn, each as a line.
    parameter : str
        Name of the parameter, whose axis is logarithmic, but linear around 0 if a value is 0.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If there are no rows, or they are not numbers by the same names, including ``parameter``.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if parameter not in names or any(set(row) != set(names) for row in rows):
        raise InputError(
            f"rows must have numbers by the same names, {parameter!r} among them; got {names}"
            f" in {len(rows)} rows."
        )
    settings = [row[parameter] for row in rows]
    places = as_vector(settings)
    if places is None:
        raise InputError(
            f"{parameter} must be a finite number to be an axis; got {settings!r:.60}; leave out "
            "rows or models where it is not."
        )
    ax, values = axes_of(ax), np.unique(places)
    names.remove(parameter)
    for name, style in series_of(names).items():
        measured = np.array([row[name] for row in rows])
        groups = [measured[places == value] for value in values]
        ax.plot(values, [np.mean(group) for group in groups], label=name, **style)
        if len(rows) > len(values):
            lowest, highest = ([extreme(group) for group in groups] for extreme in (min, max))
            ax.fill_between(values, lowest, highest, color=style["color"], alpha=0.15)
    if values[0] > 0.0:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=np.abs(values[values != 0.0]).min(initial=1.0))
    ax.set_xlabel(parameter)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, ncols=1 + len(names) // 8)
    return ax


def coefficients(models: Sequence[Any], parameter: str = "C", ax: Axes | None = None) -> Axes:
    """Draw weights of linear classifiers against a parameter: a regularization path.

    Parameters
    ----------
    models : sequence of fitted estimators
        Estimators with ``coef_``, such as those of :func:`propcvx.estimators.fit_grid`.  After fits
        to a DataFrame its columns name the weights.
    parameter : str
        The parameter in which they differ, a number in each.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If a model has no weights, or several classes, or ``parameter`` is not a number in each.
    """
    rows = []
    for model in models:
        if not hasattr(model, "coef_"):
            raise InputError(f"models must be fitted with the linear kernel; got {model!r}.")
        if len(model.coef_) > 1:
            raise InputError(f"models must be of two classes; got one of {len(model.coef_)}.")
        numbered = [f"$w_{{{j}}}$" for j in range(1, model.coef_.shape[1] + 1)]
        names = getattr(model, "feature_names_in_", numbered)
        names = numbered if parameter in names else names
        weights = dict(zip(names, model.coef_[0], strict=True))
        rows.append({parameter: model.get_params().get(parameter), **weights})
    ax = regularization_path(rows, parameter, ax)
    ax.axhline(0.0, color=GRAY, linewidth=0.8)
    ax.set_ylabel("weight")
    return ax
