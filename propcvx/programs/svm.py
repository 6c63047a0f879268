r"""The separator of a fixed labeling: the inner problem of eq:pSVM_2 and eq:convex_1.

Primal and dual of the support vector machine are built once for a factor F.  They are solved again
for any labeling and any C with new values of vectors (and, in the primal, one scalar).  Both are
DPP, so CVXPY compiles them once.  Beside them is the logistic regression on labels that may be
probabilities.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array
from propcvx.labelings.losses import InstanceLoss
from propcvx.programs.program import Program, build
from propcvx.programs.structures import SVMDual


def svm_primal(features: Array, *, bias: bool = True) -> Program:
    r"""Build the primal SVM, the terms of eq:pSVM_2 that depend on w and b.

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

    Examples
    --------
    >>> from propcvx.solvers import solve
    >>> program = svm_primal(np.array([[-1.0], [1.0]]))
    >>> print(program)
    svm_primal (eq:pSVM_2): quadratic program
      minimize    0.5 * sum_squares(w) + C * sum(xi)
      subject to  margin: 1 - xi <= y * (F @ w + b)
                  slack:  0 <= xi
      variables   w (1), xi (2), b
      parameters  C (nonneg), y (2)
    >>> solution = solve(program.set(y=np.array([-1.0, 1.0]), C=1.0))
    >>> np.round(solution.variables["w"], 4), np.round(solution.duals["margin"], 4)
    (array([1.]), array([0.5, 0.5]))
    """
    n, r = features.shape
    F = cp.Constant(features, name="F")
    w, xi = cp.Variable(r, name="w"), cp.Variable(n, name="xi")
    y, C = cp.Parameter(n, name="y"), cp.Parameter(nonneg=True, name="C")
    scores = F @ w + cp.Variable(name="b") if bias else F @ w
    return build(
        "svm_primal",
        "eq:pSVM_2",
        cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)),
        {"margin": cp.multiply(y, scores) >= 1 - xi, "slack": xi >= 0},
    )


def svm_dual(features: Array, *, bias: bool = True) -> Program:
    r"""Build the dual SVM in :math:`v = y \circ \alpha`, the inner problem of eq:convex_2.

    .. math::

        \max_v \; y^\top v - \tfrac12 \|F^\top v\|^2
        \quad \text{s.t. } \min(0, C y_i) \le v_i \le \max(0, C y_i), \; \sum_i v_i = 0

    The factor never changes with the labeling; only the vectors y, lower and upper do.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bias : bool
        Whether there is a bias, and the last constraint, ``balance``; eq:convex_2 has none.

    Returns
    -------
    Program
        Variable ``v`` (N,); the weight vector is :math:`w = F^\top v`.  Parameters ``y``,
        ``lower``, ``upper`` (N,), which :func:`svm_dual_parameters` gives for a labeling and C.
        Constraints ``lower``, ``upper`` with duals >= 0, and ``balance``, whose dual is the
        bias b (with CVXPY's sign, as it is).  Of ``upper`` where :math:`y_i = 1`, and of ``lower``
        elsewhere, the dual is the slack :math:`\max(0, 1 - y_i f_i)`.  Structure
        :class:`~propcvx.programs.structures.SVMDual`.

    Examples
    --------
    >>> from propcvx.solvers import solve
    >>> features = np.array([[-1.0], [1.0]])
    >>> program = svm_dual(features)
    >>> print(program)
    svm_dual (eq:convex_2): quadratic program
      maximize    y @ v - 0.5 * sum_squares(F.T @ v)
      subject to  lower:   lower <= v
                  upper:   v <= upper
                  balance: sum(v) == 0
      variables   v (2)
      parameters  y (2), lower (2), upper (2)
    >>> values = svm_dual_parameters(np.array([-1.0, 1.0]), 1.0)
    >>> np.round(features.T @ solve(program.set(**values)).variables["v"], 4)
    array([1.])
    """
    n = features.shape[0]
    F, v = cp.Constant(features, name="F"), cp.Variable(n, name="v")
    y, lower, upper = (cp.Parameter(n, name=name) for name in ("y", "lower", "upper"))
    constraints = {"lower": v >= lower, "upper": v <= upper}
    if bias:
        constraints["balance"] = cp.sum(v) == 0
    return build(
        "svm_dual",
        "eq:convex_2",
        cp.Maximize(y @ v - 0.5 * cp.sum_squares(F.T @ v)),
        constraints,
        SVMDual(F.value, bias),
    )


def svm_dual_parameters(labeling: Array, C: Array | float) -> dict[str, Array]:
    """Compute the parameters of :func:`svm_dual` for a labeling and C, one or one per instance.

    Examples
    --------
    >>> svm_dual_parameters(np.array([1.0, -1.0]), 2.0)["upper"]
    array([2., 0.])
    """
    box = C * labeling
    return {"y": labeling, "lower": np.minimum(0.0, box), "upper": np.maximum(0.0, box)}


def margin_classifier(features: Array, loss: InstanceLoss) -> Program:
    r"""Build the terms of eq:pSVM_2 that depend on w and b, with any instance loss.

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
        {-1, +1} and ``C`` >= 0.  Constraint ``margin``, whose dual is minus the slope of C times
        the loss of each margin with CVXPY's sign.

    Examples
    --------
    >>> from propcvx.labelings.losses import INSTANCE_LOSSES
    >>> print(margin_classifier(np.array([[-1.0], [1.0]]), INSTANCE_LOSSES["logistic"]))
    margin_classifier (eq:pSVM_2): exponential cone program
      minimize    0.5 * sum_squares(w) + C * sum([2] * logistic(-m))
      subject to  margin: m == y * (F @ w + b)
      variables   w (1), m (2), b
      parameters  C (nonneg), y (2)
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


def soft_logistic_regression(features: Array, weights: Array) -> Program:
    r"""Logistic regression with a label :math:`t_i \in [0, 1]` of each instance, and a ridge.

    .. math::

        \min_{w, b} \sum_i c_i \bigl(\log(1 + e^{s_i}) - t_i s_i\bigr)
        + \tfrac{\lambda}{2} \|w\|^2, \qquad s_i = w^\top F_i + b

    The sum is the negative log-likelihood of labels 0 and 1 with
    :math:`P(t_i = 1) = 1 / (1 + e^{-s_i})`.  With expected labels it is its expectation, which is
    what :func:`propcvx.alternating.algorithm.maximize_likelihood` minimizes in each round.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    weights : array of shape (N,)
        :math:`c_i \ge 0`.

    Returns
    -------
    Program
        Variables ``w`` (r,) and ``b`` (scalar).  Parameters ``t`` (N,) and ``lam`` >= 0.  No
        constraints.

    Examples
    --------
    >>> import numpy as np
    >>> program = soft_logistic_regression(np.array([[-1.0], [1.0]]), np.ones(2))
    >>> print(program)
    soft_logistic_regression: exponential cone program
      minimize    c @ (logistic(F @ w + b) - t * (F @ w + b)) + 0.5 * lam * sum_squares(w)
      variables   w (1), b
      parameters  t (2), lam (nonneg)
    >>> from propcvx.solvers import solve
    >>> solution = solve(program.set(t=np.array([0.25, 0.75]), lam=0.0))
    >>> np.round(solution.variables["w"], 4)  # the log odds of 3/4
    array([1.0986])
    """
    n, r = features.shape
    F, c = cp.Constant(features, name="F"), cp.Constant(weights, name="c")
    w, b = cp.Variable(r, name="w"), cp.Variable(name="b")
    t, lam = cp.Parameter(n, name="t"), cp.Parameter(nonneg=True, name="lam")
    s = F @ w + b
    losses = cp.logistic(s) - cp.multiply(t, s)
    return build(
        "soft_logistic_regression", "", cp.Minimize(c @ losses + 0.5 * lam * cp.sum_squares(w))
    )
