r"""DIFFRAC (Bach and Harchaoui 2007) with rows for the bags: the square loss, not the hinge."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.programs.lifted import lifted_matrix
from propcvx.programs.program import Program, build

Array = NDArray[np.float64]


def square_loss_matrix(features: Array, C: float) -> Array:
    r"""What a labeling costs by ridge regression, as a quadratic form.

    .. math::

        \min_w \tfrac12 \|w\|^2 + C \sum_i (y_i - w^\top F_i)^2 = y^\top A y, \qquad
        A = C (I + 2 C F F^\top)^{-1}

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    C : float
        Weight of the square loss, which is :math:`(1 - y_i w^\top F_i)^2` for labels.

    Examples
    --------
    >>> square_loss_matrix(np.array([[1.0], [0.0]]), 0.5)
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    n = len(features)
    return np.asarray(C * np.linalg.inv(np.eye(n) + 2.0 * C * features @ features.T))


def diffrac(features: Array, feasible: FeasibleLabelings, C: float) -> Program:
    r"""The square loss over all labelings at once.

    .. math::

        \min_X \operatorname{tr} A M, \qquad X = \begin{pmatrix} 1 & y^\top \\ y & M \end{pmatrix}

    over the X of :func:`~propcvx.programs.lifted_svm`, with A of :func:`square_loss_matrix`.  The
    bias of the original is left to centring, as everywhere in Algorithm 2.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`; with one bag and a wide range it is discriminative clustering.
    C : float
        Weight of the square loss.

    Returns
    -------
    Program
        Variable ``U`` (m, m).  Constraints ``diagonal`` and, where some count is not exact,
        ``products``.
    """
    X, constraints = lifted_matrix(feasible)
    A = cp.Constant(square_loss_matrix(features, C), name="A")
    return build(
        "diffrac", "eq:convex_1", cp.Minimize(cp.sum(cp.multiply(A, X[1:, 1:]))), constraints
    )
