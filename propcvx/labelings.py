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
from propcvx.layout import BagRows
from propcvx.losses import HINGE, InstanceLoss, ProportionLoss

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_ENUMERATED = 1_000_000
"""Largest number of labelings that :meth:`FeasibleLabelings.enumerate` is willing to list."""


def labeling_step(
    scores: Array,
    bags: Bags,
    loss: ProportionLoss,
    weights: Array,
    *,
    instance_loss: InstanceLoss = HINGE,
    ties: Array | None = None,
) -> Array:
    r"""Solve eq:solving_y exactly (Propositions 1 and 2), for all bags at once.

    .. math::

        \min_{y \in \{-1, 1\}^N} \sum_i L(y_i, f_i)
        + \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    With a bag's instances sorted by :math:`\delta_i = L(-1, f_i) - L(+1, f_i)`, which is to sort
    them by score where they weigh the same, the R-th flip gains :math:`\delta_{(R)}`, which falls
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
    instance_loss : InstanceLoss
        The loss L, the hinge unless another is given.
    ties : array of shape (n_instances,), optional
        Of equal scores, those where this is larger are positive first: with the labels before, they
        stay what they are.  Further ties are broken by the order of the instances.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Entries -1.0 and +1.0.
    """
    sorted_by_score = np.ndim(instance_loss.weights) == 0
    keys = scores if sorted_by_score else instance_loss.reduction(scores)

    def pays(key: Array, rank: Indices, bag: Indices) -> NDArray[np.bool_]:
        size, share = bags.sizes[bag], bags.proportions[bag]
        cost = loss.of(rank / size - share) - loss.of((rank - 1) / size - share)
        gain = instance_loss.reduction(key) if sorted_by_score else key
        return gain > weights[bag] * cost

    return _top_labeled(_with_known(keys, bags), bags, 0 * bags.sizes, bags.sizes, pays, ties)


def random_labeling(bags: Bags, random: np.random.RandomState) -> Array:
    """Independent fair labels, as Algorithm 1 starts from; labels that are known are kept."""
    labeling = random.choice((-1.0, 1.0), size=bags.n_instances)
    return np.where(bags.labels == 0, labeling, bags.labels)


@dataclass(frozen=True)
class FeasibleLabelings:
    r"""The set :math:`\mathcal{Y} = \{y \mid |\tilde p_k(y) - p_k| \le \epsilon\}` of eq:convex_1.

    As a loss of the proportions it is Equation (10).

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
    def of(cls, bags: Bags, epsilon: float | str) -> FeasibleLabelings:
        """All labelings whose proportions are within ``epsilon``; see :meth:`Bags.count_range`."""
        return cls(bags, *bags.count_range(epsilon))

    @classmethod
    def nearest(cls, bags: Bags) -> FeasibleLabelings:
        """Labelings with the counts nearest to each bag's proportion; never empty."""
        return cls.of(bags, "rounding")

    def best(self, scores: Array) -> Array:
        r"""Labeling that solves :math:`\max_{y \in \mathcal{Y}} \sum_i s_i y_i`, by sorting.

        Each bag is Equation (21); a column per dimension and sign is Proposition 3.

        Parameters
        ----------
        scores : array of shape (n_instances,) or (n_instances, n_columns)
            Scores s; each column is a problem of its own.

        Returns
        -------
        labelings : float array of the shape of ``scores``
            Entries -1.0 and +1.0.  Of instances of one bag with equal scores, the first are +1.
        """

        def pays(score: Array, rank: Indices, bag: Indices) -> NDArray[np.bool_]:
            return score > 0.0

        known = _with_known(scores.T, self.bags)
        return _top_labeled(known, self.bags, self.lower, self.upper, pays).T

    def __contains__(self, labeling: Array) -> bool:
        """Whether a labeling has feasible counts and agrees with the labels that are known."""
        return self.fault_of(labeling) is None

    def fault_of(self, labeling: Array) -> str | None:
        """Why a labeling is not feasible, naming the first bag at fault; None if it is."""
        bags = self.bags
        if np.shape(labeling) != (bags.n_instances,) or not (np.abs(labeling) == 1.0).all():
            return f"it must have {bags.n_instances} entries, each -1 or +1"
        counts = bags.positives_of(labeling)
        wrong = (counts < self.lower) | (counts > self.upper)
        if wrong.any():
            bag = int(np.argmax(wrong))
            return (
                f"bag {bags.name(bag)} has {counts[bag]} positives, wanted are {self.lower[bag]} "
                f"to {self.upper[bag]}"
            )
        changed = (bags.labels != 0) & (labeling != bags.labels)
        if changed.any():
            return f"it changes the known label of instance {bags.rows[int(np.argmax(changed))]}"
        return None

    def enumerate(self) -> Iterator[Array]:
        r"""Every feasible labeling, one by one: all y of :math:`\mathcal{M}_0`, Equation (12).

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


def _top_labeled(
    scores: Array,
    bags: Bags,
    lower: Indices,
    upper: Indices,
    pays: Pays,
    ties: Array | None = None,
) -> Array:
    """Labels +1 for the top R instances of each bag, of equal ones those of largest ``ties``.

    R is the largest count from ``lower`` to ``upper`` for which ``pays(score, rank, bag)`` holds at
    rank R, or the smallest; ``pays`` may not hold again once it fails.  Instances are the last axis
    of ``scores``, and each vector along it is a problem of its own.
    """
    labeling = np.empty(scores.shape)
    for part in bags.layout:
        own = part.gather(scores)
        descending = np.sort(own, axis=-1)[..., ::-1]
        top = _largest_count(descending, part.bags, lower[part.bags], upper[part.bags], pays)
        last = _of_rank(descending, top)
        positive = (own >= last[..., None]) & (top > 0)[..., None]
        tied = (top > 0) & (top < part.sizes) & (last == _of_rank(descending, top + 1))
        if tied.any():
            positive[tied] = _first(own, top, part, ties)[tied]
        part.scatter(np.where(positive, 1.0, -1.0), labeling)
    return labeling


def _of_rank(descending: Array, rank: Indices) -> Array:
    """The score of a rank in each row, 1 for the top; any one where there is none."""
    place = np.clip(rank - 1, 0, descending.shape[-1] - 1)
    return np.take_along_axis(descending, place[..., None], axis=-1)[..., 0]


def _largest_count(
    descending: Array, bags: Indices, low: Indices, high: Indices, pays: Pays
) -> Indices:
    """By bisection, the largest rank up to ``high`` that pays; ``low`` where none does."""
    low, high = (np.broadcast_to(end, descending.shape[:-1]) for end in (low, high))
    while (low < high).any():
        middle = (low + high + 1) // 2
        enough = pays(_of_rank(descending, middle), middle, bags)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle - 1)
    return low


def _first(own: Array, top: Indices, part: BagRows, ties: Array | None) -> NDArray[np.bool_]:
    """The top instances of each row; of equal ones the first, by ``ties`` and then as they come."""
    second = np.zeros(own.shape) if ties is None else np.broadcast_to(part.gather(ties), own.shape)
    order = np.lexsort((-second, -own), axis=-1)
    chosen = np.empty(own.shape, dtype=bool)
    np.put_along_axis(chosen, order, part.ranks <= top[..., None], axis=-1)
    return chosen
