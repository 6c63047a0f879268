r"""Semidefinite relaxations over :math:`X \approx x x^\top` with :math:`x = (1, y)`.

In the manner of Xu et al. (2004), who relax :math:`M = y y^\top` for max-margin clustering: here
with rows for the bags and with y beside M, so that counts and known labels bind both.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.programs.facts import Facts, no_facts
from propcvx.programs.lifting import Lifting
from propcvx.programs.program import Program, build

Array = NDArray[np.float64]


def lifted_svm(features: Array, feasible: FeasibleLabelings, C: float) -> Program:
    r"""The SVM over all labelings at once, eq:convex_1 with X in the place of :math:`x x^\top`.

    .. math::

        \min_X \max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac12 \alpha^\top (K \circ M) \alpha,
        \qquad X = \begin{pmatrix} 1 & y^\top \\ y & M \end{pmatrix} = W U W^\top, \; U \succeq 0,
        \; X_{ii} = 1, \; G X H^\top \ge 0

    with W, G and H of :class:`~propcvx.programs.lifting.Lifting`.  The inner maximum is written as
    its dual, with :math:`\delta, \eta \ge 0` the multipliers of the box:

    .. math::

        \min t \quad \text{s.t. } \begin{pmatrix} K \circ M & 1 + \delta - \eta \\ \cdot &
        2 (t - C \eta^\top 1) \end{pmatrix} \succeq 0

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    C : float
        Weight of the hinge loss.

    Returns
    -------
    Program
        Variables ``U`` (m, m), ``t`` (1, 1), ``delta`` and ``eta`` (N, 1) >= 0.  Constraints
        ``hinge``, ``diagonal`` and, where some count is not exact, ``products``.
        :func:`lifted_svm_dual` is its dual, and much the faster one to solve.
    """
    n = len(features)
    X, constraints = lifted_matrix(feasible)
    delta = cp.Variable((n, 1), nonneg=True, name="delta")
    eta = cp.Variable((n, 1), nonneg=True, name="eta")
    t = cp.Variable((1, 1), name="t")
    slope, corner = 1 + delta - eta, 2 * (t - C * cp.sum(eta))
    quadratic = cp.multiply(features @ features.T, X[1:, 1:])
    return build(
        "lifted_svm",
        "eq:convex_1",
        cp.Minimize(cp.sum(t)),
        {"hinge": cp.bmat([[quadratic, slope], [slope.T, corner]]) >> 0, **constraints},
    )


def lifted_svm_dual(features: Array, feasible: FeasibleLabelings, C: float) -> Program:
    r"""Dual of :func:`lifted_svm`: the best of the lower bounds that its multipliers prove.

    .. math::

        \max_{\alpha, \lambda, P} \alpha^\top 1 - \tfrac12 \lambda^\top 1 \quad \text{s.t. }
        0 \le \alpha_i \le C, \; P \ge 0, \;
        \begin{pmatrix} W^\top (\operatorname{diag} \lambda - \tfrac12 (G^\top P H + H^\top P^\top
        G)) W & W_1^\top \operatorname{diag}(\alpha) F \\ \cdot & I \end{pmatrix} \succeq 0

    with :math:`W_1` the rows of W of the instances.

    Parameters
    ----------
    features, feasible, C
        As in :func:`lifted_svm`.

    Returns
    -------
    Program
        Variables ``alpha`` (N,), ``diagonal`` (N + 1,) and, where some count is not exact,
        ``products`` >= 0.  Constraints ``lower``, ``upper`` and ``semidefinite``, of whose dual
        the first m rows and columns are half of U.
    """
    n, r = features.shape
    lifting = Lifting.of(feasible)
    alpha = cp.Variable(n, name="alpha")
    diagonal, multipliers = _multipliers(lifting)
    weighted = lifting.span[1:].T @ cp.multiply(cp.reshape(alpha, (n, 1), order="F"), features)
    return build(
        "lifted_svm_dual",
        "eq:convex_1",
        cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum(diagonal)),
        {
            "lower": alpha >= 0,
            "upper": alpha <= C,
            "semidefinite": cp.bmat([[multipliers, weighted], [weighted.T, np.eye(r)]]) >> 0,
        },
    )


def lifted_quadratic(
    quadratic: Array, feasible: FeasibleLabelings, facts: Facts = no_facts
) -> Program:
    r"""A quadratic form over all labelings at once.

    .. math::

        \max_{y \in \mathcal{Y}} y^\top Q y \;\le\; \max_X \operatorname{tr} Q M
        \quad \text{over the X of } \text{lifted_svm}

    With :math:`Q = K \circ \alpha \alpha^\top` it relaxes the separation problem, eq:concave.

    Parameters
    ----------
    quadratic : array of shape (N, N)
        Q, symmetric.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    facts : callable
        ``facts(M)`` gives further constraints that hold of :math:`M = y y^\top`.

    Returns
    -------
    Program
        Variable ``U`` (m, m).  Constraints ``diagonal``, with the multipliers :math:`\lambda`, and
        ``products``, with :math:`P \ge 0`, of
        :meth:`propcvx.programs.Lifting.largest`; and ``fact_0``, ``fact_1``, ...
    """
    X, constraints = lifted_matrix(feasible)
    constraints |= {f"fact_{place}": fact for place, fact in enumerate(facts(X[1:, 1:]))}
    Q = cp.Constant(quadratic, name="Q")
    return build(
        "lifted_quadratic",
        "eq:concave",
        cp.Maximize(cp.sum(cp.multiply(Q, X[1:, 1:]))),
        constraints,
    )


def lifted_matrix(feasible: FeasibleLabelings) -> tuple[cp.Expression, dict[str, cp.Constraint]]:
    """The matrix X of :func:`lifted_svm` in its variable U, and the constraints on it."""
    lifting = Lifting.of(feasible)
    m = lifting.span.shape[1]
    U = cp.Variable((m, m), PSD=True, name="U")
    X = lifting.span @ U @ lifting.span.T
    constraints = {"diagonal": cp.diag(X) == 1}
    if lifting.ranges.shape[0]:
        constraints["products"] = lifting.ranges @ X @ lifting.rows.T >= 0
    return X, constraints


def _multipliers(lifting: Lifting) -> tuple[cp.Variable, cp.Expression]:
    """The multipliers of the diagonal, and the matrix inside W that they and the others make."""
    span, ranges, rows = lifting.span, lifting.ranges, lifting.rows
    diagonal = cp.Variable(span.shape[0], name="diagonal")
    matrix = span.T @ cp.diag(diagonal) @ span
    if ranges.shape[0]:
        P = cp.Variable((ranges.shape[0], rows.shape[0]), nonneg=True, name="products")
        product = (ranges @ span).T @ P @ (rows @ span)
        matrix = matrix - (product + product.T) / 2
    return diagonal, matrix
