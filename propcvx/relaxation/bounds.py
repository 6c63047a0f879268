r"""Certified bounds on Equation (9), eq:convex_1, and the gap of a labeling.

Without bias, and over feasible labelings :math:`\mathcal{Y}`, let
:math:`g(y) = \max_{0 \le \alpha_i \le C_i} \alpha^\top 1 - \tfrac12 \|F^\top (y \circ \alpha)\|^2`
be the SVM value of a labeling.  Any weights w bound g(y), and so the optimal value, from above.
Any alpha in the box, with an oracle's bound on the violation, bounds the relaxation, and so the
optimal value, from below.  Neither bound depends on a solver's accuracy.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.errors import InconsistentBoundsError, SolverError
from propcvx.relaxation.oracles import Oracle
from propcvx.svm.step import LabelingSVM, best_multiple
from propcvx.text import Readable

CROSSED = 1e-6
"""Fraction of an upper bound by which a lower bound may be above it by rounding."""


def check_consistent(who: str, lower: float, upper: float) -> None:
    """Check that no lower bound is above an upper one.

    Raises
    ------
    InconsistentBoundsError
        If it is, by more than rounding; the message begins with ``who``.
    """
    if not lower <= upper + CROSSED * abs(upper):
        raise InconsistentBoundsError(
            f"{who}: the lower bound {lower:.6g} is above the upper bound {upper:.6g}, so at least "
            "one of the two is invalid. A lower bound must hold for every feasible labeling and "
            "include a solver's error. Return minus infinity if nothing is proved."
        )


def gap_between(lower: float, upper: float) -> float:
    """Compute the relative gap ``(upper - lower) / upper``, which does not depend on the scale."""
    if lower >= upper:
        return 0.0
    return (upper - lower) / upper if 0.0 < upper < np.inf else np.inf


@dataclass(frozen=True)
class Bounds(Readable):
    """Lower and upper bound on the value of the best feasible labeling.

    A lower bound above the upper bound raises :class:`~propcvx.errors.InconsistentBoundsError`.

    Attributes
    ----------
    lower, upper : float
        Bounds on the optimal value; ``upper`` is the value of the best labeling that was found.

    Examples
    --------
    >>> from propcvx.relaxation.bounds import Bounds
    >>> print(Bounds(9.9, 10.0))
    The best labeling's value is between 9.9 and 10: a relative gap of 0.01.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        check_consistent("Bounds", self.lower, self.upper)

    @property
    def gap(self) -> float:
        """Relative gap, (upper - lower) / upper: 0 is proved optimal, infinity if nothing is."""
        return gap_between(self.lower, self.upper)

    def __str__(self) -> str:
        """Format the bounds and the gap as one sentence."""
        return (
            f"The best labeling's value is between {self.lower:.6g} and {self.upper:.6g}: "
            f"a relative gap of {self.gap:.2g}."
        )


def labeling_upper_bound(
    features: Array, labeling: Array, C: Weight, *, weights: Array | None = None
) -> float:
    r"""Bound the value of a labeling's SVM from above, for any error of the solver.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    labeling : array of shape (n_instances,) or (n_labelings, n_instances)
        A feasible labeling; of several, the least bound is returned.
    C : float or array of shape (n_instances,)
        Weight of the hinge loss.
    weights : array of shape (rank,), optional
        Weights known beforehand; their best multiple is used if solvers fail.

    Returns
    -------
    float
        :math:`\tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i w^\top F_i)` at the best known w.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation import labeling_upper_bound
    >>> round(labeling_upper_bound(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), 1.0), 6)
    0.5
    """
    svm = LabelingSVM(features, C)
    plane = np.zeros(features.shape[1]) if weights is None else weights

    def bound(labeling: Array) -> float:
        value = best_multiple(plane, labeling * (features @ plane), C)
        with suppress(SolverError):
            value = min(value, svm.separate(labeling).value)
        return value

    return min(map(bound, np.unique(np.atleast_2d(labeling), axis=0)))


def lower_bound(alpha: Array, bound: float, C: Weight) -> float:
    r"""Maximize :math:`c \alpha^\top 1 - c^2 s / 2` over the multiples of alpha in the box.

    Parameters
    ----------
    alpha : array of shape (n_instances,)
        Dual variables, >= 0.
    bound : float
        At least :math:`\tfrac12 s`, with :math:`s = \max_{y \in \mathcal{Y}}
        \|F^\top (y \circ \alpha)\|^2`.
    C : float or array of shape (n_instances,)
        Weight of the hinge loss.

    Returns
    -------
    float
        A lower bound on the relaxation, hence on every labeling; minus infinity if ``bound`` is
        infinite.
    """
    if not np.isfinite(bound):
        return -np.inf
    total, support = float(alpha.sum()), alpha > 0.0
    if not support.any():
        return 0.0
    multiple = float(np.min(np.broadcast_to(C, len(alpha))[support] / alpha[support]))
    if 2.0 * bound * multiple > total:
        multiple = total / (2.0 * bound)
    return float(multiple * total - multiple**2 * bound)


def relaxation_lower_bound(alpha: Array, oracle: Oracle, C: Weight) -> float:
    r"""Bound the relaxation, hence every labeling, from below by any alpha and an oracle.

    The bound is the maximum in Equation (15) at one alpha.

    Parameters
    ----------
    alpha : array of shape (n_instances,)
        Any point; it is clipped to :math:`[0, C_i]`.
    oracle : Oracle
        The oracle that bounds the violation of alpha.
    C : float or array of shape (n_instances,)
        Weight of the hinge loss.

    Returns
    -------
    float
        As in :func:`lower_bound`; minus infinity if the oracle's bound is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation import relaxation_lower_bound
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings.feasible import FeasibleLabelings
    >>> from propcvx.relaxation.oracles import ExhaustiveOracle
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0], [0.5])), 0.0)
    >>> oracle = ExhaustiveOracle(np.array([[-1.0], [1.0]]), feasible)
    >>> relaxation_lower_bound(np.array([0.5, 0.5]), oracle, 1.0)
    0.5
    """
    alpha = np.clip(alpha, 0.0, C)
    return lower_bound(alpha, oracle(alpha).bound, C)
