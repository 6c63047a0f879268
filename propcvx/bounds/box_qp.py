r"""Many small quadratic programs over boxes at once, by active sets.

.. math::

    \max_{l \le v \le u} \; g^\top v - \tfrac12 v^\top Q v

Each step of the batch solves for the coordinates that are inside their box, goes until one meets
its bound, or, where that solves them, lets the coordinate go that gains most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RIDGE = 1e-13
"""Added to the diagonal, as a share of its largest entry, so that no face is singular."""

TINY = np.finfo(float).tiny


def solve_boxes(
    Q: Array, g: Array, lower: Array, upper: Array, start: Array, *, tol: float, steps: int = 100
) -> Array:
    """Solve P box-constrained quadratic programs of n variables.

    Parameters
    ----------
    Q : array of shape (P, n, n)
        Positive semidefinite matrices; a broadcast view will do where they are the same.
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
    answer = np.clip(start, lower, upper)
    diagonal = np.maximum(np.einsum("pii->pi", Q), TINY)
    v, gradient = _sweep(Q, g, lower, upper, answer.copy(), diagonal)
    running, free = np.arange(len(g)), (v > lower) & (v < upper)
    face_solved = np.zeros(len(g), bool)
    for _ in range(steps):
        gain = gradient * np.where(gradient > 0.0, upper - v, lower - v)
        going = gain.sum(axis=1) > tol
        answer[running] = v
        if not going.any():
            break
        if not going.all():
            Q, g, lower, upper, diagonal, v, gradient, free, running, face_solved, gain = (
                of[going]
                for of in (
                    *(Q, g, lower, upper, diagonal, v, gradient, free, running, face_solved, gain),
                )
            )
        _let_go(free, gain, gradient, diagonal, face_solved)
        direction = _newton(Q, gradient, diagonal, free)
        v, face_solved = _move(v, direction, lower, upper, free)
        gradient = g - (Q @ v[..., None])[..., 0]
    answer[running] = v
    return answer


def _sweep(
    Q: Array, g: Array, lower: Array, upper: Array, v: Array, diagonal: Array
) -> tuple[Array, Array]:
    """Maximise along each coordinate once, in place."""
    gradient = g - (Q @ v[..., None])[..., 0]
    for j in range(v.shape[1]):
        target = np.clip(v[:, j] + gradient[:, j] / diagonal[:, j], lower[:, j], upper[:, j])
        moved = target - v[:, j]
        v[:, j] = target
        gradient -= moved[:, None] * Q[:, :, j]
    return v, gradient


def _let_go(
    free: NDArray[np.bool_], gain: Array, gradient: Array, diagonal: Array, where: Array
) -> None:
    """Where a face is solved, free the coordinate that promises most."""
    promise = np.minimum(gain, gradient**2 / diagonal) * (gain > 0.0) * ~free
    rows = np.flatnonzero(where)
    free[rows, promise[rows].argmax(axis=1)] = True


def _newton(Q: Array, gradient: Array, diagonal: Array, free: NDArray[np.bool_]) -> Array:
    """Step to the maximum over the free coordinates."""
    matrices = Q * (free[:, :, None] & free[:, None, :])
    ridge = RIDGE * diagonal.max(axis=1, keepdims=True)
    j = np.arange(free.shape[1])
    matrices[:, j, j] += np.where(free, ridge, 1.0)
    wanted = np.where(free, gradient, 0.0)[..., None]
    return np.asarray(np.linalg.solve(matrices, wanted), dtype=np.float64)[..., 0]


def _move(
    v: Array, direction: Array, lower: Array, upper: Array, free: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Go until a coordinate meets its bound and is no longer free; whether the face is solved."""
    bound = np.where(direction > 0.0, upper, lower)
    room = np.divide(bound - v, direction, out=np.full_like(v, np.inf), where=direction != 0.0)
    first = room.argmin(axis=1)
    length = room[np.arange(len(v)), first]
    solved = length >= 1.0
    moved = np.clip(v + np.minimum(length, 1.0)[:, None] * direction, lower, upper)
    rows, columns = np.flatnonzero(~solved), first[~solved]
    moved[rows, columns] = bound[rows, columns]
    free[rows, columns] = False
    return moved, solved
