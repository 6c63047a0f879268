r"""Multiple kernel learning over the labelings found so far: the restricted master of Algorithm 2.

Three forms of one problem, eq:convex_3 with :math:`\mathcal{Y}` replaced by the T labelings found
so far: the epigraph form eq:convex_4 (with the sign of :math:`\alpha^\top 1` that makes it equal
to eq:convex_3; the paper prints the other one), its dual in groups of primal weights, and the inner
problem for fixed weights mu, a QP, around which SimpleMKL descends.
"""

from __future__ import annotations

import cvxpy as cp

from propcvx.arrays import Array, Weight
from propcvx.programs.program import Program, build, weighted_sum
from propcvx.programs.structures import GroupMaster, RestrictedMaster


def mkl_epigraph(features: Array, labelings: Array, C: Weight) -> Program:
    r"""Build the epigraph form, eq:convex_4.

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
    r"""Build the group form of eq:convex_3, in primal weights: the dual of the epigraph form.

    .. math::

        \min_{W, s, \xi} \tfrac12 \Big(\sum_t s_t\Big)^2 + \sum_i C_i \xi_i
        \quad \text{s.t. } \|w_t\| \le s_t, \; \xi_i \ge 0, \;
        \sum_t y_{ti} w_t^\top F_i \ge 1 - \xi_i

    Parameters
    ----------
    features, labelings, C
        As in :func:`mkl_epigraph`.

    Returns
    -------
    Program
        Variables ``W`` (T, r), ``s`` (T,), ``xi`` (N,); the weights mu are
        :math:`s_t / \sum_t s_t`, and any where all s are 0.  Constraints ``margin``, whose dual is
        :math:`\alpha_i \in [0, C_i]`, ``slack``, and ``norms``, second-order cones.  Structure
        :class:`~propcvx.programs.structures.GroupMaster`.

    Examples
    --------
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
    r"""Build the inner problem of eq:convex_3 for fixed weights mu, a QP.

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
