"""Ascent: a violated labeling raised by the best labeling along it, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.oracles.coordinate import CoordinateOracle
from propcvx.relaxation.oracles.cut import Cut, violation_value
from propcvx.relaxation.oracles.rows import TIED, RowOracle

Array = NDArray[np.float64]


def ascend(labeling: Array, weighted: Array, feasible: FeasibleLabelings) -> Array:
    r"""Raise :math:`\|\sum_i \alpha_i y_i F_i\|` by the best labeling along it, while it rises.

    The norm is convex in y, so the best labeling of its linearisation, one sort of each bag, is at
    least as good.

    Parameters
    ----------
    labeling : array of shape (n_instances,)
        A feasible labeling.
    weighted : array of shape (n_instances, rank)
        The rows of F times alpha.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    """
    norm = float(np.linalg.norm(weighted.T @ labeling))
    while True:
        other = feasible.best(weighted @ (weighted.T @ labeling))
        risen = float(np.linalg.norm(weighted.T @ other))
        if risen <= norm * (1.0 + TIED):
            return labeling
        labeling, norm = other, risen


@dataclass(frozen=True)
class AscentOracle(RowOracle):
    """The coordinate oracle's labeling, raised by :func:`ascend`: never worse, in a few sorts."""

    @cached_property
    def _start(self) -> CoordinateOracle:
        return CoordinateOracle.on_axes(self._rows, self._labelings)

    def _find(self, alpha: Array) -> Cut:
        weighted = alpha[:, None] * self._rows
        labeling = ascend(self._start(alpha).labeling, weighted, self._labelings)
        return Cut(labeling, violation_value(self._rows, labeling, alpha))
