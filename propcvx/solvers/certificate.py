"""Residuals and duality gap of the values a CVXPY problem holds, whoever put them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality
from numpy.typing import NDArray

from propcvx.solvers.solution import Certificate

Array = NDArray[np.float64]
Term = tuple[Array, cp.Expression]


def certify(problem: cp.Problem) -> Certificate:
    """Recompute primal residual, dual residual and duality gap; see :class:`Certificate`."""
    constraints = problem.constraints
    primal = _largest(np.max(c.violation(), initial=0.0) for c in constraints)
    if problem.is_mixed_integer():
        return Certificate(primal, None, None)
    terms = [term for constraint in constraints for term in _lagrangian_terms(constraint)]
    with np.errstate(invalid="ignore"):  # a solver that was stopped may leave infinite duals
        gap = float(sum(np.dot(dual, _flat(expression.value)) for dual, expression in terms))
        signs = _largest(_dual_violation(constraint) for constraint in constraints)
        dual = _largest((signs, _stationarity(problem, terms)))
    return Certificate(primal, dual, abs(gap))


def _largest(residuals: Iterable[float]) -> float:
    """Largest residual, NaN where one is NaN."""
    return float(np.max(list(residuals), initial=0.0))


def _lagrangian_terms(constraint: cp.Constraint) -> Iterator[Term]:
    if isinstance(constraint, Equality | Inequality):
        yield _flat(constraint.dual_value), constraint.expr
    else:  # a second-order cone
        for dual, argument in zip(constraint.dual_value, constraint.args, strict=True):
            yield -_flat(dual), argument


def _dual_violation(constraint: cp.Constraint) -> float:
    if isinstance(constraint, Equality):
        return 0.0
    if isinstance(constraint, Inequality):
        return float(np.max(-_flat(constraint.dual_value), initial=0.0))
    bound, vectors = constraint.dual_value
    norms = np.linalg.norm(np.reshape(vectors, (len(np.atleast_1d(bound)), -1)), axis=1)
    return float(np.max(norms - bound, initial=0.0))


def _stationarity(problem: cp.Problem, terms: list[Term]) -> float:
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    weighted = [(np.array([sign]), problem.objective.expr), *terms]
    slopes = {variable: np.zeros(variable.size) for variable in problem.variables()}
    for weight, expression in weighted:
        for variable, gradient in expression.grad.items():
            slopes[variable] += np.ravel(_matrix(gradient, variable) @ weight)
    return _largest(np.abs(slope).max() for slope in slopes.values())


def _matrix(gradient: Any, variable: cp.Variable) -> Any:
    """CVXPY's gradient of a scalar in a scalar is a number; all others are sparse matrices."""
    return np.reshape(gradient, (variable.size, -1)) if np.isscalar(gradient) else gradient


def _flat(value: Any) -> Array:
    return np.ravel(np.asarray(value, dtype=np.float64), order="F")
