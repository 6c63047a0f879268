"""Section 8: when the relaxation preserves the shares, and what its labelings are worth."""

import numpy as np
from small_problems import small_problem

from paper import result
from paper.relaxed import labelings_of
from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.svm.step import LabelingSVM


def mixtures(seed, most=6, sizes=(4, 4, 3)):
    """Random mixtures of random feasible labelings: weights, labelings, sums of bags, the bags.

    Half of them have a labeling of a large weight.
    """
    small, random = small_problem(seed, sizes), np.random.RandomState(seed)
    _, every = labelings_of(small)
    bags, sums = small.bags, small.bags.membership @ every[0]
    for trial in range(100):
        chosen = every[random.permutation(len(every))[: random.randint(1, most)]]
        weights = random.dirichlet(np.ones(len(chosen)))
        weights[0] += 5.0 * (trial % 2) * random.exponential()
        yield weights / weights.sum(), chosen, sums, bags


@result("Section 8: the mean labeling", tol=1e-12)
def mean_labeling(seed=0):
    r"""A share other than one half determines the mean labeling and its sign.

    Problem
    -------
    The relaxation's :math:`M = \sum_t \mu_t y_t y_t^\top` is the same for :math:`y_t` and
    :math:`-y_t`.  Which labeling does it stand for, and does that have the shares?

    Method
    ------
    Each bag allows one number of positives, as with ``epsilon=0`` and shares that are possible.
    With :math:`1_k` the indicator of bag k, every feasible labeling then has :math:`1_k^\top y =
    s_k = 2 n_k p_k - n_k`, so that :math:`M 1_k = \sum_t \mu_t y_t (y_t^\top 1_k) = s_k \bar y`,
    with the mean labeling :math:`\bar y = \sum_t \mu_t y_t`.  Where :math:`s_k \ne 0`, divide.

    Guaranteed
    ----------
    :math:`\bar y`, with its sign, and :math:`1_k^\top \bar y = s_k` for all bags.  Where all shares
    are one half, :math:`M` says nothing of the sign: :math:`-\bar y` has the same shares.

    Reference
    ---------
    Section 8, which asks when the shares are preserved; the labeling of Algorithm 2 is the leading
    eigenvector instead.  Compared with the mean itself, for 100 random mixtures.

    Example
    -------
    >>> computed, expected = mean_labeling()
    >>> len(computed), bool(np.allclose(computed, expected))
    (100, True)
    """
    computed, expected = [], []
    for weights, labelings, sums, bags in mixtures(seed):
        M = labelings.T @ (weights[:, None] * labelings)
        bag = np.argmax(np.abs(sums))
        computed.append((M @ bags.membership.toarray()[bag]) / sums[bag])
        expected.append(weights @ labelings)
    return np.array(computed), np.array(expected)


@result("Section 8: shares of the leading eigenvector", tol=1e-9)
def rank_one_shares(seed=0):
    r"""The leading eigenvector has the shares of all bags, up to one common factor.

    Problem
    -------
    :math:`v = \sqrt{\lambda_1} u_1` is the rank-one labeling of Algorithm 2.  What are its sums
    :math:`1_k^\top v`, if each bag allows one number of positives?

    Method
    ------
    As :math:`M 1_k = s_k \bar y`, M maps every combination :math:`\sum_k x_k 1_k` with
    :math:`\sum_k x_k s_k = 0` to 0, so that an eigenvector with :math:`\lambda_i > 0` is orthogonal
    to it.  Its projection on the span of the :math:`1_k` is therefore a multiple of
    :math:`\tilde s = \sum_k (s_k / n_k) 1_k`.

    Guaranteed
    ----------
    :math:`1_k^\top v = c\, s_k` for all bags, with :math:`c = \tilde s^\top v / \|\tilde s\|^2` and
    :math:`|c| \le 1`.  So unless c is 0, its sign tells v from -v, and :math:`v / c` meets every
    share exactly.

    Reference
    ---------
    Section 8, and "the rank-one approximation" of Section 5.3.  Compared for 100 random mixtures.

    Example
    -------
    >>> sums, multiples = rank_one_shares()
    >>> sums.shape, bool(np.allclose(sums, multiples))
    ((100, 3), True)
    """
    computed, expected = [], []
    for weights, labelings, sums, bags in mixtures(seed):
        (_, first), vectors = leading(weights, labelings)
        v, tilde = np.sqrt(first) * vectors[:, -1], bags.membership.T @ (sums / bags.sizes)
        square = float(tilde @ tilde)
        computed.append(bags.membership @ v)
        expected.append((tilde @ v / square if square else 0.0) * sums)
    return np.array(computed), np.array(expected)


