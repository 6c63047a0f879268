r"""Semidefinite relaxations: of :math:`x x^\top` with :math:`x = (1, y)`, and by moments of bags.

A matrix X replaces :math:`x x^\top`, as in Xu et al. (2004), who relax :math:`M = y y^\top` for
max-margin clustering.  Here X also contains y and has rows for the bags, so that counts and known
labels constrain both y and M.  Linear constraints that hold for every feasible x hold for X row by
row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.linalg import helmert

from propcvx.arrays import Array, Weight
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs.program import Program, build, weighted_sum


@dataclass(frozen=True, eq=False)
class Lifting:
    r"""Linear constraints on :math:`x = (1, y)` for the feasible labelings y.

    With the matrix X that relaxes :math:`x x^\top`, see :func:`lifted_svm`.

    Attributes
    ----------
    span : sparse array of shape (N + 1, m)
        W, whose m orthonormal columns span the x with :math:`\mathbf{1}_k^\top y = s_k` for every
        bag whose count is exact and :math:`y_i` the known label, so that :math:`X = W U W^\top`
        with :math:`U \succeq 0`.
    ranges : sparse array of shape (R, N + 1)
        G of R rows, with :math:`G x \ge 0`: the least and the largest sum of every other bag that
        its counts allow, without the constraints that follow from :math:`|y_i| \le 1`.
    rows : sparse array of shape (R + 2 N, N + 1) or (0, N + 1)
        H, with :math:`H x \ge 0`: the rows of G, :math:`1 + y_i` and :math:`1 - y_i`.  Products
        of nonnegative numbers are nonnegative: :math:`G X H^\top \ge 0`.
    """

    span: sp.csr_array = field(repr=False)
    ranges: sp.csr_array = field(repr=False)
    rows: sp.csr_array = field(repr=False)

    @classmethod
    def from_feasible(cls, feasible: FeasibleLabelings) -> Lifting:
        """Build the constraints from the counts and the known labels of bags."""
        ranges = _ranges(feasible)
        ones, unit = np.ones((feasible.bags.n_instances, 1)), sp.eye_array(len(feasible.bags.index))
        signs = [sp.hstack([ones, unit]), sp.hstack([ones, -unit])] if ranges.shape[0] else []
        return cls(_span(feasible), ranges, sp.csr_array(sp.vstack([ranges, *signs])))

    def largest(self, quadratic: Array, diagonal: Array, products: Array | None) -> float:
        r"""Bound :math:`y^\top Q y` from above for all feasible labelings, by any multipliers.

        With :math:`\lambda` on the diagonal of X, all ones, and :math:`P \ge 0` on
        :math:`G X H^\top`, and with :math:`\|x\|^2 = N + 1`,

        .. math::

            y^\top Q y \le \lambda^\top 1 + (N + 1)\, \lambda_{\max}\big( W^\top ( \tilde Q
            + \tfrac12 (G^\top P H + H^\top P^\top G) - \operatorname{diag} \lambda ) W \big),

        where :math:`\tilde Q` is Q with a first row and column of zeros.  The bound includes the
        error of the eigenvalue.

        Parameters
        ----------
        quadratic : array of shape (N, N)
            Q, symmetric.
        diagonal : array of shape (N + 1,)
            :math:`\lambda`.
        products : array of shape (R, R + 2 N) or None
            P; negative entries are set to 0.  None is P = 0, where no bag has a range of counts.
        """
        lifted = np.pad(quadratic, ((1, 0), (1, 0))) - np.diag(diagonal)
        if products is not None:
            product = self.ranges.T @ np.maximum(products, 0.0) @ self.rows
            lifted += (product + product.T) / 2
        projection = self.span.T @ lifted @ self.span
        size, order = float(np.linalg.norm(lifted)), len(diagonal)
        error = order * np.finfo(float).eps * size
        return float(diagonal.sum()) + order * (float(np.linalg.eigvalsh(projection)[-1]) + error)


def lifted_svm(features: Array, feasible: FeasibleLabelings, C: Weight) -> Program:
    r"""Build the semidefinite relaxation of the SVM over all labelings.

    It is Equation (9), eq:convex_1, with X instead of :math:`x x^\top`, where x is y with a 1
    before it.

    .. math::

        \min_X \max_{0 \le \alpha_i \le C_i} \alpha^\top 1 - \tfrac12 \alpha^\top (K \circ M)
        \alpha, \qquad X = \begin{pmatrix} 1 & y^\top \\ y & M \end{pmatrix} = W U W^\top,
        \; U \succeq 0, \; X_{ii} = 1, \; G X H^\top \ge 0

    with :math:`K = F F^\top`, and W (N + 1, m), G (R, N + 1) and H of
    :class:`~propcvx.programs.Lifting`.  The inner maximum is written as
    its dual, with :math:`\delta, \eta \ge 0` the multipliers of the box:

    .. math::

        \min t \quad \text{s.t. } \begin{pmatrix} K \circ M & 1 + \delta - \eta \\ \cdot &
        2 (t - C^\top \eta) \end{pmatrix} \succeq 0

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    C : float or array of shape (N,)
        Weight of the hinge loss, of each instance where it is an array.

    Returns
    -------
    Program
        Variables ``U`` (m, m), ``t`` (1, 1), ``delta`` and ``eta`` (N, 1) >= 0; t is a matrix, as
        it is a block.  Constraints ``hinge``, whose dual (N + 1, N + 1) is positive semidefinite,
        ``diagonal``, whose dual (N + 1,) has any sign, and, where a range of counts excludes some,
        ``products``, with a dual (R, R + 2 N) >= 0.  :func:`lifted_svm_dual` is its dual, which is
        much faster to solve.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import lifted_svm
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(lifted_svm(np.array([[-1.0], [0.0], [1.0]]), feasible, 1.0))
    lifted_svm (eq:convex_1): semidefinite program
      minimize    sum(t)
      subject to  hinge:    vstack(hstack(K * (W @ U @ W.T)[1:4, 1:4], 1 + delta - eta),
                    hstack((1 + delta - eta).T, 2 * (t - 1 * sum(eta)))) >> 0
                  diagonal: diag(W @ U @ W.T) == 1
      variables   t (1 x 1), U (3 x 3, PSD), delta (3 x 1, nonneg), eta (3 x 1, nonneg)
    """
    n = len(features)
    X, constraints = lifted_matrix(feasible)
    delta = cp.Variable((n, 1), nonneg=True, name="delta")
    eta = cp.Variable((n, 1), nonneg=True, name="eta")
    t = cp.Variable((1, 1), name="t")
    slope, corner = 1 + delta - eta, 2 * (t - weighted_sum(C, eta))
    K = cp.Constant(features @ features.T, name="K")
    quadratic = cp.multiply(K, X[1:, 1:])
    return build(
        "lifted_svm",
        "eq:convex_1",
        cp.Minimize(cp.sum(t)),
        {"hinge": cp.bmat([[quadratic, slope], [slope.T, corner]]) >> 0, **constraints},
    )


def lifted_svm_dual(features: Array, feasible: FeasibleLabelings, C: Weight) -> Program:
    r"""Build the dual of :func:`lifted_svm`: the best lower bound that its multipliers prove.

    .. math::

        \max_{\alpha, \lambda, P} \alpha^\top 1 - \tfrac12 \lambda^\top 1 \quad \text{s.t. }
        0 \le \alpha_i \le C_i, \; P \ge 0, \;
        \begin{pmatrix} W^\top (\operatorname{diag} \lambda - \tfrac12 (G^\top P H + H^\top P^\top
        G)) W & W_1^\top \operatorname{diag}(\alpha) F \\ \cdot & I \end{pmatrix} \succeq 0

    with W, G, H, U and m as in :func:`lifted_svm`, and :math:`W_1` the rows of W of the instances;
    ``diagonal`` is :math:`\lambda` and ``products`` is P.

    Parameters
    ----------
    features, feasible, C
        As in :func:`lifted_svm`.

    Returns
    -------
    Program
        Variables ``alpha`` (N,), ``diagonal`` (N + 1,) and, where a range of counts excludes
        some, ``products`` >= 0.  Constraints ``lower``, ``upper`` and ``semidefinite``, of whose
        dual the first m rows and columns are half of U.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import lifted_svm_dual
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(lifted_svm_dual(np.array([[-1.0], [0.0], [1.0]]), feasible, 1.0))
    lifted_svm_dual (eq:convex_1): semidefinite program
      maximize    sum(alpha) - 0.5 * sum(diagonal)
      subject to  lower:        0 <= alpha
                  upper:        alpha <= 1
                  semidefinite: vstack(hstack(W.T @ diag(diagonal) @ W, W[1:4, 0:3].T @
                    (alpha * F)), hstack((W[1:4, 0:3].T @ (alpha * F)).T, I)) >> 0
      variables   alpha (3), diagonal (4)
    """
    n, r = features.shape
    lifting = Lifting.from_feasible(feasible)
    F, W = cp.Constant(features, name="F"), cp.Constant(lifting.span, name="W")
    alpha, diagonal = cp.Variable(n, name="alpha"), cp.Variable(n + 1, name="diagonal")
    weighted = W[1:].T @ cp.multiply(cp.reshape(alpha, (n, 1), order="F"), F)
    multipliers, unit = W.T @ cp.diag(diagonal) @ W, cp.Constant(np.eye(r), name="I")
    if lifting.ranges.shape[0]:
        G, H = cp.Constant(lifting.ranges, name="G"), cp.Constant(lifting.rows, name="H")
        P = cp.Variable((G.shape[0], H.shape[0]), nonneg=True, name="products")
        product = (G @ W).T @ P @ (H @ W)
        multipliers -= (product + product.T) / 2
    return build(
        "lifted_svm_dual",
        "eq:convex_1",
        cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum(diagonal)),
        {
            "lower": alpha >= 0,
            "upper": alpha <= C,
            "semidefinite": cp.bmat([[multipliers, weighted], [weighted.T, unit]]) >> 0,
        },
    )


def lifted_quadratic(quadratic: Array, feasible: FeasibleLabelings) -> Program:
    r"""Build the semidefinite relaxation of a quadratic form over all labelings.

    .. math::

        \max_{y \in \mathcal{Y}} y^\top Q y \;\le\; \max_X \operatorname{tr} Q M
        \quad \text{over the X of lifted\_svm}

    With :math:`Q = K \circ \alpha \alpha^\top` it relaxes the separation problem, eq:concave.

    Parameters
    ----------
    quadratic : array of shape (N, N)
        Q, symmetric.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.

    Returns
    -------
    Program
        Variable ``U`` (m, m).  Constraints ``diagonal``, with the multipliers :math:`\lambda`, and
        ``products``, with :math:`P \ge 0`, of
        :meth:`propcvx.programs.Lifting.largest`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import lifted_quadratic
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(lifted_quadratic(np.eye(3), feasible))
    lifted_quadratic (eq:concave): semidefinite program
      maximize    sum(Q * (W @ U @ W.T)[1:4, 1:4])
      subject to  diagonal: diag(W @ U @ W.T) == 1
      variables   U (3 x 3, PSD)
    """
    X, constraints = lifted_matrix(feasible)
    Q = cp.Constant(quadratic, name="Q")
    return build(
        "lifted_quadratic",
        "eq:concave",
        cp.Maximize(cp.sum(cp.multiply(Q, X[1:, 1:]))),
        constraints,
    )


def lifted_matrix(feasible: FeasibleLabelings) -> tuple[cp.Expression, dict[str, cp.Constraint]]:
    """Express the matrix X of :func:`lifted_svm` in its variable U, and its constraints."""
    lifting = Lifting.from_feasible(feasible)
    m = lifting.span.shape[1]
    U = cp.Variable((m, m), PSD=True, name="U")
    W = cp.Constant(lifting.span, name="W")
    X = W @ U @ W.T
    constraints = {"diagonal": cp.diag(X) == 1}
    if lifting.ranges.shape[0]:
        G, H = cp.Constant(lifting.ranges, name="G"), cp.Constant(lifting.rows, name="H")
        constraints["products"] = G @ X @ H.T >= 0
    return X, constraints


def square_loss_matrix(features: Array, C: Weight) -> Array:
    r"""Compute the matrix of the quadratic form that is the ridge regression cost of a labeling.

    .. math::

        \min_w \tfrac12 \|w\|^2 + \sum_i C_i (y_i - w^\top F_i)^2 = y^\top A y, \qquad
        A = D (I + 2 D F F^\top D)^{-1} D, \; D = \operatorname{diag}(\sqrt{C_i})

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    C : float or array of shape (N,)
        Weight of the square loss, which is :math:`(1 - y_i w^\top F_i)^2` for labels; of each
        instance where it is an array.

    Returns
    -------
    array of shape (N, N)
        A, symmetric and positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import square_loss_matrix
    >>> square_loss_matrix(np.array([[1.0], [0.0]]), 0.5)
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    n = len(features)
    roots = np.broadcast_to(np.sqrt(C), n)[:, None]
    inverse = np.linalg.inv(np.eye(n) + 2.0 * (roots * features) @ (roots * features).T)
    return np.asarray(roots * inverse * roots.T)


