r"""DIFFRAC: relaxations of ridge regression over labelings.

Their bounds are on :math:`y^\top A y`, the square loss, not on the hinge of eq:convex_1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from propcvx.checks import check_count, check_number
from propcvx.history import History, Round, StopReason
from propcvx.kernels import unit_of
from propcvx.labelings import FeasibleLabelings
from propcvx.programs import Lifting, diffrac, mixture, square_loss_matrix
from propcvx.relaxation.lifted import nearest_labelings, solved_at_once
from propcvx.relaxation.order import check_order
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.solvers import SolverNames, solve

Array = NDArray[np.float64]

SHOWN = 10
"""How many of Frank-Wolfe's labelings, those of largest weight, are handed to roundings."""


@dataclass(frozen=True)
class Ridge:
    r"""Ridge regression of labelings, :math:`A = C (I - F R F^\top)` without forming it.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    C : float
        Weight of the square loss.
    """

    features: Array
    C: float

    def weights(self, labeling: Array) -> Array:
        r"""The weights :math:`w = (F^\top F + I / 2C)^{-1} F^\top y`."""
        F = self.features
        inner = F.T @ F + np.eye(F.shape[1]) / (2.0 * self.C)
        return np.asarray(np.linalg.solve(inner, F.T @ labeling))

    def times(self, labeling: Array) -> Array:
        """A y."""
        return np.asarray(self.C * (labeling - self.features @ self.weights(labeling)))

    def value(self, labeling: Array) -> float:
        r""":math:`\tfrac12 \|w\|^2 + C \|y - F w\|^2` at those weights."""
        weights = self.weights(labeling)
        residuals = labeling - self.features @ weights
        return 0.5 * float(weights @ weights) + self.C * float(residuals @ residuals)

    @cached_property
    def least_eigenvalue(self) -> float:
        """That of A."""
        largest = float(np.linalg.norm(self.features, 2)) ** 2
        return self.C / (1.0 + 2.0 * self.C * largest)


@dataclass(frozen=True)
class SquareLossResult(RelaxationResult):
    """What a relaxation of the square loss reached; value and bounds are of that loss."""

    loss: ClassVar[str] = "square"

    def plane(self, features: Array, labeling: Array, C: float) -> Array:
        """Weights of the ridge regression of a labeling."""
        return Ridge(features, C).weights(labeling)

    def upper_bound(self, features: Array, labelings: Array, C: float, weights: Array) -> float:
        """The least value of some feasible labelings by the square loss."""
        return min(Ridge(features, C).value(labeling) for labeling in labelings)


@dataclass(eq=False, repr=False)
class Diffrac(BaseEstimator):
    """DIFFRAC (Bach and Harchaoui 2007) with rows for the bags, a semidefinite program.

    It solves :func:`propcvx.programs.diffrac` at once, and its lower bound is evaluated from the
    multipliers.

    Parameters
    ----------
    max_order : int
        Largest order of the semidefinite matrix, about the number of instances.
    """

    _: KW_ONLY
    max_order: int = 400

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: float,
        *,
        solver: SolverNames = "auto",
        tol: float = 1e-8,
        options: Mapping[str, Any] = NO_OPTIONS,
        on_round: Callable[[RelaxationResult], None] = lambda reached: None,
    ) -> SquareLossResult:
        """Solve it; the arguments are those of :meth:`propcvx.relaxation.Lifted.relax`."""
        started, lifting = perf_counter(), Lifting.of(feasible)
        check_order(lifting.span.shape[1], self.max_order)
        unit = unit_of(features, C)
        program = diffrac(unit * features, feasible, C / unit**2)
        answer = solve(program, solver, tol=tol, residuals=False, quiet=True, **options)
        products = answer.duals.get("products", lifting.no_products)
        posed = square_loss_matrix(unit * features, C / unit**2)
        largest = lifting.largest(-posed, answer.duals["diagonal"], products)
        lifted = lifting.span @ answer.variables["U"] @ lifting.span.T
        vectors, weights = mixture(lifted)
        labelings = nearest_labelings(vectors, weights, feasible)
        lower = max(0.0, -float(unit**2 * largest))
        value = max(unit**2 * answer.value, lower)
        result = SquareLossResult(
            value,
            lower,
            min(Ridge(features, C).value(labeling) for labeling in labelings),
            vectors,
            weights,
            np.full(len(features), C),
            labelings,
            solved_at_once(value, answer.solver, answer.status, perf_counter() - started),
        )
        on_round(result)
        return result


