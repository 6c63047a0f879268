r"""The separator of a fixed labeling for any convex loss of the margin."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.losses import InstanceLoss
from propcvx.programs.program import Program, build


def margin_classifier(features: NDArray[np.float64], loss: InstanceLoss) -> Program:
    r"""The terms of eq:pSVM_2 that depend on w and b, with any instance loss.

    .. math::

        \min_{w, b, m} \tfrac12 \|w\|^2 + C \sum_i c_i\, h(m_i)
        \quad \text{s.t. } m_i = y_i (w^\top F_i + b)

    With the hinge it is :func:`svm_primal`.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    loss : InstanceLoss
        The loss :math:`c_i\, h(y_i f_i)`.

    Returns
    -------
    Program
        Variables ``w`` (r,), ``b`` (scalar) and ``m`` (N,), the margins.  Parameters ``y`` (N,) in
        {-1, +1} and ``C`` >= 0.  Constraint ``margin``, whose dual is minus the slope of the loss
        of each margin with CVXPY's sign.
    """
    n, r = features.shape
    F, w, b = cp.Constant(features, name="F"), cp.Variable(r, name="w"), cp.Variable(name="b")
    y, C = cp.Parameter(n, name="y"), cp.Parameter(nonneg=True, name="C")
    m = cp.Variable(n, name="m")
    losses = cp.multiply(np.broadcast_to(loss.weights, n), loss.expression(m))
    return build(
        "margin_classifier",
        "eq:pSVM_2",
        cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(losses)),
        {"margin": m == cp.multiply(y, F @ w + b)},
    )
