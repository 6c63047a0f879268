r"""Programs on means of bags: ecological regression, MeanMap, InvCal; and on covariances in bags.

Ecological regression is the least-squares line of the proportions on the bag means.  MeanMap
(Quadrianto et al. 2009) has class means from bag means, then an exponential model.  Assuming that
within a class the instances do not depend on the bag, each bag mean is
:math:`m_k = p_k \mu_+ + (1 - p_k) \mu_-`.  :func:`class_means` solves for :math:`\mu_\pm`, and
:func:`conditional_exponential_model` is the maximum-likelihood classifier whose only statistic of
the labels, the mean operator, is estimated from them.  InvCal (Rüping 2010) is a regression of the
logits of the proportions on the bag means.

If all proportions are equal, means identify nothing, but covariances inside bags do.  The labels of
a bag of n instances with a given count are correlated negatively.  If the instances of a class do
not depend on the bag and have the mean :math:`\mu_\pm`, and :math:`\Sigma` is the mean of their
covariances within the classes, the sample covariance of the bag has the expectation

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
from propcvx.programs.structures import InvCalDual, LogisticModel, RidgeRegression, SecondMomentFit


def ecological_regression(bag_means: Array, weights: Array) -> Program:
    r"""Build the ecological regression (Goodman 1953) with a ridge.

    .. math::

        \min_{w, b} \sum_k \omega_k (w^\top m_k + b - p_k)^2 + \lambda \|w\|^2

    If the probability of a positive is :math:`w^\top x + b` in every bag, the expected proportion
    of a bag is the value at its mean.

    Parameters
    ----------
    bag_means : array of shape (K, r)
        Bag means :math:`m_k`, in features.
    weights : array of shape (K,)
        Weights :math:`\omega_k \ge 0`, not all zero.

    Returns
    -------
    Program
        Variables ``w`` (r,) and ``b`` (scalar).  Parameters ``p`` (K,), the proportions, and
        ``lam`` >= 0.  No constraints.  Structure
        :class:`~propcvx.programs.structures.RidgeRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import ecological_regression
    >>> program = ecological_regression(np.array([[0.0], [1.0]]), np.ones(2))
    >>> print(program)
    ecological_regression: quadratic program
      minimize    sum_squares(root * (M @ w + b - p)) + lam * sum_squares(w)
      variables   w (1), b
      parameters  p (2), lam (nonneg)
    >>> from propcvx.solvers import solve
    >>> solution = solve(program.set(p=np.array([0.2, 0.8]), lam=0.0))
    >>> np.round(solution.variables["w"], 6), round(float(solution.variables["b"]), 6)
    (array([0.6]), 0.2)
    """
    k, r = bag_means.shape
    M, root = cp.Constant(bag_means, name="M"), cp.Constant(np.sqrt(weights), name="root")
    w, b = cp.Variable(r, name="w"), cp.Variable(name="b")
    p, lam = cp.Parameter(k, name="p"), cp.Parameter(nonneg=True, name="lam")
    errors = cp.multiply(root, M @ w + b - p)
    return build(
        "ecological_regression",
        "",
        cp.Minimize(cp.sum_squares(errors) + lam * cp.sum_squares(w)),
        structure=RidgeRegression(M.value, weights),
    )


def class_means(bag_means: Array, proportions: Array, weights: Array) -> Program:
    r"""Build the weighted least squares for the class means (Section 2, MeanMap).

    .. math::

        \min_{\mu_+, \mu_-} \sum_k \omega_k \|m_k - p_k \mu_+ - (1 - p_k) \mu_-\|^2

    The solution is unique if at least two proportions differ.  Otherwise the class means are not
    identified, and :class:`~propcvx.MeanMap` uses the mean of all instances for both.

    Parameters
    ----------
    bag_means : array of shape (K, r)
        Bag means :math:`m_k`, in features.
    proportions : array of shape (K,)
        Proportions :math:`p_k` of positives.
    weights : array of shape (K,)
        Weights :math:`\omega_k > 0`.

    Returns
    -------
    Program
        Variable ``means`` (2, r): :math:`\mu_+` and :math:`\mu_-`.  No constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import class_means
    >>> from propcvx.solvers import solve
    >>> program = class_means(np.array([[0.2], [0.6]]), np.array([0.2, 0.6]), np.ones(2))
    >>> print(program)
    class_means (sec:related): quadratic program
      minimize    sum_squares(M - P @ means)
      variables   means (2 x 1)
    >>> np.round(solve(program).variables["means"], 6) + 0.0
    array([[1.],
           [0.]])
    """
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([proportions, 1.0 - proportions])
    M, P = cp.Constant(root * bag_means, name="M"), cp.Constant(root * design, name="P")
    means = cp.Variable((2, bag_means.shape[1]), name="means")
    return build("class_means", "sec:related", cp.Minimize(cp.sum_squares(M - P @ means)))


def conditional_exponential_model(
    features: Array, *, bias: bool = True, weights: Array | None = None
) -> Program:
    r"""Build the conditional exponential model with a given mean operator (Section 2, MeanMap).

    With :math:`p(y \mid x) \propto \exp(y (w^\top x + b))`, the regularized mean negative
    log-likelihood depends on the labels only through :math:`\hat\mu = \frac1N \sum_i y_i x_i` and
    :math:`\bar y = \frac1N \sum_i y_i`:

    .. math::

        \min_{w, b} \frac1N \sum_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
        + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

    With weights :math:`c_i` of the instances all three means are weighted,
    :math:`\frac{1}{\sum_j c_j} \sum_i c_i \ldots` instead of :math:`\frac1N \sum_i \ldots`.

    Parameters
    ----------
    features : array of shape (N, r)
        F, one row per instance: the data (linear form) or kernel eigen-features (kernel form).
    bias : bool, default=True
        Whether there is a bias b.
    weights : array of shape (N,), optional
        :math:`c_i \ge 0`, not all zero.

    Returns
    -------
    Program
        Variables ``w`` (r,) and, with bias, ``b`` (scalar).  Parameters ``mean_operator`` (r,),
        ``mean_label`` (scalar, with bias) and ``lam`` >= 0.  No constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import conditional_exponential_model
    >>> print(conditional_exponential_model(np.array([[-1.0], [0.0], [2.0]])))
    conditional_exponential_model (sec:related): exponential cone program
      minimize    sum(logistic(2 * (F @ w + b)) - (F @ w + b)) / 3 - (mean_operator @ w +
                    mean_label * b) + lam * sum_squares(w)
      variables   w (1), b
      parameters  mean_operator (1), mean_label, lam (nonneg)
    """
    n, r = features.shape
    F, w = cp.Constant(features, name="F"), cp.Variable(r, name="w")
    mean_operator = cp.Parameter(r, name="mean_operator")
    lam = cp.Parameter(nonneg=True, name="lam")
    scores, linear = F @ w, mean_operator @ w
    if bias:
        b, mean_label = cp.Variable(name="b"), cp.Parameter(name="mean_label")
        scores, linear = scores + b, linear + mean_label * b
    fractions, partition = np.full(n, 1.0 / n), cp.logistic(2 * scores) - scores
    log_partition = cp.sum(partition) / n
    if weights is not None:
        fractions = weights / weights.sum()
        log_partition = cp.Constant(fractions, name="fractions") @ partition
    return build(
        "conditional_exponential_model",
        "sec:related",
        cp.Minimize(log_partition - linear + lam * cp.sum_squares(w)),
        structure=LogisticModel(F.value, bias, fractions),
    )


def inv_cal_primal(bag_means: Array) -> Program:
    r"""Build the primal of InvCal, eq:rueping_svm.

    .. math::

        \min_{w, b, \xi, \xi^*} \tfrac12 \|w\|^2 + \sum_k C_{p,k} (\xi_k + \xi_k^*)
        \quad \text{s.t. } \xi, \xi^* \ge 0, \;
        \tau_k - \epsilon_k - \xi_k \le w^\top m_k + b \le \tau_k + \epsilon_k + \xi_k^*

    Parameters
    ----------
    bag_means : array of shape (K, r)
        The bag means :math:`m_k`, in features.

    Returns
    -------
    Program
        Variables ``w`` (r,), ``b`` (scalar), ``xi``, ``xi_star`` (K,).  Parameters ``target``
        :math:`\tau_k = -\log(1/p_k - 1)`, ``epsilon`` >= 0 and ``C_p`` >= 0, all (K,) or one
        number; :func:`inv_cal_targets` gives the first two.  Constraints ``below`` and ``above``,
        with duals :math:`a_k, a_k^* \in [0, C_{p,k}]`, and ``xi``, ``xi_star``, with duals
        :math:`C_{p,k} - a_k` and :math:`C_{p,k} - a_k^*`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import inv_cal_primal, inv_cal_targets
    >>> from propcvx.solvers import solve
    >>> program = inv_cal_primal(np.array([[-1.0], [1.0]]))
    >>> print(program)
    inv_cal_primal (eq:rueping_svm): quadratic program
      minimize    0.5 * sum_squares(w) + C_p @ (xi + xi_star)
      subject to  below:   target - epsilon - xi <= M @ w + b
                  above:   M @ w + b <= target + epsilon + xi_star
                  xi:      0 <= xi
                  xi_star: 0 <= xi_star
      variables   w (1), xi (2), xi_star (2), b
      parameters  C_p (2, nonneg), target (2), epsilon (2, nonneg)
    >>> targets = inv_cal_targets(np.array([0.25, 0.75]), 20, 0.0, scaled=False)
    >>> np.round(solve(program.set(**targets, C_p=np.full(2, 10.0))).variables["w"], 4)
    array([1.0986])
    """
    k, r = bag_means.shape
    w, b = cp.Variable(r, name="w"), cp.Variable(name="b")
    xi, xi_star = cp.Variable(k, name="xi"), cp.Variable(k, name="xi_star")
    target, epsilon, C_p = _parameters(k)
    scores = cp.Constant(bag_means, name="M") @ w + b
    return build(
        "inv_cal_primal",
        "eq:rueping_svm",
        cp.Minimize(0.5 * cp.sum_squares(w) + C_p @ (xi + xi_star)),
        {
            "below": scores >= target - epsilon - xi,
            "above": scores <= target + epsilon + xi_star,
            "xi": xi >= 0,
            "xi_star": xi_star >= 0,
        },
    )


def inv_cal_dual(bag_means: Array) -> Program:
    r"""Build the dual of :func:`inv_cal_primal`, eq:rueping_svm.

    .. math::

        \max_{a, a^*} \tau^\top (a - a^*) - \epsilon^\top (a + a^*)
        - \tfrac12 \|M^\top (a - a^*)\|^2
        \quad \text{s.t. } 0 \le a_k, a_k^* \le C_{p,k}, \; \sum_k (a_k - a_k^*) = 0

    Parameters
    ----------
    bag_means : array of shape (K, r)
        M, one bag mean per row.

    Returns
    -------
    Program
        Variables ``a``, ``a_star`` (K,); the weight vector is :math:`w = M^\top (a - a^*)`.
        Parameters as in :func:`inv_cal_primal`.  Constraints ``a_lower``, ``a_upper``,
        ``a_star_lower``, ``a_star_upper`` with duals >= 0 (those of the upper ones are
        :math:`\xi`, :math:`\xi^*`), and ``balance``, whose dual is the bias b.  Structure
        :class:`~propcvx.programs.structures.InvCalDual`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import inv_cal_dual, inv_cal_targets
    >>> from propcvx.solvers import solve
    >>> means = np.array([[-1.0], [1.0]])
    >>> program = inv_cal_dual(means)
    >>> print(program)
    inv_cal_dual (eq:rueping_svm): quadratic program
      maximize    target @ (a - a_star) - epsilon @ (a + a_star) - 0.5 * sum_squares(M.T @
                    (a - a_star))
      subject to  a_lower:      0 <= a
                  a_upper:      a <= C_p
                  a_star_lower: 0 <= a_star
                  a_star_upper: a_star <= C_p
                  balance:      sum(a - a_star) == 0
      variables   a (2), a_star (2)
      parameters  target (2), epsilon (2, nonneg), C_p (2, nonneg)
    >>> targets = inv_cal_targets(np.array([0.25, 0.75]), 20, 0.0, scaled=False)
    >>> dual = solve(program.set(**targets, C_p=np.full(2, 10.0))).variables
    >>> np.round(means.T @ (dual["a"] - dual["a_star"]), 4)
    array([1.0986])
    """
    k = bag_means.shape[0]
    a, a_star = cp.Variable(k, name="a"), cp.Variable(k, name="a_star")
    M = cp.Constant(bag_means, name="M")
    target, epsilon, C_p = _parameters(k)
    return build(
        "inv_cal_dual",
        "eq:rueping_svm",
        cp.Maximize(
            target @ (a - a_star)
            - epsilon @ (a + a_star)
            - 0.5 * cp.sum_squares(M.T @ (a - a_star))
        ),
        {
            "a_lower": a >= 0,
            "a_upper": a <= C_p,
            "a_star_lower": a_star >= 0,
            "a_star_upper": a_star <= C_p,
            "balance": cp.sum(a - a_star) == 0,
        },
        InvCalDual(M.value),
    )


def inv_cal_targets(
    proportions: Array, n_instances: float, epsilon: Array | float, *, scaled: bool
) -> dict[str, Array]:
    r"""Compute ``target`` and ``epsilon`` of :func:`inv_cal_primal` and :func:`inv_cal_dual`.

    A proportion of 0 or 1 has an infinite logit, so proportions are clipped to
    :math:`[1/N, 1 - 1/N]`, as in the authors' program, with 3 for N if there are fewer instances.

    Parameters
    ----------
    proportions : array of shape (K,)
        Proportions :math:`p_k` of positives.
    n_instances : float
        N, the number of training instances, or the sum of their weights.
    epsilon : float or array of shape (K,)
        Half-width :math:`\epsilon` of the tube.
    scaled : bool
        ``False``: :math:`\epsilon_k = \epsilon`, in units of the score.  ``True``:
        :math:`\epsilon_k = \epsilon / (p_k (1 - p_k))`, the width of a tube of
        :math:`\epsilon` in units of the proportion (clipped p).

    Returns
    -------
    dict
        ``target`` :math:`\tau_k = -\log(1 / p_k - 1)` and ``epsilon``, both of shape (K,).

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import inv_cal_targets
    >>> inv_cal_targets(np.array([0.25, 0.5]), 20, 0.1, scaled=True)
    {'target': array([-1.09861229, -0.        ]), 'epsilon': array([0.53333333, 0.4       ])}
    """
    margin = 1.0 / max(n_instances, 3)
    p = np.clip(proportions, margin, 1.0 - margin)
    widths = epsilon / (p * (1.0 - p)) if scaled else np.full_like(p, epsilon)
    return {"target": -np.log(1.0 / p - 1.0), "epsilon": widths}


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
    :math:`d_g` times these in D; ``root`` has :math:`\sqrt{\omega_g}`.

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
    >>> import numpy as np
    >>> from propcvx.programs import second_moments
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


def _parameters(k: int) -> tuple[cp.Parameter, cp.Parameter, cp.Parameter]:
    return (
        cp.Parameter(k, name="target"),
        cp.Parameter(k, nonneg=True, name="epsilon"),
        cp.Parameter(k, nonneg=True, name="C_p"),
    )
