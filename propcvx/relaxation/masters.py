r"""The restricted master of Algorithm 2, in any of its three forms.

A master is called with the labelings found so far and returns alpha and the weights mu; the
cutting-plane loop cannot tell which form it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program, mkl_epigraph, mkl_group, mkl_inner
from propcvx.relaxation.simple_mkl import Point, reduced_gradient
from propcvx.solvers import Solution, SolverNames, solve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MasterSolution:
    r"""Solution of the MKL problem over some labelings, eq:convex_3.

    Attributes
    ----------
    alpha : array of shape (n_instances,)
        Dual variables, in [0, C].
    mu : array of shape (n_labelings,)
        Weights of the labelings, >= 0, summing to one.
    value : float
        :math:`\alpha^\top 1 - \beta'` with :math:`\beta' = \max_t \tfrac12 \|F^\top (y_t \circ
        \alpha)\|^2`, evaluated at this alpha: at most the restricted master's optimum.
    upper : float
        Primal value for the weights :math:`w_t = \mu_t F^\top (y_t \circ \alpha)`: at least the
        restricted master's optimum.
    level : float
        :math:`\beta'`; a labeling whose violation value is larger is violated.
    solver, status : str
        The solver that answered, and its status.
    """

    alpha: Array
    mu: Array
    value: float
    upper: float
    level: float
    solver: str
    status: str


@dataclass
class Master:
    """A form of the restricted master with its solver.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    C : float
        Weight of the hinge loss.
    form : str
        A name in ``MASTER_FORMS``.
    solver : str or sequence
        A solver of that form's class of problem, or several to try in turn; ``"auto"`` are those
        that :func:`propcvx.solvers.automatic` names.
    tol : float
        The solver's tolerance.
    options : dict
        Handed to the solver as they are.
    warm : object
        Where the last solve ended, and the next one begins.
    """

    features: Array
    C: float
    form: str = "epigraph"
    solver: SolverNames = "auto"
    tol: float = 1e-8
    options: dict[str, Any] = field(default_factory=dict)
    warm: Any = field(default=None, init=False, repr=False)

    def __call__(self, labelings: Array) -> MasterSolution:
        """Solve for the labelings found so far, shape (n_labelings, n_instances)."""
        alpha, mu, answer = MASTER_FORMS[self.form](self, labelings)
        alpha, mu = np.clip(alpha, 0.0, self.C), np.maximum(mu, 0.0)
        mu = mu / mu.sum()
        weights = (labelings * alpha) @ self.features
        quadratics = 0.5 * np.square(weights).sum(axis=1)
        scores = (labelings * (self.features @ (mu[:, None] * weights).T).T).sum(axis=0)
        norm = float(mu @ np.sqrt(2.0 * quadratics))
        return MasterSolution(
            alpha=alpha,
            mu=mu,
            value=float(alpha.sum() - quadratics.max()),
            upper=0.5 * norm**2 + self.C * float(np.maximum(0.0, 1.0 - scores).sum()),
            level=float(quadratics.max()),
            solver=answer.solver,
            status=answer.status,
        )

    def ask(self, program: Program) -> Solution:
        """Solve one of the master's programs with its solver."""
        solution = solve(
            program, self.solver, tol=self.tol, certify=False, warm=self.warm, **self.options
        )
        self.warm = solution.warm
        return solution


Answer = tuple[Array, Array, Solution]


def _epigraph(master: Master, labelings: Array) -> Answer:
    answer = master.ask(mkl_epigraph(master.features, labelings, master.C))
    return answer.variables["alpha"], answer.duals["cuts"], answer


def _group(master: Master, labelings: Array) -> Answer:
    answer = master.ask(mkl_group(master.features, labelings, master.C))
    norms = answer.variables["s"]
    mu = norms if norms.max() > 0 else np.ones_like(norms)
    return answer.duals["margin"], mu, answer


def _reduced_gradient(master: Master, labelings: Array) -> Answer:
    program = mkl_inner(master.features, labelings, master.C)

    def inner(mu: Array) -> Point[Solution]:
        answer = master.ask(program.set(root_mu=np.sqrt(mu)))
        weights = (labelings * answer.variables["alpha"]) @ master.features
        return Point(mu, answer.value, -0.5 * np.square(weights).sum(axis=1), answer)

    point = reduced_gradient(inner, np.full(len(labelings), 1.0 / len(labelings)))
    return point.answer.variables["alpha"], point.mu, point.answer


MASTER_FORMS: Mapping[str, Callable[[Master, Array], Answer]] = MappingProxyType(
    {"epigraph": _epigraph, "group": _group, "reduced_gradient": _reduced_gradient}
)
"""Forms of the restricted master, by name."""
