"""The rule behind ``solver="auto"`` for the SVM dual with a bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MANY = 1000
"""From so many instances on the smoothed Newton method may be chosen."""

FEW = 0.1
"""It is, if features are at most this share of the instances."""


def svm_solver(features: NDArray[np.float64]) -> str:
    """``"newton"`` for 1,000 instances or more with at most a tenth as many features.

    For anything else ``"libsvm"``, whose Gram matrix grows with the square of the instances.

    Examples
    --------
    >>> svm_solver(np.zeros((5000, 8))), svm_solver(np.zeros((300, 8)))
    ('newton', 'libsvm')
    """
    n, rank = features.shape
    return "newton" if n >= MANY and rank <= FEW * n else "libsvm"
