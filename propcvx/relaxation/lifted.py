r"""Semidefinite relaxations over a lifted matrix: of the SVM, and DIFFRAC of ridge regression.

The bounds of DIFFRAC are on :math:`y^\top A y`, the square loss, not on the hinge of Equation (9),
eq:convex_1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.history import single_round_history
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import Lifting, diffrac, lifted_svm_dual, mixture, square_loss_matrix
from propcvx.relaxation.bounds import labeling_upper_bound, lower_bound
from propcvx.relaxation.oracles.bounding import check_order
from propcvx.relaxation.result import Relaxation, RelaxationResult, Rounds
from propcvx.solvers import Solve


@dataclass(eq=False, repr=False)
class Lifted(Relaxation):
    r"""The semidefinite relaxation of Xu et al. (2004) with constraints for the bags.

    The relaxation is by Xu et al. [1]_.

    It solves :func:`propcvx.programs.lifted_svm_dual` at once.  Its lower bound is evaluated from
    the multipliers, so a solver's error only makes it smaller; ``solver_tol=1e-4`` of
    :class:`propcvx.ConvPropSVM` is often enough.

    Parameters
    ----------
    max_order : int, default=400
        Largest order of the semidefinite matrix that it solves.  The order is at most the number of
        instances plus the number of features (with a kernel: the rank of the Gram matrix) plus one.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson and D. Schuurmans. Maximum margin clustering. *Advances in
       Neural Information Processing Systems 17*, 2004.

    Examples
    --------
    >>> from propcvx.relaxation import Lifted
    >>> from propcvx import ConvPropSVM
    >>> ConvPropSVM(relaxation=Lifted(max_order=600), solver_tol=1e-4).relaxation.max_order
    600
    """

    _: KW_ONLY
    max_order: int = 400

    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: Weight, solve: Solve
    ) -> Rounds:
        lifting = Lifting.from_feasible(feasible)
        order = lifting.span.shape[1]
        check_order(order + features.shape[1], self.max_order)
        answer = solve(lifted_svm_dual(features, feasible, C))
        alpha = np.clip(answer.variables["alpha"], 0.0, C)
        weighted = alpha[:, None] * features
        multipliers = answer.variables["diagonal"], answer.variables.get("products")
        largest = lifting.largest(weighted @ weighted.T, *multipliers)
        matrix = answer.duals["semidefinite"][:order, :order]
        vectors, weights = mixture(lifting.span @ matrix @ lifting.span.T)
        labelings = nearest_labelings(vectors, weights, feasible)
        lower = lower_bound(alpha, largest / 2, C)
        value, upper = max(answer.value, lower), labeling_upper_bound(features, labelings, C)
        history = single_round_history(value, answer)
        yield RelaxationResult(value, lower, upper, vectors, weights, alpha, labelings, history)


def ridge(features: Array, labeling: Array, C: Weight) -> tuple[Array, float]:
    r"""Compute the ridge regression of a labeling: weights and value :math:`y^\top A y`.

    .. math::

        w = (F^\top D F + I / 2)^{-1} F^\top D y, \qquad
        y^\top A y = \tfrac12 \|w\|^2 + \sum_i C_i (y_i - w^\top F_i)^2,
        \qquad D = \operatorname{diag} C_i

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    labeling : array of shape (n_instances,)
    C : float or array of shape (n_instances,)
        Weight of the square loss.
    """
    weighted = (np.broadcast_to(C, len(features)) * features.T) / np.max(C)
    inner = weighted @ features + np.eye(features.shape[1]) / (2.0 * np.max(C))
    weights = np.asarray(np.linalg.solve(inner, weighted @ labeling), dtype=np.float64)
    squares = np.square(labeling - features @ weights)
    return weights, 0.5 * float(weights @ weights) + float(np.sum(C * squares))


def least_square_loss(features: Array, labelings: Array, C: Weight) -> float:
    """Compute the least value of labelings by the square loss."""
    return min(ridge(features, labeling, C)[1] for labeling in labelings)


@dataclass(frozen=True)
class SquareLossResult(RelaxationResult):
    """Result of a relaxation of the square loss.

    It has the attributes of :class:`RelaxationResult`, with three differences: ``loss`` is
    ``"square"``, value and bounds are of that loss, and ``alpha`` is C for each instance, unused.
    """

    loss: ClassVar[str] = "square"

    def separator_weights(self, features: Array, labeling: Array, C: Weight) -> Array:
        """Compute the weights of the ridge regression of a labeling."""
        return ridge(features, labeling, C)[0]

    def upper_bound(self, features: Array, labelings: Array, C: Weight, weights: Array) -> float:
        """Compute the least value of feasible labelings by the square loss."""
        return least_square_loss(features, labelings, C)


@dataclass(eq=False, repr=False)
class Diffrac(Relaxation):
    r"""DIFFRAC (Bach and Harchaoui 2007) with constraints for the bags, a semidefinite program.

    It solves :func:`propcvx.programs.diffrac` at once, and its lower bound is evaluated from the
    multipliers.  C weighs the square loss :math:`(y_i - w^\top F_i)^2`; the result is a
    :class:`~propcvx.relaxation.SquareLossResult`.

    Parameters
    ----------
    max_order : int, default=400
        Largest order of the semidefinite matrix, about the number of instances.
    """

    _: KW_ONLY
    max_order: int = 400

    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: Weight, solve: Solve
    ) -> Rounds:
        lifting = Lifting.from_feasible(feasible)
        check_order(lifting.span.shape[1], self.max_order)
        answer = solve(diffrac(features, feasible, C))
        multipliers = answer.duals["diagonal"], answer.duals.get("products")
        largest = lifting.largest(-square_loss_matrix(features, C), *multipliers)
        vectors, weights = mixture(lifting.span @ answer.variables["U"] @ lifting.span.T)
        labelings = nearest_labelings(vectors, weights, feasible)
        lower = max(0.0, -float(largest))
        value, upper = max(answer.value, lower), least_square_loss(features, labelings, C)
        alpha, history = np.full(len(features), C), single_round_history(value, answer)
        yield SquareLossResult(value, lower, upper, vectors, weights, alpha, labelings, history)


def nearest_labelings(vectors: Array, weights: Array, feasible: FeasibleLabelings) -> Array:
    """Find the feasible labelings nearest to the mean and to the leading axes of a mixture."""
    axis = np.linalg.eigh((vectors.T * weights) @ vectors)[1][:, -1]
    nearest = feasible.best(np.column_stack([weights @ vectors, axis, -axis]))
    return np.unique(nearest.T, axis=0)
