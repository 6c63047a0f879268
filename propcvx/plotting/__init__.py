"""Pictures with matplotlib; nothing global is changed.

Pictures with several panels are figures that the caller saves.  Functions for one fit accept axes,
or make a figure, and return the axes; the annealing is an animation.
"""

from matplotlib.figure import Figure as Figure

from propcvx.plotting.fits import (
    annealing,
    annealing_frame,
    boundary,
    figure_one,
    history,
    proportions,
)
from propcvx.plotting.intervals import (
    calibration,
    estimates_and_truth,
    group_ranges,
    interval_comparison,
)

__all__ = [
    "annealing",
    "annealing_frame",
    "boundary",
    "calibration",
    "estimates_and_truth",
    "figure_one",
    "group_ranges",
    "history",
    "interval_comparison",
    "proportions",
]
