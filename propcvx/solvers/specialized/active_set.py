r"""Active sets for the SVM dual, from the approximate v of another solver.

.. math::

    \max_{l \le v \le u} y^\top v - \tfrac12 \|F^\top v\|^2, \quad \text{with a bias }
    \textstyle\sum_i v_i = 0

If it is known which :math:`v_i` are strictly inside their box, they follow from one linear system:
the others are on their bounds, and those instances on their margins,
:math:`y_i = w^\top F_i + b`.  Where the system's solution leaves the box, :math:`v_i` is put on the
bound; an instance on the wrong side of its margin joins the system of the next step.  This is a
semismooth Newton method (Hintermüller, Ito and Kunisch 2003), which converges from nearby.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from propcvx.arrays import Array
from propcvx.errors import UnsupportedSolverError
from propcvx.programs import SVMDual, svm_dual_parameters
from propcvx.solvers.solver import Solution

MOST_MISSES = 2
"""Number of steps that leave more than half of the gap after which none follows."""

JOINING = 1e-8
"""Size of a step along the residuals, in units of the box, by which an instance leaves a bound."""


def check_box(solver: str, values: Mapping[str, Array]) -> Array:
    """Return the weight C of each instance.

    Raises
    ------
    UnsupportedSolverError
        If the box is not the box of a labeling and one C, or one C of each instance.
    """
    C = values["upper"] - values["lower"]
    box = svm_dual_parameters(values["y"], C)
    if not all(np.array_equal(values[name], box[name]) for name in ("lower", "upper")):
        raise UnsupportedSolverError(
            f"solver {solver!r} needs the parameters of a labeling and C in svm_dual, as "
            "svm_dual_parameters gives them; another solver takes any bounds."
        )
    return C


def polish(
    svm: SVMDual, values: Mapping[str, Array], v: Array, bias: float, tol: float, **others: Any
) -> Solution:
    """Take steps from v until its gap is at most ``tol``, and return the best solution."""
    y, lower, upper = (values[name] for name in ("y", "lower", "upper"))
    misses, best = 0, (svm.gap(values, {"v": v}, {}), v, bias)
    while best[0] > tol and misses < MOST_MISSES:
        interior = np.flatnonzero((v > lower) & (v < upper))
        rows, ones = svm.centered[interior], np.full((len(interior), 1), float(svm.bias))
        system = np.block([[rows @ rows.T, ones], [ones.T, 0.0]])
        shortfall = np.append(y[interior] - rows @ (v @ svm.centered), -v.sum())
        *change, bias = scipy.linalg.lstsq(system, shortfall, lapack_driver="gelsy")[0]
        v = v.copy()
        v[interior] += change
        gap = svm.gap(values, {"v": v}, {})
        misses += gap > 0.5 * best[0]
        best = min(best, (gap, svm.feasible(values, v), float(bias)), key=lambda row: row[0])
        residuals = y - svm.centered @ (v @ svm.centered) - bias
        v = np.clip(v + JOINING * (upper - lower) * residuals, lower, upper)
    gap, v, bias = best
    weights = v @ svm.centered
    residuals = y - svm.centered @ weights - bias
    duals = {"lower": np.maximum(-residuals, 0.0), "upper": np.maximum(residuals, 0.0)}
    if svm.bias:
        duals["balance"] = np.asarray(bias - svm.offset @ weights)
    return Solution(variables={"v": v}, duals=duals, gap=gap, **others)
