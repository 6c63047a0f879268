"""Residuals of the values that a CVXPY problem holds, whoever put them there.

What CVXPY itself tells is used: violations of constraints and of their duals, projections on the
attributes of variables, gradients.  What is not covered is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, Equality, Inequality
from scipy import sparse

from propcvx.arrays import Array
from propcvx.errors import ResidualsError

SMOOTH = (cp.exp, cp.huber, cp.log_sum_exp, cp.logistic, cp.QuadForm)
"""Atoms of which CVXPY's ``grad`` is the gradient everywhere."""

LOGARITHMS = (cp.entr, cp.log)
"""Likewise, inside of their domain."""

WITH_MULTIPLIERS = ("bounds", "nonneg", "PSD", "symmetric")
"""Attributes of a variable, of which it has at most one, whose multipliers the gradient tells."""

DISCRETE = ("boolean", "integer")


@dataclass(frozen=True)
class Residuals:
    r"""How far a primal and a dual point are from optimal, recomputed from the problem itself.

    For :math:`\min f(x)` subject to :math:`g(x) \le 0` and :math:`h(x) = 0` with Lagrangian
    :math:`\mathcal{L} = f + \lambda^\top g + \nu^\top h` (a maximisation is negated first).
    All are absolute, in the units of the problem.  Violations of cones are CVXPY's: the distance
    from a second-order cone, and the least eigenvalue of a matrix where it is negative.  Attributes
    of variables (``nonneg``, ``PSD``, bounds) are constraints whose multipliers are taken from the
    gradient.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a constraint.
    dual_residual : float or None
        Largest of :math:`\|\nabla_x \mathcal{L}\|_\infty` and the violations of
        :math:`\lambda \ge 0`; None for programs with integers, which have no duals.
    duality_gap : float or None
        :math:`|f(x) - \mathcal{L}(x, \lambda, \nu)|`, the complementarity error, which is the
        duality gap up to the dual residual; None for programs with integers.
    """

    primal_residual: float
    dual_residual: float | None
    duality_gap: float | None

    def __str__(self) -> str:
        """The three of them, in the units of the problem."""
        known = ((name, value) for name, value in vars(self).items() if value is not None)
        return ", ".join(f"{name.replace('_', ' ')} {value:.1e}" for name, value in known)


def residuals_of(problem: cp.Problem) -> Residuals:
    r"""Recompute primal residual, dual residual and duality gap of a problem's present values.

    CVXPY gives no duals of attributes of variables.  At an optimum such a multiplier is the
    gradient of the Lagrangian of all else, and lies in the dual cone of the attribute's set.  So
    the part of that gradient in the dual cone is taken for the multiplier; the rest is the dual
    residual.

    Parameters
    ----------
    problem : cvxpy.Problem
        With values of the variables and, unless there are integers, of the duals.

    Returns
    -------
    Residuals

    Raises
    ------
    ResidualsError
        If something has no value, or a constraint, an attribute or an atom is not covered; the
        message names it.
    """
    _check_covered(problem)
    primal = [_largest(constraint.violation()) for constraint in problem.constraints]
    primal += [_largest(v.value - v.project(v.value)) for v in problem.variables()]
    if problem.is_mixed_integer():
        return Residuals(_largest(primal), None, None)
    constraints = [constraint for constraint in problem.constraints if constraint.variables()]
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    terms = [term for constraint in constraints for term in _terms(constraint)]
    with np.errstate(invalid="ignore"):  # a solver that was stopped may leave infinite duals
        slopes = _gradient(problem.variables(), [(sign, problem.objective.expr), *terms])
        left = [_without_multiplier(variable, slope) for variable, slope in slopes.items()]
        gap = sum(float(np.sum(weights * part.value)) for weights, part in terms)
        gap -= sum(product for _, product in left)
    dual = [_largest(rest) for rest, _ in left] + [_dual_violation(c) for c in constraints]
    return Residuals(_largest(primal), _largest(dual), abs(gap))


def _check_covered(problem: cp.Problem) -> None:
    leaves = [*problem.variables(), *problem.parameters()]
    if unset := [leaf.name() for leaf in leaves if leaf.value is None]:
        raise ResidualsError(f"{unset} have no value: give parameters theirs, solve, then ask.")
    for constraint in problem.constraints:
        covered = isinstance(constraint, Equality | Inequality | PSD | SOC)
        if not covered or constraint.is_complex():
            raise _not_covered(f"constraint {constraint}, of {type(constraint).__name__},")
    for variable in problem.variables():
        restrictions = [name for name, value in variable.attributes.items() if value]
        by_expression = any(isinstance(bound, cp.Expression) for bound in variable.bounds or ())
        discrete = [name for name in DISCRETE if variable.attributes[name] is True]  # all entries
        if (
            len(restrictions) > 1
            or not set(restrictions) <= {*WITH_MULTIPLIERS, *discrete}
            or by_expression
        ):
            raise _not_covered(f"variable {variable.name()} with {' and '.join(restrictions)}")