def diffrac(features: Array, feasible: FeasibleLabelings, C: Weight) -> Program:
    r"""Build the semidefinite relaxation of the square loss over all labelings.

    .. math::

        \min_X \operatorname{tr} A M, \qquad X = \begin{pmatrix} 1 & y^\top \\ y & M \end{pmatrix}

    over the X of :func:`~propcvx.programs.lifted_svm`, with A of :func:`square_loss_matrix`.  The
    bias of the original is replaced by centering, as everywhere in Algorithm 2.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`; with one bag and a wide range it is discriminative clustering.
    C : float or array of shape (N,)
        Weight of the square loss, of each instance where it is an array.

    Returns
    -------
    Program
        Variable ``U`` (m, m).  Constraints ``diagonal`` and, where a range of counts excludes
        some, ``products``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx.programs import diffrac
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> print(diffrac(np.array([[-1.0], [0.0], [1.0]]), feasible, 1.0))
    diffrac (eq:convex_1): semidefinite program
      minimize    sum(A * (W @ U @ W.T)[1:4, 1:4])
      subject to  diagonal: diag(W @ U @ W.T) == 1
      variables   U (3 x 3, PSD)
    """
    X, constraints = lifted_matrix(feasible)
    A = cp.Constant(square_loss_matrix(features, C), name="A")
    return build(
        "diffrac", "eq:convex_1", cp.Minimize(cp.sum(cp.multiply(A, X[1:, 1:]))), constraints
    )


