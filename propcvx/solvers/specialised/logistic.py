r"""The conditional exponential model of MeanMap by a Newton method, through SciPy.

.. math::

    \min_{w, b} \sum_i s_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
    + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

The objective is smooth and convex in r + 1 unknowns; through CVXPY it has 2 N exponential cones.
With a bias the features are centred, which moves b alone; the unknowns are scaled so that all
curvatures at 0 are one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

from propcvx.arrays import Array
from propcvx.programs import Program
from propcvx.solvers.solution import Answer

MAX_ITER = 200
"""Steps of one call.  For features of 1e-6 to 1e6 it takes 1 to 18, and 17 to 80 where only a
regularisation of 1e-8 to 1e-4 bounds the weights."""

GRADIENT = 1e-7
"""The least gradient that SciPy is asked for; of 51 problems at all scales it reaches it in all."""


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
    curvatures = shares @ np.square(features) + 2.0 * ridge
    unit = 1.0 / np.sqrt(np.where(curvatures > 0.0, curvatures, 1.0))
    rows, target, ridge = unit * features, unit * target, unit**2 * ridge

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        scores = rows @ x
        loss = shares @ np.logaddexp(scores, -scores) - target @ x + ridge @ np.square(x)
        return float(loss), (shares * np.tanh(scores)) @ rows - target + 2.0 * ridge * x

    def hessian(x: Array) -> Array:
        curved = shares * (1.0 - np.tanh(rows @ x) ** 2)
        return (rows.T * curved) @ rows + np.diag(2.0 * ridge)

    tol = options["tol"]
    x, status, steps = minimise_smooth(
        value_and_gradient, hessian, np.zeros(rank + bias), tol, options.get("max_iter", MAX_ITER)
    )
    x = unit * x
    variables = {"w": x[:rank]}
    if bias:
        variables["b"] = np.asarray(x[rank] - x[:rank] @ offset)
    return Answer(status, variables, {}, solve_seconds=perf_counter() - start, iterations=steps)


def minimise_smooth(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    hessian: Callable[[Array], Array],
    start: Array,
    tol: float,
    most: int = MAX_ITER,
) -> tuple[Array, str, int]:
    """Minimise a smooth convex function to a gradient of ``tol``, as far as its digits go.

    SciPy compares values of the objective, whose rounding errors hide gradients below 1e-8.  So a
    Newton step follows, and others as long as they are needed and halve the gradient.

    Returns
    -------
    Array
        The minimiser.
    str
        ``"optimal"``, or where there is no minimum ``"user_limit"``.
    int
        The number of steps.
    """
    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": max(tol, GRADIENT), "maxiter": most, "max_trust_radius": np.inf},
    )
    x, gradient = found.x, found.jac
    while found.success:
        closer = x - np.linalg.lstsq(hessian(x), gradient)[0]
        left = value_and_gradient(closer)[1]
        if np.linalg.norm(left) >= 0.5 * np.linalg.norm(gradient):
            break
        x, gradient = closer, left
        if np.abs(gradient).max() <= tol:
            break
    return x, cp.OPTIMAL if found.success else cp.USER_LIMIT, int(found.nit)
