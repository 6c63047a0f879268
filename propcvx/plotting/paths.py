"""What is measured of fits against a parameter: regularisation paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes

from propcvx.errors import InputError
from propcvx.plotting.style import SERIES, axes_of


def regularisation_path(
    rows: Sequence[Mapping[str, float]], parameter: str = "C", ax: Axes | None = None
) -> Axes:
    """Accuracy, bag error or whatever was measured against a parameter.

    Of several rows with one value of the parameter, such as those of several draws of the bags,
    there is a line through the means, and a shade from the smallest to the largest.

    Parameters
    ----------
    rows : sequence of mapping
        Numbers by name, the parameter among them; all others are drawn, a line each.
    parameter : str
        Name of the parameter, whose axis is logarithmic.
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If there are no rows, or they are not numbers by the same names, ``parameter`` among them.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    if parameter not in names or any(row.keys() != names.keys() for row in rows):
        raise InputError(
            f"rows must have numbers by the same names, {parameter!r} among them, got {list(names)}"
            f" in {len(rows)} rows."
        )
    ax, values = axes_of(ax), np.unique([row[parameter] for row in rows])
    measured = [name for name in names if name != parameter]
    for name, style in zip(measured, cycle(SERIES), strict=False):
        groups = [[row[name] for row in rows if row[parameter] == value] for value in values]
        ax.plot(values, [np.mean(group) for group in groups], label=name, **style)
        if len(rows) > len(values):
            lowest, highest = ([end(group) for group in groups] for end in (min, max))
            ax.fill_between(values, lowest, highest, color=style["color"], alpha=0.15)
    ax.set(xscale="log", xlabel=parameter)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax
