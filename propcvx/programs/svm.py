r"""The support vector machine for a fixed labeling: the inner problem of eq:pSVM_2 and eq:convex_1.

Primal and dual are built once for a factor F and re-solved for any labeling and any C by giving
vectors (the primal: and one scalar) a new value; both are DPP, so CVXPY compiles them once.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.programs.record import ProblemClass, Program

Array = NDArray[np.float64]


def svm_primal(features: Array, *, bias: bool = True) -> Program:
    r"""Primal SVM, the terms of eq:pSVM_2 that depend on w and b.

    .. math::

        \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
        \quad \text{s.t. } \xi_i \ge 0, \; y_i (w^\top F_i + b) \ge 1 - \xi_i

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bias : bool
        Whether there is a bias b; eq:convex_1 drops it.

    Returns
    -------
    Program
        Variables ``w`` (r,), ``xi`` (N,) and, with bias, ``b`` (scalar).  Parameters ``y`` (N,)
        in {-1, +1} and ``C`` >= 0.  Constraints ``margin``, whose dual is
        :math:`\alpha_i \in [0, C]`, and ``slack``, whose dual is :math:`C - \alpha_i`.
    """
    n, r = features.shape
    w, xi = cp.Variable(r, name="w"), cp.Variable(n, name="xi")
    y, C = cp.Parameter(n, name="y"), cp.Parameter(nonneg=True, name="C")
    variables = {"w": w, "xi": xi}
    scores: cp.Expression = cp.Constant(features, name="F") @ w
    if bias:
        variables["b"] = cp.Variable(name="b")
        scores = scores + variables["b"]
    constraints = {"margin": cp.multiply(y, scores) >= 1 - xi, "slack": xi >= 0}
    objective = cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi))
    return Program(
        name="svm_primal",
        equation="eq:pSVM_2",
        problem_class=ProblemClass.QP,
        problem=cp.Problem(objective, list(constraints.values())),
        variables=variables,
        constraints=constraints,
        parameters={"y": y, "C": C},
        constants={"features": features},
    )


def svm_dual(features: Array, *, bias: bool = True) -> Program:
    r"""Dual SVM in :math:`v = y \circ \alpha`, the inner problem of eq:convex_2.

    .. math::

        \max_v \; y^\top v - \tfrac12 \|F^\top v\|^2
        \quad \text{s.t. } \min(0, C y_i) \le v_i \le \max(0, C y_i), \; \sum_i v_i = 0

    The factor never changes with the labeling; only the vectors y, lower and upper do.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bias : bool
        With a bias the last constraint, ``balance``, is there; eq:convex_2 has none.

    Returns
    -------
    Program
        Variable ``v`` (N,); the weight vector is :math:`w = F^\top v`.  Parameters ``y``,
        ``lower``, ``upper`` (N,), which :func:`svm_dual_parameters` gives for a labeling and C.
        Constraints ``lower``, ``upper`` with duals >= 0, and ``balance``, whose dual is the
        bias b (with CVXPY's sign, as it is).
    """
    n = features.shape[0]
    v = cp.Variable(n, name="v")
    transposed = cp.Constant(features.T.data, name="F.T")  # its buffer, which is not copied
    y, lower, upper = (cp.Parameter(n, name=name) for name in ("y", "lower", "upper"))
    constraints = {"lower": v >= lower, "upper": v <= upper}
    if bias:
        constraints["balance"] = cp.sum(v) == 0
    objective = cp.Maximize(y @ v - 0.5 * cp.sum_squares(transposed @ v))
    return Program(
        name="svm_dual",
        equation="eq:convex_2",
        problem_class=ProblemClass.QP,
        problem=cp.Problem(objective, list(constraints.values())),
        variables={"v": v},
        constraints=constraints,
        parameters={"y": y, "lower": lower, "upper": upper},
        constants={"features": features},
    )


def svm_dual_parameters(labeling: Array, C: float) -> dict[str, Array]:
    """Values of the parameters of :func:`svm_dual` for a labeling and C.

    Examples
    --------
    >>> svm_dual_parameters(np.array([1.0, -1.0]), 2.0)["upper"]
    array([2., 0.])
    """
    box = C * labeling
    upper = np.maximum(0.0, box)
    return {"y": labeling, "lower": np.minimum(0.0, box, out=box), "upper": upper}
