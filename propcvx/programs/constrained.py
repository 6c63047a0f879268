r"""PSVM with the proportions as constraints, eq:convex_1 in primal weights; labels may be soft."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.programs.labeling import feasible_counts
from propcvx.programs.program import Program, build
from propcvx.programs.psvm import big_constants

Array = NDArray[np.float64]


def constrained_psvm(
    features: Array,
    feasible: FeasibleLabelings,
    C: float,
    *,
    value: float,
    integer: bool = True,
) -> Program:
    r"""The best feasible labeling and its SVM at once.

    .. math::

        \min_{z, w, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i \quad \text{s.t. } 2 z - 1 \in
        \mathcal{Y}, \; \xi_i \ge 0, \; \xi_i \ge 1 - f_i - M_i (1 - z_i), \;
        \xi_i \ge 1 + f_i - M_i z_i

    with :math:`f_i = w^\top F_i` and the constants :math:`M_i = 1 + \sqrt{2 V} \|F_i\|`, which cut
    off no optimal solution where V is a value that is attained, as in
    :func:`~propcvx.programs.psvm`.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    C : float
        Weight of the hinge loss.
    value : float
        V, such as the SVM value of any feasible labeling.
    integer : bool
        Whether :math:`z \in \{0, 1\}^N`; otherwise :math:`0 \le z \le 1`, the continuous labels
        :math:`y \in \operatorname{conv} \mathcal{Y}`: where branch and bound begins.  Then
        :math:`w = 0` costs nothing for an instance with :math:`1 / M_i \le z_i \le 1 - 1 / M_i`,
        so that little more than the known labels and the bags of one class counts.

    Returns
    -------
    Program
        Variables ``z``, ``w`` (r,), ``xi`` (N,).  Constraints ``positive``, ``negative``, whose
        duals are the shares of :math:`\alpha_i` that either label has, ``slack``, ``lower``,
        ``upper``, ``known`` and, without integers, ``least`` and ``most``.
    """
    n, r = features.shape
    F, M = cp.Constant(features, name="F"), cp.Constant(big_constants(features, value, False))
    z, w = cp.Variable(n, boolean=integer, name="z"), cp.Variable(r, name="w")
    xi = cp.Variable(n, name="xi")
    constraints = {
        "positive": xi >= 1 - F @ w - cp.multiply(M, 1 - z),
        "negative": xi >= 1 + F @ w - cp.multiply(M, z),
        "slack": xi >= 0,
        **feasible_counts(z, feasible),
    }
    if not integer:
        constraints |= {"least": z >= 0, "most": z <= 1}
    return build(
        "constrained_psvm",
        "eq:convex_1",
        cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)),
        constraints,
    )
