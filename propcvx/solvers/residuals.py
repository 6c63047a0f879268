r"""Residuals of the current values of a convex CVXPY problem, from any source.

A solution consists of the problem's own variables and duals.  The conic form that CVXPY compiles
has more of both, an auxiliary variable and several multipliers for every kink.  To complete a
solution by them means to fill in the form of every cone in a solver's order and scaling.  The
Lagrangian needs none of them: at given duals a point is optimal exactly if no other point has a
smaller Lagrangian.  If the Lagrangian is smooth, its gradient is enough.  Otherwise CVXPY minimizes
it within a ball, so that every atom, cone and attribute of CVXPY is covered without a special rule.
Without the ball, a dual residual of 1e-9 would make a linear Lagrangian unbounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import constraints as kinds
from scipy import sparse

from propcvx.arrays import Array
from propcvx.errors import ResidualsError

EQUATIONS = (kinds.Equality, kinds.Zero)
INEQUALITIES = (kinds.Inequality, kinds.NonNeg)
CONES = (kinds.NonNeg, kinds.SOC, kinds.PSD, kinds.ExpCone, kinds.PowCone3D, kinds.PowConeND)

SMOOTH = (cp.exp, cp.huber, cp.log_sum_exp, cp.logistic)
"""Atoms, in addition to quadratic ones, of which CVXPY's ``grad`` is the gradient everywhere."""

WITH_MULTIPLIERS = {"nonneg", "PSD", "symmetric"}
"""Attributes of a variable whose multipliers follow from the gradient, if there are no others."""

RADIUS = 0.01
"""Radius of the ball in which other Lagrangians are minimized, relative to the point's length."""

TOLERANCES = (1e-10, 3e-10, 1e-8, 1e-6)
"""Tolerances of that minimization by Clarabel, tried in turn."""

Terms = Sequence[tuple[Array, Any]]
"""Terms of a Lagrangian: the weights of the entries of an expression, and the expression."""


@dataclass(frozen=True)
class Residuals:
    r"""Errors of a primal and a dual solution, recomputed from the problem.

    The problem is written as :math:`\min f(x)` subject to :math:`g(x) \le 0`, :math:`h(x) = 0` and
    :math:`s(x)` in a cone with Lagrangian
    :math:`\mathcal{L} = f + \lambda^\top g + \nu^\top h - z^\top s` (a maximization is negated
    first).  All except ``relative`` are absolute, in the units
    of the problem.  Violations of cones are CVXPY's: the distance from the cone, and the least
    eigenvalue of a matrix if it is negative.

    Attributes
    ----------
    primal_residual : float
        Largest violation of a constraint or of an attribute of a variable (``nonneg``, ``PSD``,
        bounds, ...).  All are infinite outside of the domain of the objective or of a constraint.
    dual_residual : float or None
        Violation of stationarity (the Lagrangian has the subgradient 0 at x) or of dual cones,
        the larger of the two.  None for programs with integers, which have no duals.
    duality_gap : float or None
        :math:`|f(x) - \mathcal{L}(x, \lambda, \nu, z) + e|`, the error of complementarity, which is
        the duality gap if the dual residual is 0 (e: see Notes).  None for programs with integers.
    relative : float
        Largest of the three relative to the data: the primal residual to the largest number in a
        constraint, the gap to the objective, and the dual residual times :math:`\|x\|_2`, its
        part of the gap at that distance, to the objective.  Each divisor is at least 1.  Values up
        to about 1e-6 are usual.

    Notes ----- Stationarity is measured by the largest entry of a subgradient r or, if a function
    has kinks, by its Euclidean norm.  The best multipliers of attributes, of which CVXPY gives
    none, are subtracted first; e is their error of complementarity.  With kinks r is an
    :math:`\varepsilon`-subgradient, and e includes :math:`\varepsilon`: of all pairs :math:`(r,
    \varepsilon)`, the one with the least :math:`R \|r\|_2 + \varepsilon` is taken, with R about 1%
    of the length of x.
    """

    primal_residual: float
    dual_residual: float | None
    duality_gap: float | None
    relative: float

    def __str__(self) -> str:
        """Format the three residuals, in the units of the problem."""
        measured = ((name, value) for name, value in vars(self).items() if value is not None)
        texts = [f"{name.replace('_', ' ')} {value:.1e}" for name, value in measured]
        return ", ".join(texts[:-1])


