"""Estimates from proportions alone of how well a classifier predicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import _safe_split

from propcvx.arrays import Array, Indices, Mask, Seed
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import bag_correlation, bag_r2_score
from propcvx.bags.model_selection import BagKFold
from propcvx.checks import check_same_length, check_same_order
from propcvx.errors import InputError, PropCVXWarning, suppress_warnings

FOLDS = 5
"""Parts of the bags that are held out in turn, if there are so many bags."""

PRIOR_ERROR = 0.5
"""Standard error of the prior guess that the calibration slope is 1."""

ENOUGH_BAGS = 20
"""With fewer bags the calibration slope is too uncertain for a verdict."""

BELOW_MAJORITY = 0.01
"""The expected accuracy of a poor fit is below the majority class by more than this."""

BELOW_ZERO = 2.5
"""Standard errors by which a correlation must be below 0 to be reported as negative."""


@dataclass(frozen=True)
class FitCheck:
    """Result of :func:`propcvx.check_fit`: how well a classifier predicts, by proportions alone.

    Attributes
    ----------
    expected_accuracy : float
        Mean probability of the predicted labels of the training instances.  The probability p of a
        positive is replaced by m + f (p - m), with the mean probability m.  The factor f is the
        calibration slope, averaged with 1 by precision (the 1 has a standard error of 0.5), and
        clipped to [0, 1].  ``predict`` uses the sign of the score, so p can be below 1/2 for a
        predicted positive.
    majority_accuracy : float
        Accuracy of predicting the majority class for all instances.
    correlation : float
        Correlation of the proportions of held-out bags with their mean probabilities, weighted by
        size; NaN if all proportions are equal.
    r2 : float
        :math:`R^2` of these mean probabilities as predictions of the proportions, see
        :func:`propcvx.bags.metrics.bag_r2_score`; NaN if all proportions are equal.
    slope, slope_error : float
        Calibration slope: the slope of a regression of the proportions of held-out bags on their
        mean probabilities, weighted by size; and its standard error.  Below 1 the probabilities are
        too extreme, and at 0 they carry no information.  NaN if all proportions are equal.
    n_bags : int
        Number of bags with a proportion.
    minority_fraction : float
        Fraction of the training instances that are predicted to be of the minority class.
    proportions, held_out_means : arrays of shape (n_bags,)
        Published proportions, and mean predicted probabilities while the bag was held out.
    """

    expected_accuracy: float
    majority_accuracy: float
    correlation: float
    r2: float
    slope: float
    slope_error: float
    n_bags: int
    minority_fraction: float
    proportions: Array = field(default_factory=partial(np.empty, 0), repr=False, compare=False)
    held_out_means: Array = field(default_factory=partial(np.empty, 0), repr=False, compare=False)

    @property
    def is_poor(self) -> bool:
        """Whether always predicting the majority class is expected to be more accurate.

        True if it is by more than 0.01, and there are at least 20 bags.  False does not show that
        the fit is good; it is also False if all instances are predicted to be of the majority
        class.
        """
        is_below = self.expected_accuracy < self.majority_accuracy - BELOW_MAJORITY
        return is_below and self.n_bags >= ENOUGH_BAGS and self.minority_fraction > 0.0

    @property
    def is_reversed(self) -> bool:
        """Whether the correlation is negative, by 2.5 standard errors (as Fisher's z)."""
        if self.n_bags <= 3:
            return False
        return bool(self.correlation < -np.tanh(BELOW_ZERO / np.sqrt(self.n_bags - 3)))

    def __str__(self) -> str:
        lines = [
            f"Expected accuracy {self.expected_accuracy:.0%} (always predicting the majority "
            f"class: {self.majority_accuracy:.0%})."
        ]
        if np.isnan(self.correlation):
            lines.append("All bags have the same proportion, so held-out bags give no evidence.")
        else:
            lines.append(
                f"Held-out bags ({self.n_bags}): correlation {self.correlation:.2f}, "
                f"R^2 {self.r2:.2f}, calibration slope {self.slope:.2f} "
                f"(SE {self.slope_error:.2f})."
            )
        if self.is_reversed:
            lines.append(
                "The correlation is negative: check that each proportion belongs to its bag."
            )
        elif self.is_poor:
            lines.append(
                "Do not use these labels: always predicting the majority class is expected to be "
                "more accurate."
            )
        elif self.n_bags < ENOUGH_BAGS:
            lines.append(f"{self.n_bags} bags are too few for a verdict.")
        lines.append("The expected accuracy assumes the same relation within bags as between bags.")
        return "\n".join(lines)


def check_fit(model: Any, X: Any, y: NDArray[np.void], *, random_state: Seed = None) -> FitCheck:
    """Estimate from proportions alone how well a method predicts.

    The method is fitted to all bags.  Then the bags are divided into five parts (or one for each
    bag, if there are fewer); each part is held out once, and the method is fitted to the others.

    Parameters
    ----------
    model : classifier with predict_proba, or a pipeline that ends in one
        The model is not changed; clones of it are fitted.
    X : array, sparse matrix or DataFrame of shape (n_instances, n_features)
        Instances.
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`, of two classes.
    random_state : int, RandomState or None
        Seed of the division into parts, which depends on the order of the sorted ids.

    Returns
    -------
    FitCheck
        It prints as a summary.

    Raises
    ------
    InputError
        If y is not a bag target of two classes, or has fewer than two bags with a proportion; or if
        the model does not learn from bags, or has no ``predict_proba``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import InvCal, bag_proportions, bag_target, check_fit
    >>> from propcvx.datasets import random_bags
    >>> random = np.random.RandomState(0)
    >>> labels = np.repeat([1, -1], 200)
    >>> X = labels[:, None] + random.normal(size=(400, 3))
    >>> bags = random_bags(labels, bag_size=10, random_state=0)
    >>> y = bag_target(bags, bag_proportions(labels, bags))
    >>> print(check_fit(InvCal(), X, y, random_state=0))
    Expected accuracy 94% (always predicting the majority class: 50%).
    Held-out bags (40): correlation 0.91, R^2 0.83, calibration slope 0.99 (SE 0.07).
    The expected accuracy assumes the same relation within bags as between bags.
    """
    bags = Bags.from_target(y)
    check_same_length(X, y)
    check_same_order({"X": X, "y": y})
    proportions, sizes = bags.proportions[bags.has_proportion], bags.sizes[bags.has_proportion]
    if len(proportions) < 2:
        raise InputError(f"y must have at least 2 bags with a proportion; got {len(proportions)}.")
    everything, held_out = np.arange(len(y)), np.full(len(y), 0.5)
    folds = BagKFold(min(FOLDS, len(proportions)), random_state=random_state)
    mean, informative = np.average(proportions, weights=sizes), bool(np.ptp(proportions))
    with suppress_warnings(PropCVXWarning):
        positive, probabilities = predict_held_out(model, X, y, everything, everything)
        for train, test in folds.split(X, y) if informative else ():
            held_out[test] = predict_held_out(model, X, y[train], train, test)[1]
    means = (bags.membership @ held_out)[bags.has_proportion] / sizes
    slope, error = _slope(means, proportions, sizes)
    center = probabilities.mean()
    shrunk = center + _factor(slope, error) * (probabilities - center)
    return FitCheck(
        expected_accuracy=float(np.mean(np.where(positive, shrunk, 1.0 - shrunk))),
        majority_accuracy=max(mean, 1.0 - mean),
        correlation=bag_correlation(y, held_out) if informative else np.nan,
        r2=bag_r2_score(y, held_out) if informative else np.nan,
        slope=slope,
        slope_error=error,
        n_bags=len(proportions),
        minority_fraction=float(np.mean(positive == (mean <= 0.5))),
        proportions=proportions,
        held_out_means=means,
    )


def _slope(x: Array, y: Array, weights: Array) -> tuple[float, float]:
    """Return the slope of the weighted regression of y on x, and its standard error."""
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    square = float(weights @ np.square(x))
    if square <= 0.0 or len(x) < 3:
        return np.nan, np.nan
    slope = float((weights * x) @ y) / square
    variance = float(weights @ np.square(y - slope * x)) / (len(x) - 2)
    return slope, float(np.sqrt(variance / square))


def _factor(slope: float, error: float) -> float:
    """Return the factor that moves probabilities towards their mean."""
    if np.isnan(slope):
        return 1.0
    precision = 1.0 / PRIOR_ERROR**2
    trust = 1.0 / (1.0 + precision * error**2)
    return float(np.clip(trust * slope + (1.0 - trust), 0.0, 1.0))


def predict_held_out(
    model: Any, X: Any, y: NDArray[np.void], train: Indices, test: Indices
) -> tuple[Mask, Array]:
    """Which instances a fit to others predicts positive, and with what probability.

    The fit is of a clone, to the rows ``inside`` of X and their targets y.  The model is refused if
    it does not learn from bags: many classifiers of scikit-learn take each bag for a class.
    """
    needed = "needed is a classifier that learns from bags, with predict_proba after a fit to them"
    last = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    if isinstance(last, FrozenEstimator):
        raise InputError(f"{needed}; a FrozenEstimator is not fitted. Pass its `.estimator`.")
    try:
        fitted = clone(model).fit(_safe_split(model, X, None, train)[0], y)
    except TypeError as error:
        raise InputError(f"{needed}; {model!r:.200} raised: {error}.") from error
    if not hasattr(fitted, "predict_proba") or fitted.classes_.dtype.names is not None:
        raise InputError(f"{needed}; got {model!r:.200}.")
    X_test, _ = _safe_split(model, X, None, test, train)
    return fitted.predict(X_test) == fitted.classes_[1], fitted.predict_proba(X_test)[:, 1]
