"""The most violated of the labelings that are best along random directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propcvx.checks import check_count
from propcvx.relaxation.oracles.cut import Cut
from propcvx.relaxation.oracles.rows import RowOracle, best_cuts, normal_directions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RandomDirectionsOracle(RowOracle):
    r"""One sort of each bag along each of many random directions u.

    As :math:`\|F^\top (y \circ \alpha)\| = \max_{\|u\| = 1} \sum_i \alpha_i y_i F_i^\top u`, some
    direction gives the most violated labeling.  They are drawn with the covariance of the
    :math:`\alpha_i F_i`, from the same normal numbers at every call, so that an answer depends on
    alpha alone.

    Attributes
    ----------
    features, feasible
        As in every oracle.
    n_directions : int
        How many.
    n_cuts : int
        How many labelings to return, the most violated ones.
    random_state : int or RandomState
        Seed of the directions.
    """

    n_directions: int = 100
    n_cuts: int = 1
    random_state: int | np.random.RandomState = 0

    def __post_init__(self) -> None:
        check_count("n_directions", self.n_directions)
        check_count("n_cuts", self.n_cuts)

    @cached_property
    def _normal(self) -> Array:
        random = check_random_state(self.random_state)
        return np.asarray(random.standard_normal((self.features.shape[1], self.n_directions)))

    def _find(self, alpha: Array) -> Cut:
        weighted = alpha[:, None] * self._rows
        directions = normal_directions(weighted.T @ weighted, self._normal)
        found = self._labelings.best(weighted @ directions).T
        return best_cuts(found, weighted, self.n_cuts)
