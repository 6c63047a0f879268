r"""The separator of a fixed labeling of several classes (Crammer and Singer 2001)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array
from propcvx.programs.program import Program, build
from propcvx.programs.structures import MulticlassSVM


def crammer_singer(features: Array, n_classes: int) -> Program:
    r"""Multi-class SVM, the terms of eq:pSVM_2 that depend on w and b for several classes.

    .. math::

        \min_{W, b, \xi} \sum_c \|w_c\|^2 + C \sum_i \xi_i
        \quad \text{s.t. } w_{y_i}^\top F_i + b_{y_i} + \xi_i
        \ge w_c^\top F_i + b_c + 1[c \ne y_i] \text{ for all } c, \quad \sum_c b_c = 0

    The constraint of :math:`c = y_i` says that :math:`\xi_i \ge 0`; the last one chooses one of
    the biases that differ by a constant.  With :math:`\|w_c\|^2`, not half of it, two classes have
    :math:`w_2 = -w_1 = w / 2` for the w of :func:`~propcvx.programs.svm_primal` with the same
    C, and the same value.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    n_classes : int
        The number K of classes.

    Returns
    -------
    Program
        Variables ``W`` (r, K), ``b`` (K,) and ``xi`` (N,).  Parameters ``Y`` (N, K), 1 in the
        column of the label of the instance and 0 elsewhere, and ``C`` >= 0.  Constraints
        ``margin``, whose dual :math:`\alpha_{ic} \ge 0` sums to C over the classes, with
        :math:`w_c = \tfrac12 \sum_i (C Y_{ic} - \alpha_{ic}) F_i`, and ``centred``, whose dual is
        0.  Structure :class:`~propcvx.programs.structures.MulticlassSVM`.

    Examples
    --------
    >>> print(crammer_singer(np.array([[-1.0], [0.0], [1.0]]), 3))
    crammer_singer (eq:pSVM_2): quadratic program
      minimize    sum_squares(W) + C * sum(xi)
      subject to  margin:  F @ W + [3] @ b + 1 - Y <= (sum(Y * (F @ W + [3] @ b), axis=1) + xi) @ [3]
                  centred: sum(b) == 0
      variables   W (1 x 3), xi (3), b (3)
      parameters  C (nonneg), Y (3 x 3)
    """  # noqa: E501
    (n, r), K = features.shape, n_classes
    F, W = cp.Constant(features, name="F"), cp.Variable((r, K), name="W")
    b, xi = cp.Variable(K, name="b"), cp.Variable(n, name="xi")
    Y, C = cp.Parameter((n, K), name="Y"), cp.Parameter(nonneg=True, name="C")
    scores = F @ W + cp.outer(np.ones(n), b)
    of_label = cp.sum(cp.multiply(Y, scores), axis=1)
    margin = scores + 1 - Y <= cp.outer(of_label + xi, np.ones(K))
    return build(
        "crammer_singer",
        "eq:pSVM_2",
        cp.Minimize(cp.sum_squares(W) + C * cp.sum(xi)),
        {"margin": margin, "centred": cp.sum(b) == 0},
        MulticlassSVM(F.value),
    )
