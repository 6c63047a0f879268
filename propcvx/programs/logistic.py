"""Logistic regression on labels that may be probabilities."""

from __future__ import annotations

import cvxpy as cp

from propcvx.arrays import Array
from propcvx.programs.program import Program, build


def soft_logistic_regression(features: Array, weights: Array) -> Program:
    r"""Logistic regression with a label :math:`t_i \in [0, 1]` of each instance, and a ridge.

    .. math::

        \min_{w, b} \sum_i c_i \bigl(\log(1 + e^{s_i}) - t_i s_i\bigr)
        + \tfrac{\lambda}{2} \|w\|^2, \qquad s_i = w^\top F_i + b

    The sum is the negative log-likelihood of labels 0 and 1 with
    :math:`P(t_i = 1) = 1 / (1 + e^{-s_i})`.  With expected labels it is its expectation, which is
    what :func:`propcvx.alternating.expectation.maximize_likelihood` minimizes in each round.

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
        "soft_logistic_regression",
        "",
        cp.Minimize(c @ losses + 0.5 * lam * cp.sum_squares(w)),
    )
