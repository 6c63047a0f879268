"""Residuals and duality gap of the values a CVXPY problem holds, whoever put them there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import FiniteSet
from numpy.typing import NDArray

from propcvx.errors import CertificateError
from propcvx.solvers.certificates import attributes
from propcvx.solvers.certificates.differentiable import check_differentiable
from propcvx.solvers.certificates.memberships import Membership, Term, flat, membership
from propcvx.solvers.solution import Certificate

Array = NDArray[np.float64]


def certify(problem: cp.Problem) -> Certificate:
    r"""Recompute primal residual, dual residual and duality gap of a problem's present values.

    Constraints are cones :math:`s(x) \in K` with duals :math:`\lambda \in K^*`, where
    :math:`\mathcal{L} = f - \lambda^\top s`; violations are Euclidean distances from K and
    :math:`K^*`.  Attributes of variables are constraints too.  Their multipliers, which CVXPY does
    not give, are the part of :math:`\nabla_x \mathcal{L}` that lies in the dual cone.

    Parameters
    ----------
    problem : cvxpy.Problem
        With values of the variables and, unless there are integers, of the duals.

    Returns
    -------
    Certificate

    Raises
    ------
    CertificateError
        If something has no value, if the problem is not DCP, or if there is no telling for some
        constraint, attribute or atom, which the message names.
    """
    _check(problem)
    memberships = [membership(constraint) for constraint in problem.constraints]
    primal = _largest(part.violation() for part in memberships)
    primal = _largest([primal, *map(attributes.violation, problem.variables())])
    if problem.is_mixed_integer() or any(type(c) is FiniteSet for c in problem.constraints):
        return Certificate(primal, None, None)
    return Certificate(primal, *_dual_side(problem, memberships))


def _check(problem: cp.Problem) -> None:
    leaves = [*problem.variables(), *problem.parameters()]
    unset = [leaf.name() for leaf in leaves if attributes.stored(leaf) is None]
    if unset:
        raise CertificateError(f"{unset} have no value: give parameters theirs, solve, then ask.")
    for variable in problem.variables():
        attributes.check_attributes(variable)
    parts = [problem.objective.expr, *problem.constraints]
    found = [str(part) for part in parts if part.is_complex()]
    if found:
        raise CertificateError(f"{found} are complex, which certificates are not; certify=False.")


def _dual_side(problem: cp.Problem, memberships: Sequence[Membership]) -> tuple[float, float]:
    """Dual residual and duality gap."""
    if not problem.is_dcp():
        raise CertificateError(
            "the problem is not DCP: duals of its reformulation are no multipliers of its own; "
            "ask with certify=False."
        )
    constrained = [part for part in memberships if part.constraint.variables()]
    terms = [term for part in constrained for term in part.terms()]
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    lagrangian = [(np.array([sign]), problem.objective.expr), *terms]
    with np.errstate(invalid="ignore"):  # a solver that was stopped may leave infinite duals
        gradient = _gradient(problem.variables(), lagrangian)
        reduced = [attributes.reduced(variable, slope) for variable, slope in gradient.items()]
        gap = sum(np.dot(dual, flat(expression.value)) for dual, expression in terms)
        gap -= sum(complementarity for _, complementarity in reduced)
    slopes = [np.max(np.abs(rest), initial=0.0) for rest, _ in reduced]
    signs = [part.dual_violation() for part in constrained]
    return _largest([*slopes, *signs]), float(abs(gap))


def _gradient(variables: Iterable[cp.Variable], terms: Iterable[Term]) -> dict[cp.Variable, Array]:
    """Gradient of a weighted sum of expressions, in the variables' shapes."""
    slopes = {variable: np.zeros(variable.size) for variable in variables}
    for weight, expression in terms:
        check_differentiable(expression)
        for variable, jacobian in expression.grad.items():
            slopes[variable] += np.ravel(_matrix(jacobian, variable) @ weight)
    return {v: np.reshape(slope, v.shape, order="F") for v, slope in slopes.items()}


def _matrix(jacobian: Any, variable: cp.Variable) -> Any:
    """CVXPY's gradient of a scalar in a scalar is a number; all others are sparse matrices."""
    return np.reshape(jacobian, (variable.size, -1)) if np.isscalar(jacobian) else jacobian


def _largest(residuals: Iterable[float]) -> float:
    """Largest residual, NaN where one is NaN."""
    return float(np.max(list(residuals), initial=0.0))
