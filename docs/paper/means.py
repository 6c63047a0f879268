"""Sections 2 and 3: methods that see the means of bags."""

import numpy as np

from propcvx import AlterPropSVM, ConvPropSVM, InvCal, MeanMap, bag_target
from propcvx.datasets import make_two_bags
from propcvx.programs import class_means, inv_cal_dual, inv_cal_primal, inv_cal_targets
from propcvx.solvers import solve


def mean_map(n_bags=6, seed=0):
    r"""MeanMap finds the class means where they are the same in every bag.

    Notes
    -----
    **Problem.** Of :math:`K` bags the means :math:`m_k` and the proportions :math:`p_k` are known.
    If a class has the same mean in every bag, :math:`m_k = p_k \mu_+ + (1 - p_k) \mu_-`.

    **Method.** The least squares program :func:`propcvx.programs.class_means`, by a solver.

    **Guaranteed.** Two bags with different proportions determine :math:`\mu_+` and :math:`\mu_-`.
    Where the assumption fails, so does the method: see Figure 1.

    **Reference.** Section 2, after Quadrianto et al. (2009).

    Examples
    --------
    >>> computed, true = mean_map(n_bags=2)
    >>> bool(np.abs(computed - true).max() < 1e-6)
    True
    """
    random = np.random.RandomState(seed)
    true, shares = random.randn(2, 3), random.uniform(0.1, 0.9, size=n_bags)
    bag_means = np.outer(shares, true[0]) + np.outer(1.0 - shares, true[1])
    program = class_means(bag_means, shares, weights=np.ones(n_bags))
    return solve(program, "clarabel", tol=1e-9).variables["means"], true


def equation_5(C_p=1.0, seed=0):
    r"""InvCal and its dual have the same optimum.

    Notes
    -----
    **Problem.** The support vector regression of the bags' logits :math:`\tau_k` on their means
    :math:`m_k`.

    **Method.** :func:`propcvx.programs.inv_cal_primal` and :func:`propcvx.programs.inv_cal_dual`,
    each by a solver. The dual is what :class:`propcvx.InvCal` solves.

    **Guaranteed.** Strong duality: the program is convex and its constraints are linear. The proof,
    step by step, is in notebook 2.

    **Reference.** Equation (5), ``eq:rueping_svm``, after Rueping (2010).

    Examples
    --------
    >>> primal, dual = equation_5(C_p=10.0)
    >>> print(f"{primal:.5f} {dual:.5f}")
    20.75160 20.75160
    """
    random = np.random.RandomState(seed)
    bag_means, shares = random.randn(6, 3), np.array([0.0, 0.2, 0.4, 0.5, 0.8, 1.0])
    targets = inv_cal_targets(shares, n_instances=60, epsilon=0.1, scaled=False)
    programs = inv_cal_primal(bag_means), inv_cal_dual(bag_means)
    primal, dual = (
        solve(program.set(C_p=C_p, **targets), "clarabel", tol=1e-9).value for program in programs
    )
    return primal, dual


def figure_1(data=None):
    """Methods that use only means can misclassify every instance; the pSVMs classify all correctly.

    Notes
    -----
    **Problem.** Two bags in the plane, 60% and 40% positive, whose means lie on the wrong sides.

    **Method.** MeanMap, InvCal, alter-pSVM and conv-pSVM with default parameters, on generated data
    or on those that are given.

    **Guaranteed.** That conv-pSVM's labeling is the best one is proved here: with the oracle
    ``"sweep"`` its gap is zero. That it is the true one is a property of these data.

    **Reference.** Figure 1, ``fig:bag``: accuracies of 0% and 100%.

    Examples
    --------
    >>> computed, printed = figure_1()
    >>> computed
    [0.0, 0.0, 1.0, 1.0]
    """
    data = data or make_two_bags(random_state=0)
    y = bag_target(data.bags, data.proportions)
    methods = MeanMap(), InvCal(), AlterPropSVM(random_state=0), ConvPropSVM()
    computed = [method.fit(data.X, y).score(data.X, data.labels) for method in methods]
    return computed, [0.0, 0.0, 1.0, 1.0]
