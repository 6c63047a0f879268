r"""The problems over labelings alone, as boolean programs that match the sorting algorithms.

``propcvx.labelings.feasible`` solves :func:`labeling_step` and :func:`linear_separation` by sorting
each bag; these programs state the same problems in CVXPY.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import ProportionLoss
from propcvx.programs.program import Program, build


def labeling_step(bags: Bags, loss: ProportionLoss) -> Program:
    r"""Build the labeling step of alter-pSVM, eq:solving_y.

    .. math::

        \min_{z \in \{0, 1\}^N} \sum_i \big[ z_i L(+1, f_i) + (1 - z_i) L(-1, f_i) \big]
        + \sum_k \omega_k L_p(\tilde p_k, p_k), \qquad y = 2 z - 1

    Parameters
    ----------
    bags : Bags
        The bags; known labels are constraints.
    loss : ProportionLoss
        The loss :math:`L_p`.

    Returns
    -------
    Program
        Variable ``z`` (N,), boolean.  Parameters ``loss_positive``, ``loss_negative`` (N,) >= 0,
        the loss L of each instance under either label, and ``weights`` (K,) >= 0.
        Constraint ``known`` and, if the loss allows only some counts, ``lower`` and ``upper``.

    Examples
    --------
    >>> from propcvx.programs import labeling_step
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings.losses import PROPORTION_LOSSES
    >>> bags = Bags.from_target(bag_target([0, 0, 0], [1 / 3]))
    >>> print(labeling_step(bags, PROPORTION_LOSSES["absolute"]))
    labeling_step (eq:solving_y): mixed-integer linear program
      minimize    loss_positive @ z + loss_negative @ (1 - z) + weights @ abs(A @ z - p)
      subject to  known: known * z == positive
      variables   z (3, boolean)
      parameters  loss_positive (3, nonneg), loss_negative (3, nonneg), weights (1, nonneg)
    """
    z = cp.Variable(bags.n_instances, boolean=True, name="z")
    positive = cp.Parameter(bags.n_instances, nonneg=True, name="loss_positive")
    negative = cp.Parameter(bags.n_instances, nonneg=True, name="loss_negative")
    weights = cp.Parameter(bags.n_bags, nonneg=True, name="weights")
    gaps = gaps_of_proportions(z, bags)
    return build(
        "labeling_step",
        "eq:solving_y",
        cp.Minimize(positive @ z + negative @ (1 - z) + weights @ loss.of_gaps(bags, gaps)),
        allowed_counts(z, bags, loss),
    )


def counted_labeling(feasible: FeasibleLabelings) -> Program:
    r"""Build the labeling step of alter-pSVM as a linear program, also for overlapping bags.

    .. math::

        \min_{z \in [0, 1]^N,\; t} \; -g^\top z + c^\top t \quad \text{s.t.} \quad B z = S t, \quad
        0 \le t \le 1

    B is ``Bags.membership``, and S sums, for each bag, over the ranks
    :math:`r = 1, \ldots, n_k` of its positives.  With
    :math:`g_i = L(-1, f_i) - L(+1, f_i)` and the marginal costs
    :math:`c_{kr} = \omega_k [L_p(r / n_k, p_k) - L_p((r - 1) / n_k, p_k)]`, which rise with r as
    :math:`L_p` is convex, it is Equation (7), eq:solving_y, up to a constant for integer z.
    Every vertex is integer; :func:`propcvx.labelings.feasible.best_labeling` solves it by sorting.

    Parameters
    ----------
    feasible : FeasibleLabelings
        The feasible counts; known labels are constraints.

    Returns
    -------
    Program
        Variables ``z`` (N,) and ``t`` (sum of the sizes of bags,), bag after bag.  Parameters
        ``gains`` (N,) and ``costs`` like t.  Constraints ``counts``; ``z_least``, ``z_most``,
        ``t_least``, ``t_most``; ``lower``, ``upper``, ``known``.

    Examples
    --------
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import counted_labeling
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(counted_labeling(feasible))
    counted_labeling (eq:solving_y): linear program
      minimize    costs @ t - gains @ z
      subject to  counts:  B @ z == S @ t
                  z_least: 0 <= z
                  z_most:  z <= 1
                  t_least: 0 <= t
                  t_most:  t <= 1
                  lower:   fewest <= B @ z
                  upper:   B @ z <= most
                  known:   known * z == positive
      variables   t (3), z (3)
      parameters  costs (3), gains (3)
    """
    bags, total = feasible.bags, int(feasible.bags.sizes.sum())
    bag_of_piece = np.repeat(np.arange(bags.n_bags), bags.sizes)
    S = cp.Constant(sp.eye_array(bags.n_bags, format="csc")[:, bag_of_piece], name="S")
    z, t = cp.Variable(bags.n_instances, name="z"), cp.Variable(total, name="t")
    gains = cp.Parameter(bags.n_instances, name="gains")
    costs = cp.Parameter(total, name="costs")
    return build(
        "counted_labeling",
        "eq:solving_y",
        cp.Minimize(costs @ t - gains @ z),
        {
            "counts": cp.Constant(bags.membership, name="B") @ z == S @ t,
            "z_least": z >= 0,
            "z_most": z <= 1,
            "t_least": t >= 0,
            "t_most": t <= 1,
            **feasible_counts(z, feasible),
        },
    )


def linear_separation(feasible: FeasibleLabelings) -> Program:
    r"""Build the separation problem along one dimension, below Equation (20), eq:convex_vio.

    .. math::

        \max_{y \in \mathcal{Y}} \sum_i s_i y_i, \qquad s_i = \pm \alpha_i x_i^{(j)}

    Parameters
    ----------
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.

    Returns
    -------
    Program
        Variable ``z`` (N,), boolean, with :math:`y = 2 z - 1`.  Parameter ``scores`` (N,).
        Constraints ``lower``, ``upper``, ``known``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import linear_separation
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.solvers import solve
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> program = linear_separation(feasible)
    >>> print(program)
    linear_separation (eq:convex_vio): mixed-integer linear program
      maximize    scores @ (2 * z - 1)
      subject to  lower: fewest <= B @ z
                  upper: B @ z <= most
                  known: known * z == positive
      variables   z (3, boolean)
      parameters  scores (3)
    >>> z = solve(program.set(scores=np.array([0.3, -0.2, 0.5]))).variables["z"]
    >>> 2 * np.round(z).astype(int) - 1
    array([-1, -1,  1])
    """
    z = cp.Variable(feasible.bags.n_instances, boolean=True, name="z")
    scores = cp.Parameter(feasible.bags.n_instances, name="scores")
    return build(
        "linear_separation",
        "eq:convex_vio",
        cp.Maximize(scores @ (2 * z - 1)),
        feasible_counts(z, feasible),
    )


def exact_separation(features: Array, alpha: Array, feasible: FeasibleLabelings) -> Program:
    r"""Build the search for the most violated labeling, eq:concave, for tens of instances.

    It maximizes, like Equation (17), the convex :math:`y^\top Q y` with
    :math:`Q = (K \circ \alpha \alpha^\top)`.  As :math:`y^\top y = N` on labelings, it is the same
    to solve

    .. math::

        \min_{y \in \mathcal{Y}} \; y^\top (\lambda I - Q) y, \qquad
        \lambda = \lambda_{\max}(Q),

    which is convex; :math:`y^\top Q y` is :math:`\lambda N` minus its value.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    alpha : array of shape (N,)
        Dual variables of the restricted master.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.

    Returns
    -------
    Program
        Variable ``z`` (N,), boolean, with :math:`y = 2 z - 1`.  Constraints ``lower``, ``upper``,
        ``known``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import exact_separation
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(exact_separation(np.eye(3), np.ones(3), feasible))
    exact_separation (eq:concave): mixed-integer quadratic program
      minimize    sum_squares(sqrt(lambda I - Q) @ (2 * z - 1))
      subject to  lower: fewest <= B @ z
                  upper: B @ z <= most
                  known: known * z == positive
      variables   z (3, boolean)
    """
    z = cp.Variable(len(alpha), boolean=True, name="z")
    weighted = features * alpha[:, None]
    values, vectors = np.linalg.eigh(weighted @ weighted.T)
    root = np.sqrt(np.maximum(values[-1] - values, 0.0))[:, None] * vectors.T
    R = cp.Constant(root, name="sqrt(lambda I - Q)")
    return build(
        "exact_separation",
        "eq:concave",
        cp.Minimize(cp.sum_squares(R @ (2 * z - 1))),
        feasible_counts(z, feasible),
    )


def group_count(
    membership: sp.csr_array, fewest: Indices, most: Indices, lower: Indices, upper: Indices
) -> Program:
    r"""Build the bound on a group's number of positives from published proportions.

    .. math::

        \min_t \; c^\top t \quad \text{s.t.} \quad l \le B t \le u, \quad f \le t \le n

    Instances of the same group in the same bags form one cell a, and :math:`t_a` is the number of
    positives of cell a.  With :math:`c_a = 1` for the cells of the group and 0 for others, the
    optimal value is the least number; with -1 in place of 1 it is minus the largest.  The value is
    the sum over bags of the bounds of Duncan and Davis (1953), :math:`\min(n_{gk}, u_k)`
    and :math:`\max(0, l_k - (n_k - n_{gk}))`.

    Parameters
    ----------
    membership : sparse array of shape (K, A)
        B: 1 where the instances of a cell are in a bag.
    fewest, most : arrays of shape (A,)
        f and n: known positives of each cell, and its instances that are not known negatives.
    lower, upper : arrays of shape (K,)
        l and u: range of the number of positives in each bag.

    Returns
    -------
    Program
        Variable ``t`` (A,), parameter ``inside`` (A,), which is c.  Constraints ``lower`` and
        ``upper``, whose duals >= 0 are the slopes of the optimum in l, and minus those in u;
        ``fewest``, ``most``.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from propcvx.programs import group_count
    >>> from propcvx.solvers import solve
    >>> one_bag, sizes = sp.csr_array([[1.0, 1.0]]), np.array([3, 2])
    >>> program = group_count(one_bag, np.zeros(2, int), sizes, np.array([4]), np.array([4]))
    >>> print(program)
    group_count: linear program
      minimize    inside @ t
      subject to  lower:  l <= B @ t
                  upper:  B @ t <= u
                  fewest: f <= t
                  most:   t <= n
      variables   t (2)
      parameters  inside (2)
    >>> round(solve(program.set(inside=np.array([1.0, 0.0]))).value)
    2
    """
    t = cp.Variable(len(fewest), name="t")
    inside = cp.Parameter(len(fewest), name="inside")
    counts = cp.Constant(membership, name="B") @ t
    constraints = {
        "lower": counts >= cp.Constant(lower, name="l"),
        "upper": counts <= cp.Constant(upper, name="u"),
        "fewest": t >= cp.Constant(fewest, name="f"),
        "most": t <= cp.Constant(most, name="n"),
    }
    return build("group_count", "", cp.Minimize(inside @ t), constraints)


def gaps_of_proportions(z: cp.Variable, bags: Bags) -> cp.Expression:
    r"""Express :math:`\tilde p_k - p_k` of the labeling :math:`2 z - 1`; 0 without :math:`p_k`."""
    averages = sp.diags_array(bags.has_proportion / bags.sizes) @ bags.membership
    p = np.where(bags.has_proportion, bags.proportions, 0.0)
    return cp.Constant(averages, name="A") @ z - cp.Constant(p, name="p")


def feasible_counts(z: cp.Variable, feasible: FeasibleLabelings) -> dict[str, cp.Constraint]:
    """Constrain booleans z so that :math:`2 z - 1` is a feasible labeling."""
    bags = feasible.bags
    counts = cp.Constant(bags.membership, name="B") @ z
    return {
        "lower": counts >= cp.Constant(feasible.lower, name="fewest"),
        "upper": counts <= cp.Constant(feasible.upper, name="most"),
        "known": known_labels(z, bags),
    }


def allowed_counts(z: cp.Variable, bags: Bags, loss: ProportionLoss) -> dict[str, cp.Constraint]:
    """Constrain booleans z so that the proportion loss of :math:`2 z - 1` is finite."""
    if loss.epsilon is None:
        return {"known": known_labels(z, bags)}
    return feasible_counts(z, FeasibleLabelings.from_loss(loss, bags))


def known_labels(z: cp.Variable, bags: Bags) -> cp.Constraint:
    """Constrain booleans z so that :math:`2 z - 1` agrees with the known labels."""
    is_known = cp.Constant(bags.labels != 0, name="known")
    return cp.multiply(is_known, z) == cp.Constant(bags.labels > 0, name="positive")
