r"""Labelings: feasible ones, the best one for given scores, random ones, all of them.

A labeling is a whole vector :math:`y \in \{-1, 1\}^N`.  Both sorting results of the paper are one
operation here: sort each bag by score and flip its top R instances to +1.  Proposition 1 (the
labeling step of alter-pSVM) chooses R by the price of one more positive; the separation problem of
conv-pSVM (Proposition 3) by the sign of the score within the feasible counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.layout import Block, Layout
from propcvx.losses import HINGE, InstanceLoss, ProportionLoss

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_ENUMERATED = 1_000_000
"""Largest number of labelings that :meth:`FeasibleLabelings.enumerate` is willing to list."""

CHUNK = 2**16
"""Instances that are labeled at once: few enough to stay in a processor's cache."""


def labeling_step(
    scores: Array,
    bags: Bags,
    loss: ProportionLoss,
    weights: Array,
    *,
    instance_loss: InstanceLoss = HINGE,
    ties: Array | None = None,
    layout: Layout | None = None,
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
    layout : Layout, optional
        ``Layout.of(bags)``, for asking many times.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Entries -1.0 and +1.0.
    """
    sorted_by_score = np.ndim(instance_loss.weights) == 0
    keys = scores if sorted_by_score else instance_loss.reduction(scores)

    def pays(key: Array, rank: Indices, bag: Indices | slice) -> NDArray[np.bool_]:
        size, share = bags.sizes[bag], bags.proportions[bag]
        cost = loss.of(rank / size - share) - loss.of((rank - 1) / size - share)
        gain = instance_loss.reduction(key) if sorted_by_score else key
        return gain > weights[bag] * cost

    counts = Counts(0 * bags.sizes, bags.sizes, (bags.proportions * bags.sizes).astype(np.intp))
    return _flip_top(_with_known(keys, bags), bags, layout or Layout.of(bags), counts, pays, ties)


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

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.bags)

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

        def pays(score: Array, rank: Indices, bag: Indices | slice) -> NDArray[np.bool_]:
            return score > 0.0

        known = _with_known(scores.T, self.bags)
        counts = Counts(self.lower, self.upper, (self.lower + self.upper) // 2)
        return _flip_top(known, self.bags, self._layout, counts, pays).T

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


Pays = Callable[[Array, Indices, Indices | slice], NDArray[np.bool_]]


@dataclass(frozen=True)
class Counts:
    """Smallest and largest number of positives of each bag, and a guess between them."""

    low: Indices
    high: Indices
    guess: Indices

    def of(self, bags: Indices | slice) -> Counts:
        """Those of some bags."""
        return Counts(self.low[bags], self.high[bags], self.guess[bags])


def _flip_top(
    scores: Array,
    bags: Bags,
    layout: Layout,
    allowed: Counts,
    pays: Pays,
    ties: Array | None = None,
) -> Array:
    """Labels +1 for the top R instances of each bag, of equal ones those of largest ``ties``.

    R is the largest count allowed for which ``pays(score, rank, bag)`` holds at rank R, or the
    smallest; ``pays`` may not hold again once it fails.  R is found at once where it is the guess.
    Instances are the last axis of ``scores``, and each vector along it is a problem of its own.
    """
    shape = (*scores.shape[:-1], bags.n_bags)
    counts, thresholds, tied = np.empty(shape, int), np.empty(shape), np.empty(shape, bool)
    labeling = np.empty(scores.shape)  # until it is filled, room to sort in
    for block in layout.blocks:
        k, ascending = block.bags, block.sort(block.gather(scores, labeling))
        count = _counts(ascending, block, allowed.of(k), pays)
        last, following = (block.ranked(ascending, count + i) for i in (0, 1))
        counts[..., k], thresholds[..., k] = count, np.where(count > 0, last, np.nan)
        tied[..., k] = (last == following) & (count > 0) & (count < bags.sizes[k])
    _fill(labeling, scores, thresholds, bags.index, layout.run)
    if tied.any():
        _untie(labeling, scores, thresholds, counts, tied, bags.index, ties)
    return labeling


def _counts(ascending: Array, block: Block, allowed: Counts, pays: Pays) -> Indices:
    """R of every bag: the guess is tried, and the rest bisected."""
    low, high, guess = allowed.low, allowed.high, allowed.guess
    if ascending.ndim > 1:
        guess = np.broadcast_to(guess, (*ascending.shape[:-1], len(guess)))
    ranks = np.stack([guess, guess + 1])
    reaches, exceeds = pays(block.ranked(ascending, ranks), ranks, block.bags)
    reaches |= guess <= low
    exceeds &= guess < high
    high = np.where(exceeds, high, guess - ~reaches)
    count = np.where(exceeds, guess + 1, np.where(reaches, guess, low))
    step = (1 << int((high - count).max()).bit_length()) // 2
    while step:
        rank = np.minimum(count + step, high)
        count = np.maximum(count, rank * pays(block.ranked(ascending, rank), rank, block.bags))
        step //= 2
    return count


def _fill(labeling: Array, scores: Array, thresholds: Array, index: Indices, run: int) -> None:
    """Write labels +1 from the threshold of the bag on, none where it is NaN."""
    runs = (*scores.shape[:-1], -1, run)
    scores, labeling, index = scores.reshape(runs), labeling.reshape(runs), index[::run]
    step = -(-CHUNK // run)
    for first in range(0, len(index), step):
        part = slice(first, first + step)
        labels = labeling[..., part, :]
        limits = labels[..., :1]
        thresholds.take(index[part], axis=-1, out=limits[..., 0], mode="clip")
        top = (scores[..., part, :] >= limits).view(np.int8)
        top += top
        top -= 1
        labels[...] = top


def _untie(
    labeling: Array,
    scores: Array,
    thresholds: Array,
    counts: Array,
    tied: Array,
    index: Indices,
    ties: Array | None,
) -> None:
    """Keep of equal scores at the threshold of a bag as many as it has room for."""
    n_bags = thresholds.shape[-1]
    position = np.flatnonzero(tied.take(index, axis=-1))
    problem, instance = np.divmod(position, len(index))
    bag = problem * n_bags + index[instance]
    score, threshold = scores.ravel()[position], thresholds.ravel()[bag]
    room = counts.ravel() - np.bincount(bag[score > threshold], minlength=counts.size)
    position, bag = position[score == threshold], bag[score == threshold]
    order = np.lexsort((bag,) if ties is None else (-ties[position % len(index)], bag))
    place = np.arange(len(order)) - np.searchsorted(bag[order], bag[order])
    labeling.reshape(-1)[position[order[place >= room[bag[order]]]]] = -1.0
