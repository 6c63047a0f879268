r"""What an oracle answers, and the check that the answer is what it says it is.

The separation problem, eq:concave, is to find the labeling that violates the relaxation most.
An oracle is a function of the dual variables alpha that returns a :class:`Cut`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.labelings import FeasibleLabelings

Array = NDArray[np.float64]

ROUNDING = 1e-6
"""How far a value may be from the labeling's own, relatively, and still be called equal."""


@dataclass(frozen=True)
class Cut:
    r"""A labeling found for given alpha.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
        A feasible labeling, entries -1.0 and +1.0.
    value : float
        :math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2` of that labeling.
    bound : float
        An upper bound on that value over all feasible labelings: equal to ``value`` where the
        labeling is known to be the most violated one, infinite where nothing is known.
    others : tuple of arrays of shape (n_instances,)
        Further feasible labelings that are worth a cut, the best first.
    """

    labeling: Array
    value: float
    bound: float = np.inf
    others: tuple[Array, ...] = ()


Oracle = Callable[[Array], Cut]
"""``oracle(alpha) -> Cut``."""

OracleFactory = Callable[[Array, FeasibleLabelings], Oracle]
"""``factory(features, feasible) -> Oracle``: what is given by name, or as a class of one's own."""


def violation_value(features: Array, labeling: Array, alpha: Array) -> float:
    r""":math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2`, half the objective of eq:concave."""
    weights = features.T @ (labeling * alpha)
    return 0.5 * float(weights @ weights)


def checked(oracle: Oracle, features: Array, feasible: FeasibleLabelings) -> Oracle:
    """The oracle, with every answer checked.

    Its calls raise :class:`InputError` if the labeling is not feasible, the value is not the
    labeling's, or the bound is below the value.
    """
    name, norms = type(oracle).__name__, np.linalg.norm(features, axis=1)

    def ask(alpha: Array) -> Cut:
        cut = oracle(alpha)
        for labeling in (cut.labeling, *cut.others):
            reason = feasible.fault_of(labeling)
            if reason is not None:
                raise InputError(f"{name} returned a labeling that is not feasible: {reason}.")
        value = violation_value(features, cut.labeling, alpha)
        largest = 0.5 * float(alpha @ norms) ** 2
        if not abs(cut.value - value) <= ROUNDING * (value + np.finfo(float).eps * largest):
            raise InputError(
                f"{name} returned the value {cut.value:.9g} with a labeling whose value is "
                f"{value:.9g}; propcvx.relaxation.oracles.violation_value computes it."
            )
        if not cut.bound >= cut.value:
            raise InputError(
                f"{name} returned the bound {cut.bound:.9g}, below the value {cut.value:.9g} that "
                "its labeling attains; use infinity where no bound is known."
            )
        return cut

    return ask
