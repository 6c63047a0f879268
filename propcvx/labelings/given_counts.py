r"""Labels that are independent except for the counts of their bags: conditional Poisson sampling.

With a probability :math:`p_i` of each instance to be positive, and the number of positives of a bag
known, a labeling :math:`t \in \{0, 1\}^n` of the bag has a probability in proportion to
:math:`\prod_{t_i = 1} p_i / (1 - p_i)`, if it has this count (Hájek 1964; Chen, Dempster and Liu
1994).  All odds of a bag may be multiplied by one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from propcvx.arrays import Array, Indices, Mask
from propcvx.bags.bags import Bags
from propcvx.labelings.feasible import FeasibleLabelings

NEAR_ONE = 1e-12
"""Probabilities are that far from 0 and 1 before they are changed."""

WIDE = 40.0
"""Log odds of that size are as good as infinite: a probability is then 0 or 1 to all digits."""

HALVINGS = 60
"""Steps at most to a shift; seldom more than ten."""

NEAR_GOAL = 0.05
"""The error of an expected number that is left: the results are exact for any shift."""

NOTHING = 1e-20
"""Fourier coefficients, and probabilities of counts, that are smaller change no digit of a sum."""


def log_odds(probabilities: Array, labels: NDArray[Any]) -> Array:
    """Log odds of probabilities; infinite where a label is known, -1 or +1."""
    odds = logit(np.clip(probabilities, NEAR_ONE, 1.0 - NEAR_ONE))
    return np.where(labels == 0, odds, np.where(labels > 0, np.inf, -np.inf))


def compute_shifts(odds: Array, index: Indices, lower: Indices, upper: Indices) -> Array:
    """Compute the shift of log odds that brings each bag's sum of probabilities into its range.

    Newton steps are taken, and bisections if a step leaves the interval.
    """
    n_bags, free = len(lower), np.isfinite(odds)
    goal = np.clip(np.bincount(index, expit(odds), n_bags), lower, upper)
    low, high = np.full(n_bags, WIDE), np.full(n_bags, -WIDE)
    np.minimum.at(low, index[free], -odds[free] - WIDE)
    np.maximum.at(high, index[free], WIDE - odds[free])
    n_certain, n_possible = np.bincount(index, odds == np.inf), np.bincount(index, odds > -np.inf)
    shift = np.where(goal == n_certain, low, np.where(goal == n_possible, high, 0.0))
    for _ in range(HALVINGS):
        p = expit(odds + shift[index])
        excess, slope = np.bincount(index, p) - goal, np.bincount(index, p * (1.0 - p))
        if np.abs(excess).max() <= NEAR_GOAL:
            break
        low, high = np.where(excess < 0.0, shift, low), np.where(excess > 0.0, shift, high)
        step = shift - excess / np.maximum(slope, NOTHING)
        shift = np.where((low < step) & (step < high), step, (low + high) / 2)
    return shift


@dataclass(frozen=True, eq=False)
class GivenCounts:
    r"""Labels of bags, given the range of the number of positives of each bag.

    Attributes
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    lower, upper : int arrays of shape (n_bags,)
        The range.
    odds : array of shape (n_instances,)
        Log odds of independent labels, infinite where a label is known.
    shift : array of shape (n_bags,)
        What is added to the log odds of a bag, so that its expected number is in the range.
    """

    index: Indices
    lower: Indices
    upper: Indices
    odds: Array
    shift: Array

    @classmethod
    def from_probabilities(cls, probabilities: Array, feasible: FeasibleLabelings) -> GivenCounts:
        """Build from independent probabilities, in the order of the rows."""
        return cls.from_odds(log_odds(probabilities, feasible.bags.labels), feasible)

    @classmethod
    def from_odds(cls, odds: Array, feasible: FeasibleLabelings) -> GivenCounts:
        """Build from independent log odds, in the order of the rows."""
        index, lower, upper = feasible.bags.index, feasible.lower, feasible.upper
        return cls(index, lower, upper, odds, compute_shifts(odds, index, lower, upper))

    @cached_property
    def probabilities(self) -> Array:
        """Those of independent labels, after the shift."""
        return expit(self.odds + self.shift[self.index])

    @property
    def edge(self) -> Indices:
        r"""One end of each range: :math:`e^{-|s||c - \mathrm{edge}|}` takes a shift s back."""
        return np.where(self.shift < 0.0, self.upper, self.lower)

    def means(self) -> Array:
        """Probability of +1 of each instance, given the ranges."""
        return self.log_probabilities_and_means()[1]

    def log_probabilities_and_means(self) -> tuple[Array, Array]:
        r"""Log of the probability of each range, and of each instance that of +1 given the ranges.

        A count has the probability :math:`\frac1N \sum_k \omega^{-kc} \prod_i (1 - p_i + p_i
        \omega^k)`, with :math:`\omega = e^{2 \pi \sqrt{-1} / N}` and N above the number of likely
        counts, see ``_narrow``; without one of the factors it is that of the others.  N is odd, so
        that no factor is 0.  A shift t of the log odds :math:`s_i` changes the probability of a
        count c by the factor :math:`e^{tc} \prod_i (1 + e^{s_i}) / (1 + e^{s_i + t})`.
        """
        window, points = self._narrow()
        order, means = np.argsort(self.index, kind="stable"), np.empty(len(self.index))
        logs = np.empty(len(self.shift))
        for n_points in np.unique(points):
            rows, bags = order[points[self.index[order]] == n_points], points == n_points
            logs[bags], means[rows] = window._sums(rows, np.flatnonzero(bags), int(n_points))
        sign = np.where(self.odds > 0.0, -1.0, 1.0)
        shift = self.shift[self.index]
        factors = log_expit(-sign * self.odds) - log_expit(-sign * (self.odds + shift))
        factors += np.where(sign < 0.0, shift, 0.0)
        logs += np.bincount(self.index, factors) - self.shift * window.edge
        return logs, np.clip(means, 0.0, 1.0)

    def _narrow(self) -> tuple[GivenCounts, Indices]:
        r"""Drop counts far from the expected number, and choose N for each bag.

        By Bernstein's inequality, a count is at least t from it with a probability of at most
        :math:`2 e^{-t^2 / (2 v + 2 t / 3)}`, where v is its variance.  The sum for a count c has
        the probabilities of all :math:`c + j N`; N is so large that those with :math:`j \ne 0` are
        impossible or negligible.  Powers of the root of 2 leave few different N.
        """
        p, size = self.probabilities, -np.log(NOTHING)
        mean, variance = np.bincount(self.index, p), np.bincount(self.index, p * (1.0 - p))
        reach = np.ceil(size / 3.0 + np.sqrt(np.square(size / 3.0) + 2.0 * size * variance))
        lower = np.maximum(self.lower, np.floor(mean) - reach).astype(int)
        upper = np.minimum(self.upper, np.ceil(mean) + reach).astype(int)
        apart = np.ceil(reach + np.maximum(mean - lower, upper - mean)) + 2
        period = np.exp2(np.ceil(2.0 * np.log2(np.minimum(np.bincount(self.index), apart))) / 2.0)
        points = 1 + 2 * np.ceil(period / 2.0).astype(int)
        return replace(self, lower=lower, upper=upper), points

    def _sums(self, rows: Indices, bags: Indices, n_points: int) -> tuple[Array, Array]:
        """Compute both for some bags, whose rows are sorted by bag, without the shift."""
        p, place = self.probabilities[rows], np.searchsorted(bags, self.index[rows])
        first = np.flatnonzero(np.diff(place, prepend=-1))
        sign, length = np.where(self.shift < 0.0, -1, 1)[bags], (self.upper - self.lower + 1)[bags]
        falls, edge = np.exp(-np.abs(self.shift))[bags], self.edge[bags]
        total, positive = np.zeros(len(bags)), np.zeros(len(rows))
        for k in range((n_points + 1) // 2):
            wave = np.exp(2j * np.pi * k / n_points)
            factors = 1.0 - p + p * wave
            of_bags = np.multiply.reduceat(factors, first)
            if np.abs(of_bags).max() < NOTHING:  # and they fall with k
                break
            ratio = falls * wave**-sign
            unit = np.abs(1.0 - ratio) < NEAR_ONE
            sums = np.where(unit, length, (1.0 - ratio**length) / np.where(unit, 1.0, 1.0 - ratio))
            terms = (1 if k == 0 else 2) * of_bags * sums * wave**-edge
            total += terms.real
            positive += (terms[place] / factors * wave).real
        return np.log(total / n_points), p * positive / total[place]

    def draw(self, random: RandomState) -> Mask:
        """Which instances are positive in a labeling that is drawn.

        Labels are drawn with the shift until the count is in its range, and of several counts again
        as often as the shift makes it too likely.
        """
        p, index, shift = self.probabilities, self.index, np.abs(self.shift)
        first = np.unique(index, return_index=True)[1]
        place = np.searchsorted(np.sort(first), first)
        positive, rows = np.empty(len(p), dtype=bool), np.arange(len(p))
        while len(rows):
            bag = index[rows]
            positive[rows] = labels = random.uniform(size=len(rows)) < p[rows]
            counts = np.bincount(bag[labels], minlength=len(shift))
            chance = random.uniform(size=len(shift))[place]
            accepted = chance < np.exp(-shift * np.abs(counts - self.edge))
            accepted &= (self.lower <= counts) & (counts <= self.upper)
            rows = rows[~accepted[bag]]
        return positive


@dataclass(frozen=True, eq=False)
class CountLikelihood:
    r"""The likelihood of the counts of bags, of independent labels with log odds :math:`s_i`.

    .. math::

        \ell(s) = \sum_k \omega_k \log P(l_k \le \textstyle\sum_{i \in k} t_i \le u_k),
        \qquad P(t_i = 1) = \frac{1}{1 + e^{-s_i}}

    Attributes
    ----------
    feasible : FeasibleLabelings
        The ranges :math:`l_k` to :math:`u_k` of the counts.  Labels that are known are bags of one.
    weights_of_bags : array of shape (n_bags,)
        The weights :math:`\omega_k`: of each bag the mean weight of its instances.

    Examples
    --------
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target([0, 0], [0.5]))
    >>> value, means = CountLikelihood.from_bags(bags, bags, 0.0).value_and_means(np.zeros(2))
    >>> round(float(np.exp(value)), 4), means
    (0.5, array([0.5, 0.5]))
    """

    feasible: FeasibleLabelings
    weights_of_bags: Array

    @classmethod
    def from_bags(cls, training_bags: Bags, bags: Bags, epsilon: Any) -> CountLikelihood:
        """Build from bags whose known labels are singletons, and the bags they are from."""
        is_known = np.bincount(training_bags.index, training_bags.labels != 0) > 0
        positive = np.bincount(training_bags.index, training_bags.labels > 0).astype(int)
        origin = np.searchsorted(bags.codes, training_bags.codes)
        lower, upper = (
            np.where(is_known, positive, (count - bags.known_counts[0])[origin])
            for count in bags.count_range(epsilon)
        )
        weights = bags.mean_weight * training_bags.weights_of_bags
        return cls(FeasibleLabelings(training_bags, lower, upper), weights)

    def select(self, mask: Mask) -> CountLikelihood:
        """Return the likelihood of the counts of some of the bags."""
        bags, _ = self.feasible.bags.select(mask)
        feasible = FeasibleLabelings(bags, self.feasible.lower[mask], self.feasible.upper[mask])
        return CountLikelihood(feasible, self.weights_of_bags[mask])

    @cached_property
    def weights(self) -> Array:
        """The weight of the bag of each instance."""
        return self.weights_of_bags[self.feasible.bags.index]

    @cached_property
    def start(self) -> float:
        """Log odds of all labels alike, with one positive and one negative more."""
        counts = (self.feasible.lower + self.feasible.upper) / 2.0
        positive = self.weights_of_bags @ counts
        negative = self.weights_of_bags @ (self.feasible.bags.sizes - counts)
        return float(np.log((positive + 1.0) / (negative + 1.0)))

    def value_and_means(self, scores: Array) -> tuple[float, Array]:
        r"""Compute :math:`\ell`, and the expected labels :math:`\bar t_i` given the counts."""
        logs, means = GivenCounts.from_odds(scores, self.feasible).log_probabilities_and_means()
        return float(self.weights_of_bags @ logs), means

    def value_and_slope(self, scores: Array) -> tuple[float, Array]:
        r"""Compute :math:`\ell` and its derivative by each score.

        The derivative is :math:`\omega_k (\bar t_i - 1 / (1 + e^{-s_i}))` by Fisher's identity.
        """
        value, means = self.value_and_means(scores)
        return value, self.weights * (means - expit(scores))


def class_likelihood(classes: Sequence[CountLikelihood], scores: Array) -> tuple[float, Array]:
    r"""Compute the composite likelihood of the counts of all classes, and its derivative.

    .. math::

        \ell(s) = \frac12 \sum_c \ell_c\Bigl(\log \frac{q_{ic}}{1 - q_{ic}}\Bigr), \qquad
        q_{ic} = \frac{e^{s_{ic}}}{\sum_j e^{s_{ij}}}

    where :math:`\ell_c` is the exact likelihood of the counts of class c against the rest.  The
    dependence of the counts of different classes is ignored (composite marginal likelihood; Varin,
    Reid and Firth 2011).  With two classes both terms are equal, and their mean is the
    :class:`CountLikelihood`.

    Parameters
    ----------
    classes : sequence of CountLikelihood
        :math:`\ell_c`, of the same instances and bags.
    scores : array of shape (n_instances, n_classes)

    Returns
    -------
    value : float
    slope : array of shape (n_instances, n_classes)
        The derivative by each score.
    """
    total, slopes = 0.0, np.zeros_like(scores)
    for number, likelihood in enumerate(classes):
        rest = np.delete(scores, number, axis=1)
        of_rest = logsumexp(rest, axis=1)
        value, slope = likelihood.value_and_slope(scores[:, number] - of_rest)
        fractions = np.insert(-np.exp(rest - of_rest[:, None]), number, 1.0, axis=1)
        total += 0.5 * value
        slopes += 0.5 * slope[:, None] * fractions
    return total, slopes
