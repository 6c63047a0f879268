r"""Labelings: feasible ones, the best one for given scores, random ones, all of them.

A labeling is a whole vector :math:`y \in \{-1, 1\}^N`.  Both sorting results of the paper are one
operation here: sort each bag by score and flip its top R instances to +1.  Proposition 1 (the
labeling step of alter-pSVM) chooses R by the price of one more positive; the separation problem of
conv-pSVM (Proposition 3) by the sign of the score within the feasible counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.losses import ProportionLoss, hinge_reduction

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_ENUMERATED = 1_000_000
"""Largest number of labelings that :meth:`FeasibleLabelings.enumerate` is willing to list."""


def labeling_step(scores: Array, bags: Bags, loss: ProportionLoss, weights: Array) -> Array:
    r"""Solve eq:solving_y exactly (Propositions 1 and 2), for all bags at once.

    .. math::

        \min_{y \in \{-1, 1\}^N} \sum_i \max(0, 1 - y_i f_i)
        + \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    With a bag's instances sorted by score, the R-th flip gains :math:`\delta_{(R)}`, which falls
    with R, and costs :math:`\omega_k [L_p(R/n_k, p_k) - L_p((R-1)/n_k, p_k)]`, which rises with R;
    so the instances to flip are those whose gain exceeds their cost.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        Decision values f, bias included.
    bags : Bags
        Bags; labels that are known stay as they are.
    loss : ProportionLoss
        The loss :math:`L_p`.
    weights : array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss: :math:`C_p / C` in eq:prop_1.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Entries -1.0 and +1.0.
    """

    def pays(score: Array, rank: Indices, bag: Indices) -> NDArray[np.bool_]:
        size, share = bags.sizes[bag], bags.proportions[bag]
        cost = loss.of(rank / size - share) - loss.of((rank - 1) / size - share)
        return hinge_reduction(score) > weights[bag] * cost

    return _flip_top(_with_known(scores, bags), bags, pays)


def random_labeling(bags: Bags, random: np.random.RandomState) -> Array:
    """Independent fair labels, as Algorithm 1 starts from; labels that are known are kept."""
    labeling = random.choice((-1.0, 1.0), size=bags.n_instances)
    return np.where(bags.labels == 0, labeling, bags.labels)


@dataclass(frozen=True)
class FeasibleLabelings:
    r"""The set :math:`\mathcal{Y} = \{y \mid |\tilde p_k(y) - p_k| \le \epsilon\}` of eq:convex_1.

    Attributes
    ----------
    bags : Bags
        The bags; labels that are known stay as they are.
    lower, upper : int arrays of shape (n_bags,)
        Range of the number of positives in each bag.
    """

    bags: Bags
    lower: NDArray[np.intp]
    upper: NDArray[np.intp]

    @classmethod
    def of(cls, bags: Bags, epsilon: float) -> FeasibleLabelings:
        """All labelings whose proportions are within ``epsilon``; see :meth:`Bags.count_range`."""
        return cls(bags, *bags.count_range(epsilon))

    @classmethod
    def nearest(cls, bags: Bags) -> FeasibleLabelings:
        """Labelings with the count nearest to each bag's proportion; never empty."""
        positive, negative = bags.known_counts()
        counts = np.round(bags.proportions * bags.sizes).astype(np.intp)
        counts = np.clip(counts, positive, bags.sizes - negative)
        return cls(bags, counts, counts)

    def best(self, scores: Array) -> Array:
        r"""Labeling that solves :math:`\max_{y \in \mathcal{Y}} \sum_i s_i y_i`, by sorting.

        Parameters
        ----------
        scores : array of shape (n_instances,) or (n_instances, n_columns)
            Scores s; each column is a problem of its own.

        Returns
        -------
        labelings : float array of the shape of ``scores``
            Entries -1.0 and +1.0.
        """

        def pays(score: Array, rank: Indices, bag: Indices) -> NDArray[np.bool_]:
            return (rank <= self.lower[bag]) | ((rank <= self.upper[bag]) & (score > 0.0))

        return _flip_top(_with_known(scores.T, self.bags), self.bags, pays).T

    def __contains__(self, labeling: Array) -> bool:
        """Whether a labeling has feasible counts and agrees with the labels that are known."""
        counts = np.bincount(self.bags.index, weights=labeling > 0, minlength=self.bags.n_bags)
        known = self.bags.labels != 0
        return bool(
            ((self.lower <= counts) & (counts <= self.upper)).all()
            and (labeling[known] == self.bags.labels[known]).all()
        )

    def enumerate(self) -> Iterator[Array]:
        """Every feasible labeling, one by one.

        Raises
        ------
        InputError
            If there are more than ``MAX_ENUMERATED``.
        """
        free = [
            np.flatnonzero((self.bags.index == k) & (self.bags.labels == 0))
            for k in range(self.bags.n_bags)
        ]
        positive, _ = self.bags.known_counts()
        ranges = [
            range(low - known, high - known + 1)
            for low, high, known in zip(self.lower, self.upper, positive, strict=True)
        ]
        total = prod(sum(comb(len(f), c) for c in r) for f, r in zip(free, ranges, strict=True))
        if total > MAX_ENUMERATED:
            raise InputError(
                f"bags have {total:,} feasible labelings, more than the {MAX_ENUMERATED:,} that "
                "can be listed; use smaller bags or another oracle."
            )
        start = np.where(self.bags.labels > 0, 1.0, -1.0)
        choices = [
            [c for count in r for c in combinations(f, count)]
            for f, r in zip(free, ranges, strict=True)
        ]
        for chosen in product(*choices):
            labeling = start.copy()
            labeling[[i for flips in chosen for i in flips]] = 1.0
            yield labeling


