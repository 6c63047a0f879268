r"""Labelings: feasible ones, the best one for given scores, random ones, all of them.

A labeling is a whole vector :math:`y \in \{-1, 1\}^N`.  Both sorting results of the paper are one
operation here: sort each bag by score and flip its top R instances to +1.  Proposition 1 (the
labeling step of alter-pSVM) chooses R by the price of one more positive; the separation problem of
conv-pSVM (Proposition 3) by the sign of the score within the feasible counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.losses import ProportionLoss, hinge_reduction

Array = NDArray[np.float64]

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
    size, share = bags.sizes[bags.by_bag], bags.proportions[bags.by_bag]
    cost = loss.of(bags.rank / size - share) - loss.of((bags.rank - 1) / size - share)
    gains = _with_known(hinge_reduction(scores), bags)
    return _flip(gains, weights[bags.by_bag] * cost, bags)


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
        gains = _with_known(scores, self.bags)
        return _flip(gains, self._cost_of_counts(), self.bags)

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

    def _cost_of_counts(self) -> Array:
        rank, bag = self.bags.rank, self.bags.by_bag
        free = np.where(rank <= self.upper[bag], 0.0, np.inf)
        return np.where(rank <= self.lower[bag], -np.inf, free)


def _with_known(gains: Array, bags: Bags) -> Array:
    """Gains with those of known labels made infinite, so that sorting keeps them."""
    known = bags.labels.astype(np.float64).reshape(-1, *(1,) * (gains.ndim - 1))
    return np.where(known == 0, gains, np.inf * np.where(known == 0, 1.0, known))


def _flip(gains: Array, cost: Array, bags: Bags) -> Array:
    """Labels +1 where an instance's gain exceeds the cost of its rank within the bag."""
    columns = (-1, *(1,) * (gains.ndim - 1))
    bag_of = np.broadcast_to(bags.index.reshape(columns), gains.shape)
    order = np.lexsort((-gains, bag_of), axis=0)
    positive = np.take_along_axis(gains, order, axis=0) > cost.reshape(columns)
    labeling = np.empty_like(gains)
    np.put_along_axis(labeling, order, np.where(positive, 1.0, -1.0), axis=0)
    return labeling
