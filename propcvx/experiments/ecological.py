"""Ecological regression: shares of groups regressed on what the groups are like on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from propcvx.bags import Bags


@dataclass(eq=False, repr=False)
class EcologicalRegression(ClassifierMixin, BaseEstimator):
    r"""Ecological regression (Goodman 1953): least squares of proportions on bag means.

    With :math:`m_k` the mean and :math:`n_k` the size of bag k, :math:`\min_{w, b} \sum_k n_k
    (w'm_k + b - p_k)^2`, of several solutions the one of least norm of w.  If the probability of
    +1 is the same linear function of an instance in all bags, that is it; an instance is positive
    where it is above one half.

    Attributes
    ----------
    model_ : LinearRegression
        The regression, fitted.
    classes_ : array of shape (2,)
        Labels -1, 1.
    """

    def fit(self, X: NDArray[np.float64], y: NDArray[np.void]) -> EcologicalRegression:
        """Fit to bags with known proportions.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,)
            Made by :func:`propcvx.bag_target`.
        """
        bags = Bags.from_target(y)
        means = bags.means_of(X)
        self.model_ = LinearRegression().fit(means, bags.proportions, sample_weight=bags.sizes)
        self.classes_ = np.array([-1, 1])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Estimated probability of +1, less one half."""
        return self.model_.predict(X) - 0.5

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels -1, +1."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)
