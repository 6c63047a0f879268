"""Base of the package's oracles: what they find does not depend on the order of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.ordering import row_order
from propcvx.relaxation.oracles.cut import Cut

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

TIED = 1e-12
"""Values that differ by less, relatively, differ by rounding only."""


@dataclass(frozen=True)
class RowOracle(ABC):
    r"""An oracle over the rows of F in an order of their own.

    Where scores tie, the first instances of a bag get the label +1; so that this depends on the
    data alone, a subclass finds its labeling with the rows in lexicographic order.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, in which violation is measured.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    """

    features: Array
    feasible: FeasibleLabelings

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        cut = self._find(alpha[self._order])
        place = np.argsort(self._order)
        others = tuple(other[place] for other in cut.others)
        return replace(cut, labeling=cut.labeling[place], others=others)

    @abstractmethod
    def _find(self, alpha: Array) -> Cut:
        """Find a labeling of ``_rows``, of which ``_labelings`` is the set."""

    @cached_property
    def _order(self) -> Indices:
        return row_order(self.features)

    @cached_property
    def _rows(self) -> Array:
        return self.features[self._order]

    @cached_property
    def _labelings(self) -> FeasibleLabelings:
        return replace(self.feasible, bags=self.feasible.bags.take(self._order))


def first_of_best(labelings: Array, values: Array) -> int:
    """Row of the largest value; of those that tie with it, the lexicographically largest row."""
    tied = np.flatnonzero(values >= values.max() * (1.0 - TIED))
    return int(tied[np.lexsort(labelings[tied].T[::-1])[-1]])


def best_cut(labelings: Array, weighted: Array) -> Cut:
    """The labeling with the largest violation value, which is its bound, too.

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
    """The labeling with the largest violation value, with the next ones beside it.

    Parameters
    ----------
    labelings : array of shape (n_labelings, n_instances)
    weighted : array of shape (n_instances, rank)
        The rows of F times alpha.
    count : int
        How many of them at most, each once.
    """
    best, labelings = best_cut(labelings, weighted), np.unique(labelings, axis=0)
    values = np.square(labelings @ weighted).sum(axis=1)
    others = np.any(labelings != best.labeling, axis=1)
    following = np.argsort(-values[others], kind="stable")[: count - 1]
    return Cut(best.labeling, best.value, others=tuple(labelings[others][following]))


def normal_directions(covariance: Array, normal: Array) -> Array:
    """Normal numbers, one vector in a column, given a covariance of their own."""
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return np.asarray(root @ normal)
