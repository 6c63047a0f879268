r"""Which cone each class of CVXPY's constraints puts which expressions into: one row per class.

A constraint with expressions e is :math:`\sigma e \in K`, and its dual, with the sign in which
CVXPY reports it, is :math:`\lambda \in K^*` in :math:`\mathcal{L} = f - \lambda^\top \sigma e`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import (
    PSD,
    SOC,
    Equality,
    ExpCone,
    FiniteSet,
    Inequality,
    NonNeg,
    NonPos,
    PowCone3D,
    PowConeND,
    Zero,
)
from numpy.typing import NDArray
from scipy import sparse

from propcvx.errors import CertificateError
from propcvx.solvers.certificates import cones

Array = NDArray[np.float64]
Term = tuple[Array, cp.Expression]
Layout = Callable[[Sequence[Array]], Array]


@dataclass(frozen=True)
class Membership:
    r"""One constraint as :math:`\sigma e \in K`.

    Attributes
    ----------
    constraint : cvxpy.Constraint
        The constraint.
    expressions : sequence of expressions
        e.
    sign : float
        :math:`\sigma`.
    points : callable
        Arrays of the expressions' shapes to points of K, stacked along the first axis.
    project : callable
        Projection of such points on K.
    """

    constraint: cp.Constraint
    expressions: Sequence[cp.Expression]
    sign: float
    points: Layout
    project: cones.Projection

    def violation(self) -> float:
        """Distance of the expressions' values from the cone."""
        values = [dense(expression.value) for expression in self.expressions]
        return cones.distance(self.sign * self.points(values), self.project)

    def dual_violation(self) -> float:
        """Distance of the dual from the dual cone."""
        return cones.distance(self.points(self._duals()), self.project, dual=True)

    def terms(self) -> list[Term]:
        r"""Expressions with their weights in the Lagrangian, :math:`-\sigma \lambda`."""
        weights = [-self.sign * flat(dual) for dual in self._duals()]
        return list(zip(weights, self.expressions, strict=True))

    def _duals(self) -> list[Array]:
        values = [part.value for part in self.constraint.dual_variables]
        if any(value is None for value in values):
            raise CertificateError(
                f"constraint {self.constraint} has no dual value: its solver left none, so that "
                "optimality cannot be judged; another solver may, and certify=False does without."
            )
        pairs = zip(values, self.expressions, strict=True)
        return [np.reshape(dense(value), part.shape, order="F") for value, part in pairs]


def membership(constraint: cp.Constraint) -> Membership:
    """Row of a constraint's class.

    Raises
    ------
    CertificateError
        If the class has none.
    """
    if type(constraint) not in ROWS:
        raise CertificateError(
            f"constraint {constraint} is a {type(constraint).__name__}, of which CVXPY gives no "
            f"duals; certificates know {sorted(row.__name__ for row in ROWS)}, and certify=False "
            "does without."
        )
    return Membership(constraint, *ROWS[type(constraint)](constraint))


def _rows(values: Sequence[Array]) -> Array:
    """A point for each entry, made of that entry of every expression."""
    return np.column_stack([flat(value) for value in values])


def matrices(values: Sequence[Array]) -> Array:
    """The matrices in the last two axes of the one value, stacked along the first."""
    return np.reshape(values[0], (-1, *np.shape(values[0])[-2:]))


def _second_order(constraint: SOC) -> tuple[Any, ...]:
    def points(values: Sequence[Array]) -> Array:
        return np.column_stack([flat(values[0]), _vectors(values[1], constraint.axis)])

    return constraint.args, 1.0, points, cones.second_order


def _power_3d(constraint: PowCone3D) -> tuple[Any, ...]:
    first = flat(constraint.alpha.value)
    project = partial(cones.power, exponents=np.column_stack([first, 1.0 - first]))
    return constraint.args, 1.0, _rows, project


def _power_nd(constraint: PowConeND) -> tuple[Any, ...]:
    def points(values: Sequence[Array]) -> Array:
        return np.column_stack([_vectors(values[0], constraint.axis), flat(values[1])])

    exponents = _vectors(constraint.alpha.value, constraint.axis)
    return constraint.args, 1.0, points, partial(cones.power, exponents=exponents)


def _finite_set(constraint: FiniteSet) -> tuple[Any, ...]:
    choices = np.ravel(constraint.vec.value)

    def nearest(points: Array) -> Array:
        return choices[np.abs(points - choices).argmin(axis=1)][:, None]

    return [constraint.expre], 1.0, _rows, nearest


ROWS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Equality: lambda constraint: ([constraint.expr], -1.0, _rows, cones.zero),
    Zero: lambda constraint: (constraint.args, -1.0, _rows, cones.zero),
    Inequality: lambda constraint: ([constraint.expr], -1.0, _rows, cones.nonnegative),
    NonPos: lambda constraint: (constraint.args, -1.0, _rows, cones.nonnegative),
    NonNeg: lambda constraint: (constraint.args, 1.0, _rows, cones.nonnegative),
    SOC: _second_order,
    PSD: lambda constraint: (constraint.args, 1.0, matrices, cones.semidefinite),
    ExpCone: lambda constraint: (constraint.args, 1.0, _rows, cones.exponential),
    PowCone3D: _power_3d,
    PowConeND: _power_nd,
    FiniteSet: _finite_set,
}
"""Expressions, sign, layout and projection, by class."""


def _vectors(value: Array, axis: int) -> Array:
    """Vectors along the axis of a matrix, or one vector, as rows."""
    matrix = np.reshape(value, (-1, 1), order="F") if np.ndim(value) < 2 else np.asarray(value)
    return matrix if axis == 1 else matrix.T


def dense(value: Any) -> Array:
    """Value of a CVXPY expression, which is sparse at times, as an array."""
    return np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=np.float64)


def flat(value: Any) -> Array:
    """The same in CVXPY's order of entries, by columns."""
    return np.ravel(dense(value), order="F")
