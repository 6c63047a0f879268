r"""The restricted master of Algorithm 2, in any of its three forms.

A master is called with the labelings found so far and returns alpha and the weights mu; the
cutting-plane loop is the same for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program, RestrictedMaster, mkl_epigraph, mkl_group, mkl_inner
from propcvx.relaxation.result import ask
from propcvx.relaxation.simple_mkl import Trial, reduced_gradient
from propcvx.solvers import Solution, SolverNames

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MasterSolution:
    r"""Solution of the MKL problem over some labelings, eq:convex_3.

    Attributes
    ----------
    alpha : array of shape (n_instances,)
        Dual variables, in [0, C], with those exactly at 0 and C that a solver left beside them.
    mu : array of shape (n_labelings,)
        Weights of the labelings, >= 0, summing to one.
    value : float
        :math:`\alpha^\top 1 - \beta'` with :math:`\beta' = \max_t \tfrac12 \|F^\top (y_t \circ
        \alpha)\|^2`, evaluated at this alpha or at the solver's own, whichever is larger: at most
        the restricted master's optimum.
    upper : float
        Primal value for the weights :math:`w_t = \mu_t F^\top (y_t \circ \alpha)`, or for those
        that the solver gives, whichever is smaller: at least the restricted master's optimum.
    level : float
        :math:`\beta'` at this alpha; a labeling whose violation value is larger is violated.
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
class Master(ABC):
    """A form of the restricted master with its solver.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    C : float
        Weight of the hinge loss.
    solver : str or sequence
        A solver of that form's class of problem, several to try in turn, or ``"auto"``.
    tol : float
        The solver's tolerance.
    options : dict
        Handed to the solver as they are.
    """

    features: Array
    C: float
    solver: SolverNames = "auto"
    tol: float = 1e-8
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, labelings: Array) -> MasterSolution:
        """Solve for the labelings found so far, shape (n_labelings, n_instances)."""
        alpha, mu, answer = self._solved(labelings)
        alpha, mu = np.clip(alpha, 0.0, self.C), np.maximum(mu, 0.0)
        mu = mu / mu.sum()
        problem = RestrictedMaster(self.features, labelings, self.C)
        value, upper = problem.bounds(alpha, mu)
        if "W" in answer.variables:
            upper = min(upper, problem.primal(answer.variables["W"]))
        weights = mu[:, None] * ((labelings * alpha) @ self.features)
        alpha = settled(alpha, (labelings * (weights @ self.features.T)).sum(axis=0), self.C)
        settled_value, _ = problem.bounds(alpha, mu)
        value, level = max(value, settled_value), float(alpha.sum()) - settled_value
        return MasterSolution(alpha, mu, value, upper, level, answer.solver, answer.status)

    @abstractmethod
    def _solved(self, labelings: Array) -> tuple[Array, Array, Solution]:
        """Alpha, weights mu to any scale, and the solver's last answer."""

    def _ask(self, program: Program) -> Solution:
        return ask(program, self.solver, self.tol, self.options)


def settled(alpha: Array, scores: Array, C: float) -> Array:
    r"""Alpha without what a solver's tolerance leaves beside 0 and C.

    At an optimum :math:`\alpha_i = 0` or :math:`f_i \le 1`, and :math:`\alpha_i = C` or
    :math:`f_i \ge 1`.  A solver leaves both sides of such an alternative a little off; the one that
    is nearer to holding, with alpha measured in units of its mean, is made to hold exactly.

    Parameters
    ----------
    alpha : array of shape (n_instances,)
        In [0, C].
    scores : array of shape (n_instances,)
        :math:`f_i`, the labels counted in.
    C : float
        Weight of the hinge loss.

    Examples
    --------
    >>> settled(np.array([1e-7, 0.6, 1.0 - 1e-7]), np.array([1.3, 1.0 + 1e-7, 0.2]), 1.0)
    array([0. , 0.6, 1. ])
    """
    mean = float(alpha.mean())
    beyond, within = mean * (scores - 1.0), mean * (1.0 - scores)
    return np.where(alpha < beyond, 0.0, np.where(C - alpha < within, C, alpha))


class Epigraph(Master):
    """The epigraph form, :func:`propcvx.programs.mkl_epigraph`."""

    def _solved(self, labelings: Array) -> tuple[Array, Array, Solution]:
        answer = self._ask(mkl_epigraph(self.features, labelings, self.C))
        return answer.variables["alpha"], answer.duals["cuts"], answer


class Group(Master):
    """The dual in groups of primal weights, :func:`propcvx.programs.mkl_group`."""

    def _solved(self, labelings: Array) -> tuple[Array, Array, Solution]:
        answer = self._ask(mkl_group(self.features, labelings, self.C))
        norms = answer.variables["s"]
        mu = norms if norms.max() > 0 else np.ones_like(norms)
        return answer.duals["margin"], mu, answer


class ReducedGradient(Master):
    """SimpleMKL, as in the paper: QPs alone, :func:`propcvx.programs.mkl_inner`."""

    def _solved(self, labelings: Array) -> tuple[Array, Array, Solution]:
        program = mkl_inner(self.features, labelings, self.C)

        def inner(mu: Array) -> Trial:
            answer = self._ask(program.set(root_mu=np.sqrt(mu)))
            weights = (labelings * answer.variables["alpha"]) @ self.features
            return Trial(mu, answer.value, -0.5 * np.square(weights).sum(axis=1), answer)

        end = reduced_gradient(inner, np.full(len(labelings), 1.0 / len(labelings)))
        return end.answer.variables["alpha"], end.mu, end.answer


MASTERS: Mapping[str, type[Master]] = MappingProxyType(
    {"group": Group, "epigraph": Epigraph, "reduced_gradient": ReducedGradient}
)
"""Forms of the restricted master, by name."""
