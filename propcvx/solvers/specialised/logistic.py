r"""The conditional exponential model of MeanMap by a Newton method, through SciPy.

.. math::

    \min_{w, b} \sum_i s_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
    + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

The objective is smooth and convex in r + 1 unknowns; through CVXPY it has 2 N exponential cones.
With a bias the features are centred, which moves b alone.  What is asked of the instances are sums
over them, :func:`smooth_sums`, which may as well be summed over several parts of them.

With 20,480 instances of 30 features it takes 0.04 s, an exponential-cone solver 112 s.  The
unknowns are scaled so that all curvatures at 0 are one; without this, features of 1e-6 took 600
steps.
SciPy's ``Newton-CG`` and ``L-BFGS-B`` stop 0.1 above the minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from propcvx.arrays import Array
from propcvx.programs import Program
from propcvx.solvers.solution import Answer

MAX_ITER = 200
"""Steps of one call.  For features of 1e-6 to 1e6 it takes 1 to 18, and 17 to 80 where only a
regularisation of 1e-8 to 1e-4 bounds the weights."""

GRADIENT = 1e-7
"""The least gradient that SciPy is asked for; of 51 problems at all scales it reaches it in all."""


Smooth = Callable[[Array], tuple[Array, Array, Array]]
"""The values of a function, and those of its first two derivatives."""

# The value of a function of a plane, its gradient and its second derivatives.
Sums = tuple[float, Array, Array]


def log_partition(f: Array) -> tuple[Array, Array, Array]:
    r""":math:`\log(e^f + e^{-f})`, a :data:`Smooth` function."""
    slope = np.tanh(f)
    return np.logaddexp(f, -f), slope, 1.0 - np.square(slope)


def smooth_sums(rows: Array, weights: Array, function: Smooth, plane: Array) -> Sums:
    """The weighted sum of a function of the scores ``rows @ plane``, with its derivatives."""
    values, slopes, curvatures = function(rows @ plane)
    roots = np.sqrt(weights * curvatures)[:, None] * rows
    return float(weights @ values), (weights * slopes) @ rows, roots.T @ roots


def run_logistic(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``conditional_exponential_model`` to a gradient of ``options["tol"]`` in scaled units.

    Where there is no minimum, as with all labels the same, the status is ``"user_limit"``.
    """
    start = perf_counter()
    structure: Any = program.structure
    features, bias, shares = structure.features, structure.bias, structure.shares
    values = program.values
    n, rank = features.shape
    target, offset = values["mean_operator"], np.zeros(rank)
    ridge = np.full(rank + bias, float(values["lam"]))
    if bias:
        offset, label = shares @ features, float(values["mean_label"])
        features = np.column_stack([features - offset, np.ones(n)])
        target, ridge[rank] = np.append(target - label * offset, label), 0.0
    ask = partial(smooth_sums, features, shares, log_partition)
    limit = options.get("max_iter", MAX_ITER)
    x, _, status, steps = minimise_sums(
        ask, target, ridge, np.zeros(rank + bias), options["tol"], most=limit
    )
    variables = {"w": x[:rank]}
    if bias:
        variables["b"] = np.asarray(x[rank] - x[:rank] @ offset)
    return Answer(status, variables, {}, solve_seconds=perf_counter() - start, iterations=steps)


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

    SciPy compares values of the objective, whose rounding errors hide gradients below 1e-8.  So a
    Newton step follows, and others as long as they are needed and halve the gradient.

    Parameters
    ----------
    ask : callable
        The value, the gradient and the second derivatives of s.
    linear, ridge : array
        l and :math:`\rho`.
    start : array
    tol : float
        Of the gradient of the objective divided by ``size``, in units of the unknowns in which all
        curvatures at 0 are one; it is reached as far as the digits go.
    size : float
    most : int
        The number of steps that SciPy may take.

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

    @cache
    def known(x: bytes) -> Sums:
        return ask(np.frombuffer(x))

    curvature = known(np.zeros(len(ridge)).tobytes())[2].diagonal() + 2.0 * ridge
    unit = np.sqrt(size / np.where(curvature > 0.0, curvature, size))

    def value_and_gradient(z: Array) -> tuple[float, Array]:
        x = unit * z
        value, gradient, _ = known(x.tobytes())
        objective = float(value - linear @ x + ridge @ np.square(x))
        return objective / size, unit * (gradient - linear + 2.0 * ridge * x) / size

    def hessian(z: Array) -> Array:
        second = known((unit * z).tobytes())[2] * (unit[:, None] * (unit / size))
        second.flat[:: len(second) + 1] += 2.0 * ridge * unit**2 / size
        return second

    end = minimize(
        value_and_gradient,
        start / unit,
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": max(tol, GRADIENT), "maxiter": most, "max_trust_radius": np.inf},
    )
    z, gradient = end.x, end.jac
    while end.success:
        closer = z - _solved(hessian(z), gradient)
        left = value_and_gradient(closer)[1]
        if np.linalg.norm(left) >= 0.5 * np.linalg.norm(gradient):
            break
        z, gradient = closer, left
        if np.abs(gradient).max() <= tol:
            break
    status = cp.OPTIMAL if end.success else cp.USER_LIMIT
    return unit * z, size * value_and_gradient(z)[0], status, int(end.nit)


def _solved(matrix: Array, right: Array) -> Array:
    """The solution; of least squares, and the shortest one, where the matrix is singular."""
    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right)[0])
