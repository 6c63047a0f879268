"""Columns weighted by the correlation of their bag means with the proportions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import check_number, check_same_length
from propcvx.errors import IllPosedWarning, warn

ROUNDING = 1e-12
"""Spread of bag means, as a fraction of their size, below which it counts as 0."""


@dataclass(eq=False, repr=False)
class ProportionScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Multiply each column by the correlation of its bag means with the proportions.

    Column j is multiplied by :math:`|r_j|^q`, where :math:`r_j` is the correlation of
    :math:`m_{kj}` with :math:`p_k` over the bags, weighted by their numbers of instances; and all
    by one number, so that the weights have a mean square of one.

    Distances then count in the columns that are correlated with the proportions.  Use it before
    conv-pSVM, whose labeling follows the direction of most variance for any proportions.  It
    fails if proportions are correlated with a column for another reason than the classes, for
    example if bags are clusters.  It also fails with few bags, whose correlations are large by
    chance: with two bags, all correlations are one.

    Parameters
    ----------
    power : float, default=1.0
        The power q; 0 leaves the columns as they are.

    Attributes
    ----------
    weights_ : array of shape (n_features,)
        Factor of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from propcvx import ConvPropSVM, ProportionScaler, bag_target
    >>> X = np.array([[0.0, 9.0], [1.0, -9.0], [1.0, 9.0], [2.0, -9.0], [2.0, 9.0], [3.0, -9.0]])
    >>> y = bag_target([0, 0, 1, 1, 2, 2], [0.0, 0.5, 1.0])
    >>> make_pipeline(ProportionScaler(), ConvPropSVM()).fit(X, y).predict(X)
    array([-1, -1, -1,  1,  1,  1])
    """

    power: float = 1.0

    def fit(self, X: Any, y: NDArray[Any]) -> ProportionScaler:
        """Weigh the columns.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_instances, n_features)
            Instances, with columns on one scale.
        y : bag target of shape (n_instances,)
            Made by :func:`propcvx.bag_target`, of two classes.

        Returns
        -------
        self

        Warns
        -----
        IllPosedWarning
            If no column is correlated with the proportions, for example because they are equal;
            all weights are then 1.
        """
        check_number("power", self.power, low=0.0, closed="left")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        bags, instances = Bags.from_target(y).select_with_proportion()
        check_same_length(X, y)
        dense = X[instances].toarray() if sp.issparse(X) else X[instances]
        weights = correlations(bags, dense) ** self.power
        if not weights.any():
            warn("no column is correlated with proportions; all weights are 1.", IllPosedWarning)
            weights = np.ones(X.shape[1])
        self.weights_ = weights / np.sqrt(np.mean(np.square(weights)))
        return self

    def transform(self, X: Any) -> Any:
        """Multiply the columns."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return X @ sp.diags_array(self.weights_) if sp.issparse(X) else X * self.weights_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def correlations(bags: Bags, X: Array) -> Array:
    """Compute each column's absolute correlation of bag means and proportions; 0 without spread."""
    fractions = bags.sizes / bags.sizes.sum()
    means, p = bags.means_of(X), bags.proportions
    deviations, gaps = means - fractions @ means, p - fractions @ p
    spread = np.sqrt(fractions @ np.square(deviations))
    some = spread > ROUNDING * np.abs(means).max(axis=0, initial=0.0)
    total = spread * np.sqrt(fractions @ np.square(gaps))
    products = np.abs((fractions * gaps) @ deviations)
    return np.divide(products, total, out=np.zeros_like(total), where=some & (total > 0.0))
