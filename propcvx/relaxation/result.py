r"""What a relaxation of eq:convex_1 returns, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propcvx.history import History
from propcvx.relaxation.bounds import labeling_upper_bound

Array = NDArray[np.float64]

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
"""What a relaxation hands to its solver where nothing is asked for."""


@dataclass(frozen=True)
class RelaxationResult:
    r"""Where a relaxation over :math:`M \approx y y^\top` ended: M in the hull of Equation (13).

    Attributes
    ----------
    loss : str
        The loss that value and bounds are of: ``"hinge"``, as in eq:convex_1, for the class itself.
    value : float
        The objective reached.
    lower, upper : float
        The relaxation's optimum is between them, whatever the solvers' accuracy, and ``lower``
        bounds the value of every feasible labeling.  ``lower`` is minus infinity where nothing is
        proved.
    vectors : array of shape (n_vectors, n_instances)
        :math:`v_t` with :math:`M = \sum_t \mu_t v_t v_t^\top`.
    weights : array of shape (n_vectors,)
        :math:`\mu_t \ge 0`.
    alpha : array of shape (n_instances,)
        Dual variables of the hinge losses, in [0, C].
    labelings : array of shape (n_labelings, n_instances)
        The feasible labelings that were met.
    history : History
        One record per round.
    stopped_by : exception or None
        The interruption or solver failure that ended a loop after at least one round.
    """

    loss: ClassVar[str] = "hinge"

    value: float
    lower: float
    upper: float
    vectors: Array
    weights: Array
    alpha: Array
    labelings: Array
    history: History
    stopped_by: BaseException | None = None

    def plane(self, features: Array, labeling: Array, C: float) -> Array:
        r"""Weights of the separator of a labeling: :math:`F^\top (y \circ \alpha)`.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            F.
        labeling : array of shape (n_instances,)
            Real-valued, as rounded from M.
        C : float
            Weight of the loss.
        """
        return np.asarray(features.T @ (self.alpha * labeling))

    def upper_bound(self, features: Array, labelings: Array, C: float, weights: Array) -> float:
        """The least value of some feasible labelings, as of ``lower``, to within a solver's error.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            F.
        labelings : array of shape (n_labelings, n_instances)
        C : float
            Weight of the loss.
        weights : array of shape (rank,)
            Of a separator that is known.
        """
        return labeling_upper_bound(features, labelings, C, weights=weights)

    def take(self, instances: NDArray[np.intp]) -> RelaxationResult:
        """The same with the instances in another order."""
        return replace(
            self,
            vectors=self.vectors[:, instances],
            alpha=self.alpha[instances],
            labelings=self.labelings[:, instances],
        )
