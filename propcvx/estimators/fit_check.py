"""Whether a fit can be believed, as far as the shares of bags tell it."""

from __future__ import annotations

from dataclasses import dataclass
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

ENOUGH_BAGS = 20
"""With fewer bags, what is explained on held-out bags is a matter of chance."""

BELOW_MAJORITY = 0.01
"""In a poor fit the expected share of right labels is below that of the larger class by this."""

FEW_LABELS = 0.02
"""So few labels of the smaller class cost no more accuracy than that."""

POOR, CHANCE = 0.5, 1.64
"""In a poor fit the correlation on held-out bags is below so many standard errors; in one of twenty
without any relation it is above the second."""


@dataclass(frozen=True)
class FitCheck:
    """What the shares of bags show about a fit.

    Attributes
    ----------
    expected_accuracy : float
        Share of right labels if the calibrated probabilities are right.  With bags that are places
        or schools it is six to twelve points too large, but for
        :class:`propcvx.EcologicalRegression` and :class:`propcvx.MeanMap`.  With as many columns as
        bags it is too large for all: with 60 columns and 40 bags by 8 to 25 points.
    majority_accuracy : float
        Share of right labels of predicting the larger class for all instances.
    correlation : float
        Correlation of the shares of bags with the mean probabilities of fits to other bags,
        weighted by size; NaN if all shares are equal.
    r2 : float
        Part of the variance of the shares that these mean probabilities explain, see
        :func:`propcvx.bags.metrics.bag_r2_score`; NaN if all shares are equal.
    n_bags : int
        Bags with a share.
    minority_fraction : float
        Share of the instances that get the label of the smaller class.
    """

    expected_accuracy: float
    majority_accuracy: float
    correlation: float
    r2: float
    n_bags: int
    minority_fraction: float

    @property
    def is_poor(self) -> bool:
        """Whether there is evidence that predicting the larger class would be as good.

        Fewer labels are expected to be right, by more than 0.01; or there are 20 bags or more, and
        the correlation on held-out bags (as Fisher's z) is below half a standard error.  Not where
        at most 2% of the labels are of the smaller class: they are nearly those of the larger.
        False proves nothing.
        """
        if self.minority_fraction <= FEW_LABELS:
            return False
        if self.expected_accuracy < self.majority_accuracy - BELOW_MAJORITY:
            return True
        return self.n_bags >= ENOUGH_BAGS and self._correlated_below(POOR)

    def _correlated_below(self, errors: float) -> bool:
        """Whether the correlation on held-out bags is below so many standard errors."""
        return bool(self.correlation < np.tanh(errors / np.sqrt(max(1, self.n_bags - 3))))

    def __str__(self) -> str:
        informative, uncorrelated = not np.isnan(self.r2), self._correlated_below(POOR)
        if self.minority_fraction <= FEW_LABELS:
            larger = 1.0 - self.minority_fraction
            verdict = f"{larger:.0%} of the instances get the label of the larger class"
            verdict += ", and nothing speaks for this fit" if uncorrelated else ""
        elif self.is_poor:
            verdict = "Do not use these labels"
        elif not informative:
            verdict = "All shares are equal, so they cannot tell a good fit from a bad one"
        elif self.n_bags < ENOUGH_BAGS:
            speaks = "for this fit, and" if uncorrelated else "against this fit, but"
            verdict = f"Nothing speaks {speaks} {self.n_bags} bags tell little"
        else:
            verdict = "Nothing speaks against this fit"
            verdict += ", and little for it" if self._correlated_below(CHANCE) else ""
        lines = [
            f"{verdict}.",
            f"{self.expected_accuracy:.0%} of the labels are expected to be right, "
            f"{self.majority_accuracy:.0%} if all were of the larger class.",
        ]
        if informative:
            lines.append(
                f"Shares of held-out bags: correlation {self.correlation:.2f} with their mean "
                f"probabilities, explained variance {self.r2:.0%}."
            )
        return "\n".join(lines)


def check_fit(model: Any, X: Any, y: NDArray[np.void], *, random_state: Seed = None) -> FitCheck:
    """Check without any label whether a method is better than predicting the larger class.

    The method is fitted to all bags.  Then the bags are divided into five parts (or one for each
    bag, if there are fewer); each part is held out once, and the method is fitted to the others.
    The verdict is evidence, not a proof: it warns of most fits that are worse than predicting the
    larger class, and of few others.

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
        It prints as a verdict with its numbers: the expected share of right labels, and of the
        shares of held-out bags the correlation with the predicted mean probabilities and the part
        of their variance that these explain.

    Raises
    ------
    InputError
        If y is not a bag target of two classes, or has fewer than two bags with a share; or if the
        model does not learn from bags, with ``predict_proba``.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import InvCal, bag_target, check_fit, bag_proportions
    >>> from propcvx.datasets import random_bags
    >>> random = np.random.RandomState(0)
    >>> labels = np.repeat([1, -1], 200)
    >>> X = labels[:, None] + random.normal(size=(400, 3))
    >>> bags = random_bags(labels, bag_size=10, random_state=0)
    >>> y = bag_target(bags, bag_proportions(labels, bags))
    >>> print(check_fit(InvCal(), X, y, random_state=0))
    Nothing speaks against this fit.
    94% of the labels are expected to be right, 50% if all were of the larger class.
    Shares of held-out bags: correlation 0.91 with their mean probabilities, explained variance 83%.
    """
    bags = Bags.from_target(y)
    check_same_length(X, y)
    check_same_order({"X": X, "y": y})
    shares, sizes = bags.proportions[bags.with_share], bags.sizes[bags.with_share]
    if len(shares) < 2:
        raise InputError(f"y must have at least 2 bags with a proportion, got {len(shares)}.")
    everything, held_out = np.arange(len(y)), np.empty(len(y))
    folds = BagKFold(min(FOLDS, len(shares)), random_state=random_state)
    share, informative = float(sizes @ shares / sizes.sum()), bool(np.ptp(shares))
    with suppress_warnings(PropCVXWarning):
        positive, probabilities = predicted(model, X, y, everything, everything)
        for train, test in folds.split(X, y) if informative else ():
            held_out[test] = predicted(model, X, y[train], train, test)[1]
    return FitCheck(
        expected_accuracy=float(np.mean(np.where(positive, probabilities, 1.0 - probabilities))),
        majority_accuracy=max(share, 1.0 - share),
        correlation=bag_correlation(y, held_out) if informative else np.nan,
        r2=bag_r2_score(y, held_out) if informative else np.nan,
        n_bags=len(shares),
        minority_fraction=float(np.mean(positive == (share <= 0.5))),
    )


def predicted(
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
        raise InputError(f"{needed}; no fit changes a FrozenEstimator: pass what is inside of it.")
    try:
        fitted = clone(model).fit(_safe_split(model, X, None, train)[0], y)
    except TypeError as error:
        raise InputError(f"{needed}; {model!r:.200} says: {error}.") from error
    if not hasattr(fitted, "predict_proba") or fitted.classes_.dtype.names is not None:
        raise InputError(f"{needed}; got {model!r:.200}.")
    seen, _ = _safe_split(model, X, None, test, train)
    return fitted.predict(seen) == fitted.classes_[1], fitted.predict_proba(seen)[:, 1]
