"""Comparisons of solvers, relaxations and bounds, the programs by name, and a demonstration."""

from propcvx.laboratory.relaxations import compare_relaxations
from propcvx.laboratory.solvers import compare_solvers

__all__ = ["compare_relaxations", "compare_solvers"]
