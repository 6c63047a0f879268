"""Probabilities from scores: a logistic curve whose means over bags meet their proportions."""

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
"""Deviances per instance equal to so many digits are equally good; the smallest slope is taken."""

ROUNDING = 1e-12
"""How far shares, or scores relative to the largest, are apart that are equal but for rounding."""

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""The curve :math:`1 / (1 + \exp(-(a s + b)))`, :math:`a \ge 0`, of scores :math:`s`.

    Its means :math:`q_k` over the training bags come nearest to the proportions :math:`p_k` in
    binomial deviance, :math:`-\sum_k n_k (p_k \log q_k + (1 - p_k) \log(1 - q_k))`.  As with
    Platt (1999), of :math:`N_+` positives each counts as :math:`(N_+ + 1) / (N_+ + 2)` and of
    :math:`N_-` negatives each as :math:`1 / (N_- + 2)`, so that the curve is never a step; with
    bags of one instance it is his.  With larger bags the deviance is not convex, and the curve is
    the best of a few descents.

    Attributes
    ----------
    scores : array of shape (n_instances,)
        Of the training instances.
    index : int array of shape (n_instances,)
        The bag of each.
    proportions : array of shape (n_bags,)
    sign : int
        -1 where scores and proportions are those of the fit with the classes exchanged, else 1.
    """

    scores: Array
    index: Indices
    proportions: Array
    sign: int = 1

    @classmethod
    def of(cls, scores: Array, bags: Bags) -> Calibration:
        """Of the scores of all instances and the bags that have a share."""
        seen, instances = bags.of_shares()
        instance, bag = seen.pairs
        return cls(scores[instances[instance]], bag, seen.proportions, bags.sign)

    @cached_property
    def curve(self) -> tuple[float, float]:
        """Slope a and offset b, found when they are first asked for.

        Where all proportions or all scores are equal, the bags do not tell a, and it is 0.
        """
        sizes, shares = np.bincount(self.index), self.shares
        overall = float(sizes @ shares / sizes.sum())
        center, spread = self.scores.mean(), self.scores.std()
        if np.ptp(shares) <= ROUNDING or spread <= ROUNDING * np.abs(self.scores).max():
            return 0.0, float(logit(overall))
        scores = (self.scores - center) / spread
        threshold = np.quantile(scores, 1.0 - overall)
        ends = [
            minimize(
                _deviance,
                [slope, -slope * threshold],
                (scores, self.index, shares, sizes),
                method="L-BFGS-B",
                jac=True,
                bounds=[(0.0, None), (None, None)],
                options={"ftol": 1e-15, "gtol": 1e-9},
            )
            for slope in STARTS
        ]
        _, a, b = min((round(end.fun, DIGITS), *end.x) for end in ends)
        return float(a / spread), float(b - a * center / spread)

    @property
    def shares(self) -> Array:
        """The shares of the bags that are to be met."""
        sizes, share = np.bincount(self.index), self.proportions
        positive, negative = sizes @ share, sizes @ (1.0 - share)
        return share * (positive + 1.0) / (positive + 2.0) + (1.0 - share) / (negative + 2.0)

    def probabilities(self, scores: Array) -> Array:
        """Of the negative and of the positive class, shape (n_instances, 2)."""
        a, b = self.curve
        if a == 0.0:
            warn(
                "the training bags do not tell how the probability rises with the score, so it "
                f"is {expit(self.sign * b):.3g} for every instance. Bags whose proportions differ "
                "more may tell it; labels do, with sklearn.calibration.CalibratedClassifierCV.",
                IllPosedWarning,
            )
        values = a * scores + self.sign * b
        return np.asarray(expit(np.outer(values, [-1.0, 1.0])))


def _deviance(
    curve: Array, scores: Array, index: Indices, shares: Array, sizes: Indices
) -> tuple[float, Array]:
    """Binomial deviance per instance, but for a constant, and its gradient."""
    values = curve[0] * scores + curve[1]
    positive, negative = expit(values), expit(-values)
    up, down = (np.maximum(np.bincount(index, each) / sizes, TINY) for each in (positive, negative))
    deviance = -sizes @ (shares * np.log(up) + (1.0 - shares) * np.log(down))
    each = ((1.0 - shares) / down - shares / up)[index] * positive * negative
    return float(deviance) / len(scores), np.array([each @ scores, each.sum()]) / len(scores)
