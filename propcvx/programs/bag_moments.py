r"""The bag-wise moment relaxation of eq:convex_1 and eq:pSVM_2, without bias."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.programs.program import Program, build

Array = NDArray[np.float64]


def bag_moments(
    features: Sequence[Array], labelings: Sequence[Array], costs: Sequence[Array], C: float
) -> Program:
    r"""Every bag has a mixture of its labelings; the mixtures agree in E[w] and E[ww'].

    Bag k takes labeling :math:`y \in Y_k` with probability :math:`\mu_{ky}`, and :math:`u_{ky}` is
    that probability times the mean of w then.

    .. math::

        \min_{W, m, \mu, u, \xi} \; & \tfrac12 \operatorname{tr} W
        + \sum_k \sum_{y \in Y_k} \Big( c_k(y) \mu_{ky} + C \sum_{i \in k} \xi_{iy} \Big) \\
        \text{s.t. } & \sum_y \mu_{ky} = 1, \quad \sum_y u_{ky} = m, \quad
        \begin{pmatrix} W & U_k \\ U_k^\top & \operatorname{diag}(\mu_k) \end{pmatrix} \succeq 0, \\
        & \xi_{iy} \ge \mu_{ky} - y_i F_i^\top u_{ky}, \quad \xi_{iy} \ge 0

    The matrix says that W is at least :math:`\sum_y u_{ky} u_{ky}^\top / \mu_{ky}`, the least
    second moment of a w with those means.  A labeling with the weights of its SVM is feasible, so
    the value is a lower bound on the best labeling's.

    Parameters
    ----------
    features : sequence of K arrays of shape (n_k, r)
        Rows of F of each bag.
    labelings : sequence of K arrays of shape (P_k, n_k)
        :math:`Y_k`, entries -1 and +1.
    costs : sequence of K arrays of shape (P_k,)
        :math:`c_k(y)`.
    C : float
        Weight of the hinge loss.

    Returns
    -------
    Program
        Variables ``W`` (r, r), ``m`` (r,), and of every bag ``mu_k`` (P_k,), ``U_k`` (r, P_k) and
        ``xi_k`` (n_k, P_k).  Constraints ``mixture_k``, ``agree_k``, whose dual is the multiplier
        :math:`l_k` of :mod:`propcvx.bounds.moments`, ``moments_k``, of whose dual
        :math:`\tfrac12 A_k` is the upper left block, ``margin_k`` and ``slack_k``.
    """
    r = features[0].shape[1]
    W, m = cp.Variable((r, r), symmetric=True, name="W"), cp.Variable(r, name="m")
    objective = 0.5 * cp.trace(W)
    constraints: dict[str, cp.Constraint] = {}
    for k, (F, Y, c) in enumerate(zip(features, labelings, costs, strict=True)):
        mu, U = cp.Variable(len(Y), name=f"mu_{k}"), cp.Variable((r, len(Y)), name=f"U_{k}")
        xi = cp.Variable((len(F), len(Y)), name=f"xi_{k}")
        scores = cp.multiply(Y.T, cp.Constant(F, name=f"F_{k}") @ U)
        row = cp.reshape(mu, (1, len(Y)), order="F")
        objective += c @ mu + C * cp.sum(xi)
        constraints |= {
            f"mixture_{k}": cp.sum(mu) == 1,
            f"agree_{k}": cp.sum(U, axis=1) == m,
            f"moments_{k}": cp.bmat([[W, U], [U.T, cp.diag(mu)]]) >> 0,
            f"margin_{k}": xi >= np.ones((len(F), 1)) @ row - scores,
            f"slack_{k}": xi >= 0,
        }
    return build("bag_moments", "", cp.Minimize(objective), constraints)