def bag_moments(
    features: Sequence[Array], labelings: Sequence[Array], costs: Sequence[Array], C: float
) -> Program:
    r"""Build the relaxation over mixtures of labelings of each bag with equal moments of w.

    Bag k takes labeling :math:`y \in Y_k` with probability :math:`\mu_{ky}`, and :math:`u_{ky}` is
    that probability times the mean of w then.

    .. math::

        \min_{W, m, \mu, u, \xi} \; & \tfrac12 \operatorname{tr} W
        + \sum_k \sum_{y \in Y_k} \Big( c_k(y) \mu_{ky} + C \sum_{i \in k} \xi_{iy} \Big) \\
        \text{s.t. } & \sum_y \mu_{ky} = 1, \quad \sum_y u_{ky} = m, \quad
        \begin{pmatrix} W & U_k \\ U_k^\top & \operatorname{diag}(\mu_k) \end{pmatrix} \succeq 0, \\
        & \xi_{iy} \ge \mu_{ky} - y_i F_i^\top u_{ky}, \quad \xi_{iy} \ge 0

    By the matrix, W is at least :math:`\sum_y u_{ky} u_{ky}^\top / \mu_{ky}`, the least
    second moment of a w with those means.  A labeling with the weights of its SVM is feasible, so
    the value is a lower bound on the optimal value over labelings.

    Parameters
    ----------
    features : sequence of K arrays of shape (n_k, r)
        Rows of F of each bag.
    labelings : sequence of K arrays of shape (P_k, n_k)
        :math:`Y_k`, entries -1 and +1.
    costs : sequence of K arrays of shape (P_k,)
        :math:`c_k(y)`.
    C : float
        Weight of the hinge loss.

    Returns
    -------
    Program
        Variables ``W`` (r, r), ``m`` (r,), and of every bag ``mu_k`` (P_k,), ``U_k`` (r, P_k) and
        ``xi_k`` (n_k, P_k).  Constraints ``mixture_k``, ``agree_k``, whose dual is the multiplier
        :math:`l_k` of :mod:`propcvx.bounds.moments`, ``moments_k``, of whose dual
        :math:`\tfrac12 A_k` is the upper left block, ``margin_k`` and ``slack_k``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import bag_moments
    >>> features, labelings = [np.array([[-1.0], [1.0]])], [np.array([[-1.0, 1.0], [1.0, -1.0]])]
    >>> print(bag_moments(features, labelings, [np.zeros(2)], 1.0))
    bag_moments: semidefinite program
      minimize    0.5 * Trace(W) + 1 * sum(xi_0)
      subject to  mixture_0: sum(mu_0) == 1
                  agree_0:   sum(U_0, axis=1) == m
                  moments_0: vstack(hstack(W, U_0), hstack(U_0.T, diag(mu_0))) >> 0
                  margin_0:  [2x1] @ mu_0 - [2x2] * (F_0 @ U_0) <= xi_0
                  slack_0:   0 <= xi_0
      variables   W (1 x 1, symmetric), mu_0 (2), xi_0 (2 x 2), U_0 (1 x 2), m (1)
    """
    r = features[0].shape[1]
    W, m = cp.Variable((r, r), symmetric=True, name="W"), cp.Variable(r, name="m")
    objective = 0.5 * cp.trace(W)
    constraints: dict[str, cp.Constraint] = {}
    for k, (F, Y, c) in enumerate(zip(features, labelings, costs, strict=True)):
        mu, U = cp.Variable(len(Y), name=f"mu_{k}"), cp.Variable((r, len(Y)), name=f"U_{k}")
        xi = cp.Variable((len(F), len(Y)), name=f"xi_{k}")
        scores = cp.multiply(Y.T, cp.Constant(F, name=f"F_{k}") @ U)
        row = cp.reshape(mu, (1, len(Y)), order="F")
        objective += c @ mu + C * cp.sum(xi)
        constraints |= {
            f"mixture_{k}": cp.sum(mu) == 1,
            f"agree_{k}": cp.sum(U, axis=1) == m,
            f"moments_{k}": cp.bmat([[W, U], [U.T, cp.diag(mu)]]) >> 0,
            f"margin_{k}": xi >= np.ones((len(F), 1)) @ row - scores,
            f"slack_{k}": xi >= 0,
        }
    return build("bag_moments", "", cp.Minimize(objective), constraints)


