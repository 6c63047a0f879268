r"""The cut that an oracle returns, its check, and the base of oracles.

The separation problem, eq:concave, is to find the labeling that violates the relaxation most.
An oracle is a function of the dual variables alpha that returns a :class:`Cut`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from propcvx.arrays import Array, Signs
from propcvx.checks import Shapes, check_fields
from propcvx.errors import InputError
from propcvx.labelings.feasible import FeasibleLabelings, shuffled

ROUNDING = 1e-6
"""Largest relative difference of a value from the labeling's own that counts as equal."""


@dataclass(frozen=True)
class Cut:
    r"""Labeling that an oracle found for given alpha, with its value and a bound.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
        A feasible labeling, entries -1.0 and +1.0.
    value : float
        :math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2` of that labeling.
    bound : float
        An upper bound on that value over all feasible labelings: equal to ``value`` if the
        labeling is known to be the most violated one, infinite if nothing is known.
    others : tuple of arrays of shape (n_instances,)
        Further feasible labelings that are worth a cut, the best first.
    """

    labeling: Array
    value: float
    bound: float = np.inf
    others: tuple[Array, ...] = ()


Oracle = Callable[[Array], Cut]
"""Function ``oracle(alpha)`` that returns a `Cut`."""

OracleFactory = Callable[[Array, FeasibleLabelings], Oracle]
"""Function ``factory(features, feasible)`` that returns an `Oracle`; a class of your own is one."""


def violation_value(features: Array, labeling: Array, alpha: Array) -> float:
    r"""Compute :math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2`, half of Equation (18)."""
    weights = features.T @ (labeling * alpha)
    return 0.5 * float(weights @ weights)


def check_cut(
    source: str, cut: Cut, features: Array, feasible: FeasibleLabelings, alpha: Array
) -> None:
    """Raise if a labeling is infeasible, its value is incorrect, or the bound is below the value.

    Parameters
    ----------
    source : str
        The oracle that returned the cut, for the message.
    cut : Cut
    features : array of shape (n_instances, rank)
    feasible : FeasibleLabelings
    alpha : array of shape (n_instances,)
    """
    shapes: Shapes = {"labeling": (len(alpha),), "value": (), "bound": ()}
    check_fields(source, cut, shapes, {"bound": np.inf})
    for labeling in (cut.labeling, *cut.others):
        if fault := feasible.fault_of(labeling):
            raise InputError(f"{source} returned a labeling that is not feasible: {fault}.")
    value = violation_value(features, cut.labeling, alpha)
    largest = 0.5 * float(alpha @ np.sqrt(np.einsum("ij,ij->i", features, features))) ** 2
    if not abs(cut.value - value) <= ROUNDING * (value + np.finfo(float).eps * largest):
        raise InputError(
            f"{source} returned the value {cut.value:.9g} with a labeling whose value is "
            f"{value:.9g}; propcvx.relaxation.oracles.violation_value computes it."
        )
    if not cut.bound >= cut.value:
        raise InputError(
            f"{source} returned the bound {cut.bound:.9g}, below the value {cut.value:.9g} that "
            "its labeling attains. Use infinity where no bound is known."
        )


TIED = 1e-12
"""Relative difference of values below which they are equal up to rounding."""


@dataclass(frozen=True)
class BaseOracle:
    r"""Base of the package's oracles, which are called with alpha and return a :class:`Cut`.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, in which violation is measured.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    """

    features: Array
    feasible: FeasibleLabelings

    def cut(self, labeling: Array, alpha: Array) -> Cut:
        """Make a cut of a labeling with its value, without a bound."""
        return Cut(labeling, violation_value(self.features, labeling, alpha))

    def ascend(self, labeling: Array, alpha: Array) -> Array:
        r"""Raise :math:`\|\sum_i \alpha_i y_i F_i\|` by the best labeling along it, while it rises.

        The norm is convex in y, so the best labeling of its linearization, one sort of each bag, is
        at least as good.

        Parameters
        ----------
        labeling : array of shape (n_instances,)
            A feasible labeling.
        alpha : array of shape (n_instances,)
        """
        total = (alpha * labeling) @ self.features
        while True:
            other = self.feasible.best(alpha * (self.features @ total))
            risen = (alpha * other) @ self.features
            if np.linalg.norm(risen) <= np.linalg.norm(total) * (1.0 + TIED):
                return labeling
            labeling, total = other, risen

    def ascend_from(self, starts: Array, alpha: Array, bound: float) -> Cut:
        """Make a cut of the best labeling that :meth:`ascend` reaches, with a bound on all."""
        labelings = np.array([self.ascend(start, alpha) for start in starts])
        cut = best_cut(labelings, alpha[:, None] * self.features)
        return replace(cut, bound=max(cut.value, bound))


def first_of_best(labelings: Array | Signs, values: Array) -> int:
    """Return the row of the largest value; of ties, the lexicographically largest row.

    Entries are compared in the order of :func:`~propcvx.labelings.feasible.shuffled`.
    """
    tied = np.flatnonzero(values >= values.max() * (1.0 - TIED))
    order = shuffled(labelings.shape[1])
    texts = [np.asarray(labelings[row, order] > 0.0).tobytes() for row in tied]
    return int(tied[texts.index(max(texts))])


def best_cut(labelings: Array, weighted: Array) -> Cut:
    """Make a cut of the labeling with the largest violation value, which is its bound, too.

    Parameters
    ----------
    labelings : array of shape (n_labelings, n_instances)
    weighted : array of shape (n_instances, rank)
        The rows of F times alpha.
    """
    values = 0.5 * np.square(labelings @ weighted).sum(axis=1)
    best = first_of_best(labelings, values)
    return Cut(labelings[best], float(values[best]), float(values[best]))


def best_cuts(labelings: Array, weighted: Array, count: int) -> Cut:
    """Make a cut of the labeling with the largest violation value, and the next ones as others.

    Parameters
    ----------
    labelings : array of shape (n_labelings, n_instances)
    weighted : array of shape (n_instances, rank)
        The rows of F times alpha.
    count : int
        Largest number of labelings, without repetition.
    """
    best, labelings = best_cut(labelings, weighted), np.unique(labelings, axis=0)
    values = np.square(labelings @ weighted).sum(axis=1)
    others = np.any(labelings != best.labeling, axis=1)
    following = np.argsort(-values[others], kind="stable")[: count - 1]
    return Cut(best.labeling, best.value, others=tuple(labelings[others][following]))


def normal_directions(covariance: Array, normal: Array) -> Array:
    """Transform normal numbers, one vector in a column, to a covariance."""
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return np.asarray(root @ normal)
