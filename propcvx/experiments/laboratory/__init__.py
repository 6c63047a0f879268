"""Relaxations and bounds side by side on one problem: ``propcvx relax``."""

from propcvx.experiments.laboratory.compare import compare_relaxations
from propcvx.experiments.laboratory.run import Problem, run_comparison
from propcvx.experiments.laboratory.variants import KINDS

__all__ = ["KINDS", "Problem", "compare_relaxations", "run_comparison"]
