"""Pictures, as matplotlib figures that the caller saves; nothing global is changed."""

from matplotlib.figure import Figure as Figure

from propcvx.plotting.accuracies import accuracy_by_bag_size
from propcvx.plotting.bounds import bounds_over_time, interval_comparison
from propcvx.plotting.curves import curve_panels
from propcvx.plotting.figure_one import figure_one
from propcvx.plotting.lines import line_grid
from propcvx.plotting.methods import method_comparison
from propcvx.plotting.svg import svg_text

__all__ = [
    "accuracy_by_bag_size",
    "bounds_over_time",
    "curve_panels",
    "figure_one",
    "interval_comparison",
    "line_grid",
    "method_comparison",
    "svg_text",
]
