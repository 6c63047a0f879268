"""Pictures with matplotlib; nothing global is changed.

Pictures with several panels are figures that the caller saves.  Those of one fit take axes, or make
a figure, and return the axes; the annealing is an animation.
"""

from matplotlib.figure import Figure as Figure

from propcvx.plotting.accuracies import accuracy_by_bag_size
from propcvx.plotting.annealing import annealing, annealing_frame
from propcvx.plotting.bounds import bounds_over_time, interval_comparison
from propcvx.plotting.curves import curve_panels
from propcvx.plotting.figure_one import figure_one
from propcvx.plotting.fits import boundary, coefficients, history, proportions
from propcvx.plotting.lines import line_grid
from propcvx.plotting.methods import method_comparison
from propcvx.plotting.paths import regularisation_path
from propcvx.plotting.relaxations import bounds_by_round, bounds_by_time, labelings, tree
from propcvx.plotting.svg import svg_text
from propcvx.plotting.tolerances import tolerance_sweep

__all__ = [
    "accuracy_by_bag_size",
    "annealing",
    "annealing_frame",
    "boundary",
    "bounds_by_round",
    "bounds_by_time",
    "bounds_over_time",
    "coefficients",
    "curve_panels",
    "figure_one",
    "history",
    "interval_comparison",
    "labelings",
    "line_grid",
    "method_comparison",
    "proportions",
    "regularisation_path",
    "svg_text",
    "tolerance_sweep",
    "tree",
]