def compute_residuals(problem: cp.Problem) -> Residuals:
    r"""Recompute primal residual, dual residual and duality gap of a problem's present values.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem that is convex by CVXPY's rules (DCP), apart from integers, from any solver.  It
        has values of the variables and, unless there are integers, of the duals.

    Returns
    -------
    Residuals

    Raises
    ------
    ResidualsError
        If something has no value, the problem is not convex by CVXPY's rules, or it has one of the
        cones that CVXPY approximates, which have no duals; the message names it.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from propcvx.solvers import compute_residuals
    >>> x = cp.Variable(3)
    >>> problem = cp.Problem(cp.Minimize(cp.sum_squares(x - [1.0, -2.0, 0.5]) + cp.norm1(x)))
    >>> _ = problem.solve()
    >>> compute_residuals(problem).relative < 1e-6
    True
    >>> x.value = x.value + 0.1
    >>> compute_residuals(problem).relative > 1e-3
    True
    """
    _check_covered(problem)
    variables, objective = problem.variables(), problem.objective.args[0]
    constraints = [constraint for constraint in problem.constraints if constraint.variables()]
    with np.errstate(all="ignore"):  # outside of a domain, or where a solver was stopped
        numbers = [_largest(part.value) for c in problem.constraints for part in c.args]
        infeasible = [part for variable in variables for part in _infeasible_parts(variable)]
        violations = [_largest(constraint.residual) for constraint in problem.constraints]
        value, primal = (
            _largest(objective.value),
            _largest([*map(_largest, infeasible), *violations]),
        )
        if not np.isfinite([value, *numbers]).all():
            return Residuals(np.inf, np.inf, np.inf, np.inf)
        relative = primal / max([1.0, *numbers])
        if problem.is_mixed_integer() or any(isinstance(c, kinds.FiniteSet) for c in constraints):
            return Residuals(primal, None, None, relative)
        length = float(np.sqrt(1.0 + sum(np.sum(np.abs(_dense(v)) ** 2) for v in variables)))
        minimized = -objective if isinstance(problem.objective, cp.Maximize) else objective
        terms = [term for constraint in constraints for term in _terms(constraint)]
        lagrangian = [(np.ones(minimized.shape), minimized), *terms]
        if _has_gradient(problem):
            slope, error = _by_gradient(variables, lagrangian)
        else:
            radius = RADIUS * length + 2.0 * sum(float(np.linalg.norm(part)) for part in infeasible)
            slope, error = _within_ball(variables, lagrangian, radius)
        dual, gap = _largest([slope, *map(_dual_violation, constraints)]), abs(error - _sum(terms))
        relative = _largest([relative, max(dual * length, gap) / max(1.0, value)])
        return Residuals(primal, dual, gap, relative)


def _check_covered(problem: cp.Problem) -> None:
    leaves = [*problem.variables(), *problem.parameters()]
    if unset := [leaf.name() for leaf in leaves if leaf.value is None]:
        raise ResidualsError(f"{unset} must have values. Set the parameters and solve first.")
    covered = (*EQUATIONS, *INEQUALITIES, *CONES, kinds.FiniteSet)
    others = [f"{type(c).__name__} {c}" for c in problem.constraints if not isinstance(c, covered)]
    if others or not problem.is_dcp():
        raise ResidualsError(
            f"residuals need a convex problem (by CVXPY's rules, DCP) without cones that CVXPY "
            f"approximates, which have no duals; got {others}. Pass residuals=False."
        )


def _terms(constraint: cp.Constraint) -> Terms:
    """Return the terms of a constraint in the Lagrangian, with CVXPY's signs of duals."""
    duals = [part.value for part in constraint.dual_variables]
    if any(dual is None for dual in duals):
        raise ResidualsError(
            f"constraint {constraint} has no dual value from its solver, so optimality cannot be "
            "checked. Use another solver, or pass residuals=False."
        )
    in_cone = isinstance(constraint, CONES)
    sign, parts = (-1.0, constraint.args) if in_cone else (1.0, [constraint.expr])
    pairs = zip(duals, parts, strict=True)
    return [(sign * np.reshape(dual, part.shape, order="F"), part) for dual, part in pairs]


def _sum(terms: Terms) -> float:
    """Compute the weighted sum of all entries, and of complex entries the real part."""
    return float(sum(np.real(np.vdot(weights, _dense(part))) for weights, part in terms))


def _dual_violation(constraint: Any) -> float:
    """Compute the violation of the dual cone by the dual of a constraint."""
    if isinstance(constraint, EQUATIONS):
        return 0.0
    if isinstance(constraint, INEQUALITIES):
        return _largest(np.maximum(-constraint.dual_value, 0.0))
    finite = all(np.isfinite(part.value).all() for part in constraint.dual_variables)
    return _largest(constraint.dual_residual) if finite else np.nan


