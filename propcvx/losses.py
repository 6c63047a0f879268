r"""Losses of eq:pSVM_2: :math:`L` on instances and :math:`L_p` on proportions.

An instance loss is a convex function of the margin :math:`y_i f_i`, times a weight of the instance;
the paper's is the hinge.  A proportion loss is any convex function of :math:`\tilde p_k - p_k`;
convexity is what lets one sort per bag solve the labeling step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hinge(labeling: Array | float, scores: Array) -> Array:
    r"""Hinge loss :math:`\max(0, 1 - y_i f_i)` of each instance."""
    return np.maximum(0.0, 1.0 - labeling * scores)


@dataclass(frozen=True)
class InstanceLoss:
    r"""A loss :math:`L(y_i, f_i) = c_i\, h(y_i f_i)` of each instance, with h convex.

    Attributes
    ----------
    name : str
        Its name in ``INSTANCE_LOSSES``.
    of_margins : callable
        The function h on NumPy arrays.
    expression : callable
        The same function on CVXPY expressions.
    weights : float or array of shape (n_instances,)
        The weights :math:`c_i > 0`.
    gain : callable or None
        :math:`h(-f) - h(f)` on NumPy arrays, where there is a form of it without cancellation.
    """

    name: str
    of_margins: Callable[[Array], Array]
    expression: Callable[[Any], cp.Expression]
    weights: Array | float = 1.0
    gain: Callable[[Array], Array] | None = None

    def of(self, labeling: Array | float, scores: Array) -> Array:
        """Loss of each instance."""
        return self.weights * self.of_margins(labeling * scores)

    def reduction(self, scores: Array) -> Array:
        r"""Reduction :math:`\delta_i = L(-1, f_i) - L(+1, f_i)` by flipping from -1 to +1.

        Of instances of equal weight it rises with the score, strictly for the hinge
        (Proposition 1).
        """
        if self.gain is None:
            return self.of(-1.0, scores) - self.of(1.0, scores)
        return self.weights * self.gain(scores)

    def times(self, factor: Array | float) -> InstanceLoss:
        """The loss with its weights multiplied."""
        return replace(self, weights=self.weights * factor)

    def take(self, instances: NDArray[np.intp]) -> InstanceLoss:
        """The loss of some instances."""
        each = np.ndim(self.weights) > 0
        return replace(self, weights=np.asarray(self.weights)[instances]) if each else self


def _hinge_of_margins(margins: Array) -> Array:
    return np.maximum(0.0, 1.0 - margins)


def _hinge_expression(margins: cp.Expression) -> cp.Expression:
    return cp.pos(1 - margins)


def _hinge_gain(scores: Array) -> Array:
    return scores + np.maximum(-1.0, np.minimum(1.0, scores))


HINGE = InstanceLoss("hinge", _hinge_of_margins, _hinge_expression, gain=_hinge_gain)
"""The hinge loss with weights of one: the paper's, and the default everywhere."""

INSTANCE_LOSSES: Mapping[str, InstanceLoss] = MappingProxyType({HINGE.name: HINGE})
"""Instance losses by name, each with weights of one."""


@dataclass(frozen=True)
class ProportionLoss:
    r"""A convex loss :math:`L_p(\tilde p_k, p_k) = h(\tilde p_k - p_k)`.

    Attributes
    ----------
    name : str
        Its name in ``PROPORTION_LOSSES``.
    of : callable
        The function h on NumPy arrays.
    expression : callable
        The same function on CVXPY expressions.
    """

    name: str
    of: Callable[[Array], Array]
    expression: Callable[[Any], cp.Expression]


PROPORTION_LOSSES: Mapping[str, ProportionLoss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            ProportionLoss("absolute", np.abs, cp.abs),
            ProportionLoss("squared", np.square, cp.square),
        )
    }
)
"""Proportion losses by name; the paper's experiments use ``"absolute"``."""
