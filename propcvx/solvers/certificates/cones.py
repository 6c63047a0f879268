r"""Euclidean projections on the cones of CVXPY, all that a certificate needs to know of them.

Points are stacked along the first axis, one cone each.  With the projection :math:`P_K`, the
distance of s from K is :math:`\|s - P_K(s)\|`, and by Moreau's decomposition that of
:math:`\lambda` from the dual cone :math:`K^*` is :math:`\|P_K(-\lambda)\|`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]
Projection = Callable[[Array], Array]
TINY = np.finfo(np.float64).tiny


def distance(points: Array, project: Projection, *, dual: bool = False) -> float:
    """Largest distance of a point from its cone, or its dual cone; NaN where one is not finite."""
    if not np.isfinite(points).all():
        return float("nan")
    left = project(-points) if dual else points - project(points)
    entries = tuple(range(1, points.ndim))
    return float(np.max(np.linalg.norm(left, axis=entries), initial=0.0))


def zero(points: Array) -> Array:
    r"""Projection on :math:`\{0\}`, whose dual cone is the whole space."""
    return np.zeros_like(points)


def nonnegative(points: Array) -> Array:
    r"""Projection on :math:`\{s \ge 0\}`, its own dual cone."""
    return np.maximum(points, 0.0)


def second_order(points: Array) -> Array:
    r"""Projection on :math:`\{(t, x): \|x\| \le t\}`, its own dual cone; rows are (t, x)."""
    t, x = points[:, 0], points[:, 1:]
    norms = np.linalg.norm(x, axis=1)
    bound = np.where(norms <= t, t, np.maximum((t + norms) / 2, 0.0))
    shrink = np.minimum(bound, norms) / np.where(norms > 0, norms, 1.0)
    return np.column_stack([bound, shrink[:, None] * x])


def semidefinite(points: Array) -> Array:
    r"""Projection on :math:`\{X: X + X^\top \succeq 0\}`; matrices lie in the last two axes.

    The dual cone is that of the symmetric positive semidefinite matrices.
    """
    turned = np.swapaxes(points, -2, -1)
    values, vectors = np.linalg.eigh((points + turned) / 2)
    kept = (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -2, -1)
    return kept + (points - turned) / 2


def exponential(points: Array) -> Array:
    r"""Projection on the closure of :math:`\{(x, y, z): y > 0, \; y e^{x / y} \le z\}`, by rows."""
    return np.reshape([_exponential(*map(float, point)) for point in points], points.shape)


@np.errstate(over="ignore")
def _exponential(x: float, y: float, z: float) -> Array:
    r"""Projection of one point, by the scalar equation of Friberg (2023).

    It is a multiple of :math:`(\rho, 1, e^\rho)`, and what it leaves is one of
    :math:`(1, 1 - \rho, -e^{-\rho})`; as :math:`|\rho| \to \infty`, only z moves, or the face
    y = 0 is hit.
    """
    ends = [np.zeros(3), np.array([min(x, 0.0), 0.0, max(z, 0.0)])]
    if y > 0 and x <= 500 * y:
        ends.append(np.array([x, y, max(z, y * np.exp(x / y))]))

    def multiples(rho: float) -> Array:
        return np.array([(rho - 1) * x + y, x - rho * y]) / (rho * rho - rho + 1)

    def excess(rho: float) -> float:
        kept, left = multiples(rho)
        return kept * np.exp(rho) - left * np.exp(-rho) - z

    if x > 0 or y > 0:
        rho = _root(excess, 1 - y / x if x > 0 else -500.0, x / y if y > 0 else 500.0)
        kept = max(multiples(rho)[0], 0.0)
        ends.append(np.array([kept * rho, kept, max(z, kept * np.exp(rho))]))
    return min(ends, key=lambda end: np.linalg.norm(end - [x, y, z]))


def power(points: Array, exponents: Array) -> Array:
    r"""Projection on :math:`\{(x, z): \prod_i x_i^{a_i} \ge |z|, \; x \ge 0\}`, by rows.

    ``exponents`` a are positive and sum to one in each row.
    """
    rows = [_power(point[:-1], point[-1], a) for point, a in zip(points, exponents, strict=True)]
    return np.reshape(rows, points.shape)


def _power(x: Array, z: float, a: Array) -> Array:
    """Projection of one point, by the scalar equation of Hien (2015) for r = |z|."""
    flat = np.append(np.maximum(x, 0.0), 0.0)
    if z == 0:
        return flat
    if x.min() >= 0 and np.prod(x**a) >= abs(z):
        return np.append(x, z)

    def sides(r: float) -> Array:
        root, product = np.sqrt(x * x + 4 * a * r * (abs(z) - r)), 2 * a * r * (abs(z) - r)
        return np.where(x > 0, (x + root) / 2, product / np.maximum(root - x, TINY))

    def excess(share: float) -> float:
        return float(np.prod((sides(share * abs(z)) / (share * abs(z))) ** a)) - 1

    r = _root(excess, 1e-15, 1.0) * abs(z)
    curved = np.append(sides(r), np.sign(z) * r)
    return min((curved, flat), key=lambda end: np.linalg.norm(end - np.append(x, z)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a monotone function; the end that is nearer to one where there is none between."""
    low, high = np.clip([low, high], -500.0, 500.0)
    ends = function(low), function(high)
    if low >= high or ends[0] * ends[1] >= 0:
        return low if abs(ends[0]) <= abs(ends[1]) else high
    return float(brentq(function, low, high, xtol=1e-16, maxiter=1000))
