"""Colours, marks and dashes that all pictures share.

Colours are those of Okabe and Ito, which most colour-blind readers can tell apart; classes also
differ by their marker, and lines by their dashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

Array = NDArray[np.float64]
Line = tuple[Array, Array, Array]

BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#8E3B73", "#555555"
CLASSES = ((1, "positive", BLUE, "o"), (-1, "negative", VERMILION, "^"))
"""Label, name, colour and marker of both classes."""
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


def series_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A style for each name: the series' in turn, and after the last of them with open marks."""
    return {
        name: {
            **SERIES[place % len(SERIES)],
            "fillstyle": ("full", "none", "left")[place // len(SERIES) % 3],
        }
        for place, name in enumerate(dict.fromkeys(names))
    }


def axes_of(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    return Figure(figsize=(5.0, 3.4), layout="constrained").subplots() if ax is None else ax
