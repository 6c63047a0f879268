"""Labelings that bags allow, the best of them, losses, and local search."""

from propcvx.labelings.feasible import FeasibleLabelings, best_labeling, random_labeling

__all__ = ["FeasibleLabelings", "best_labeling", "random_labeling"]
