"""The rules behind ``solver="auto"``: for the SVM dual with a bias and the restricted master."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MANY = 1000
"""From so many instances on the smoothed Newton method may be chosen."""

FEW = 0.1
"""It is, if features are at most this share of the instances."""

FULL = 0.3
"""The active-set method is chosen where they are more than this share of the instances."""


def svm_solver(features: NDArray[np.float64]) -> str | tuple[str, ...]:
    """The solver, or several to try in turn, for a factor of this shape.

    ``"newton"`` for 1,000 instances or more with at most a tenth as many features; where these are
    more than three tenths, as with most kernels, ``"active_set"`` and then ``"libsvm"``; and
    ``"libsvm"`` for all others.

    Examples
    --------
    >>> svm_solver(np.zeros((5000, 8))), svm_solver(np.zeros((300, 8)))
    ('newton', 'libsvm')
    >>> svm_solver(np.zeros((300, 200)))
    ('active_set', 'libsvm')
    """
    n, rank = features.shape
    if n >= MANY and rank <= FEW * n:
        return "newton"
    return ("active_set", "libsvm") if rank > FULL * n else "libsvm"


def master_solvers(form: str) -> tuple[str, ...]:
    """For the restricted master in its epigraph form ``"mkl_interior_point"``, then ``"clarabel"``.

    The second is asked where the first does not reach its duality gap, as may happen at a large C.
    For any other form ``"clarabel"`` alone.

    Examples
    --------
    >>> master_solvers("epigraph"), master_solvers("group")
    (('mkl_interior_point', 'clarabel'), ('clarabel',))
    """
    return ("mkl_interior_point", "clarabel") if form == "epigraph" else ("clarabel",)
