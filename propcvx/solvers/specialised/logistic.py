r"""The conditional exponential model of MeanMap by a Newton method.

.. math::

    \min_{w, b} \sum_i s_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
    + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

The objective is smooth and convex in r + 1 unknowns; through CVXPY it has 2 N exponential cones.
What is asked of the instances are sums over them, :func:`smooth_sums`, which may as well be summed
over several parts of them.

With 20,480 instances of 30 features it takes 0.04 s, an exponential-cone solver 112 s.  The
unknowns are scaled so that all curvatures at the start are one.  With 2,000 instances and a
Gaussian kernel it takes 0.9 s and SciPy's ``trust-exact``, which needs second derivatives at every
step, 2.5 s; its ``Newton-CG`` and ``L-BFGS-B`` stop 0.1 above the minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from propcvx.arrays import Array
from propcvx.programs import Program
from propcvx.solvers.solution import Solution

MAX_ITER = 1000
"""Steps of one call.  For features of 1e-6 to 1e6 it takes 1 to 19, where only a regularisation of
1e-8 to 1e-4 bounds the weights 4 to 96, and with a kernel besides up to 257."""

GRADIENT = 1e-7
"""A gradient that rounding errors may leave."""

REUSED = 0.3
"""With a Gaussian kernel second derivatives take the time of a hundred gradients."""

LEAST_DAMPING = 1e-14
"""What the diagonal of a matrix of ones there is raised by, lest it be singular."""

Smooth = Callable[[Array], tuple[Array, Array, Array]]
"""The values of a function, and those of its first two derivatives."""

# The value of a function of a plane, its gradient and its second derivatives, or what gives them.
Sums = tuple[float, Array, Any]


def log_partition(f: Array) -> tuple[Array, Array, Array]:
    r""":math:`\log(e^f + e^{-f})`, a :data:`Smooth` function."""
    size, slope = np.abs(f), np.tanh(f)
    return size + np.log1p(np.exp(-2.0 * size)), slope, 1.0 - np.square(slope)


def smooth_sums(rows: Array, weights: Array, function: Smooth, plane: Array) -> Sums:
    """The weighted sum of a function of the scores of a plane, with its derivatives.

    The scores are ``rows @ plane``; a plane with an entry more than rows have ends with a bias.
    """
    rank = rows.shape[1]
    bias = len(plane) - rank
    values, slopes, curvatures = function(rows @ plane[:rank] + plane[rank:].sum())
    slopes = weights * slopes
    second = partial(_products, rows, weights * curvatures, bias)
    return float(weights @ values), np.append(slopes @ rows, [slopes.sum()] * bias), second


def _products(rows: Array, weights: Array, bias: int) -> Array:
    """The weighted sum of the products of rows, and of a one where there is a bias."""
    roots = np.sqrt(weights)[:, None]
    scaled = np.hstack([roots * rows, roots[:, :bias]])
    return scaled.T @ scaled


def run_logistic(program: Program, options: Mapping[str, Any], warm: Any) -> Solution:
    """Solve ``conditional_exponential_model`` to a gradient of ``options["tol"]`` in scaled units.

    Where there is no minimum, as with all labels the same, the status is ``"user_limit"``.
    """
    structure: Any = program.structure
    features, bias, shares = structure.features, structure.bias, structure.shares
    values = program.values
    rank, target = features.shape[1], values["mean_operator"]
    ridge = np.full(rank + bias, float(values["lam"]))
    if bias:
        target, ridge[rank] = np.append(target, float(values["mean_label"])), 0.0
    ask = partial(smooth_sums, features, shares, log_partition)
    limit = options.get("max_iter", MAX_ITER)
    x, _, status, steps = minimise_sums(
        ask, target, ridge, np.zeros(rank + bias), options["tol"], most=limit
    )
    variables = {"w": x[:rank]}
    if bias:
        variables["b"] = np.asarray(x[rank])
    return Solution(status, variables, {}, iterations=steps)


def minimise_sums(
    ask: Callable[[Array], Sums],
    linear: Array,
    ridge: Array,
    start: Array,
    tol: float,
    *,
    size: float = 1.0,
    most: int = MAX_ITER,
) -> tuple[Array, float, str, int]:
    r"""Minimise a smooth convex :math:`s(x) - l^\top x + \sum_j \rho_j x_j^2`.

    Newton steps, damped as by Levenberg and Marquardt until the slope along a step ends above minus
    half of what it begins with, or the gradient is halved: the objective, whose rounding errors
    hide gradients below 1e-8, is not compared.  Second derivatives that would have to be computed
    serve for further steps as long as these leave at most ``REUSED`` of the gradient.

    Parameters
    ----------
    ask : callable
        Value, gradient and second derivatives of s, or a function that returns the latter.
    linear, ridge : array
        l and :math:`\rho`.
    start : array
    tol : float
        Of the gradient of the objective divided by ``size``, in units of the unknowns in which all
        curvatures at the start are one; it is reached as far as the digits go.
    size : float
    most : int
        The largest number of steps.

    Returns
    -------
    x : array
        The minimiser.
    value : float
        The objective there.
    status : str
        ``"optimal"``, or where there is no minimum ``"user_limit"``.
    steps : int
        Their number.
    """

    def at(x: Array) -> Sums:
        value, slope, second = ask(x)
        objective = value - linear @ x + ridge @ np.square(x)
        return float(objective), slope - linear + 2.0 * ridge * x, second

    def curvature(second: Any) -> Array:
        return np.asarray((second() if callable(second) else second) + np.diag(2.0 * ridge))

    def error(here: Sums) -> float:
        return float(np.abs(unit * here[1]).max()) / size

    x, here, steps = start, at(start), 0
    matrix, factor, damping = curvature(here[2]), None, LEAST_DAMPING
    diagonal = matrix.diagonal()
    unit = np.sqrt(size / np.where(diagonal > 0.0, diagonal, size))
    while error(here) > tol and steps < most:
        if factor is None:
            matrix *= unit * unit[:, None]
            matrix.flat[:: len(unit) + 1] += size * damping
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        step, steps = unit * cho_solve(factor, unit * here[1], check_finite=False), steps + 1
        there = at(x - step)
        share = error(there) / error(here)
        lower = share <= 0.5 or there[1] @ step >= -0.5 * float(here[1] @ step)
        if not lower and error(here) <= GRADIENT:  # nothing but rounding errors is left
            break
        damping = max(damping / 10.0, LEAST_DAMPING) if lower else 100.0 * damping
        if lower:
            x, here = x - step, there
        if share > REUSED or not callable(here[2]):
            matrix, factor = curvature(here[2]), None
    status = cp.OPTIMAL if error(here) <= max(tol, GRADIENT) else cp.USER_LIMIT
    return x, here[0], status, steps
