r"""The pSVM problem itself as one mixed-integer program, for tens of instances.

In Equation (4), eq:pSVM_2, the proportions have a loss; in Equation (9), eq:convex_1, here in
primal weights, they are constraints, and labels may be soft.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.bags.bags import Bags
from propcvx.checks import check_number
from propcvx.errors import IllPosedWarning, warn
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import ProportionLoss
from propcvx.programs.labeling import allowed_counts, feasible_counts, gaps_of_proportions
from propcvx.programs.program import Program, build, weighted_sum

FEASIBILITY = 1e-9
"""The tightest tolerance of SCIP for constraints."""


def psvm(
    features: Array,
    bags: Bags,
    C: Weight,
    weights: Array,
    loss: ProportionLoss,
    *,
    bias: bool = True,
    value: float | None = None,
) -> Program:
    r"""Build the program of pSVM over labels, weights and bias, eq:pSVM_2.

    .. math::

        \min_{z, w, b, \xi} \tfrac12 \|w\|^2 + \sum_i C_i \xi_i
        + \sum_k \omega_k L_p(\tilde p_k, p_k) \quad \text{s.t. } \xi_i \ge 0, \;
        \xi_i \ge 1 - f_i - M_i (1 - z_i), \; \xi_i \ge 1 + f_i - M_i z_i

    with :math:`f_i = w^\top F_i + b`, :math:`y = 2 z - 1`, :math:`z \in \{0, 1\}^N`.  The
    constants :math:`M_i` cut off no optimal solution: with V a value that is attained,
    :math:`\|w\| \le \sqrt{2 V}` at an optimum, some optimal bias has
    :math:`|b| \le 1 + \max_i |w^\top F_i|`, and :math:`M_i \ge 1 + |f_i|`.  For the optimal
    labels, w = 0 and b = 0 cost only :math:`\sum_i C_i` in addition to the proportion losses, so
    that :math:`V = \sum_i C_i` is valid, too.

    A solver with the tolerance :math:`\delta` for constraints may make each slack :math:`\delta`
    too small, so its value may be too small by :math:`\delta \sum_i C_i`: by a thousandth of V from
    :math:`\sum_i C_i = 10^{-3} V / \delta` on, which for SCIP at its tightest is :math:`10^6 V`.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    bags : Bags
        The bags; known labels are constraints.
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.
    weights : array of shape (K,)
        Weight :math:`\omega_k` of each bag's proportion loss: :math:`C_p`, times the bag's weight
        if bags are weighted.
    loss : ProportionLoss
        The loss :math:`L_p`.
    bias : bool, default=True
        Whether there is a bias b.
    value : float, optional
        V, a value of the problem that is attained, from any labeling; the lower it is, the tighter
        are the constants and the faster is a solver.  By default :math:`\sum_i C_i`.

    Returns
    -------
    Program
        Variables ``z`` (N,) boolean, ``w`` (r,), ``xi`` (N,) and, with bias, ``b`` (scalar).
        Constraints ``positive``, ``negative``, ``slack``, ``known`` (of constants) and, if the loss
        allows only some counts, ``lower`` and ``upper``.

    Raises
    ------
    InputError
        If ``value`` is not a positive number.

    Warns
    -----
    IllPosedWarning
        If :math:`\sum_i C_i` is so large that a solver's value may be too small by more than a
        thousandth of V or, without ``value``, of the reciprocal mean square of the features'
        norms.

    Notes
    -----
    With large constants M a solver can call a labeling optimal that is not.  Compare its value with
    the SVM values of other labelings, or use :func:`propcvx.certify`, whose bounds include errors.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import psvm
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings.losses import PROPORTION_LOSSES
    >>> bags = Bags.from_target(bag_target([0, 0, 0], [1 / 3]))
    >>> features, loss = np.array([[-1.0], [0.0], [1.0]]), PROPORTION_LOSSES["absolute"]
    >>> print(psvm(features, bags, 1.0, np.full(1, 10.0), loss))
    psvm (eq:pSVM_2): mixed-integer quadratic program
      minimize    0.5 * sum_squares(w) + 1 * sum(xi) + omega @ abs(A @ z - p)
      subject to  positive: 1 - (F @ w + b) - M * (1 - z) <= xi
                  negative: 1 + F @ w + b - M * z <= xi
                  slack:    0 <= xi
                  known:    known * z == positive
      variables   w (1), xi (3), z (3, boolean), b
    """
    n, total = len(features), float(np.broadcast_to(C, len(features)).sum())
    if value is not None:
        check_number("value", value, low=0.0)
    _warn_if_short(features, total, value)
    limit = min(total, np.inf if value is None else value)
    M = cp.Constant(big_constants(features, limit, bias), name="M")
    z = cp.Variable(n, boolean=True, name="z")
    objective, constraints = _separator_of_labels(features, z, M, C, bias)
    gaps, omega = gaps_of_proportions(z, bags), cp.Constant(weights, name="omega")
    return build(
        "psvm",
        "eq:pSVM_2",
        cp.Minimize(objective + omega @ loss.of_gaps(bags, gaps)),
        {**constraints, **allowed_counts(z, bags, loss)},
    )


def _separator_of_labels(
    features: Array, z: cp.Variable, M: cp.Constant, C: Weight, bias: bool
) -> tuple[cp.Expression, dict[str, cp.Constraint]]:
    """Build objective and slack constraints of the SVM of the labels :math:`2 z - 1`."""
    n, r = features.shape
    w, xi = cp.Variable(r, name="w"), cp.Variable(n, name="xi")
    scores = cp.Constant(features, name="F") @ w
    if bias:
        scores = scores + cp.Variable(name="b")
    return 0.5 * cp.sum_squares(w) + weighted_sum(C, xi), {
        "positive": xi >= 1 - scores - cp.multiply(M, 1 - z),
        "negative": xi >= 1 + scores - cp.multiply(M, z),
        "slack": xi >= 0,
    }


def big_constants(features: Array, value: float, bias: bool) -> Array:
    """Compute the constants M of :func:`psvm`, with V a value that is attained."""
    reach = np.linalg.norm(features, axis=1) * np.sqrt(2.0 * value)
    return 1.0 + reach + (1.0 + reach.max() if bias else 0.0)


def _warn_if_short(features: Array, total: float, value: float | None) -> None:
    square = float(np.square(features).sum(axis=1).mean())
    likely = value if value is not None else 1.0 / square if square > 0.0 else total
    short = FEASIBILITY * total
    if short > 1e-3 * likely:
        warn(
            f"the value of psvm may be {short:.1g} too small, as its slacks have a tolerance of "
            f"{FEASIBILITY:g} and C sums to {total:g} over the instances. Use a smaller C, or fit "
            "the SVM to the labels that it finds.",
            IllPosedWarning,
        )


def constrained_psvm(
    features: Array, feasible: FeasibleLabelings, C: Weight, *, value: float, integer: bool = True
) -> Program:
    r"""Build the joint program of a feasible labeling and its SVM, eq:convex_1.

    .. math::

        \min_{z, w, \xi} \tfrac12 \|w\|^2 + \sum_i C_i \xi_i \quad \text{s.t. } 2 z - 1 \in
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
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.
    value : float
        V, such as the SVM value of any feasible labeling.
    integer : bool, default=True
        Whether :math:`z \in \{0, 1\}^N`; otherwise :math:`0 \le z \le 1`, the continuous labels
        :math:`y \in \operatorname{conv} \mathcal{Y}`: where branch and bound begins.  Then
        :math:`w = 0` costs nothing for an instance with :math:`1 / M_i \le z_i \le 1 - 1 / M_i`,
        so that only known labels and bags of one class matter much.

    Returns
    -------
    Program
        Variables ``z``, ``w`` (r,), ``xi`` (N,).  Constraints ``positive``, ``negative``,
        ``slack``, ``lower``, ``upper``, ``known`` and, without integers, ``least`` (0 <= z) and
        ``most`` (z <= 1): then the duals of ``positive`` and ``negative`` add up to
        :math:`\alpha_i`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import constrained_psvm
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 0], [1 / 3]))
    >>> feasible, features = FeasibleLabelings.from_bags(bags, 0), np.array([[-1.0], [0.0], [1.0]])
    >>> print(constrained_psvm(features, feasible, 1.0, value=3.0))
    constrained_psvm (eq:convex_1): mixed-integer quadratic program
      minimize    0.5 * sum_squares(w) + 1 * sum(xi)
      subject to  positive: 1 - F @ w - M * (1 - z) <= xi
                  negative: 1 + F @ w - M * z <= xi
                  slack:    0 <= xi
                  lower:    fewest <= B @ z
                  upper:    B @ z <= most
                  known:    known * z == positive
      variables   w (1), xi (3), z (3, boolean)
    """
    z = cp.Variable(len(features), boolean=integer, name="z")
    M = cp.Constant(big_constants(features, value, False), name="M")
    objective, constraints = _separator_of_labels(features, z, M, C, bias=False)
    constraints |= feasible_counts(z, feasible)
    if not integer:
        constraints |= {"least": z >= 0, "most": z <= 1}
    return build("constrained_psvm", "eq:convex_1", cp.Minimize(objective), constraints)
