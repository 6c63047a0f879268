r"""The dimensions along which the coordinate oracle looks, eq:inf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def leading_dimensions(features: Array, variance: float) -> Array:
    r"""Leading principal axes of the features that keep a share of their variance.

    The eigendecomposition before eq:inf, done on whichever of :math:`F^\top F`, :math:`F F^\top`
    is smaller.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F.
    variance : float
        Share of :math:`\operatorname{tr} F F^\top` to keep, in (0, 1].

    Returns
    -------
    dimensions : array of shape (n_instances, d)
        The features along the leading axes, largest first: :math:`U_d S_d^{1/2}`.  Their signs
        are arbitrary.
    """
    if features.shape[1] < len(features):
        return features @ _leading_eigenpairs(features.T @ features, variance)[1]
    values, vectors = _leading_eigenpairs(features @ features.T, variance)
    return vectors * np.sqrt(values)


def _leading_eigenpairs(gram: Array, share: float) -> tuple[Array, Array]:
    """Eigenvalues that make up a share of the trace, largest first, and their eigenvectors."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    energy = np.cumsum(values)
    kept = int(np.searchsorted(energy, share * energy[-1] * (1 - 1e-12))) + 1
    return values[:kept], vectors[:, :kept]
