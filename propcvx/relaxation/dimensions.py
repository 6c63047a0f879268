r"""The dimensions along which the coordinate oracle looks, eq:inf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal
from scipy.linalg.lapack import dormqr, dsytrd, dsytrd_lwork

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
    n, r = features.shape
    if r < n:
        return features @ _leading_eigenpairs(features.T @ features, variance)[1]
    values, vectors = _leading_eigenpairs(features @ features.T, variance)
    return vectors * np.sqrt(values)


def _leading_eigenpairs(gram: Array, share: float) -> tuple[Array, Array]:
    """Eigenvalues that make up a share of the trace, largest first, and eigenvectors; overwrites.

    Where only some of the vectors are needed, this takes about half the time of finding all: one
    reduction to a tridiagonal matrix gives all eigenvalues, and then just the vectors asked for.
    """
    n = len(gram)
    reduced, diagonal, beside, reflectors, _ = dsytrd(
        gram.T, lower=True, lwork=int(dsytrd_lwork(n, lower=True)[0]), overwrite_a=True
    )
    energy = np.cumsum(np.maximum(eigvalsh_tridiagonal(diagonal, beside)[::-1], 0.0))
    kept = int(np.searchsorted(energy, share * energy[-1] * (1 - 1e-12))) + 1
    values, vectors = eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - kept, n - 1), lapack_driver="stemr"
    )
    vectors = np.array(vectors, order="F")
    if n > 1:
        below = np.asfortranarray(reduced[1:, :-1])
        del gram, reduced
        vectors[1:] = dormqr("L", "N", below, reflectors, vectors[1:], 64 * kept)[0]
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
