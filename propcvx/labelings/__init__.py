"""Feasible labelings of bags, the best labeling, and losses."""

from propcvx.labelings.feasible import FeasibleLabelings, best_labeling, random_labeling

__all__ = ["FeasibleLabelings", "best_labeling", "random_labeling"]
