"""LAPACK's least squares for the class means of MeanMap."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.programs import Program
from propcvx.solvers.through_cvxpy import Run


def is_class_means(program: Program) -> bool:
    """Only ``class_means`` is an unconstrained least-squares problem."""
    return program.name == "class_means"


def run_least_squares(program: Program, options: dict[str, Any]) -> Run:
    """Solve ``class_means``; of several solutions, the one of least norm."""
    start = perf_counter()
    root = np.sqrt(program.constants["weights"])[:, None]
    design, means = program.constants["design"], program.constants["bag_means"]
    program.variables["means"].value = np.linalg.lstsq(root * design, root * means, **options)[0]
    return Run(cp.OPTIMAL, 0.0, perf_counter() - start)
