"""Section 4: the best labels of a separator, and alter-pSVM."""

from itertools import pairwise, product

import numpy as np
from small_problems import small_problem

from propcvx import AlterPropSVM
from propcvx.labelings.feasible import best_labeling
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import SVMStep


def all_labelings(n):
    """Every vector of n labels, whatever the proportions."""
    return np.array(list(product((-1.0, 1.0), repeat=n)))


def proposition_1(n=8, seed=0):
    r"""With the number of positives of a bag given, sorting finds the best labels.

    Notes
    -----
    **Problem.** :math:`\min_y \sum_i L(y_i, f_i)` over the labelings of one bag with :math:`R`
    positives.

    **Method.** Sort by :math:`\delta_i = L(-1, f_i) - L(1, f_i)`, what label :math:`i` gains by
    being positive; the first :math:`R` become positive.

    **Guaranteed.** The least sum for every :math:`R`: exchanging a positive and a negative label
    out of this order never gains. Compared with all :math:`2^n` labelings.

    **Reference.** Proposition 1, ``prop:inner``.

    Examples
    --------
    >>> by_sorting, by_trying_all = proposition_1(n=3)
    >>> np.round(by_sorting, 4).tolist()  # with no positive, one, two and three
    [9.2859, 4.7578, 1.8003, 0.1997]
    """
    scores = 2.0 * np.random.RandomState(seed).randn(n)
    order = np.argsort(-HINGE.reduction(scores))
    ranks = np.arange(n + 1)
    sorted_labels = np.where(np.argsort(order) < ranks[:, None], 1.0, -1.0)
    by_sorting = HINGE.evaluate(sorted_labels, scores).sum(axis=1)
    every = all_labelings(n)
    losses, counts = HINGE.evaluate(every, scores).sum(axis=1), (every > 0.0).sum(axis=1)
    return by_sorting, [losses[counts == R].min() for R in ranks]


def proposition_2(sizes=(2, 3, 5), loss="absolute", seed=0):
    r"""The best labels of all bags are found by one sort of each bag.

    Notes
    -----
    **Problem.** Equation (7): :math:`\min_y \sum_i L(y_i, f_i) + \sum_k \omega_k L_p(\tilde p_k(y),
    p_k)` over all labelings.

    **Method.** :func:`propcvx.labelings.feasible.best_labeling`: bags are independent, and in each
    a further label is made positive while it gains more than it costs.

    **Guaranteed.** The least value, for every convex :math:`L_p`, because what the :math:`R`-th
    positive gains falls with :math:`R` and what it costs rises. It takes :math:`O(N \log J)` time,
    that of sorting bags of at most :math:`J` instances. Compared with all :math:`2^N` labelings.

    **Reference.** Proposition 2, ``prop:y``, and Equations (7) and (8).

    Examples
    --------
    >>> by_sorting, by_trying_all = proposition_2(loss="squared")
    >>> print(f"{by_sorting:.4f} {by_trying_all:.4f}")
    8.8210 8.8210
    """
    bags = small_problem(seed, sizes).bags
    random, penalty = np.random.RandomState(seed), PROPORTION_LOSSES[loss]
    scores, weights = 2.0 * random.randn(sum(sizes)), random.uniform(0.0, 20.0, size=len(sizes))

    def value(labeling):
        gaps = bags.proportions_of(labeling) - bags.proportions
        return HINGE.evaluate(labeling, scores).sum() + weights @ penalty.evaluate(gaps)

    best = best_labeling(scores, bags, penalty, weights)
    return value(best), min(map(value, all_labelings(sum(sizes))))


def algorithm_1(C=1.0, C_p=20.0, n_init=8, seed=0):
    r"""alter-pSVM never raises its objective at one C*, and finds the best labeling of a small set.

    Notes
    -----
    **Problem.** Equation (4) over labels, weights and bias: eight instances in two bags.

    **Method.** :class:`propcvx.AlterPropSVM` from random labelings. The other side solves the SVM
    of each of the 256 labelings.

    **Guaranteed.** For the same :math:`C^*` the objective never rises, because each step is exact,
    so each start ends. That the best start reaches the least value is not guaranteed: it is a
    heuristic, and with ``C_p=2`` no start reaches it here.

    **Reference.** Algorithm 1, ``alg:alt``.

    Examples
    --------
    >>> (best_start, largest_rise), (least, none) = algorithm_1(C=0.1)
    >>> print(f"{best_start:.4f} {least:.4f}, rise {largest_rise:.0f}")
    0.2503 0.2503, rise 0
    """
    small = small_problem(seed)
    settings = {"C": C, "C_p": C_p, "bag_weights": "uniform", "init": "random", "n_init": n_init}
    fitted = AlterPropSVM(random_state=0, **settings).fit(small.X, small.y)
    rounds = list(fitted.history_)
    same_level = [b.objective - a.objective for a, b in pairwise(rounds) if a.C_star == b.C_star]
    weights = np.full(small.bags.n_bags, C_p)
    problem = PropSVM(small.bags, C, weights, PROPORTION_LOSSES["absolute"])
    step = SVMStep(small.X)
    values = [
        problem.objective(labeling, step(labeling, C)) for labeling in all_labelings(len(small.X))
    ]
    return (fitted.objective_, max([0.0, *same_level])), (min(values), 0.0)