def mixture(lifted: Array) -> tuple[Array, Array]:
    r"""Decompose a lifted matrix X into an average of :math:`x_t x_t^\top` of soft labelings.

    Every factor :math:`X = Z Z^\top` can be rotated until its first row is constant.  Its columns
    are then multiples of :math:`x_t = (1, v_t)`, which have the sums of the bags in X.

    Parameters
    ----------
    lifted : array of shape (N + 1, N + 1)
        X, positive semidefinite up to rounding, with :math:`X_{00} > 0`.

    Returns
    -------
    vectors : array of shape (T, N)
    weights : array of shape (T,)
        :math:`1 / T`, with :math:`M = \sum_t \mu_t v_t v_t^\top` and
        :math:`\sum_t \mu_t v_t` the first column of X.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import mixture
    >>> vectors, weights = mixture(np.eye(3))
    >>> np.round(weights @ vectors, 12) + 0.0, np.round((vectors.T * weights) @ vectors, 12) + 0.0
    (array([0., 0.]), array([[1., 0.],
           [0., 1.]]))
    """
    values, vectors = np.linalg.eigh(lifted / lifted[0, 0])
    mask = values > values[-1] * 1e-9
    factor = vectors[:, mask] * np.sqrt(values[mask])
    count = factor.shape[1]
    first = np.linalg.norm(factor[0]) / np.sqrt(count)
    mirror = factor[0] - first
    if (square := float(mirror @ mirror)) > 0.0:
        factor = factor - np.outer(factor @ mirror, 2.0 * mirror / square)
    return (factor[1:] / factor[0]).T, np.full(count, 1.0 / count)


