r"""How far a labeling is from the best one: certified bounds on eq:convex_1.

Without bias, and over feasible labelings :math:`\mathcal{Y}`, let
:math:`g(y) = \max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac12 \|F^\top (y \circ \alpha)\|^2`
be the SVM value of a labeling.  Any primal point bounds g(y), and so the best value, from above;
any alpha in the box together with the exact answer of an oracle bounds the relaxation, and so the
best value, from below.  Neither bound depends on a solver's accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.losses import hinge
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.relaxation.oracles import Oracle
from propcvx.solvers import solve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """Bounds on the value of the best feasible labeling.

    Attributes
    ----------
    lower, upper : float
        The best value is between them; ``upper`` is reached by the labeling in question.
    """

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """``(upper - lower) / max(1, |upper|)``; 0 means proved optimal."""
        return max(0.0, self.upper - self.lower) / max(1.0, abs(self.upper))


def labeling_upper_bound(
    features: Array, labeling: Array, C: float, *, solver: str = "clarabel", tol: float = 1e-9
) -> float:
    r"""Primal SVM value of a labeling, an upper bound on g(y).

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    labeling : array of shape (n_instances,)
        A feasible labeling.
    C : float
        Weight of the hinge loss.
    solver : str
        A QP solver; its error only makes the bound larger.
    tol : float
        Its tolerance.

    Returns
    -------
    float
        :math:`\tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)` at the solver's w.
    """
    program = svm_dual(features, bias=False).set(**svm_dual_parameters(labeling, C))
    weights = features.T @ solve(program, solver, tol=tol, certify=False).variables["v"]
    return 0.5 * float(weights @ weights) + C * float(hinge(labeling, features @ weights).sum())


def relaxation_lower_bound(alpha: Array, oracle: Oracle, C: float) -> float:
    r"""Lower bound :math:`\alpha^\top 1 - \tfrac12 s` on the relaxation, hence on every labeling.

    Parameters
    ----------
    alpha : array of shape (n_instances,)
        Any point; it is clipped to :math:`[0, C]`.
    oracle : Oracle
        An exact oracle: :math:`\tfrac12 s` is its bound on
        :math:`\max_{y \in \mathcal{Y}} \tfrac12 \|F^\top (y \circ \alpha)\|^2`.
    C : float
        Weight of the hinge loss.

    Raises
    ------
    InputError
        If the oracle is not exact; then nothing is known of the gap.
    """
    if not oracle.exact:
        raise InputError(
            f"a lower bound needs an exact oracle, got {type(oracle).__name__}; use "
            "ExhaustiveOracle, DirectionSweepOracle (two features) or MixedIntegerOracle."
        )
    alpha = np.clip(alpha, 0.0, C)
    return float(alpha.sum()) - oracle(alpha).bound