def _with_known(scores: Array, bags: Bags) -> Array:
    """Scores with those of known labels made infinite, so that sorting keeps them."""
    if not bags.labels.any():
        return scores
    return np.where(bags.labels == 0, scores, np.where(bags.labels > 0, np.inf, -np.inf))


Pays = Callable[[Array, Indices, Indices], NDArray[np.bool_]]


def _flip_top(scores: Array, bags: Bags, pays: Pays) -> Array:
    """Labels +1 for the top instances of each bag, as long as ``pays(score, rank, bag)``.

    ``pays`` must hold for ranks 1 to some R in each bag; instances are the last axis of
    ``scores``, and each vector along it is a problem of its own.
    """
    labeling = np.empty((*scores.shape[:-1], scores.shape[-1] + 1))
    for block in bags.blocks:
        rows = block.gather(scores)
        ascending = np.sort(rows, axis=-1)
        counts = _counts(ascending, block.bags, bags.sizes[block.bags], pays)
        block.scatter(2 * _top(rows, ascending, counts).view(np.int8) - 1, labeling)
    return labeling[..., :-1]


def _counts(ascending: Array, bag: Indices, sizes: Indices, pays: Pays) -> Indices:
    """R of every row, by bisection."""
    low = np.zeros(ascending.shape[:-1], dtype=np.intp)
    high = np.broadcast_to(sizes, low.shape).copy()
    width = ascending.shape[-1]
    for _ in range(int(width).bit_length()):
        rank = (low + high + 1) // 2
        column = np.minimum(width - rank, width - 1)
        score = np.take_along_axis(ascending, column[..., None], axis=-1)[..., 0]
        more = pays(score, rank, bag) & (rank > low)
        low, high = np.where(more, rank, low), np.where(more, high, np.maximum(rank - 1, low))
    return low


def _top(rows: Array, ascending: Array, counts: Indices) -> NDArray[np.bool_]:
    """The ``counts`` largest entries of every row; of equal ones, the first."""
    column = np.minimum(rows.shape[-1] - counts, rows.shape[-1] - 1)
    threshold = np.take_along_axis(ascending, column[..., None], axis=-1)
    top = rows >= np.where(counts[..., None] > 0, threshold, np.inf)
    tied = np.count_nonzero(top, axis=-1) != counts
    if tied.any():
        order = np.argsort(-rows[tied], axis=-1, kind="stable")
        first = np.arange(rows.shape[-1]) < counts[tied][..., None]
        chosen = np.zeros(order.shape, dtype=bool)
        np.put_along_axis(chosen, order, first, axis=-1)
        top[tied] = chosen
    return top