def _span(feasible: FeasibleLabelings) -> sp.csr_array:
    """Build the particular solution, then a basis of the free directions of each bag."""
    bags, exact = feasible.bags, feasible.lower == feasible.upper
    particular, unit = np.append(1.0, bags.labels), sp.eye_array(bags.n_instances + 1, format="csc")
    blocks = []
    for bag in range(bags.n_bags):
        free = 1 + np.flatnonzero((bags.index == bag) & (bags.labels == 0))
        basis = np.eye(len(free))
        if exact[bag] and len(free):
            label_sum = bags.labels[bags.index == bag].sum()
            particular[free] = (2 * feasible.lower[bag] - bags.sizes[bag] - label_sum) / len(free)
            basis = helmert(len(free)).T
        blocks.append(unit[:, free] @ sp.csc_array(basis))
    first = particular[:, None] / np.linalg.norm(particular)
    return sp.csr_array(sp.hstack([first, *blocks]))


def _ranges(feasible: FeasibleLabelings) -> sp.csr_array:
    bags, inexact = feasible.bags, feasible.lower < feasible.upper
    sizes, sums = bags.sizes, sp.csr_array(bags.membership)
    positive, negative = bags.known_counts
    low_bags = np.flatnonzero(inexact & (feasible.lower > positive))
    high_bags = np.flatnonzero(inexact & (feasible.upper < sizes - negative))
    low, high = (2.0 * feasible.lower - sizes)[low_bags], (2.0 * feasible.upper - sizes)[high_bags]
    at_least = sp.hstack([-low[:, None], sums[low_bags]])
    at_most = sp.hstack([high[:, None], -sums[high_bags]])
    return sp.csr_array(sp.vstack([at_least, at_most]))
