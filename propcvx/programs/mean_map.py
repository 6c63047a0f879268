r"""MeanMap (Quadrianto et al. 2009): class means from bag means, then an exponential model.

Assuming that within a class the instances do not depend on the bag, each bag mean is
:math:`m_k = p_k \mu_+ + (1 - p_k) \mu_-`.  :func:`class_means` solves for :math:`\mu_\pm`, and
:func:`conditional_exponential_model` is the maximum-likelihood classifier whose only statistic of
the labels, the mean operator, is estimated from them.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.programs.program import Program, build
from propcvx.programs.structures import LeastSquares, LogisticModel

Array = NDArray[np.float64]


def class_means(bag_means: Array, proportions: Array, weights: Array) -> Program:
    r"""Class means by weighted least squares (Section 2, MeanMap).

    .. math::

        \min_{\mu_+, \mu_-} \sum_k \omega_k \|m_k - p_k \mu_+ - (1 - p_k) \mu_-\|^2

    The solution is unique when at least two proportions differ.

    Parameters
    ----------
    bag_means : array of shape (K, r)
        Bag means :math:`m_k`, in features.
    proportions : array of shape (K,)
        Shares :math:`p_k` of positives.
    weights : array of shape (K,)
        Weights :math:`\omega_k > 0`.

    Returns
    -------
    Program
        Variable ``means`` (2, r): :math:`\mu_+` and :math:`\mu_-`.  No constraints.
    """
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([proportions, 1.0 - proportions])
    M, P = cp.Constant(root * bag_means, name="M"), cp.Constant(root * design, name="P")
    means = cp.Variable((2, bag_means.shape[1]), name="means")
    return build(
        "class_means",
        "sec:related",
        cp.Minimize(cp.sum_squares(M - P @ means)),
        structure=LeastSquares(P.value, M.value, "means"),
    )


def conditional_exponential_model(features: Array, *, bias: bool = True) -> Program:
    r"""Conditional exponential model with a given mean operator (Section 2, MeanMap).

    With :math:`p(y \mid x) \propto \exp(y (w^\top x + b))`, the regularised mean negative
    log-likelihood depends on the labels only through :math:`\hat\mu = \frac1N \sum_i y_i x_i` and
    :math:`\bar y = \frac1N \sum_i y_i`:

    .. math::

        \min_{w, b} \frac1N \sum_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
        + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance: the data (linear form) or kernel eigen-features (kernel form).
    bias : bool
        Whether there is a bias b.

    Returns
    -------
    Program
        Variables ``w`` (r,) and, with bias, ``b`` (scalar).  Parameters ``mean_operator`` (r,),
        ``mean_label`` (scalar, with bias) and ``lam`` >= 0.  No constraints.
    """
    n, r = features.shape
    F, w = cp.Constant(features, name="F"), cp.Variable(r, name="w")
    mean_operator, lam = (
        cp.Parameter(r, name="mean_operator"),
        cp.Parameter(nonneg=True, name="lam"),
    )
    scores, linear = F @ w, mean_operator @ w
    if bias:
        b, mean_label = cp.Variable(name="b"), cp.Parameter(name="mean_label")
        scores, linear = scores + b, linear + mean_label * b
    log_partition = cp.sum(cp.logistic(2 * scores) - scores) / n
    return build(
        "conditional_exponential_model",
        "sec:related",
        cp.Minimize(log_partition - linear + lam * cp.sum_squares(w)),
        structure=LogisticModel(F.value, bias),
    )
