r"""From the relaxation's matrix M back to a labeling.

Algorithm 2 ends with :math:`M = \sum_t \mu_t y_t y_t^\top`; the paper takes the real-valued vector
whose outer product is nearest to M, and resolves its sign on the training bags.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rank_one(labelings: Array, mu: Array) -> Array:
    r"""Best rank-one approximation of :math:`M = \sum_t \mu_t y_t y_t^\top` as :math:`y y^\top`.

    Parameters
    ----------
    labelings : array of shape (T, N)
        The labelings :math:`y_t`.
    mu : array of shape (T,)
        Their weights, >= 0.

    Returns
    -------
    labeling : float array of shape (N,)
        Real-valued; :math:`-y` is as good.  Of the two, the one that agrees with the labeling of
        largest weight is returned.

    Examples
    --------
    >>> rank_one(np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([1.0, 0.0])).round(6)
    array([ 1., -1.])
    """
    _, singular, right = np.linalg.svd(np.sqrt(mu)[:, None] * labelings, full_matrices=False)
    labeling = singular[0] * right[0]
    return labeling if labeling @ labelings[np.argmax(mu)] >= 0 else -labeling
