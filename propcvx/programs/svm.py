r"""The SVM of one labeling, and of several: the restricted master of Algorithm 2.

Primal and dual of the support vector machine, the inner problem of Equation (4), eq:pSVM_2 and
Equation (9), eq:convex_1, are built once for a factor F.  They are solved again for any labeling
and any C with new values of vectors (and, in the primal, one scalar).  Both are DPP, so CVXPY
compiles them once.  Logistic regression takes labels that may be probabilities.

Multiple kernel learning over the T labelings found so far is Equation (14), eq:convex_3, with
:math:`\mathcal{Y}` replaced by them, in three forms: the epigraph form Equation (16), eq:convex_4
(with the sign of :math:`\alpha^\top 1` that makes it equal to eq:convex_3; the paper prints the
other one), its dual in groups of primal weights, and the inner problem for fixed weights mu, a QP,
around which SimpleMKL descends.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.labelings.losses import InstanceLoss
from propcvx.programs.program import Program, build, weighted_sum
from propcvx.programs.structures import GroupMaster, RestrictedMaster, SVMDual


def svm_primal(features: Array, *, bias: bool = True) -> Program:
    r"""Build the primal SVM, the terms of Equation (4), eq:pSVM_2, that depend on w and b.

    .. math::

        \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
        \quad \text{s.t. } \xi_i \ge 0, \; y_i (w^\top F_i + b) \ge 1 - \xi_i

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bias : bool, default=True
        Whether there is a bias b; Equation (9), eq:convex_1 drops it.

    Returns
    -------
    Program
        Variables ``w`` (r,), ``xi`` (N,) and, with bias, ``b`` (scalar).  Parameters ``y`` (N,)
        in {-1, +1} and ``C`` >= 0.  Constraints ``margin``, whose dual is
        :math:`\alpha_i \in [0, C]`, and ``slack``, whose dual is :math:`C - \alpha_i`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_primal
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
    r"""Build the dual SVM in :math:`v = y \circ \alpha`, Equation (11), eq:convex_2.

    .. math::

        \max_v \; y^\top v - \tfrac12 \|F^\top v\|^2
        \quad \text{s.t. } \min(0, C y_i) \le v_i \le \max(0, C y_i), \; \sum_i v_i = 0

    The factor never changes with the labeling; only the vectors y, lower and upper do.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bias : bool, default=True
        Whether there is a bias, and the last constraint, ``balance``; eq:convex_2 has none.

    Returns
    -------
    Program
        Variable ``v`` (N,); the weight vector is :math:`w = F^\top v`.  Parameters ``y``,
        ``lower``, ``upper`` (N,), which :func:`svm_dual_parameters` gives for a labeling and C.
        Constraints ``lower``, ``upper`` with duals >= 0, and ``balance``, whose dual value is
        the bias b.  Of ``upper`` where :math:`y_i = 1`, and of ``lower``
        elsewhere, the dual is the slack :math:`\max(0, 1 - y_i f_i)`.  Structure
        :class:`~propcvx.programs.structures.SVMDual`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual, svm_dual_parameters
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
    """Compute the parameters of :func:`svm_dual` for a labeling and C.

    Parameters
    ----------
    labeling : array of shape (N,)
        Labels -1.0 and +1.0.
    C : float or array of shape (N,)
        Weight of the hinge loss, of all instances or of each.

    Returns
    -------
    dict
        ``y``, ``lower`` and ``upper``, each of shape (N,).

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual_parameters
    >>> svm_dual_parameters(np.array([1.0, -1.0]), 2.0)["upper"]
    array([2., 0.])
    """
    box = C * labeling
    return {"y": labeling, "lower": np.minimum(0.0, box), "upper": np.maximum(0.0, box)}


def margin_classifier(features: Array, loss: InstanceLoss) -> Program:
    r"""Build the terms of Equation (4), eq:pSVM_2, that depend on w and b, with any instance loss.

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
    >>> import numpy as np
    >>> from propcvx.programs import margin_classifier
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
    r"""Build logistic regression with labels :math:`t_i \in [0, 1]` and a ridge.

    .. math::

        \min_{w, b} \sum_i c_i \bigl(\log(1 + e^{s_i}) - t_i s_i\bigr)
        + \tfrac{\lambda}{2} \|w\|^2, \qquad s_i = w^\top F_i + b

    The sum is the negative log-likelihood of labels 0 and 1 with
    :math:`P(t_i = 1) = 1 / (1 + e^{-s_i})`.  With expected labels it is its expectation, which is
    what :func:`propcvx.alternating.maximize_likelihood` minimizes in each round.

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
    >>> from propcvx.programs import soft_logistic_regression
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


def mkl_epigraph(features: Array, labelings: Array, C: Weight) -> Program:
    r"""Build the restricted master of conv-pSVM in the dual variables alpha, eq:convex_4.

    .. math::

        \max_{\alpha, \beta} -\beta \quad \text{s.t. } 0 \le \alpha_i \le C_i, \;
        \tfrac12 \|F^\top (y_t \circ \alpha)\|^2 - \alpha^\top 1 \le \beta, \; t = 1, \dots, T

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    labelings : array of shape (T, N)
        The labelings :math:`y_t` found so far.
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.

    Returns
    -------
    Program
        Variables ``alpha`` (N,), ``beta`` (scalar).  Constraints ``lower``, ``upper`` with duals >=
        0, and ``cuts``, whose dual (T,) is the weights mu: >= 0, summing to one.  The dual of
        ``upper`` is the slack of :func:`mkl_group`.  Structure
        :class:`~propcvx.programs.structures.RestrictedMaster`.

    Examples
    --------
    >>> from propcvx.programs import mkl_epigraph
    >>> import numpy as np
    >>> from propcvx.solvers import solve
    >>> features, labelings = np.array([[-1.0], [1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]])
    >>> program = mkl_epigraph(features, labelings, 1.0)
    >>> print(program)
    mkl_epigraph (eq:convex_4): second-order cone program
      maximize    -beta
      subject to  cuts:  0.5 * sum((F.T @ (Y.T * (alpha @ [1x2])))**2, axis=0) - sum(alpha)
                    <= beta
                  lower: 0 <= alpha
                  upper: alpha <= 1
      variables   beta, alpha (2)
    >>> round(-solve(program).value, 6)
    -0.5
    """
    n = features.shape[0]
    F, Y = cp.Constant(features, name="F"), cp.Constant(labelings, name="Y")
    alpha, beta = cp.Variable(n, name="alpha"), cp.Variable(name="beta")
    column = cp.reshape(alpha, (n, 1), order="F")
    weights = F.T @ cp.multiply(Y.T, column)  # one column per labeling
    quadratics = cp.sum(cp.square(weights), axis=0)
    return build(
        "mkl_epigraph",
        "eq:convex_4",
        cp.Maximize(-beta),
        {
            "cuts": 0.5 * quadratics - cp.sum(alpha) <= beta,
            "lower": alpha >= 0,
            "upper": alpha <= C,
        },
        RestrictedMaster(F.value, Y.value, C),
    )


def mkl_group(features: Array, labelings: Array, C: Weight) -> Program:
    r"""Build the restricted master in primal weights, a group for each labeling, eq:convex_3.

    It is the dual of :func:`mkl_epigraph`, the epigraph form, for labelings :math:`y_t` with
    weights :math:`w_t` of norm at most :math:`s_t`.

    .. math::

        \min_{W, s, \xi} \tfrac12 \Big(\sum_t s_t\Big)^2 + \sum_i C_i \xi_i
        \quad \text{s.t. } \|w_t\| \le s_t, \; \xi_i \ge 0, \;
        \sum_t y_{ti} w_t^\top F_i \ge 1 - \xi_i

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    labelings : array of shape (T, N)
        The labelings :math:`y_t` found so far.
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.

    Returns
    -------
    Program
        Variables ``W`` (T, r), ``s`` (T,), ``xi`` (N,); the weights mu are
        :math:`s_t / \sum_t s_t`, and any where all s are 0.  Constraints ``margin``, whose dual is
        :math:`\alpha_i \in [0, C_i]`, ``slack``, whose dual is :math:`C_i - \alpha_i`, and
        ``norms``, second-order cones, whose dual is a list of arrays (T,) and (T, r).  Structure
        :class:`~propcvx.programs.structures.GroupMaster`.

    Examples
    --------
    >>> from propcvx.programs import mkl_group
    >>> import numpy as np
    >>> features, labelings = np.array([[-1.0], [1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]])
    >>> print(mkl_group(features, labelings, 1.0))
    mkl_group (eq:convex_3): second-order cone program
      minimize    0.5 * sum(s)**2 + 1 * sum(xi)
      subject to  margin: 1 - xi <= sum(Y.T * (F @ W.T), axis=1)
                  slack:  0 <= xi
                  norms:  SOC(s, W)
      variables   s (2), xi (2), W (2 x 1)
    """
    t, r = len(labelings), features.shape[1]
    F, Y = cp.Constant(features, name="F"), cp.Constant(labelings, name="Y")
    W, s = cp.Variable((t, r), name="W"), cp.Variable(t, name="s")
    xi = cp.Variable(features.shape[0], name="xi")
    scores = cp.sum(cp.multiply(Y.T, F @ W.T), axis=1)
    return build(
        "mkl_group",
        "eq:convex_3",
        cp.Minimize(0.5 * cp.square(cp.sum(s)) + weighted_sum(C, xi)),
        {"margin": scores >= 1 - xi, "slack": xi >= 0, "norms": cp.SOC(s, W, axis=1)},
        GroupMaster(F.value, Y.value, C),
    )


def mkl_inner(features: Array, labelings: Array, C: Weight) -> Program:
    r"""Build the inner problem of Equation (14), eq:convex_3, for fixed weights mu, a QP.

    .. math::

        J(\mu) = \max_{0 \le \alpha_i \le C_i} \alpha^\top 1
        - \tfrac12 \sum_t \mu_t \|F^\top (y_t \circ \alpha)\|^2, \qquad
        \frac{\partial J}{\partial \mu_t} = -\tfrac12 \|F^\top (y_t \circ \alpha)\|^2

    Parameters
    ----------
    features, labelings, C
        As in :func:`mkl_epigraph`.

    Returns
    -------
    Program
        Variable ``alpha`` (N,).  Parameter ``root_mu`` (T,) >= 0, the square roots of the
        weights.  Constraints ``lower``, and ``upper``, whose dual is
        :math:`\max(0, 1 - \sum_t \mu_t y_{ti} w_t^\top F_i)` with
        :math:`w_t = F^\top (y_t \circ \alpha)`.

    Examples
    --------
    >>> from propcvx.programs import mkl_inner
    >>> import numpy as np
    >>> features, labelings = np.array([[-1.0], [1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]])
    >>> print(mkl_inner(features, labelings, 1.0))
    mkl_inner (eq:convex_3): quadratic program
      maximize    sum(alpha) - 0.5 * sum_squares(hstack(root_mu[0] * (y0*F).T @ alpha,
                    root_mu[1] * (y1*F).T @ alpha))
      subject to  lower: 0 <= alpha
                  upper: alpha <= 1
      variables   alpha (2)
      parameters  root_mu (2, nonneg)
    """
    alpha = cp.Variable(features.shape[0], name="alpha")
    root_mu = cp.Parameter(len(labelings), nonneg=True, name="root_mu")
    signed = [cp.Constant(features * y[:, None], name=f"(y{t}*F)") for t, y in enumerate(labelings)]
    weighted = cp.hstack([root_mu[t] * (F.T @ alpha) for t, F in enumerate(signed)])
    return build(
        "mkl_inner",
        "eq:convex_3",
        cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum_squares(weighted)),
        {"lower": alpha >= 0, "upper": alpha <= C},
    )