def _infeasible_parts(variable: cp.Variable) -> Iterator[Array]:
    """Yield the violation of each attribute; of several, CVXPY projects on none."""
    attributes: dict[str, Any] = {name: on for name, on in variable.attributes.items() if on}
    if "bounds" in attributes:  # which may be expressions
        attributes["bounds"] = [_dense(bound) for bound in attributes["bounds"]]
    for name in attributes:
        alone = cp.Variable(variable.shape, **{name: attributes[name]})
        yield _dense(variable) - _dense(alone.project(_dense(variable)))


def _within_ball(variables: list[Any], lagrangian: Terms, radius: float) -> tuple[float, float]:
    """Compute the norm of the best subgradient, and its error, by minimization in the ball.

    The norm is the dual of the ball constraint.  Negative weights of nonlinear terms, which would
    not be convex, count as dual violations only.
    """
    here = _sum(lagrangian)
    if not np.isfinite(here):
        return np.inf, np.inf
    steps = [cp.vec(variable - _dense(variable), order="F") for variable in variables]
    ball = cp.norm(cp.hstack(steps), 2) <= radius
    total: Any = 0.0
    for weights, part in lagrangian:
        convex = np.conj(weights) if part.is_affine() else np.maximum(weights, 0.0)
        term = cp.sum(cp.multiply(convex, part))
        total += cp.real(term) if term.is_complex() else term
    nearby = cp.Problem(cp.Minimize(total), [ball])
    data, chain, inverse = nearby.get_problem_data(cp.CLARABEL, ignore_dpp=True, solver_opts={})
    for tolerance in TOLERANCES:
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        # Unpacked nowhere, so that the values stay as they are.
        answer = chain.invert(chain.solve_via_data(nearby, data, solver_opts=options), inverse)
        if answer.status == cp.OPTIMAL:
            norm = _largest(answer.dual_vars[ball.id])
            return norm, float(here - answer.opt_val - radius * norm)
    raise ResidualsError("Clarabel cannot minimize the Lagrangian. Pass residuals=False.")


def _has_gradient(problem: cp.Problem) -> bool:
    """Check whether the Lagrangian has a gradient, by CVXPY and the attributes."""
    leaves = (*problem.variables(), *problem.parameters(), *problem.constants())
    parts = [part for c in (problem.objective, *problem.constraints) for part in c.args]
    attributes = [{name for name, on in v.attributes.items() if on} for v in problem.variables()]
    return (
        all(len(names) <= 1 and names <= WITH_MULTIPLIERS for names in attributes)
        and not any(leaf.is_complex() for leaf in leaves)
        and all(map(_is_smooth, parts))
    )


def _is_smooth(expression: Any) -> bool:
    if expression.is_quadratic():
        return True
    covered = isinstance(expression, SMOOTH) or expression.is_atom_affine()
    return covered and all(map(_is_smooth, expression.args))


def _by_gradient(variables: list[Any], lagrangian: Terms) -> tuple[float, float]:
    """Compute the largest entry of the gradient less attributes' multipliers, and their error."""
    slopes = {variable: np.zeros(variable.size) for variable in variables}
    for weights, expression in lagrangian:
        for variable, jacobian in expression.grad.items():
            matrix = jacobian if sparse.issparse(jacobian) else np.reshape(jacobian, (-1, 1))
            slopes[variable] += matrix @ np.ravel(weights, order="F")
    left = [_without_multiplier(variable, slope) for variable, slope in slopes.items()]
    return _largest([_largest(rest) for rest, _ in left]), sum(product for _, product in left)


def _without_multiplier(variable: cp.Variable, slopes: Array) -> tuple[Array, float]:
    """Return the gradient without the part of multipliers, and the product of that part."""
    slope, attributes = np.reshape(slopes, variable.shape, order="F"), variable.attributes
    if not np.isfinite(slope).all():
        return slope, np.nan
    if attributes["PSD"] or attributes["symmetric"]:
        slope = (slope + np.swapaxes(slope, -2, -1)) / 2
    in_cone = attributes["nonneg"] or attributes["PSD"]  # which is its own dual
    multiplier = variable.project(slope) if in_cone else np.zeros(slope.shape)
    return slope - multiplier, float(np.vdot(multiplier, _dense(variable)))


def _dense(value: Any) -> Array:
    """Convert the value of an expression, or a value, which may be sparse, to a dense array."""
    value = getattr(value, "value", value)
    return np.asarray(value.toarray() if sparse.issparse(value) else value)


def _largest(amounts: Any) -> float:
    """Return the largest amount; NaN if one is NaN."""
    return float(np.max(np.abs(_dense(amounts)), initial=0.0))
