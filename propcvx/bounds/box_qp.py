r"""Many small quadratic programs with one matrix over boxes at once, by active sets.

.. math::

    \max_{l \le v \le u} \; g^\top v - \tfrac12 v^\top Q v

Each step of the batch solves for the coordinates that are inside their box, goes until one is at
its bound, or, where that solves them, lets the coordinate go that gains most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RIDGE = 1e-13
"""Added to the diagonal, as a share of its largest entry, so that no face is singular."""

TINY = np.finfo(float).tiny


def solve_boxes(
    Q: Array, g: Array, lower: Array, upper: Array, start: Array, *, tol: float, steps: int = 100
) -> Array:
    """Solve P box-constrained quadratic programs of n variables.

    Parameters
    ----------
    Q : array of shape (n, n)
        Positive semidefinite.
    g, lower, upper : arrays of shape (P, n)
    start : array of shape (P, n)
        Where to begin; clipped to the box.
    tol : float
        Largest error of a value.
    steps : int
        Most steps; what is not solved then stays where it is, which is in its box.

    Returns
    -------
    v : array of shape (P, n)
    """
    diagonal = np.maximum(Q.diagonal(), TINY)
    v = np.clip(start, lower, upper)
    gradient = g - v @ Q
    for j in range(len(Q)):  # along each coordinate once
        target = np.clip(v[:, j] + gradient[:, j] / diagonal[j], lower[:, j], upper[:, j])
        gradient -= (target - v[:, j])[:, None] * Q[j]
        v[:, j] = target
    free, face_solved = (v > lower) & (v < upper), np.zeros(len(g), bool)
    for _ in range(steps):
        gain = gradient * np.where(gradient > 0.0, upper - v, lower - v)
        on = np.flatnonzero(gain.sum(axis=1) > tol)
        if not len(on):
            break
        solved = on[face_solved[on]]
        promise = np.minimum(gain, gradient**2 / diagonal) * (gain > 0.0) * ~free
        free[solved, promise[solved].argmax(axis=1)] = True
        direction = _newton(Q, gradient[on], free[on])
        v[on], face_solved[on], free[on] = _move(v[on], direction, lower[on], upper[on], free[on])
        gradient[on] = g[on] - v[on] @ Q
    return v


def _newton(Q: Array, gradient: Array, free: Mask) -> Array:
    """Step to the maximum over the free coordinates."""
    matrices = Q * (free[:, :, None] & free[:, None, :])
    ridge = RIDGE * max(float(Q.diagonal().max()), TINY)
    j = np.arange(len(Q))
    matrices[:, j, j] += np.where(free, ridge, 1.0)
    wanted = np.where(free, gradient, 0.0)[..., None]
    return np.asarray(np.linalg.solve(matrices, wanted), dtype=np.float64)[..., 0]


def _move(
    v: Array, direction: Array, lower: Array, upper: Array, free: Mask
) -> tuple[Array, Mask, Mask]:
    """Go until a coordinate is at its bound and no longer free; whether the face is solved."""
    bound = np.where(direction > 0.0, upper, lower)
    lengths = np.divide(bound - v, direction, out=np.full_like(v, np.inf), where=direction != 0.0)
    first = lengths.argmin(axis=1)
    length = lengths[np.arange(len(v)), first]
    solved = length >= 1.0
    moved = np.clip(v + np.minimum(length, 1.0)[:, None] * direction, lower, upper)
    stopped, columns = np.flatnonzero(~solved), first[~solved]
    moved[stopped, columns] = bound[stopped, columns]
    free[stopped, columns] = False
    return moved, solved, free
