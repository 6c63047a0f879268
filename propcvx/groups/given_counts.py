r"""Independent labels, conditional on the counts of their bags: conditional Poisson sampling.

With a probability :math:`p_i` of each instance to be positive, and the number of positives of a bag
known, a labeling :math:`t \in \{0, 1\}^n` of the bag has a probability in proportion to
:math:`\prod_{t_i = 1} p_i / (1 - p_i)`, if it has this count (Hájek 1964; Chen, Dempster and Liu
1994).  All odds of a bag may be multiplied by one number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit, logit

from propcvx.arrays import Array, Indices, Mask
from propcvx.labelings.feasible import FeasibleLabelings

NEAR_ONE = 1e-12
"""Distance from 0 and 1 to which probabilities are clipped first."""

WIDE = 100.0
"""Largest shift of log odds that is searched."""

HALVINGS = 60
"""Number of bisections of the interval of a shift, down to rounding."""

NOTHING = 1e-20
"""Size below which Fourier coefficients and probabilities of counts are negligible."""


def log_odds(probabilities: Array, labels: NDArray[Any]) -> Array:
    """Compute the log odds of probabilities; infinite where a label is known, -1 or +1."""
    odds = logit(np.clip(probabilities, NEAR_ONE, 1.0 - NEAR_ONE))
    return np.where(labels == 0, odds, np.where(labels > 0, np.inf, -np.inf))


def shifts_into(odds: Array, index: Indices, lower: Indices, upper: Indices) -> Array:
    """Find the shift of each bag's log odds that puts its sum of probabilities in range."""
    goal = np.clip(np.bincount(index, expit(odds)), lower, upper)
    low, high = np.full(len(goal), -WIDE), np.full(len(goal), WIDE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = np.bincount(index, expit(odds + middle[index])) > goal
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)


@dataclass(frozen=True, eq=False)
class GivenCounts:
    r"""Labels of bags, given the range of the number of positives of each bag.

    Attributes
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance.
    lower, upper : int arrays of shape (n_bags,)
        The range.
    shift : array of shape (n_bags,)
        Shift added to the log odds of a bag, so that its expected number is in the range.
    probabilities : array of shape (n_instances,)
        Probabilities of independent labels, after the shift.
    """

    index: Indices
    lower: Indices
    upper: Indices
    shift: Array
    probabilities: Array

    @classmethod
    def of(cls, probabilities: Array, feasible: FeasibleLabelings) -> GivenCounts:
        """Build from probabilities that ignore the proportions, in the order of the rows."""
        bags, lower, upper = feasible.bags, feasible.lower, feasible.upper
        odds = log_odds(probabilities, bags.labels)
        shift = shifts_into(odds, bags.index, lower, upper)
        return cls(bags.index, lower, upper, shift, expit(odds + shift[bags.index]))

    @property
    def end(self) -> Indices:
        r"""An end of each range: :math:`e^{-|s||c - \mathrm{end}|}` takes a shift s back."""
        return np.where(self.shift < 0.0, self.upper, self.lower)

    def means(self) -> Array:
        r"""Compute the probability of +1 of each instance, given the ranges.

        A count has the probability :math:`\frac1N \sum_k \omega^{-kc} \prod_i (1 - p_i + p_i
        \omega^k)`, with :math:`\omega = e^{2 \pi \sqrt{-1} / N}` and N larger than the number of
        counts that are possible; omit a factor for the count of the other instances.  N is odd, so
        that no factor is 0.
        """
        near, lengths = self._near()
        means, order = np.empty(len(self.index)), np.argsort(self.index, kind="stable")
        points = 1 + 2 ** np.maximum(np.ceil(np.log2(lengths)), 1.0).astype(int)
        for n_points in np.unique(points):
            rows = order[points[self.index[order]] == n_points]
            means[rows] = near._means(rows, np.flatnonzero(points == n_points), int(n_points))
        return np.clip(means, 0.0, 1.0)

    def _near(self) -> tuple[GivenCounts, Indices]:
        """Drop counts far from the expected number, and return how many counts are left.

        By Bernstein's inequality, a count is at least t from it with a probability of at most
        :math:`2 e^{-t^2 / (2 v + 2 t / 3)}`, where v is its variance.
        """
        p, least = self.probabilities, -np.log(NOTHING)
        mean, variance = np.bincount(self.index, p), np.bincount(self.index, p * (1.0 - p))
        reach = np.ceil(least / 3.0 + np.sqrt(np.square(least / 3.0) + 2.0 * least * variance))
        lower = np.maximum(self.lower, np.floor(mean) - reach).astype(int)
        upper = np.minimum(self.upper, np.ceil(mean) + reach).astype(int)
        lengths = np.minimum(np.bincount(self.index) + 1, 2 * reach + 2)
        return replace(self, lower=lower, upper=upper), lengths.astype(int)

    def _means(self, rows: Indices, bags: Indices, n_points: int) -> Array:
        """Compute the means of the rows of these bags, one bag after the other."""
        p, place = self.probabilities[rows], np.searchsorted(bags, self.index[rows])
        first = np.flatnonzero(np.diff(place, prepend=-1))
        down, length = np.where(self.shift < 0.0, -1, 1)[bags], (self.upper - self.lower + 1)[bags]
        falls, end = np.exp(-np.abs(self.shift))[bags], self.end[bags]
        total, positive = np.zeros(len(bags)), np.zeros(len(rows))
        for k in range((n_points + 1) // 2):
            wave = np.exp(2j * np.pi * k / n_points)
            factors = 1.0 - p + p * wave
            of_bags = np.multiply.reduceat(factors, first)
            if np.abs(of_bags).max() < NOTHING:  # and they fall with k
                break
            ratio = falls * wave**-down
            near = np.abs(1.0 - ratio) < NEAR_ONE
            sums = np.where(near, length, (1.0 - ratio**length) / np.where(near, 1.0, 1.0 - ratio))
            terms = (1 if k == 0 else 2) * of_bags * sums * wave**-end
            total += terms.real
            positive += (terms[place] * p * wave / factors).real
        return np.asarray(positive / total[place])

    def draw(self, random: RandomState) -> Mask:
        """Draw a labeling and return the mask of its positives.

        Labels are drawn with the shift until the count is in its range, and of several counts again
        as often as the shift makes it too likely.
        """
        p, index, shift = self.probabilities, self.index, np.abs(self.shift)
        first = np.unique(index, return_index=True)[1]
        positive, left = np.empty(len(p), dtype=bool), np.arange(len(p))
        while len(left):
            chance = random.uniform(size=len(left))
            positive[left] = chance < p[left]
            counts = np.bincount(index[left], positive[left], len(shift))
            chance = random.uniform(size=len(p))[first]
            kept = chance < np.exp(-shift * np.abs(counts - self.end))
            left = left[~(kept & (self.lower <= counts) & (counts <= self.upper))[index[left]]]
        return positive
