r"""Labelings: feasible ones, the best one for given scores, random ones, all of them.

A labeling is a whole vector :math:`y \in \{-1, 1\}^N`.  Both sorting results of the paper are one
operation here: sort each bag by score and flip its top R instances to +1.  Proposition 1 (the
labeling step of alter-pSVM) chooses R by the price of one more positive; the separation problem of
conv-pSVM (Proposition 3) by the sign of the score within the feasible counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.errors import InputError
from propcvx.labelings.losses import HINGE, InstanceLoss, ProportionLoss

Costs = Callable[[Indices, Indices], Array]
"""``costs(bag, rank)``: the cost of the rank-th positive of a bag."""

MAX_ENUMERATED = 1_000_000
"""Largest number of labelings that :meth:`FeasibleLabelings.enumerate` lists."""

ROUNDING = 4 * np.finfo(float).eps
"""Rounding error of a loss, relative to it and to 1/n, the step of a proportion in a bag of n."""


def best_labeling(
    scores: Array,
    bags: Bags,
    loss: ProportionLoss,
    weights: Array,
    *,
    instance_loss: InstanceLoss = HINGE,
    ties: Array | None = None,
) -> Array:
    r"""Solve Equation (7), eq:solving_y, exactly (Propositions 1 and 2), for all bags at once.

    .. math::

        \min_{y \in \{-1, 1\}^N} \sum_i L(y_i, f_i)
        + \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    All unknown labels begin at -1.  The instances of a bag are sorted by
    :math:`\delta_i = L(-1, f_i) - L(+1, f_i)`, largest first, and flipped to +1 in this order; for
    the hinge with equal weights this sorts them by score.  The R-th flip gains
    :math:`\delta_{(R)}`, which falls with R, and costs
    :math:`\omega_k [L_p(R/n_k, p_k) - L_p((R-1)/n_k, p_k)]`, which rises with R.  So the instances
    to flip are those whose gain exceeds their cost.  A gain equal to its cost up to rounding does
    not exceed it: of equally good counts, the smallest is taken.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        Decision values f, bias included.
    bags : Bags
        Bags; known labels do not change.
    loss : ProportionLoss
        The loss :math:`L_p`.
    weights : array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss: :math:`C_p / C` in Equation (8),
        eq:prop_1, times the bag's weight if bags are weighted.
    instance_loss : InstanceLoss
        The loss L; by default the hinge.
    ties : array of shape (n_instances,), optional
        Of equal gains, those with larger ``ties`` are positive first: pass the previous labels to
        keep them.  Further ties are broken by :func:`shuffled`.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Entries -1.0 and +1.0.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import best_labeling
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings.losses import PROPORTION_LOSSES
    >>> bags = Bags.from_target(bag_target([0, 0, 0], [1 / 3]))
    >>> loss = PROPORTION_LOSSES["absolute"]
    >>> best_labeling(np.array([0.5, 0.1, -1.0]), bags, loss, np.full(1, 10.0))
    array([ 1., -1., -1.])
    """

    def costs(bag: Indices, rank: Indices) -> Array:
        losses, previous = (loss.of_counts(bags, count, bag) for count in (rank, rank - 1))
        rounding = ROUNDING * bags.sizes[bag] * (np.abs(losses) + np.abs(previous))
        return np.asarray(weights[bag] * (losses - previous + rounding))

    return _label_top(instance_loss.reduction(scores), costs, bags, *loss.allowed(bags), ties)


@lru_cache(maxsize=4)
def shuffled(n_instances: int) -> Indices:
    """Return the place of each instance in a fixed random order, which breaks ties.

    With the order of the rows, sorted data would reveal the labels of equal instances.
    """
    return np.random.RandomState(0).permutation(n_instances)


def random_labeling(bags: Bags, random: np.random.RandomState) -> Array:
    """Draw independent fair labels, the start of Algorithm 1; known labels are kept.

    Parameters
    ----------
    bags : Bags
    random : RandomState

    Returns
    -------
    array of shape (n_instances,)
        Labels -1.0 and +1.0.
    """
    labeling = random.choice(bags.label_values, size=bags.n_instances)
    return np.where(bags.labels == 0, labeling, bags.labels)


@dataclass(frozen=True)
class FeasibleLabelings:
    r"""The set :math:`\mathcal{Y} = \{y \mid |\tilde p_k(y) - p_k| \le \epsilon\}`, Equation (9).

    The condition holds for every bag k.  As a loss of the proportions it is Equation (10).

    Attributes
    ----------
    bags : Bags
        The bags; known labels do not change.
    lower, upper : int arrays of shape (n_bags,)
        Range of the number of positives in each bag.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.labelings import FeasibleLabelings
    >>> from propcvx import Bags, bag_target
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> feasible.best(np.array([0.5, 0.1, -1.0]))  # the largest sum of y_i times score
    array([ 1., -1., -1.])
    >>> len(list(feasible.enumerate()))
    3
    """

    bags: Bags
    lower: Indices
    upper: Indices

    @classmethod
    def from_bags(cls, bags: Bags, epsilon: Any) -> FeasibleLabelings:
        """Build all labelings with proportions within ``epsilon``; see ``Bags.count_range``."""
        return cls(bags, *bags.count_range(epsilon))

    @classmethod
    def from_loss(cls, loss: ProportionLoss, bags: Bags) -> FeasibleLabelings:
        """Build all labelings with the known labels and a finite loss of the proportions."""
        (lower, upper), (positive, negative) = loss.allowed(bags), bags.known_counts
        return cls(bags, np.maximum(lower, positive), np.minimum(upper, bags.sizes - negative))

    @classmethod
    def nearest(cls, bags: Bags) -> FeasibleLabelings:
        """Build the labelings with the counts nearest to each bag's proportion; never empty."""
        return cls.from_bags(bags, "rounding")

    def best(self, scores: Array) -> Array:
        r"""Solve :math:`\max_{y \in \mathcal{Y}} \sum_i s_i y_i` by sorting.

        For each bag this is Equation (21); with a column for each dimension and sign it is the
        search of Proposition 3.

        Parameters
        ----------
        scores : array of shape (n_instances,) or (n_instances, n_columns)
            Scores s; each column is a separate problem.

        Returns
        -------
        labelings : float array of the shape of ``scores``
            Entries -1.0 and +1.0.  Of instances of one bag with equal scores, the first in the
            order of :func:`shuffled` are +1.
        """

        def costs(bag: Indices, rank: Indices) -> Array:
            return np.zeros(1)

        return _label_top(scores.T, costs, self.bags, self.lower, self.upper).T

    def __contains__(self, labeling: Array) -> bool:
        """Check whether a labeling has feasible counts and agrees with the known labels."""
        return self.fault_of(labeling) is None

    def fault_of(self, labeling: Array) -> str | None:
        """Return why a labeling is infeasible, naming the first bag; None if it is feasible."""
        bags = self.bags
        if np.shape(labeling) != (bags.n_instances,) or not (np.abs(labeling) == 1.0).all():
            return f"it must have {bags.n_instances} entries, each -1 or +1"
        counts = bags.positives_of(labeling)
        wrong = (counts < self.lower) | (counts > self.upper)
        if wrong.any():
            bag = int(np.argmax(wrong))
            low, high = self.lower[bag], self.upper[bag]
            allowed = f"{low} to {high}" if low < high else low
            return f"bag {bags.name(bag)} has {counts[bag]} positives, but must have {allowed}"
        changed = (bags.labels != 0) & (labeling != bags.labels)
        if changed.any():
            return f"it changes the known label of instance {np.argmax(changed)}"
        return None

    def enumerate(self) -> Iterator[Array]:
        r"""Yield every feasible labeling: all y of :math:`\mathcal{M}_0`, Equation (12).

        Raises
        ------
        InputError
            If there are more than a million (``MAX_ENUMERATED``).
        """
        n_known, _ = self.bags.known_counts
        bags = zip(self.bags.unlabeled, self.lower - n_known, self.upper - n_known, strict=True)
        parts = [(free, range(low, high + 1)) for free, low, high in bags]
        total = prod(sum(comb(len(free), count) for count in counts) for free, counts in parts)
        if total > MAX_ENUMERATED:
            raise InputError(
                f"bags have {total:,} feasible labelings, more than the {MAX_ENUMERATED:,} that "
                "can be listed. Use smaller bags or another oracle."
            )
        start = np.where(self.bags.labels > 0, 1.0, -1.0)
        choices = [
            [flips for count in counts for flips in combinations(free, count)]
            for free, counts in parts
        ]
        for choice in product(*choices):
            labeling = start.copy()
            labeling[[i for flips in choice for i in flips]] = 1.0
            yield labeling


