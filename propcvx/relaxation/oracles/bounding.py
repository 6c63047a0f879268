"""Oracles with a bound that no labeling exceeds: by one eigenvalue, by a semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from propcvx.arrays import Array
from propcvx.checks import check_count
from propcvx.errors import InputError
from propcvx.programs import Lifting, lifted_quadratic, mixture
from propcvx.relaxation.oracles.cut import BaseOracle, Cut, normal_directions
from propcvx.solvers import SolverNames, solve

N_SAMPLES = 50
"""Number of normal vectors that the semidefinite oracle rounds to labelings."""


def check_order(order: int, max_order: int) -> None:
    """Check that a semidefinite matrix is not too large.

    Raises
    ------
    InputError
        If its order is above ``max_order``; the message names alternatives for that size.
    """
    if order > check_count("max_order", max_order):
        raise InputError(
            f"a semidefinite matrix of order {order} is above max_order={max_order}; "
            "relaxation='cutting_planes' takes any size, and a larger max_order takes this one, "
            "in time that grows at least with the third power of the order."
        )


@dataclass(frozen=True)
class EigenvalueOracle(BaseOracle):
    r"""Oracle with the trust-region bound, from the sums of y over bags and the norm of y.

    Over the :math:`x = (1, y) = W u` of :class:`propcvx.programs.Lifting`, with
    :math:`\|x\|^2 = N + 1` and :math:`x_0 = 1`,

    .. math::

        \max_{y \in \mathcal{Y}} \|F^\top (y \circ \alpha)\|^2 \le \min_\lambda \; \lambda + (N + 1)
        \lambda_{\max}(W^\top (\tilde Q - \lambda e_0 e_0^\top) W),

    where :math:`\tilde Q` is :math:`Q_{ij} = \alpha_i \alpha_j F_i^\top F_j` with a first row and
    column of zeros, and :math:`e_0` the first unit vector.  It is the optimum of the trust-region
    problem over all such y.  The matrix has the rank of
    the features, so a call costs their decomposition.  The labeling is the best one along the
    eigenvector, raised by :meth:`~.BaseOracle.ascend`.  ``Cut.bound`` is half of this bound.

    Attributes
    ----------
    features, feasible
        As in :class:`~propcvx.relaxation.oracles.CoordinateOracle`.
    """

    @cached_property
    def _lifting(self) -> Lifting:
        return Lifting.from_feasible(self.feasible)

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        weighted = alpha[:, None] * self.features
        bound, axis = self._largest(weighted)
        starts = self.feasible.best(np.column_stack([axis, -axis])).T
        return self.ascend_from(starts, alpha, bound / 2)

    def _largest(self, weighted: Array) -> tuple[float, Array]:
        """Compute the bound, and the y of its eigenvector."""
        span, order = self._lifting.span, len(weighted) + 1
        columns = span[1:].T @ weighted
        corner = span[[0]].toarray().T
        basis, _ = np.linalg.qr(np.hstack([columns, corner]))
        columns, corner = basis.T @ columns, basis.T @ corner
        quadratic = columns @ columns.T
        scale = order * float(np.linalg.norm(quadratic)) or 1.0

        def eigen(ratio: float) -> tuple[Array, Array]:
            return np.linalg.eigh(quadratic - ratio * scale * (corner @ corner.T))

        def bound(ratio: float) -> float:
            top = eigen(ratio)[0][-1]
            return ratio * scale + order * (max(top, 0.0) if len(basis) > len(quadratic) else top)

        ratio = minimize_scalar(bound, bounds=(-1.0, 1.0), method="bounded").x
        error = order * np.finfo(float).eps * scale * (1.0 + abs(ratio))
        minimum, ratio = min((bound(s), s) for s in (ratio, 0.0))
        return minimum + error, span[1:] @ (basis @ eigen(ratio)[1][:, -1])


@dataclass(frozen=True)
class SemidefiniteOracle(BaseOracle):
    r"""Oracle that rounds and bounds by a semidefinite program.

    It solves :func:`propcvx.programs.lifted_quadratic` of :math:`Q = K \circ \alpha \alpha^\top`.

    Labelings are rounded from normal vectors with the mean and the covariance of y in the solution,
    and raised by :meth:`~.BaseOracle.ascend`.  The bound is evaluated from the multipliers
    (:meth:`propcvx.programs.Lifting.largest`), so it holds for any error of the solver.

    Attributes
    ----------
    features, feasible
        As in :class:`~propcvx.relaxation.oracles.CoordinateOracle`.
    solver : str or sequence
        A solver of semidefinite programs, or several, each with options if need be.
    tol : float
        Its tolerance.
    max_order : int
        Largest order of the matrix, which is at most the number of instances plus one.
    """

    solver: SolverNames = "auto"
    tol: float = 1e-6
    max_order: int = 400

    @cached_property
    def _lifting(self) -> Lifting:
        return Lifting.from_feasible(self.feasible)

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        lifting = self._lifting
        check_order(lifting.span.shape[1], self.max_order)
        weighted = alpha[:, None] * self.features
        quadratic = weighted @ weighted.T
        size = float(np.linalg.norm(quadratic, 2)) or 1.0
        program = lifted_quadratic(quadratic / size, self.feasible)
        answer = solve(program, self.solver, tol=self.tol, residuals=False, warn=False)
        multipliers = answer.duals["diagonal"], answer.duals.get("products")
        largest = lifting.largest(quadratic / size, *multipliers)
        lifted = lifting.span @ answer.variables["U"] @ lifting.span.T
        return self.ascend_from(self._rounded(lifted), alpha, size * largest / 2)

    def _rounded(self, lifted: Array) -> Array:
        vectors, weights = mixture(lifted)
        mean = weights @ vectors
        covariance = np.cov(vectors.T, aweights=weights, bias=True)
        normal = np.random.RandomState(0).standard_normal((len(mean), N_SAMPLES))
        offsets = normal_directions(covariance, normal)
        samples = np.column_stack([mean, mean[:, None] + offsets])
        return np.unique(self.feasible.best(samples).T, axis=0)