def _not_covered(what: str) -> ResidualsError:
    return ResidualsError(
        f"{what} is not covered by residuals; write it as equations, inequalities, second-order "
        "cones or semidefinite matrices of real variables, or ask with residuals=False."
    )


def _terms(constraint: cp.Constraint) -> list[tuple[Any, Any]]:
    """The terms of a constraint in the Lagrangian, with the sign that CVXPY gives its duals."""
    duals = [part.value for part in constraint.dual_variables]
    if any(dual is None for dual in duals):
        raise ResidualsError(
            f"constraint {constraint} has no dual value: its solver left none, so that optimality "
            "cannot be judged; another solver may, and residuals=False does without."
        )
    linear = isinstance(constraint, Equality | Inequality)
    sign, parts = (1.0, [constraint.expr]) if linear else (-1.0, constraint.args)
    return [
        (sign * np.reshape(dual, part.shape, order="F"), part)
        for dual, part in zip(duals, parts, strict=True)
    ]


def _dual_violation(constraint: Any) -> float:
    """Violation of the dual cone by the dual of a constraint."""
    if isinstance(constraint, Equality):
        return 0.0
    if isinstance(constraint, Inequality):
        return _largest(np.maximum(-constraint.dual_value, 0.0))
    finite = all(np.isfinite(part.value).all() for part in constraint.dual_variables)
    return _largest(constraint.dual_residual) if finite else np.nan


def _gradient(
    variables: Iterable[cp.Variable], terms: Iterable[tuple[Any, Any]]
) -> dict[cp.Variable, Array]:
    """Gradient of a weighted sum of expressions, in the variables' shapes."""
    slopes = {variable: np.zeros(variable.size) for variable in variables}
    for weights, expression in terms:
        _check_smooth(expression)
        for variable, jacobian in expression.grad.items():
            matrix = jacobian if sparse.issparse(jacobian) else np.reshape(jacobian, (-1, 1))
            slopes[variable] += matrix @ np.ravel(weights, order="F")
    return {v: np.reshape(slope, v.shape, order="F") for v, slope in slopes.items()}


def _check_smooth(expression: cp.Expression) -> None:
    for atom in _atoms(expression):
        if isinstance(atom, LOGARITHMS):
            if np.min(atom.args[0].value) <= 0.0:
                raise ResidualsError(
                    f"{type(atom).__name__}, in {atom}, is at the boundary of its domain, where it "
                    "has no gradient; ask with residuals=False."
                )
        elif not _is_smooth(atom):
            raise ResidualsError(
                f"{type(atom).__name__}, in {atom}, is not an atom whose gradient is relied on; "
                "most others have kinks, where CVXPY has one subgradient of several.  "
                "Write it with variables and constraints of your own (|x| as t with -t <= x <= t), "
                "or ask with residuals=False."
            )


def _atoms(expression: Any) -> Iterator[Any]:
    """All that is not constant and not a leaf in the tree of an expression."""
    if expression.args and not expression.is_constant():
        yield expression
        for argument in expression.args:
            yield from _atoms(argument)


def _is_smooth(atom: Any) -> bool:
    if isinstance(atom, cp.quad_over_lin):
        return bool(atom.args[1].is_constant())
    if isinstance(atom, cp.Power):
        return float(atom.p.value) == 2.0
    return isinstance(atom, SMOOTH) or atom.is_atom_affine()


def _without_multiplier(variable: cp.Variable, slope: Array) -> tuple[Array, float]:
    """What of a gradient no multiplier takes up, and the product of that which does."""
    if not np.isfinite(slope).all():
        return slope, np.nan
    value, attributes = np.asarray(variable.value), variable.attributes
    if attributes["symmetric"]:
        return variable.project(slope), 0.0
    if attributes["PSD"]:
        multiplier = variable.project(slope)
        left = (slope + np.swapaxes(slope, -2, -1)) / 2 - multiplier
        return left, float(np.vdot(multiplier, value))
    lower, upper = variable.bounds or (0.0 if attributes["nonneg"] else -np.inf, np.inf)
    below = np.where(np.isfinite(lower), np.maximum(slope, 0.0), 0.0)
    above = np.where(np.isfinite(upper), np.maximum(-slope, 0.0), 0.0)
    products = np.where(below > 0.0, below * (value - lower), 0.0)
    products += np.where(above > 0.0, above * (upper - value), 0.0)
    return slope - below + above, float(products.sum())


def _largest(amounts: Any) -> float:
    """Largest amount, NaN where one is NaN."""
    return float(np.max(np.abs(amounts), initial=0.0))