def _fix_known(scores: Array, bags: Bags) -> Array:
    """Set the scores of known labels to infinity, so that sorting keeps the labels."""
    if not bags.labels.any():
        return scores
    return np.where(bags.labels == 0, scores, np.where(bags.labels > 0, np.inf, -np.inf))


def _label_top(
    gains: Array,
    costs: Costs,
    bags: Bags,
    lower: Indices,
    upper: Indices,
    ties: Array | None = None,
) -> Array:
    """Label the top R instances of each bag +1, of equal gains those of largest ``ties``.

    Further ties are broken by :func:`shuffled`.

    R is the largest count from ``lower`` to ``upper`` such that each of the top R instances gains
    more than ``costs(bag, rank)``.  Instances are the last axis of ``gains``, and each vector along
    it is a separate problem.
    """
    labeling, gains = np.empty(gains.shape), _fix_known(gains, bags)
    ties = np.zeros(bags.n_instances) if ties is None else ties
    for bag, members in bags.by_size:
        values, rank = gains[..., members], np.arange(1, members.shape[1] + 1)
        rising = np.sort(values)
        pays = rising[..., ::-1] > costs(bag[:, None], rank)
        n_top = np.where(pays, len(rank), rank - 1).min(axis=-1).clip(lower[bag], upper[bag])
        counts = n_top[..., None]
        last = np.take_along_axis(rising, np.minimum(-counts, -1), axis=-1)
        positive = (values >= last) & (counts > 0)
        if (positive.sum(axis=-1) > n_top).any():
            further = (shuffled(bags.n_instances)[members], -ties[members])
            keys = (*(np.broadcast_to(key, values.shape) for key in further), -values)
            order = np.lexsort(keys, axis=-1)
            np.put_along_axis(positive, order, rank <= counts, axis=-1)
        labeling[..., members] = np.where(positive, 1.0, -1.0)
    return labeling
