"""The experiments of the paper, run by the command line, and comparisons of solvers."""

from propcvx.experiments.solvers import compare_solvers

__all__ = ["compare_solvers"]