@result("Section 8: the factor of the leading eigenvector", is_bound=True, tol=1e-9)
def rank_one_factor(seed=0):
    r"""What the leading eigenvector loses of all shares, by the second eigenvalue.

    Problem
    -------
    How small can the factor c of :func:`rank_one_shares` be?

    Method
    ------
    :math:`\tilde s^\top M \tilde s = \|\tilde s\|^4`, of which the part of :math:`u_1` is
    :math:`c^2 \|\tilde s\|^4`, and the rest at most :math:`\lambda_2 \|\tilde s\|^2`.

    Guaranteed
    ----------
    :math:`1 - c^2 \le \lambda_2 / \sum_k (s_k^2 / n_k)`, and :math:`\lambda_2 \le (1 - \mu) N` with
    the largest weight :math:`\mu`, as :math:`\lambda_1 \ge \mu N` and the trace is N.

    It is reached, and c can be 0: two labelings of equal weight agree on a bag with one class, and
    are opposite on a larger one whose share is one half.  Then v is 0 on the first bag.

    Reference
    ---------
    Section 8.  Compared for 100 random mixtures, and for that example, which comes last.

    Example
    -------
    >>> lost, bound = rank_one_factor()
    >>> print(f"{lost[-1]:.2f} {bound[-1]:.2f}")
    1.00 1.00
    """
    lost, bounds = [], []
    for weights, labelings, sums, bags in [*mixtures(seed), opposite_elsewhere()]:
        (second, first), vectors = leading(weights, labelings)
        square = float(np.sum(sums**2 / bags.sizes))
        if square:
            tilde = bags.membership.T @ (sums / bags.sizes)
            lost.append(1.0 - first * (tilde @ vectors[:, -1]) ** 2 / square**2)
            bounds.append(second / square)
    return np.array(lost), np.array(bounds)


@result("Section 8: signs of the leading eigenvector", is_bound=True)
def signs_of_rank_one(seed=0):
    r"""How many labels of a cut the signs of the leading eigenvector miss.

    Problem
    -------
    A labeling y of the mixture has the weight :math:`\mu`.  How many entries of :math:`u_1`, up to
    its sign, have another sign than y, or are 0?

    Method
    ------
    :math:`\lambda_1 = u_1^\top M u_1 \le \mu (u_1^\top y)^2 + (1 - \mu) N`, so that with
    :math:`u_1^\top y = \sqrt N \cos\theta` we have :math:`N \sin^2\theta \le (N - \lambda_1) /
    \mu`.  The multiple of :math:`u_1` nearest to y is at the squared distance :math:`N
    \sin^2\theta`, to which each entry with another sign adds at least one.

    Guaranteed
    ----------
    At most :math:`(N - \lambda_1) / \mu \le N (1 - \mu) / \mu` entries.  So the counts of all bags
    together are missed by no more, and where :math:`\lambda_1 > N - \mu`, rounding :math:`u_1` with
    the sign of y to the nearest counts gives y itself.  Whether the constant is the least is not
    known: no mixture that was tried misses more than half of the bound.

    Reference
    ---------
    Section 8.  Compared with all labelings of 100 random mixtures.

    Example
    -------
    >>> missed, bound = signs_of_rank_one()
    >>> bool((missed[bound < 1.0] == 0).all()), int((bound < 1.0).sum())
    (True, 33)
    """
    missed, bounds = [], []
    for weights, labelings, _, _ in mixtures(seed):
        (_, first), vectors = leading(weights, labelings)
        signs, n = np.sign(vectors[:, -1]), labelings.shape[1]
        missed.extend(min(np.sum(signs != y), np.sum(-signs != y)) for y in labelings)
        bounds.extend((n - first) / weights)
    return np.array(missed), np.array(bounds)


