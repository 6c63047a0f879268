r"""Covariances inside bags, which identify the class difference if all proportions are equal.

The labels of a bag of n instances with a given count are correlated negatively.  If the instances
of a class do not depend on the bag and have the mean :math:`\mu_\pm`, and :math:`\Sigma` is the
mean of their covariances within the classes, the sample covariance of the bag has the expectation

.. math::

    E[S] = \Sigma + d\, \delta \delta^\top, \qquad d = \frac{n_+ n_-}{n (n - 1)}, \qquad
    \delta = \mu_+ - \mu_-.

Smaller bags have a larger d; all instances, as one bag, have the least d.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array
from propcvx.programs.program import Program, build
from propcvx.programs.structures import SecondMomentFit


def second_moments(covariances: Array, between: Array, weights: Array) -> Program:
    r"""Build the fit of the difference of the class means to covariances inside bags.

    .. math::

        \min_{\Sigma, M} \sum_g \omega_g \|S_g - \Sigma - d_g M\|_F^2
        \quad \text{s.t. } M \succeq 0

    M estimates :math:`\delta \delta^\top`.  Both are unique if two of the :math:`d_g` differ,
    and M is then the semidefinite part of the slope of the regression without the constraint.  In
    features of total covariance I the leading eigenvector of M is the direction of Fisher's
    discriminant.

    In the objective the :math:`S_g` stand below each other in S, unit matrices in I, and
    :math:`d_g` times these in D.

    Parameters
    ----------
    covariances : array of shape (G, r, r)
        Sample covariances :math:`S_g` of bags, or pooled over several bags of equal :math:`d_g`.
    between : array of shape (G,)
        :math:`d_g = n_+ n_- / (n (n - 1))`.
    weights : array of shape (G,)
        Weights :math:`\omega_g > 0`, such as the degrees of freedom of :math:`S_g`.

    Returns
    -------
    Program
        Variables ``Sigma`` and ``M`` (r, r), symmetric.  No parameters.  Constraint ``positive``,
        whose dual is semidefinite and orthogonal to M.  Structure
        :class:`~propcvx.programs.structures.SecondMomentFit`.

    Examples
    --------
    >>> print(second_moments(np.ones((2, 1, 1)), np.array([0.0, 0.3]), np.ones(2)))
    second_moments: semidefinite program
      minimize    sum_squares(root * (S - I @ Sigma - D @ M))
      subject to  positive: M >> 0
      variables   Sigma (1 x 1, symmetric), M (1 x 1, symmetric)
    """
    r, unit = covariances.shape[-1], np.eye(covariances.shape[-1])
    Sigma = cp.Variable((r, r), symmetric=True, name="Sigma")
    M = cp.Variable((r, r), symmetric=True, name="M")
    S = cp.Constant(covariances.reshape(-1, r), name="S")
    I = cp.Constant(np.tile(unit, (len(between), 1)), name="I")  # noqa: E741
    D = cp.Constant(np.kron(between[:, None], unit), name="D")
    root = cp.Constant(np.repeat(np.sqrt(weights), r)[:, None] * np.ones(r), name="root")
    return build(
        "second_moments",
        "",
        cp.Minimize(cp.sum_squares(cp.multiply(root, S - I @ Sigma - D @ M))),
        {"positive": M >> 0},
        structure=SecondMomentFit(covariances, between, weights),
    )
