r"""The conditional exponential model of MeanMap by Newton's method.

.. math::

    \min_{w, b} \frac1N \sum_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
    + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b

The objective is smooth and convex in r + 1 unknowns; through CVXPY it has 2 N exponential cones.
With a bias the features are centred, which moves b alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from propcvx.programs import Program
from propcvx.solvers.solution import Answer

Array = NDArray[np.float64]

MAX_ITER = 100
"""Newton steps; 5 to 30 are taken for features of 1e-6 to 1e6."""

EASIER = 4.0
"""How much more regularisation the problem has whose answer is a start; 16 can be too much."""


@dataclass(frozen=True)
class Model:
    """The objective; rows end with a one where there is a bias, and ridge with a zero."""

    rows: Array
    target: Array
    ridge: Array

    def value(self, x: Array) -> float:
        """Objective at the unknowns x, (w, b)."""
        size = np.abs(self.rows @ x)
        loss = float(np.mean(size + np.log1p(np.exp(-2.0 * size))))
        return loss - float(self.target @ x) + float(self.ridge @ np.square(x))

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """Gradient and Hessian there."""
        tanh = np.tanh(self.rows @ x)
        gradient = tanh @ self.rows / len(tanh) - self.target + 2.0 * self.ridge * x
        hessian = (self.rows.T * ((1.0 - tanh**2) / len(tanh))) @ self.rows
        return gradient, hessian + np.diag(2.0 * self.ridge)

    @property
    def is_regularised(self) -> bool:
        """Whether the ridge, where there is one, outweighs the curvature of the losses at 0."""
        curvatures = np.mean(np.square(self.rows), axis=0)
        return not np.any((self.ridge > 0.0) & (self.ridge < curvatures))


def minimise(model: Model, tol: float, max_iter: int) -> tuple[Array, bool, int]:
    """Newton's method from 0, or, where it is stuck, from a problem with more regularisation.

    With little of it the unknowns can be so large that the losses are nearly absolute values, and
    a Newton step from one of their kinks leads anywhere.  The answer with the ridge times
    ``EASIER``, times that factor, has the same losses but for wider kinks: a good start.

    Returns
    -------
    array, bool, int
        The unknowns, whether ``tol`` was reached, and the number of steps.
    """
    x, found, steps = newton(model, np.zeros(len(model.target)), tol, max_iter)
    if found or model.is_regularised:
        return x, found, steps
    easier, _, more = minimise(replace(model, ridge=EASIER * model.ridge), tol, max_iter)
    x, found, last = newton(model, EASIER * easier, tol, max_iter)
    return x, found, steps + more + last


def newton(model: Model, x: Array, tol: float, max_iter: int) -> tuple[Array, bool, int]:
    """Newton steps from x, halved until the objective falls.

    They end where half the squared Newton decrement, which near the minimum is what the objective
    can still fall, is at most ``tol``.
    """
    value = model.value(x)
    for iteration in range(max_iter):
        gradient, hessian = model.slopes(x)
        curvatures = hessian.diagonal()
        scale = 1.0 / np.sqrt(np.maximum(curvatures, max(1e-20 * curvatures.max(), 1e-100)))
        scaled = hessian * scale * scale[:, None] + 1e-14 * np.eye(len(x))
        step = -scale * scipy.linalg.lstsq(scaled, scale * gradient, lapack_driver="gelsy")[0]
        fall = -float(gradient @ step)
        if 0.5 * fall <= tol:
            return x + step, True, iteration
        length = 1.0
        while not (new := model.value(x + length * step)) <= value - 1e-4 * length * fall:
            length *= 0.5
            if length < 1e-10:  # nothing but rounding errors is left, or the step is lost
                return x, False, iteration
        x, value = x + length * step, new
    return x, False, max_iter


def run_logistic(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``conditional_exponential_model`` to ``options["tol"]`` times its value at 0.

    Where there is no minimum, as with all labels the same, the status is ``"user_limit"``.
    """
    start = perf_counter()
    structure: Any = program.structure
    features, bias = structure.features, structure.bias
    values = program.values
    n, rank = features.shape
    target, offset = values["mean_operator"], np.zeros(rank)
    ridge = np.full(rank + bias, float(values["lam"]))
    if bias:
        offset, label = features.mean(axis=0), float(values["mean_label"])
        features = np.column_stack([features - offset, np.ones(n)])
        target, ridge[rank] = np.append(target - label * offset, label), 0.0
    tol = options["tol"] * np.log(2.0)
    model = Model(features, target, ridge)
    x, found, steps = minimise(model, tol, options.get("max_iter", MAX_ITER))
    variables = {"w": x[:rank]}
    if bias:
        variables["b"] = np.asarray(x[rank] - x[:rank] @ offset)
    status = cp.OPTIMAL if found else cp.USER_LIMIT
    return Answer(status, variables, {}, solve_seconds=perf_counter() - start, iterations=steps)
