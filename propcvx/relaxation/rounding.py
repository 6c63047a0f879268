r"""From the relaxation's matrix M back to a labeling.

A rounding takes the result of a relaxation to a real-valued labeling; its sign, which M does not
tell, is settled by :func:`oriented` for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.metrics import proportion_error
from propcvx.relaxation.result import RelaxationResult

Array = NDArray[np.float64]

TIED = 1e-9
"""Differences closer to 0 than this, relatively, say nothing of the sign."""

Rounding = Callable[[RelaxationResult, Array, Bags], Array]
"""``rounding(result, features, bags) -> soft labeling``, its sign left open."""


def rank_one(result: RelaxationResult, features: Array, bags: Bags) -> Array:
    r"""Best rank-one approximation of M as :math:`y y^\top`, as in the paper.

    Parameters
    ----------
    result : RelaxationResult
        Of it the vectors and weights of :math:`M = \sum_t \mu_t v_t v_t^\top`.
    features : array of shape (n_instances, rank)
        Not needed here.
    bags : Bags
        Not needed here.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Real-valued; :math:`-y` is as good.  Of the two, the one that agrees with the vector of
        largest weight is returned.
    """
    root = np.sqrt(result.weights)[:, None] * result.vectors
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    labeling = singular[0] * right[0]
    agrees = labeling @ result.vectors[np.argmax(result.weights)] >= 0
    return labeling if agrees else -labeling


def oriented(scores: Array, bags: Bags) -> float:
    r"""The sign of a labeling, +1.0 or -1.0, by its scores on the training bags.

    The sign of the smaller bag error is taken; of equal errors, the one with which a bag's mean
    score grows with its proportion; and where the proportions do not tell, as it is.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        The scores of the classifier that the labeling gives.
    bags : Bags
        The training bags.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 1, 1], [0.0, 0.5]))
    >>> oriented(np.array([1.0, 1.0, 1.0, -1.0]), bags)
    -1.0
    """
    excess = proportion_error(bags, scores) - proportion_error(bags, -scores)
    if abs(excess) > TIED:
        return -1.0 if excess > 0.0 else 1.0
    means = np.bincount(bags.index, weights=scores) / bags.sizes
    shares = bags.proportions - bags.proportions.mean()
    covariance = float(shares @ (means - means.mean()))
    return -1.0 if covariance < -TIED * np.abs(scores).max() else 1.0


ROUNDINGS: Mapping[str, Rounding] = MappingProxyType({"rank_one": rank_one})
"""Roundings by name."""