@dataclass(eq=False, repr=False)
class FrankWolfe(BaseEstimator):
    r"""DIFFRAC over the convex hull of the labelings, by Frank-Wolfe with the bag sort.

    .. math::

        \min_{y \in \operatorname{conv} \mathcal{Y}} y^\top (A - \lambda I) y + \lambda N, \qquad
        \lambda = \lambda_{\min}(A)

    On labelings this is :math:`y^\top A y`, and it is convex, so it bounds them from below.  Its
    linear oracle is :meth:`propcvx.labelings.FeasibleLabelings.best`, a sort of each bag.  Over the
    hull of the :math:`y y^\top` the linear oracle would be a quadratic problem over labelings, as
    hard as the one that is relaxed.  No matrix of all pairs is formed, so it takes any size.

    Parameters
    ----------
    max_rounds : int
        Largest number of steps.
    tol : float
        Stops at this gap between value and lower bound, relative to the value.
    """

    _: KW_ONLY
    max_rounds: int = 1000
    tol: float = 1e-3

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: float,
        *,
        solver: SolverNames = "auto",
        tol: float = 1e-8,
        options: Mapping[str, Any] = NO_OPTIONS,
        on_round: Callable[[RelaxationResult], None] = lambda reached: None,
    ) -> SquareLossResult:
        """Descend; no solver is asked, so ``solver``, ``tol`` and ``options`` are not used.

        The other arguments are those of :meth:`propcvx.relaxation.Lifted.relax`.  After an
        interruption what the rounds before it reached is returned, with ``stopped_by``.
        """
        check_count("max_rounds", self.max_rounds)
        check_number("tol", self.tol, least=0.0)
        descent = Descent.begin(Ridge(features, C), feasible)
        try:
            while descent.history.stop_reason is None:
                descent.step(self.tol, self.max_rounds)
        except KeyboardInterrupt as interruption:
            if not len(descent.history):
                raise
            descent.history.stop_reason = StopReason.INTERRUPTED
            return replace(descent.result(), stopped_by=interruption)
        result = descent.result()
        on_round(result)
        return result


@dataclass
class Descent:
    """Where Frank-Wolfe is.

    Attributes
    ----------
    ridge : Ridge
    feasible : FeasibleLabelings
    y : array of shape (n_instances,)
        The point, in the hull of the labelings.
    labelings : list of arrays
        Of which it is the mean,
    weights : array of shape (n_labelings,)
        with these weights.
    lower, upper : float
        The best bounds so far, of the relaxation and of a labeling.
    history : History
    """

    ridge: Ridge
    feasible: FeasibleLabelings
    y: Array
    labelings: list[Array]
    weights: Array
    lower: float = 0.0
    upper: float = np.inf
    history: History = field(default_factory=History)

    @classmethod
    def begin(cls, ridge: Ridge, feasible: FeasibleLabelings) -> Descent:
        """From the best labelings along the first feature, either way, half of each."""
        first = ridge.features[:, 0]
        ends = feasible.best(np.column_stack([first, -first])).T
        upper = min(ridge.value(labeling) for labeling in ends)
        return cls(ridge, feasible, ends.mean(axis=0), list(ends), np.full(2, 0.5), upper=upper)

    def step(self, tol: float, max_rounds: int) -> None:
        """One linear oracle, and the best point towards its labeling."""
        started, least = perf_counter(), self.ridge.least_eigenvalue
        slope = self.ridge.times(self.y) - least * self.y
        value = float(self.y @ slope) + least * len(self.y)
        vertex = self.feasible.best(-slope)
        towards = vertex - self.y
        gap = max(0.0, -2.0 * float(slope @ towards))
        self.lower = max(self.lower, value - gap)
        self.upper = min(self.upper, self.ridge.value(vertex))
        self.history.append(Round(value, "frank_wolfe", "optimal", perf_counter() - started, gap))
        if gap <= tol * value:
            self.history.stop_reason = StopReason.CONVERGED
        elif len(self.history) == max_rounds:
            self.history.stop_reason = StopReason.MAX_ROUNDS
        else:
            curvature = float(towards @ (self.ridge.times(towards) - least * towards))
            share = min(1.0, gap / (2.0 * curvature)) if curvature > 0.0 else 1.0
            self.y = self.y + share * towards
            self.weights = np.append((1.0 - share) * self.weights, share)
            self.labelings.append(vertex)

    def result(self) -> SquareLossResult:
        """What is reached."""
        vectors, places = np.unique(np.array(self.labelings), axis=0, return_inverse=True)
        weights: Array = np.zeros(len(vectors))
        np.add.at(weights, places.ravel(), self.weights[: len(self.labelings)])
        heaviest = vectors[np.argsort(-weights, kind="stable")[:SHOWN]]
        met = np.vstack([heaviest, nearest_labelings(vectors, weights, self.feasible)])
        alpha, value = np.full(len(self.y), self.ridge.C), self.history[-1].objective
        return SquareLossResult(
            value, self.lower, self.upper, vectors, weights, alpha, met, self.history
        )
