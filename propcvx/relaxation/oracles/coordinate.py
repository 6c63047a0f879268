r"""The oracle of the paper: the :math:`\ell_\infty` norm in place of :math:`\ell_2`, eq:inf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propcvx.checks import check_number
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.dimensions import leading_dimensions
from propcvx.relaxation.oracles.cut import Cut, violation_value
from propcvx.relaxation.oracles.rows import TIED, RowOracle, first_of_best
from propcvx.relaxation.separation import DimensionSearch

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CoordinateOracle(RowOracle):
    r"""Sorting every bag once along each dimension, for eq:inf (Proposition 3).

    For each dimension j and each sign it solves :math:`\max_y \pm \sum_i \alpha_i y_i x_i^{(j)}`
    and takes the best.  A heuristic: violated labelings may remain.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, in which violation is measured.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    dimensions : array of shape (n_instances, d)
        The dimensions :math:`x^{(j)}` tried, one per column.
    """

    dimensions: Array

    @classmethod
    def on_axes(
        cls, features: Array, feasible: FeasibleLabelings, variance: float = 0.9
    ) -> CoordinateOracle:
        """Along the leading principal axes, which keep a share of the features' variance."""
        check_number("variance", variance, above=0.0, most=1.0)
        return cls(features, feasible, leading_dimensions(features, variance))

    @classmethod
    def on_features(cls, features: Array, feasible: FeasibleLabelings) -> CoordinateOracle:
        """Along the features themselves."""
        return cls(features, feasible, features)

    @cached_property
    def _search(self) -> DimensionSearch:
        return DimensionSearch.of(self._labelings, self.dimensions[self._order])

    def _find(self, alpha: Array) -> Cut:
        values = self._search.values(alpha)
        signs, columns = np.nonzero(values >= values.max() * (1.0 - TIED))
        scores = alpha[:, None] * self.dimensions[np.ix_(self._order, columns)]
        found = self._labelings.best(np.where(signs, -scores, scores)).T
        labeling = found[first_of_best(found, values[signs, columns])]
        return Cut(labeling, violation_value(self._rows, labeling, alpha))