@result("Section 8: signs of the mean labeling")
def majority_labeling(seed=0):
    r"""The signs of the mean labeling are the cut that has more than half of the weight.

    Problem
    -------
    When does rounding give back a labeling of the mixture, whose shares are exact?

    Method
    ------
    If y has the weight :math:`\mu`, then :math:`y_i \bar y_i \ge \mu - (1 - \mu)` for each
    instance i.

    Guaranteed
    ----------
    Where :math:`\mu > 1/2`, :math:`\operatorname{sign}(\bar y) = y`: every share is met, and
    rounding to the nearest counts changes nothing.  No smaller weight is enough: of two labelings
    of weight one half the mean is 0 wherever they differ.  For the leading eigenvector,
    :math:`\mu > N / (N + 1)` is enough (:func:`signs_of_rank_one`).

    Reference
    ---------
    Section 8.  Compared for those of 100 random mixtures that have such a labeling.

    Example
    -------
    >>> signs, heaviest = majority_labeling()
    >>> len(signs), bool((signs == heaviest).all())
    (84, True)
    """
    signs, heaviest = [], []
    for weights, labelings, _, _ in mixtures(seed):
        if weights.max() > 0.5:
            signs.append(np.sign(weights @ labelings))
            heaviest.append(labelings[np.argmax(weights)])
    return np.array(signs), np.array(heaviest)


@result("Section 8: small C", tol=1e-6)
def exact_for_small_C(seed=0, scale=1.0):
    r"""For small C the relaxation is exact after one cut, and the best labeling meets all shares.

    Problem
    -------
    When is the optimum of Equation (14) the value of a labeling?

    Method
    ------
    Let y maximise :math:`\|F^\top y\|`, which an exact oracle finds.  At :math:`\alpha = C 1` the
    minimum over labelings in Equation (15) is that of y, so the relaxation is at least
    :math:`C N - \tfrac12 C^2 \|F^\top y\|^2`.  That is also the value of y if :math:`\alpha = C 1`
    solves its dual: if no instance has a margin above one, :math:`C\, y_i F_i^\top F^\top y \le 1`.

    Guaranteed
    ----------
    Exact for :math:`C \le 1 / \max_i y_i F_i^\top F^\top y`, for instance where
    :math:`C \le 1 / (N \max_i \mathcal{K}_{ii})`; y is then the best labeling.  A larger C can
    leave a gap.

    Reference
    ---------
    Section 8; Equations (14) and (15).  The relaxation's lower bound, by all labelings as cuts, and
    the least value of all labelings, at ``scale`` times that C.

    Example
    -------
    >>> "{:.4f} {:.4f}".format(*exact_for_small_C(seed=1))
    '0.3796 0.3796'
    >>> "{:.4f} {:.4f}".format(*exact_for_small_C(seed=1, scale=3.0))
    '0.7159 0.8551'
    """
    small = small_problem(seed)
    _, every = labelings_of(small)
    y = every[np.argmax(np.linalg.norm(every @ small.X, axis=1))]
    C = scale / np.max(y * (small.X @ (small.X.T @ y)))
    planes = CuttingPlanes(oracle="exhaustive", max_cuts=50)
    fitted = ConvPropSVM(C=C, relaxation=planes, intercept="none", solver_tol=1e-9)
    svm = LabelingSVM(small.X, C)
    least = min(svm.value(labeling, svm.weights(labeling)) for labeling in every)
    return fitted.fit(small.X, small.y).bounds_.lower, least


def leading(weights, labelings):
    """The two largest eigenvalues of M, the smaller first, and all eigenvectors."""
    values, vectors = np.linalg.eigh(labelings.T @ (weights[:, None] * labelings))
    return values[-2:], vectors


def opposite_elsewhere():
    """Two labelings that agree on a bag of two positives and are opposite on one of four."""
    bags = Bags.from_target(bag_target([0, 0, 1, 1, 1, 1], [1.0, 0.5]))
    rest = np.array([1.0, 1.0, -1.0, -1.0])
    labelings = np.array([[1.0, 1.0, *rest], [1.0, 1.0, *-rest]])
    return np.array([0.5, 0.5]), labelings, bags.membership @ labelings[0], bags
