"""Solvers side by side on one program: ``propcvx solvers``."""

from propcvx.experiments.solver_laboratory.compare import ACCURACIES, compare_solvers

__all__ = ["ACCURACIES", "compare_solvers"]
