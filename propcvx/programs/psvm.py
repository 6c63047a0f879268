r"""The pSVM problem itself, eq:pSVM_2, as one mixed-integer program for tens of instances."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.losses import ProportionLoss
from propcvx.programs.labeling import bag_averages, known_labels
from propcvx.programs.program import Program, build

Array = NDArray[np.float64]


def psvm(
    features: Array,
    bags: Bags,
    C: float,
    weights: Array,
    loss: ProportionLoss,
    *,
    bias: bool = True,
) -> Program:
    r"""PSVM over labels, weights and bias at once, eq:pSVM_2.

    .. math::

        \min_{z, w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i + \sum_k \omega_k L_p(\tilde p_k, p_k)
        \quad \text{s.t. } \xi_i \ge 0, \;
        \xi_i \ge 1 - f_i - M_i (1 - z_i), \; \xi_i \ge 1 + f_i - M_i z_i

    with :math:`f_i = w^\top F_i + b`, :math:`y = 2 z - 1`, :math:`z \in \{0, 1\}^N`.  The
    constants :math:`M_i` cut off no optimal solution: for the optimal labels, w = 0 and b = 0 cost
    only :math:`C N` beside the proportion losses, so :math:`\|w\| \le \sqrt{2 C N}` at an optimum,
    some optimal bias has :math:`|b| \le 1 + \max_i |w^\top F_i|`, and :math:`M_i \ge 1 + |f_i|`.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bags : Bags
        The bags; labels that are known are constraints.
    C : float
        Weight of the hinge loss.
    weights : array of shape (K,)
        Weight :math:`\omega_k` of each bag's proportion loss, :math:`C_p` in the paper.
    loss : ProportionLoss
        The loss :math:`L_p`.
    bias : bool
        Whether there is a bias b.

    Returns
    -------
    Program
        Variables ``z`` (N,) boolean, ``w`` (r,), ``xi`` (N,) and, with bias, ``b`` (scalar).
        Constraints ``positive``, ``negative``, ``slack``, ``known``.
    """
    n, r = features.shape
    F, big = cp.Constant(features, name="F"), _big_constants(features, C, bias)
    z, w = cp.Variable(n, boolean=True, name="z"), cp.Variable(r, name="w")
    xi = cp.Variable(n, name="xi")
    scores = F @ w + cp.Variable(name="b") if bias else F @ w
    gaps = bag_averages(bags) @ z - bags.proportions
    return build(
        "psvm",
        "eq:pSVM_2",
        cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi) + weights @ loss.expression(gaps)),
        {
            "positive": xi >= 1 - scores - cp.multiply(big, 1 - z),
            "negative": xi >= 1 + scores - cp.multiply(big, z),
            "slack": xi >= 0,
            "known": known_labels(z, bags),
        },
    )


def _big_constants(features: Array, C: float, bias: bool) -> Array:
    reach = np.linalg.norm(features, axis=1) * np.sqrt(2.0 * C * len(features))
    return 1.0 + reach + (1.0 + reach.max() if bias else 0.0)
