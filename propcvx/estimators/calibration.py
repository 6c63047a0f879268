"""Probabilities from scores: a logistic curve whose means over bags fit their proportions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.errors import IllPosedWarning, warn

STARTS = (0.0, 1.0, 4.0, 16.0)
"""Slopes from which the deviance is descended, per standard deviation of the scores."""

DIGITS = 9
"""Digits to which deviances per instance are compared; of ties the smallest slope is taken."""

ROUNDING = 1e-12
"""Largest difference of proportions, or of scores relative to the largest, that is rounding."""

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""The curve :math:`1 / (1 + \exp(-(a s + b)))`, :math:`a \ge 0`, of scores :math:`s`.

    Its means :math:`q_k` over the training bags come nearest to the proportions :math:`p_k` in
    binomial deviance, :math:`-\sum_k n_k (p_k \log q_k + (1 - p_k) \log(1 - q_k))`.  As with
    Platt (1999), of :math:`N_+` positives each counts as :math:`(N_+ + 1) / (N_+ + 2)` and of
    :math:`N_-` negatives each as :math:`1 / (N_- + 2)`, so that the curve is never a step; with
    singleton bags it is his curve.  With larger bags the deviance is not convex, and the curve is
    the best of a few descents.

    The fit assumes that labels depend on the score alone, in the same way in all bags.  The slope a
    is at most :attr:`steepest`, which assumes that scores depend on the label alone, in two normal
    classes.  In random bags both assumptions hold.  If bags differ, at best one mostly holds, and
    the other makes the curve too steep, so that the smaller slope is used.

    Attributes
    ----------
    scores : array of shape (n_instances,)
        The scores of the training instances.
    index : int array of shape (n_instances,)
        The bag of each instance.
    proportions : array of shape (n_bags,)
    """

    scores: Array
    index: Indices
    proportions: Array

    @classmethod
    def from_bags(cls, scores: Array, bags: Bags) -> Calibration:
        """Build from the scores of all instances and the bags that have a proportion."""
        bags, instances = bags.select_with_proportion()
        return cls(scores[instances], bags.index, bags.proportions)

    @cached_property
    def curve(self) -> tuple[float, float]:
        """Slope a and offset b, computed on first access.

        If all proportions or all scores are equal, the bags do not identify a, and it is 0.
        """
        sizes, targets = np.bincount(self.index), self.targets
        overall = float(sizes @ targets / sizes.sum())
        center, spread = self.scores.mean(), self.scores.std()
        if np.ptp(targets) <= ROUNDING or spread <= ROUNDING * np.abs(self.scores).max():
            return 0.0, float(logit(overall))
        scores, steepest = (self.scores - center) / spread, self.steepest * spread
        threshold = np.quantile(scores, 1.0 - overall)
        results = [
            minimize(
                _deviance,
                [slope, -slope * threshold],
                (scores, self.index, targets, sizes),
                method="L-BFGS-B",
                jac=True,
                bounds=[(0.0, steepest), (None, None)],
                options={"ftol": 1e-15, "gtol": 1e-9},
            )
            for slope in np.minimum(STARTS, steepest)
        ]
        _, a, b = min((round(result.fun, DIGITS), *result.x) for result in results)
        return float(a / spread), float(b - a * center / spread)

    @property
    def steepest(self) -> float:
        r"""The slope :math:`\delta / \sigma^2`, if classes are normal and have one law in all bags.

        The difference :math:`\delta` of their means is the slope of weighted least squares of the
        mean scores of bags on the :math:`p_k`, and their variance :math:`\sigma^2` what
        :math:`\delta^2 \sum_k n_k p_k (1 - p_k)` leaves of the squares inside the :math:`K` bags,
        over :math:`N - K`.  Infinite where nothing is left, or :math:`\delta \le 0`.
        """
        sizes, means, scatter, label_scatter = self._within_bags
        rises = sizes * (self.proportions - np.average(self.proportions, weights=sizes))
        difference = float(rises @ means / (rises @ self.proportions))
        remainder = scatter - difference**2 * label_scatter
        if difference <= 0.0 or remainder <= ROUNDING * scatter:
            return np.inf
        return difference * (len(self.scores) - len(sizes)) / remainder

    @property
    def wider_than_labels(self) -> bool:
        """Whether the scores vary inside the bags by more than labels can."""
        _, _, scatter, label_scatter = self._within_bags
        return scatter > label_scatter

    @cached_property
    def _within_bags(self) -> tuple[Indices, Array, float, float]:
        """Sizes and mean scores of bags; sums of squares inside them, of scores and of labels."""
        sizes = np.bincount(self.index)
        means = np.bincount(self.index, self.scores) / sizes
        scatter = float(np.square(self.scores - means[self.index]).sum())
        return sizes, means, scatter, float(sizes @ (self.proportions * (1.0 - self.proportions)))

    @property
    def targets(self) -> Array:
        """The proportions that the curve is fitted to."""
        sizes, p = np.bincount(self.index), self.proportions
        positive, negative = sizes @ p, sizes @ (1.0 - p)
        return p * (positive + 1.0) / (positive + 2.0) + (1.0 - p) / (negative + 2.0)

    def probabilities(self, scores: Array) -> Array:
        """Compute the probabilities of the negative and positive class, shape (n_instances, 2)."""
        a, b = self.curve
        if a == 0.0:
            warn(
                "the training bags do not identify how the probability rises with the score, so "
                f"it is {expit(b):.3g} for every instance. Pass bags with more different "
                "proportions, or labels to sklearn.calibration.CalibratedClassifierCV.",
                IllPosedWarning,
            )
        values = a * scores + b
        return np.asarray(expit(np.outer(values, [-1.0, 1.0])))


def _deviance(
    curve: Array, scores: Array, index: Indices, targets: Array, sizes: Indices
) -> tuple[float, Array]:
    """Compute the binomial deviance per instance, up to a constant, and its gradient."""
    values = curve[0] * scores + curve[1]
    positive, negative = expit(values), expit(-values)
    p, q = (np.maximum(np.bincount(index, part) / sizes, TINY) for part in (positive, negative))
    deviance = -sizes @ (targets * np.log(p) + (1.0 - targets) * np.log(q))
    slopes = ((1.0 - targets) / q - targets / p)[index] * positive * negative
    return float(deviance) / len(scores), np.array([slopes @ scores, slopes.sum()]) / len(scores)
