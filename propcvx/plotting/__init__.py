"""Pictures, as matplotlib figures that the caller saves; nothing global is changed."""

from matplotlib.figure import Figure as Figure

from propcvx.plotting.bounds import bounds_over_time, interval_comparison
from propcvx.plotting.figure_one import figure_one
from propcvx.plotting.lines import line_grid
from propcvx.plotting.methods import method_comparison

__all__ = [
    "bounds_over_time",
    "figure_one",
    "interval_comparison",
    "line_grid",
    "method_comparison",
]
