"""The separation problem relaxed to a semidefinite program, with randomised rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propcvx.programs import Lifting, lifted_quadratic, mixture
from propcvx.programs.facts import Facts, added_up, check_facts, no_facts
from propcvx.relaxation.oracles.ascent import ascend
from propcvx.relaxation.oracles.cut import Cut
from propcvx.relaxation.oracles.rows import RowOracle, best_cuts, normal_directions
from propcvx.relaxation.order import check_order
from propcvx.solvers import SolverNames, solve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SemidefiniteOracle(RowOracle):
    r""":func:`propcvx.programs.lifted_quadratic` of :math:`Q = K \circ \alpha \alpha^\top`.

    Labelings are rounded from normal vectors with the mean and the covariance that the solution
    says of y, and raised by :func:`~.ascent.ascend`.  The bound is evaluated from the multipliers
    (:meth:`propcvx.programs.Lifting.largest`), so it holds whatever the solver's error.

    Attributes
    ----------
    features, feasible
        As in every oracle.
    n_samples : int
        How many vectors are rounded.
    random_state : int or RandomState
        Their seed.
    solver : str or sequence
        A solver of semidefinite programs.
    tol : float
        Its tolerance.
    options : mapping
        Handed to it as they are.
    max_order : int
        Largest order of the matrix, which is at most that of the instances plus one.
    facts : callable
        ``facts(M)`` gives a list of CVXPY constraints, linear in M, that hold of
        :math:`M = y y^\top` for every feasible labeling y; they tighten the bound.  They are tried
        on some labelings.
    """

    n_samples: int = 50
    random_state: int | np.random.RandomState = 0
    solver: SolverNames = "auto"
    tol: float = 1e-6
    options: Mapping[str, Any] = field(default_factory=dict)
    max_order: int = 400
    facts: Facts = no_facts

    @cached_property
    def _lifting(self) -> Lifting:
        check_facts(self.facts, self.feasible)
        return Lifting.of(self._labelings)

    @cached_property
    def _normal(self) -> Array:
        random = check_random_state(self.random_state)
        return np.asarray(random.standard_normal((len(self.features), self.n_samples)))

    def _find(self, alpha: Array) -> Cut:
        lifting = self._lifting
        check_order(lifting.span.shape[1], self.max_order)
        weighted = alpha[:, None] * self._rows
        quadratic = weighted @ weighted.T
        size = float(np.linalg.norm(quadratic, 2)) or 1.0
        program = lifted_quadratic(quadratic / size, self._labelings, self._facts)
        answer = solve(
            program, self.solver, tol=self.tol, residuals=False, quiet=True, **self.options
        )
        duals = [answer.duals[name] for name in answer.duals if name.startswith("fact_")]
        added, constant = added_up(self._facts, len(alpha), duals)
        largest = constant + lifting.largest(
            quadratic / size + added,
            answer.duals["diagonal"],
            answer.duals.get("products", lifting.no_products),
        )
        lifted = lifting.span @ answer.variables["U"] @ lifting.span.T
        found = np.array([ascend(y, weighted, self._labelings) for y in self._rounded(lifted)])
        cut = best_cuts(np.unique(found, axis=0), weighted, 1)
        return Cut(cut.labeling, cut.value, max(cut.value, size * largest / 2))

    def _facts(self, M: cp.Expression) -> Sequence[cp.Constraint]:
        """The facts, of M in the order of ``_rows``."""
        place = np.argsort(self._order)
        return self.facts(M[place][:, place])

    def _rounded(self, lifted: Array) -> Array:
        vectors, weights = mixture(lifted)
        mean = weights @ vectors
        covariance = np.cov(vectors.T, aweights=weights, bias=True)
        around = normal_directions(covariance, self._normal)
        samples = np.column_stack([mean, mean[:, None] + around])
        return np.unique(self._labelings.best(samples).T, axis=0)
